// Rows of conditions: how one has ended, the conditions on signals that wait, and the shapes by which signals find
// them. Callbacks, signals and the names of signals are control tables: see plan/callbacks.cpp and plan/signals.cpp.
#pragma once

#include "store/rows.h"

namespace scylla::store {

struct ConditionEndRow {
    int64 id;
    TimestampTz ended;
    bool failed;
    Jsonb *value; // may be null
    ItemPointerData tid;
};

struct SignalConditionRow {
    int64 id;
    int64 digest;
    TimestampTz created;
    std::optional<TimestampTz> since;
    text *name;
    text *bound; // empty: no range
    Jsonb *match;
    bool of_step; // of a workflow: no gate waits for it
    ItemPointerData tid;
};

struct SignalShapeRow {
    int64 id;
    text *name;
    Jsonb *shape;
    ItemPointerData tid;
};

ConditionEndRow condition_end_row(const Scan &scan);
bool condition_has_failed(const Scan &scan);
SignalConditionRow signal_condition_row(const Scan &scan);
std::optional<int64> id_for_gates(const Scan &scan); // of a condition on a signal; nothing: it is of a step
SignalShapeRow signal_shape_row(const Scan &scan);

std::optional<ConditionEndRow> find_condition_end(Store &store, int64 id);
std::optional<SignalConditionRow> find_signal_condition(Store &store, int64 id);

// Conditions with ids larger than `after`.
Scan scan_signal_conditions_after(Store &store, int64 after);

void insert(Store &store, const ConditionEndRow &row);
void insert(Store &store, const SignalConditionRow &row);
void insert(Store &store, const SignalShapeRow &row);

} // namespace scylla::store
