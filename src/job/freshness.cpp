// When ids were last brought up to date: written with completions, read by runs.
#include "job/jobs.h"
#include "pg/error.h"
#include "pg/memory.h"
#include "store/job/job_runs.h"
#include "store/job/successes.h"
#include "task/makers.h"

namespace scylla::job {

namespace {

constexpr const char *k_ids_rule = "It must have an end on both sides.";

// For tasks of one plan that end together.
void note_completed(const char * /*owner*/, std::span<const store::Ended> tasks) {
    Growing<store::successes::Completed> ended;
    for (const store::Ended &task : tasks)
        if (task.began != 0)
            ended.add({.task = task.id, .began = task.began});
    if (ended.size() == 1)
        store::successes::add_completed_one(ended[0].task, ended[0].began);
    else if (ended.size() > 0)
        store::successes::add_completed(ended.all());
}

// shadowed: receives the successes that count for no id; may be null.
std::span<const model::FreshRange> paint_all(std::span<const Stored> stored, Growing<int64> *shadowed) {
    Growing<model::Success> successes;
    for (const Stored &row : stored) {
        CHECK_FOR_INTERRUPTS();
        for (const model::JobRange &range : read_ids("ids", row.ids))
            successes.push_back({range, row.began, row.id});
    }
    const std::size_t count = successes.size();
    const model::PaintMemory memory{allocate<int64>(2 * count), allocate<std::size_t>(2 * count),
                                    allocate<int64>(2 * count)};
    const auto ranges = allocate<model::FreshRange>(2 * count);
    const std::size_t used = model::paint(successes.all(), memory, ranges);
    if (shadowed != nullptr) {
        // A row is shadowed if none of its ranges counts.
        std::sort(successes.all().begin(), successes.all().end(), [](const model::Success &a, const model::Success &b) {
            return a.of != b.of ? a.of < b.of : a.counts > b.counts;
        });
        for (std::size_t i = 0; i < count; i++)
            if (!successes[i].counts && (i == 0 || successes[i - 1].of != successes[i].of))
                shadowed->push_back(successes[i].of);
    }
    return ranges.first(used);
}

// Removes successes that newer ones of the same job cover. Skips rows that others are changing.
void remove_shadowed(int64 job, const text *variant) {
    Growing<int64> shadowed;
    (void)paint_all(store::successes::of(job, variant), &shadowed);
    if (shadowed.size() > 0)
        store::successes::remove(shadowed.all());
}

} // namespace

std::span<const model::FreshRange> fresh_ranges(std::span<const Stored> successes) {
    return paint_all(successes, nullptr);
}

std::span<const model::FreshRange> read_fresh(int64 job, const text *variant, std::span<const Stored> expected) {
    Growing<Stored> all;
    all.add_all(store::successes::of(job, variant));
    all.add_all(expected);
    return fresh_ranges(all.all());
}

void mark_fresh(const Mark &mark) {
    const int64 job = require_own(mark.job);
    (void)read_ids("ids", mark.ids);
    store::successes::add({.job = job, .variant = mark.variant, .ids = mark.ids, .began = mark.began});
}

int64 forget_freshness(const text *job, Datum ids, const text *variant) {
    const int64 id = require_own(job);
    if (ids == 0)
        return store::successes::forget_all(id, variant);
    (void)read_ids("ids", ids);
    return store::successes::forget(id, variant, ids);
}

void forget_plan(int64 plan) {
    for (const store::job_runs::Variant &of : store::job_runs::remove(plan))
        remove_shadowed(of.job, of.variant);
}

std::span<const model::JobRange> read_ids(const char *argument, Datum ids) {
    const auto *multirange = DatumGetMultirangeTypeP(ids);
    TypeCacheEntry *type = lookup_type_cache(INT8RANGEOID, TYPECACHE_RANGE_INFO);
    RangeType **ranges = nullptr;
    int32 count = 0;
    multirange_deserialize(type, multirange, &count, &ranges);
    const auto read = allocate<model::JobRange>(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < read.size(); i++) {
        RangeBound lower;
        RangeBound upper;
        bool empty = false;
        range_deserialize(type, ranges[i], &lower, &upper, &empty);
        if (lower.infinite || upper.infinite)
            error::bad_argument(argument, error::print(ids, INT8MULTIRANGEOID), k_ids_rule);
        read[i] = {DatumGetInt64(lower.val), DatumGetInt64(upper.val)};
    }
    return read;
}

Datum make_ids(std::span<const model::JobRange> ranges) {
    TypeCacheEntry *type = lookup_type_cache(INT8RANGEOID, TYPECACHE_RANGE_INFO);
    const auto made = allocate<RangeType *>(ranges.size());
    for (std::size_t i = 0; i < made.size(); i++) {
        RangeBound lower{Int64GetDatum(ranges[i].first), false, true, true};
        RangeBound upper{Int64GetDatum(ranges[i].end), false, false, false};
        made[i] = compat::make_range(type, &lower, &upper);
    }
    return MultirangeTypePGetDatum(
        make_multirange(INT8MULTIRANGEOID, type, static_cast<int32>(made.size()), made.data()));
}

ArrayType *make_array(std::span<Datum> values, Oid type) {
    int16 length = 0;
    bool by_value = false;
    char align = 0;
    get_typlenbyvalalign(type, &length, &by_value, &align);
    return construct_array(values.data(), static_cast<int>(values.size()), type, length, by_value, align);
}

void register_completions() { register_completion(store::PlanMaker::job, note_completed); }

} // namespace scylla::job
