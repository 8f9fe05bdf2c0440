#include "workflow/triggers.h"

#include "store/spi_rows.h"

namespace scylla::workflow {

namespace {

constinit SPIPlanPtr active_statement = nullptr;

} // namespace

std::span<Jsonb *const> active_triggers(const text *workflow, TriggerKind kind) {
    const bool by_time = kind == TriggerKind::time;
    store::Parameters parameters;
    parameters.add(workflow)
        .add(cstring_to_text(by_time ? "time_triggers" : "signal_triggers"))
        .add(cstring_to_text(by_time ? "time_trigger_disabled" : "signal_trigger_disabled"));
    return store::select<Jsonb *>(
        &active_statement,
        "select distinct pg_catalog.jsonb_strip_nulls(t.trigger) from scylla.workflow_head h join scylla.workflow_text "
        "v "
        "on v.workflow operator(pg_catalog.=) h.id and v.version operator(pg_catalog.=) h.active_version "
        "cross join lateral pg_catalog.jsonb_array_elements(case when pg_catalog.jsonb_typeof(v.definition "
        "operator(pg_catalog.->) $2) operator(pg_catalog.=) 'array' "
        "then v.definition operator(pg_catalog.->) $2 end) t (trigger) "
        "where h.id operator(pg_catalog.=) $1 and coalesce(h.properties operator(pg_catalog.->) $3, 'false') "
        "operator(pg_catalog.<>) 'true'",
        parameters, SPI_OK_SELECT, [](uint64 row) { return store::Columns(row).next_jsonb(); });
}

} // namespace scylla::workflow
