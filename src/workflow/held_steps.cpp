// How the engine reads holds (holds.h): which steps must not begin, and which continue.
#include "store/spi_arrays.h"
#include "workflow/texts.h"
#include "workflow/turns.h"

namespace scylla::workflow {

using model::workflow::EventKind;
using model::workflow::Hold;
using store::Columns;
using store::Parameters;

namespace {

constexpr int64 k_most_scopes = 500; // whose steps continue in one transaction

constinit SPIPlanPtr holds_statement = nullptr;
constinit SPIPlanPtr steps_statement = nullptr;

struct HoldRow {
    int64 root;
    Hold hold;
};

HoldRow read_hold(uint64 row) {
    Columns columns(row);
    HoldRow read{};
    read.root = columns.next_int64();
    read.hold.step = view(columns.next_text());
    const ArrayType *numbers = columns.next_array(); // without nulls
    read.hold.iterations = {reinterpret_cast<const std::int64_t *>(ARR_DATA_PTR(numbers)),
                            static_cast<std::size_t>(ArrayGetNItems(ARR_NDIM(numbers), ARR_DIMS(numbers)))};
    return read;
}

std::span<const HoldRow> read_rows(std::span<const Root> roots) {
    store::ArrayColumn ids(INT8OID);
    for (const Root &root : roots)
        if (root.may_be_held)
            ids.add(root.id);
    if (ids.size() == 0)
        return {};
    Parameters parameters;
    ids.give_to(parameters);
    return store::select<HoldRow>(&holds_statement,
                                  "select r.id, h.step, h.iterations from scylla.workflow_run_state r "
                                  "join scylla.workflow_hold h on h.workflow operator(pg_catalog.=) r.workflow "
                                  "and h.version operator(pg_catalog.=) any (array[0, r.version]) "
                                  "and h.instance operator(pg_catalog.=) any (array[0, r.instance]) "
                                  "and h.run operator(pg_catalog.=) any (array[0, r.run]) "
                                  "where r.id operator(pg_catalog.=) any ($1) order by r.id",
                                  parameters, SPI_OK_SELECT, read_hold);
}

// ---- what goes on --------------------------------------------------------------------------------------------------

struct HeldStep {
    int64 scope;
    const text *step;
    int32 attempt;
};

// Steps of a run that are held back: by the pause of the workflow, or PAUSED ones of a given step, in all iterations or
// in the named ones. At most those of k_most_scopes scopes.
std::span<const HeldStep> read_held(const Item &item) {
    Parameters parameters;
    parameters.add(item.root)
        .add(item.step)
        .add(JSONBOID, PointerGetDatum(item.data), item.data == nullptr)
        .add(item.scope)
        .add(k_most_scopes);
    return store::select<HeldStep>(
        &steps_statement,
        "with recursive scope as (select $1 as id, '{}'::pg_catalog.int8[] as numbers union all "
        "select i.id, i.numbers from scope s join scylla.workflow_iteration i on i.parent operator(pg_catalog.=) s.id "
        "where i.ended is null and not i.past), "
        "held as (select s.scope, s.step, s.attempt from scope c "
        "join scylla.workflow_step_state s on s.scope operator(pg_catalog.=) c.id "
        "where c.id operator(pg_catalog.>) $4 and case when $2 is null "
        "then s.status operator(pg_catalog.=) any ('{INITIALIZED,WAITING_FOR_SIGNALS}') "
        "else s.status operator(pg_catalog.=) 'PAUSED' and s.step operator(pg_catalog.=) $2 "
        "and ($3 is null or c.numbers operator(pg_catalog.=) array(select e::pg_catalog.int8 "
        "from pg_catalog.jsonb_array_elements_text($3) e)) end) "
        "select scope, step, attempt from held where scope operator(pg_catalog.=) any (array(select distinct scope "
        "from held order by scope limit $5)) order by scope",
        parameters, SPI_OK_SELECT, [](uint64 row) {
            Columns columns(row);
            const int64 scope = columns.next_int64();
            const text *step = columns.next_text();
            return HeldStep{scope, step, columns.next_int32()};
        });
}

// The remaining steps follow in a later turn.
void let_go(Root &root, const Item &item) {
    const bool is_released = item.step != nullptr;
    int64 scopes = 0;
    int64 last = 0;
    for (const HeldStep &held : read_held(item)) {
        root.events.add(
            {is_released ? EventKind::resume : EventKind::unpaused, held.scope, view(held.step), held.attempt});
        scopes += held.scope == last ? 0 : 1;
        last = held.scope;
    }
    if (scopes == k_most_scopes)
        put_on_agenda({.root = root.id, .kind = item.kind, .scope = last, .step = item.step, .data = item.data});
}

} // namespace

void read_holds(std::span<Root> roots, std::span<const Item> items) {
    const auto rows = read_rows(roots);
    const auto holds = allocate<Hold>(rows.size());
    for (std::size_t i = 0; i < rows.size(); i++)
        holds[i] = rows[i].hold;
    for (Root &root : roots) {
        const auto [from, to] =
            std::equal_range(rows.begin(), rows.end(), HoldRow{root.id, {}},
                             [](const HoldRow &one, const HoldRow &other) { return one.root < other.root; });
        root.holds = holds.subspan(static_cast<std::size_t>(from - rows.begin()), static_cast<std::size_t>(to - from));
    }
    for (const Item &item : items)
        for (Root &root : roots)
            if (root.id == item.root)
                let_go(root, item);
}

} // namespace scylla::workflow
