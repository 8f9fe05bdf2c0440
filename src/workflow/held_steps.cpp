// How the engine reads holds (holds.h): which steps must not begin, and which continue.
#include "store/workflow/holds.h"
#include "workflow/texts.h"
#include "workflow/turns.h"

namespace scylla::workflow {

using model::workflow::EventKind;
using model::workflow::Hold;
using store::holds::RunHold;

namespace {

constexpr int64 k_most_scopes = 500; // whose steps continue in one transaction

Hold hold_of(const RunHold &row) { return {.step = row.step, .iterations = store::int8s(row.iterations)}; }

std::span<const RunHold> read_rows(std::span<const Root> roots) {
    Growing<int64> ids;
    for (const Root &root : roots)
        if (root.may_be_held)
            ids.add(root.id);
    return ids.size() == 0 ? std::span<const RunHold>{} : store::holds::of_runs(ids.all());
}

// ---- what goes on --------------------------------------------------------------------------------------------------

// The remaining steps follow in a later turn.
void let_go(Root &root, const Item &item) {
    const bool is_released = item.step != nullptr;
    int64 scopes = 0;
    int64 last = 0;
    const auto steps = store::holds::held_steps(
        {.root = item.root, .step = item.step, .iterations = item.data, .after = item.scope, .scopes = k_most_scopes});
    for (const store::holds::HeldStep &held : steps) {
        root.events.add(
            {is_released ? EventKind::resume : EventKind::unpaused, held.scope, view(held.step), held.attempt});
        scopes += held.scope == last ? 0 : 1;
        last = held.scope;
    }
    if (scopes == k_most_scopes)
        put_on_agenda({.root = root.id,
                       .kind = item.kind,
                       .scope = last,
                       .step = item.step,
                       .data = item.data,
                       .line = root.line});
}

} // namespace

void read_holds(std::span<Root> roots, std::span<const Item> items) {
    const auto rows = read_rows(roots);
    const auto holds = allocate<Hold>(rows.size());
    for (std::size_t i = 0; i < rows.size(); i++)
        holds[i] = hold_of(rows[i]);
    for (Root &root : roots) {
        const auto [from, to] =
            std::equal_range(rows.begin(), rows.end(), RunHold{root.id, {}, nullptr},
                             [](const RunHold &one, const RunHold &other) { return one.root < other.root; });
        root.holds = holds.subspan(static_cast<std::size_t>(from - rows.begin()), static_cast<std::size_t>(to - from));
    }
    for (const Item &item : items)
        for (Root &root : roots)
            if (root.id == item.root)
                let_go(root, item);
}

} // namespace scylla::workflow
