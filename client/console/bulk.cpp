#include "bulk.h"

#include <algorithm>
#include <cstddef>

namespace scylla::cli::console {

namespace {

constexpr std::size_t k_portion = 250;

// One more than a portion. A key or an error code is looked for among 100,000 tasks.
constexpr const char *k_matching = R"(
    select t.rn
    from jsonb_to_record($1::jsonb) as f (queue text, status scylla.task_status, worker text, key text, code text)
    cross join scylla.list_tasks(f.queue, coalesce(f.status, 'ready'), f.worker,
                                 case when f.key is null and f.code is null then 251 else 100000 end) t
    where t.status in ('waiting', 'ready', 'running') and (f.key is null or t.key = f.key)
          and (f.code is null or t.errors -> -1 ->> 'code' = f.code)
    limit 251)";

// Whether it was live until now.
bool cancel(session &server, const value &rn) {
    try {
        server.query("select from scylla.cancel($1)", {rn});
        return true;
    } catch (const failure &error) {
        if (error.sqlstate() != "P0002" && error.sqlstate() != "55000")
            throw;
        return false;
    }
}

} // namespace

std::string cancel_portion(sessions &acting, const std::string &filter) {
    return acting.with_session([&](session &server) {
        const rows matching = server.query(k_matching, {filter});
        const std::size_t portion = std::min(matching.cells.size(), k_portion);
        std::size_t cancelled = 0;
        for (std::size_t i = 0; i < portion; i++)
            cancelled += cancel(server, matching.cells[i][0]) ? 1U : 0U;
        return "{\"cancelled\": " + std::to_string(cancelled) + ", \"ended\": " + std::to_string(portion - cancelled) +
               ", \"more\": " + (matching.cells.size() > k_portion ? "true" : "false") + "}";
    });
}

} // namespace scylla::cli::console
