-- The statistics for Prometheus and similar systems.

create or replace function scylla.metrics() returns text
    language c volatile parallel unsafe set jit = off as 'MODULE_PATHNAME', 'scylla_metrics';
comment on function scylla.metrics is
    'The statistics of this database in the OpenMetrics text format, for Prometheus and similar systems.';

