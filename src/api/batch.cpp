#include "api/batch.h"

#include "api/call.h"
#include "api/rows.h"
#include "task/rules.h"

namespace scylla {

namespace {

int compare(const text *a, const text *b) { return view(a).compare(view(b)); }

// By name; items with the same name keep their order.
extern "C" int compare_items(const void *a, const void *b) {
    CHECK_FOR_INTERRUPTS();
    const BatchItem *left = *static_cast<BatchItem *const *>(a);
    const BatchItem *right = *static_cast<BatchItem *const *>(b);
    const int order = compare(left->name.rn, right->name.rn);
    if (order != 0)
        return order;
    return left->element < right->element ? -1 : 1;
}

} // namespace

Batch get_batch(const BatchArguments &given) {
    const auto &[rns, worker, attempts, results] = given;
    (void)args::name("worker", worker);
    if (!rns)
        error::bad_argument("rns", "null", "It must be an array.");
    if (results)
        args::same_size("results", results->size, "rns", rns->size);
    if (attempts)
        args::same_size("attempts", attempts->size, "rns", rns->size);

    const auto size = static_cast<std::size_t>(rns->size);
    Batch batch{allocate<BatchItem>(size), allocate<BatchItem *>(size)};
    for (std::size_t i = 0; i < size; i++) {
        CHECK_FOR_INTERRUPTS();
        const auto element = static_cast<int64>(i + 1);
        text *rn = args::name("rns", rns->null[i] ? nullptr : DatumGetTextPP(rns->value[i]), element);
        if (attempts && attempts->null[i])
            error::bad_argument("attempts", "null", "It must be a number.", element);
        batch.items[i] = {{rn, worker, attempts ? std::optional(DatumGetInt32(attempts->value[i])) : std::nullopt},
                          results && !results->null[i]
                              ? args::document("results", DatumGetJsonbP(results->value[i]), element)
                              : nullptr,
                          element,
                          false,
                          0,
                          std::nullopt};
        batch.sorted[i] = &batch.items[i];
    }
    // NOLINTNEXTLINE(bugprone-sizeof-expression): pointers are what is sorted
    qsort(batch.sorted.data(), size, sizeof(BatchItem *), compare_items);
    return batch;
}

Datum return_batch(FunctionCallInfo fcinfo, store::Store &store, const Batch &batch) {
    const Rows rows = begin_rows(fcinfo);
    std::array<Datum, model::k_status_names.size()> status{};
    for (std::size_t i = 0; i < status.size(); i++)
        status[i] = store::status_datum(store, static_cast<model::Status>(i));
    for (const BatchItem &item : batch.items) {
        CHECK_FOR_INTERRUPTS();
        Datum values[] = {PointerGetDatum(item.name.rn), BoolGetDatum(item.done),
                          item.status ? status[static_cast<std::size_t>(*item.status)] : 0};
        bool nulls[] = {false, false, !item.status.has_value()};
        tuplestore_putvalues(rows.store, rows.type, values, nulls);
    }
    close(store);
    return 0;
}

} // namespace scylla
