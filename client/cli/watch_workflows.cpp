// workflow watch: workflows, and their live runs, repeatedly.
#include "duration.h"
#include "watch.h"

namespace scylla::cli {

namespace {

// Live runs of workflows that have some, among the latest instances of each up to a limit, because ended ones are
// skipped one by one.
constexpr const char *k_live_runs =
    "(select r.* from scylla.stat_workflow w cross join lateral ("
    "select * from scylla.workflow_run where workflow = w.workflow and instance > w.instances - 1000 and ended is null "
    "order by instance limit 20) r where w.queued + w.running > 0 and ($1::text[] is null or w.workflow = any ($1))) r "
    "join scylla.workflow_rollup l on l.workflow = r.workflow and l.instance = r.instance";

class watched_workflows : public watched {
public:
    watched_workflows(session &server, const std::vector<std::string> &workflows) : m_server{server} {
        if (!workflows.empty())
            m_workflows = array_literal(workflows);
    }

    rows first() override {
        return m_server.query(
            "select workflow, queued, running, failed, steps_running as steps, "
            "       steps_waiting_for_signals + steps_waiting_for_permits + steps_paused as waiting, "
            "       steps_retrying as retrying, steps_failed as \"steps-failed\", "
            "       coalesce(date_trunc('second', clock_timestamp() - oldest_running)::text, '-') as oldest, "
            "       case when paused is null then 'no' else 'yes' end as paused "
            "  from scylla.stat_workflow where $1::text[] is null or workflow = any ($1) order by workflow",
            {m_workflows});
    }

    rows second() override {
        const std::string leaves =
            "coalesce((select sum((s.value ->> 'cnt')::bigint) from jsonb_each(l.overview) s where "
            "s.key = any (";
        return m_server.query(
            "select r.workflow, r.instance, r.run, r.status, date_trunc('second', clock_timestamp() - r.started) as "
            "time, l.total_leaf_count as leaves, " +
                leaves + "'{SUCCEEDED,SKIPPED,UNSATISFIED,COMPLETED_WITH_ERROR,DISABLED}')), 0) as done, " + leaves +
                "'{FATALLY_FAILED,INTERNALLY_FAILED,TIMED_OUT}')), 0) as failed, " + leaves +
                "'{WAITING_FOR_SIGNALS,WAITING_FOR_PERMITS,PAUSED}')), 0) as waiting from " + k_live_runs +
                " order by r.created limit 100",
            {m_workflows});
    }

    std::string json() override {
        return *m_server.ask(
            "select json_build_object('time', clock_timestamp(), "
            "  'workflows', (select coalesce(json_agg(w order by workflow), '[]') from scylla.stat_workflow as w "
            "                 where $1::text[] is null or workflow = any ($1)), "
            "  'runs', (select coalesce(json_agg(json_build_object('workflow', workflow, 'instance', instance, "
            "                    'run', run, 'status', status, 'started', started, 'leaves', total_leaf_count, "
            "                    'overview', overview) order by created), '[]') "
            "             from (select r.workflow, r.instance, r.run, r.status, r.started, r.created, "
            "                          l.total_leaf_count, l.overview from " +
                std::string{k_live_runs} + " order by r.created limit 100) as live))",
            {m_workflows});
    }

private:
    session &m_server;
    value m_workflows;
};

} // namespace

int watch_workflows(const context &given, const watch_options &options) {
    const auto interval = to_duration("--interval", options.interval);
    session server{given.connection};
    watched_workflows workflows{server, options.of};
    watch_again(given, server, workflows, interval, options.count);
    return 0;
}

} // namespace scylla::cli
