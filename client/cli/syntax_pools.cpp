// The command line of pools.
#include "syntax.h"

namespace scylla::cli {
namespace {

class pool_syntax : syntax {
public:
    using syntax::syntax;

    void add_pools() {
        CLI::App *pool =
            add(m_app, "pool", "Create pools of resources that tasks need, and show which tasks hold them or wait.");
        pool->require_subcommand(1);
        {
            auto [command, o] = add<create_pool_options>(*pool, "create", "Create a pool.", create_pool);
            argument(command, "NAME", o->pool, "Name of the pool.")->required();
            argument(command, "CAPACITY", o->capacity, "Amounts by resource: {\"memory_gb\": 2000, \"cores\": 5000}.")
                ->required();
            pool_settings(command, *o);
        }
        {
            auto [command, o] = add<set_pool_options>(*pool, "set", "Change the capacity or the settings.", set_pool);
            argument(command, "NAME", o->pool, "Name of the pool.")->required();
            option(command, "--capacity", o->capacity, "JSON", "Amounts by resource.");
            pool_settings(command, *o);
        }
        add(*pool, "list", "Show pools.", list_pools);
        of_pool(*pool, "get", "Show a pool.", get_pool);
        of_some_pool(*pool, "history", "Show who has changed pools, and when.", show_pool_history);
        {
            auto [command, o] = add<pool_queue_options>(*pool, "queue", "Show the tasks that wait for pools, and why.",
                                                        show_pool_queue);
            argument(command, "NAME", o->pool, "Name of the pool. Default: all.");
            option(command, "--limit", o->limit, "N", "Only the first ones, up to 100,000. Default: all.");
        }
        of_some_pool(*pool, "reservations", "Show what tasks hold in pools.", show_pool_reservations);
        of_pool(*pool, "drain", "Stop placing tasks in a pool. Running tasks continue.", drain_pool);
        of_pool(*pool, "resume", "Place tasks in a pool again, after \"pool drain\".", resume_pool);
        of_pool(*pool, "drop", "Drop a pool that no live task needs.", drop_pool);
        {
            auto [command, o] = add<report_usage_options>(
                *pool, "report", "Report how much of a pool is in use, by anyone.", report_usage);
            argument(command, "NAME", o->pool, "Name of the pool.")->required();
            argument(command, "USED", o->used, "Amounts by resource.")->required();
            option(command, "--at", o->at, "TIME", "Time of the measurement. Default: now.");
        }
        of_some_pool(*pool, "place", "Place the tasks that fit, and show them. For servers without a monitor.",
                     place_tasks);
        pool_grant(*pool, "grant", "Grant a role a privilege on a pool.", grant_pool);
        pool_grant(*pool, "revoke", "Revoke a privilege on a pool.", revoke_pool);
    }

private:
    template <class Options> void pool_settings(CLI::App *command, Options &o) {
        choice(
            command, "--policy", o.policy, "strict|greedy|backfill",
            "What happens to tasks behind one that does not fit: they wait, pass it, or pass it if they do not delay "
            "its planned start. Default: backfill.");
        option(command, "--max-bypass", o.max_bypass, "N",
               "How many tasks may pass one whose start cannot be planned. Default: 100.");
        duration(command, "--metrics-max-age", o.metrics_max_age,
                 "Place nothing while the last report is older. Default: reports are not needed.");
    }

    void of_pool(CLI::App &parent, const char *name, const char *description, command_function<std::string> function) {
        auto [command, pool] = add(parent, name, description, function);
        argument(command, "NAME", *pool, "Name of the pool.")->required();
    }

    void of_some_pool(CLI::App &parent, const char *name, const char *description,
                      command_function<maybe_text> function) {
        auto [command, pool] = add(parent, name, description, function);
        argument(command, "NAME", *pool, "Name of the pool. Default: all.");
    }

    void pool_grant(CLI::App &parent, const char *name, const char *description,
                    command_function<pool_grant_options> function) {
        auto [command, o] = add(parent, name, description, function);
        argument(command, "NAME", o->pool, "Name of the pool.")->required();
        argument(command, "ROLE", o->role, "The role; \"public\" for every role.")->required();
        argument(command, "PRIVILEGE", o->privilege,
                 "use, report, or admin (both, and changing, placing and granting).")
            ->required()
            ->check(one_of("use|report|admin"));
    }
};

} // namespace

void describe_pools(tool &of) {
    pool_syntax own{of};
    own.add_pools();
}

} // namespace scylla::cli
