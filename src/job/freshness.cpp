// When ids were last brought up to date: written with completions, read by runs.
#include "job/jobs.h"
#include "pg/error.h"
#include "pg/memory.h"
#include "store/spi_rows.h"
#include "task/makers.h"

namespace scylla::job {

using store::Parameters;

namespace {

constinit SPIPlanPtr complete_one_statement = nullptr;
constinit SPIPlanPtr complete_statement = nullptr;
constinit SPIPlanPtr read_statement = nullptr;
constinit SPIPlanPtr mark_statement = nullptr;
constinit SPIPlanPtr forget_statement = nullptr;
constinit SPIPlanPtr forget_all_statement = nullptr;
constinit SPIPlanPtr forget_plan_statement = nullptr;
constinit SPIPlanPtr shadowed_statement = nullptr;

constexpr const char *k_ids_rule = "It must have an end on both sides.";

// The success has the id of its task, which saves a call of the sequence. A case of its own because it is the usual
// one, and a query plan without arrays takes half the time.
void note_completed(const store::Ended &task) {
    Parameters parameters;
    parameters.add(task.id).add(std::optional(task.began));
    store::change(&complete_one_statement,
                  "insert into scylla.job_success (id, job, variant, ids, began) "
                  "select $1, job, variant, ids, $2 from scylla.job_chunk where task operator(pg_catalog.=) $1",
                  parameters, SPI_OK_INSERT);
}

// For tasks of one plan that end together.
void note_completed(std::span<const store::Ended> tasks) {
    if (tasks.size() == 1) {
        if (tasks[0].began != 0)
            note_completed(tasks[0]);
        return;
    }
    const auto ids = allocate<Datum>(tasks.size());
    const auto began = allocate<Datum>(tasks.size());
    std::size_t count = 0;
    for (const store::Ended &task : tasks) {
        if (task.began == 0)
            continue;
        ids[count] = Int64GetDatum(task.id);
        began[count++] = TimestampTzGetDatum(task.began);
    }
    if (count == 0)
        return;
    Parameters parameters;
    parameters.add(INT8ARRAYOID, PointerGetDatum(make_array(ids.first(count), INT8OID)))
        .add(TIMESTAMPTZARRAYOID, PointerGetDatum(make_array(began.first(count), TIMESTAMPTZOID)));
    store::change(&complete_statement,
                  "insert into scylla.job_success (id, job, variant, ids, began) "
                  "select c.task, c.job, c.variant, c.ids, e.began from "
                  "rows from (pg_catalog.unnest($1), pg_catalog.unnest($2)) e (task, began) "
                  "join scylla.job_chunk c on c.task operator(pg_catalog.=) e.task",
                  parameters, SPI_OK_INSERT);
}

std::span<const Stored> read_successes(int64 job, const text *variant) {
    Parameters parameters;
    parameters.add(job).add(variant);
    return store::select<Stored>(&read_statement,
                                 "select id, ids, began from scylla.job_success where job operator(pg_catalog.=) $1 "
                                 "and variant operator(pg_catalog.=) $2",
                                 parameters, SPI_OK_SELECT, [](uint64 row) {
                                     store::Columns columns(row);
                                     const int64 id = columns.next_int64();
                                     const Datum ids = columns.next_varlena();
                                     return Stored{id, ids, columns.next_time().value_or(0)};
                                 });
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
    (void)paint_all(read_successes(job, variant), &shadowed);
    if (shadowed.size() == 0)
        return;
    const auto ids = allocate<Datum>(shadowed.size());
    for (std::size_t i = 0; i < ids.size(); i++)
        ids[i] = Int64GetDatum(shadowed[i]);
    Parameters parameters;
    parameters.add(INT8ARRAYOID, PointerGetDatum(make_array(ids, INT8OID)));
    store::change(&shadowed_statement,
                  "delete from scylla.job_success s using (select id from scylla.job_success "
                  "where id operator(pg_catalog.=) any ($1) for update skip locked) held "
                  "where s.id operator(pg_catalog.=) held.id",
                  parameters, SPI_OK_DELETE);
}

} // namespace

std::span<const model::FreshRange> fresh_ranges(std::span<const Stored> successes) {
    return paint_all(successes, nullptr);
}

std::span<const model::FreshRange> read_fresh(int64 job, const text *variant) {
    return fresh_ranges(read_successes(job, variant));
}

void mark_fresh(const Mark &mark) {
    const int64 job = require_own(mark.job);
    (void)read_ids("ids", mark.ids);
    Parameters parameters;
    parameters.add(job).add(mark.variant).add(INT8MULTIRANGEOID, mark.ids).add(std::optional(mark.began));
    store::change(&mark_statement,
                  "insert into scylla.job_success (job, variant, ids, began) select $1, $2, $3, $4 "
                  "where not pg_catalog.isempty($3)",
                  parameters, SPI_OK_INSERT);
}

int64 forget_freshness(const text *job, Datum ids, const text *variant) {
    const int64 id = require_own(job);
    Parameters parameters;
    parameters.add(id).add(TEXTOID, PointerGetDatum(variant), variant == nullptr);
    if (ids != 0) {
        (void)read_ids("ids", ids);
        parameters.add(INT8MULTIRANGEOID, ids);
    }
    const char *sql = ids == 0
                          ? "with gone as (delete from scylla.job_success where job operator(pg_catalog.=) $1 "
                            "and ($2 is null or variant operator(pg_catalog.=) $2) returning id) "
                            "select pg_catalog.count(*) from gone"
                          : "with gone as (delete from scylla.job_success where job operator(pg_catalog.=) $1 "
                            "and ($2 is null or variant operator(pg_catalog.=) $2) and ids operator(pg_catalog.&&) $3 "
                            "returning job, variant, ids, began), "
                            "rest as (insert into scylla.job_success (job, variant, ids, began) "
                            "select job, variant, ids operator(pg_catalog.-) $3, began from gone "
                            "where not ids operator(pg_catalog.<@) $3) "
                            "select pg_catalog.count(*) from gone";
    return store::select<int64>(ids == 0 ? &forget_all_statement : &forget_statement, sql, parameters, SPI_OK_SELECT,
                                [](uint64 row) { return store::Columns(row).next_int64(); })[0];
}

void forget_plan(int64 plan) {
    Parameters parameters;
    parameters.add(plan);
    struct Brought {
        int64 job;
        const text *variant;
    };
    const auto brought = store::select<Brought>(
        &forget_plan_statement,
        "with chunk as (delete from scylla.job_chunk where plan operator(pg_catalog.=) $1 returning job, variant), "
        "run as (delete from scylla.job_run where plan operator(pg_catalog.=) $1), "
        // successes of tasks that were completed after their job had been dropped
        "orphan as (delete from scylla.job_success s using (select distinct job from chunk) c "
        "where s.job operator(pg_catalog.=) c.job and not exists (select from scylla.job_definition d "
        "where d.id operator(pg_catalog.=) c.job)) "
        "select distinct job, variant from chunk",
        parameters, SPI_OK_SELECT, [](uint64 row) {
            store::Columns columns(row);
            const int64 job = columns.next_int64();
            return Brought{job, columns.next_text()};
        });
    for (const Brought &of : brought)
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
