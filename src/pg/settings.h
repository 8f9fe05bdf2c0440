// The values of the settings (GUCs); src/settings.cpp registers them. docs/reference.md describes them.
#pragma once

#include "pg/prelude.h"

namespace scylla::settings {

extern bool monitor;                // scylla.monitor
extern int monitor_interval;        // scylla.monitor_interval, milliseconds
extern int monitor_idle;            // scylla.monitor_idle, milliseconds; -1: no monitor exits
extern int default_timeout;         // scylla.default_timeout, milliseconds
extern int check_timeout;           // scylla.check_timeout, seconds; 0: none
extern int default_max_attempts;    // scylla.default_max_attempts; -1: none
extern int event_retention;         // scylla.event_retention, seconds
extern int signal_retention;        // scylla.signal_retention, seconds
extern int retention;               // scylla.retention, seconds
extern bool auto_create_queues;     // scylla.auto_create_queues
extern int max_value_size;          // scylla.max_value_size, kB
extern int max_result_size;         // scylla.max_result_size, kB
extern int max_metrics_queues;      // scylla.max_metrics_queues
extern int max_queues;              // scylla.max_queues; fixed at server start
extern int max_rate_keys;           // scylla.max_rate_keys; fixed at server start
extern int max_monitors;            // scylla.max_monitors; fixed at server start
extern int max_server_workers;      // scylla.max_server_workers
extern int handler_timeout;         // scylla.handler_timeout, milliseconds
extern int max_handler_timeout;     // scylla.max_handler_timeout, seconds
extern int max_workflow_steps;      // scylla.max_workflow_steps
extern int max_workflow_nesting;    // scylla.max_workflow_nesting
extern int max_foreach_concurrency; // scylla.max_foreach_concurrency
extern int max_loop_iterations;     // scylla.max_loop_iterations
extern int max_run_params;          // scylla.max_run_params
extern int max_params_length;       // scylla.max_params_length, characters
extern int max_run_leaves;          // scylla.max_run_leaves
extern int max_step_retries;        // scylla.max_step_retries
extern int max_retry_wait;          // scylla.max_retry_wait, seconds
extern int max_workflow_timeout;    // scylla.max_workflow_timeout, seconds
extern int max_definition_size;     // scylla.max_definition_size, kB
extern char *code_version;          // scylla.code_version; null or empty: none

// Limits of definitions of workflows.
extern int max_workflow_id_length;        // scylla.max_workflow_id_length, characters
extern int max_workflow_name_length;      // scylla.max_workflow_name_length, characters
extern int max_workflow_text_length;      // scylla.max_workflow_text_length, characters
extern int max_workflow_concurrency;      // scylla.max_workflow_concurrency
extern int max_step_concurrency;          // scylla.max_step_concurrency
extern int max_instance_step_concurrency; // scylla.max_instance_step_concurrency
extern int max_subworkflow_depth;         // scylla.max_subworkflow_depth
extern int max_trigger_signals;           // scylla.max_trigger_signals
extern int min_trigger_interval;          // scylla.min_trigger_interval, seconds

enum class Schedules : int { automatic, pg_cron, manual, off };
extern int schedules; // scylla.schedules

// The same in bytes.
inline int64 value_limit() { return static_cast<int64>(max_value_size) * 1024; }
inline int64 result_limit() { return static_cast<int64>(max_result_size) * 1024; }

} // namespace scylla::settings
