#include "verbs/maintain.h"

#include "pg/memory.h"
#include "settings.h"
#include "verbs/args.h"
#include "verbs/history.h"

namespace scylla {

using model::Status;
using store::Store;
using store::TableId;

namespace {

// A lease whose time is over: the task runs again, or has failed too often.
void end_lease(Store &store, const store::SpecRow &spec, const store::LeaseRow &lease, TimestampTz now) {
    store::Carry carry = carry_on(lease, Ending::timeout, now);
    if (spec.max_attempts && carry.failures >= *spec.max_attempts) {
        carry.errors = add_error(carry.errors, make_error("timeout", "the lease expired and no attempts are left"));
        make_final(store, spec, {Status::aborted, lease.progress, nullptr, {}, carry, nullptr, nullptr}, now);
    } else
        make_ready(store, spec, carry, now);
}

// Runs `work` for each row of a scan with the memory of one row, until the portion is used up.
template <typename Work> void for_each(store::Scan scan, Portion *portion, Work work) {
    const RowMemory memory = begin_row_memory();
    while (next(scan)) {
        if (portion->done == portion->limit) {
            portion->more = true;
            break;
        }
        const bool go_on = work(scan);
        reset(memory);
        if (!go_on)
            break;
    }
    end(memory);
    end(scan);
}

// How long tasks stay, by queue.
struct Retention {
    int32 queue;
    int64 micros;
};
struct Retentions {
    std::span<Retention> by_queue;
    int64 shortest;
    int64 otherwise;
};

Retentions read_retentions(Store &store) {
    const int64 otherwise = static_cast<int64>(settings::retention) * model::k_second;
    std::size_t room = 64;
    std::size_t count = 0;
    auto *rows = static_cast<Retention *>(palloc(room * sizeof(Retention)));
    int64 shortest = otherwise;
    store::Scan scan = scan_queues(store);
    while (next(scan)) {
        const store::QueueRow queue = queue_row(scan);
        const auto own = args::retention(queue.retention);
        if (!own)
            continue;
        if (count == room) {
            room *= 2;
            rows = static_cast<Retention *>(repalloc_huge(rows, room * sizeof(Retention)));
        }
        rows[count++] = {queue.id, *own};
        shortest = Min(shortest, *own);
    }
    end(scan);
    return {{rows, count}, shortest, otherwise};
}

int64 retention_of(const Retentions &retentions, int32 queue) {
    for (const Retention &retention : retentions.by_queue)
        if (retention.queue == queue)
            return retention.micros;
    return retentions.otherwise;
}

} // namespace

void end_expired_leases(Store &store, TimestampTz now, Portion *portion, TimestampTz *next_time) {
    for_each(scan_leases(store), portion, [&](const store::Scan &scan) {
        const TimestampTz deadline = store::lease_deadline(scan);
        if (deadline > now) {
            *next_time = Min(*next_time, deadline);
            return true;
        }
        const store::LeaseRow lease = lease_row(scan);
        const auto spec = find_spec(store, lease.id, store::With::no_spec);
        if (!spec)
            return true; // being restored: a later round will see it
        if (take(store, TableId::lease, lease.tid, Wait::no) == store::Taken::ok) {
            end_lease(store, *spec, lease, now);
            portion->done++;
        } else
            portion->more = true; // somebody is just changing it
        return true;
    });
}

void open_due_tasks(Store &store, TimestampTz now, Portion *portion, TimestampTz *next_time) {
    for_each(scan_by_due(store), portion, [&](const store::Scan &scan) {
        const store::WaitingRow row = waiting_row(scan);
        if (!row.due)
            return false; // nulls come last
        if (*row.due > now) {
            *next_time = Min(*next_time, *row.due);
            return false;
        }
        const auto spec = find_spec(store, row.id, store::With::no_spec);
        if (!spec)
            return true; // being restored
        if (take(store, TableId::waiting, row.tid, Wait::no) == store::Taken::ok) {
            make_ready(store, *spec, row.carry, now);
            portion->done++;
        } else
            portion->more = true;
        return true;
    });
}

// Terminal tasks have no index by time. Ids follow the time of submission, and a task ends after it was submitted, so tasks
// that ended long ago have small ids: the walk starts at the smallest and is over at the first task that was submitted later
// than any that may be due. What it passes over in vain are the tasks that took long; their number is bounded too.
void purge_old_tasks(Store &store, TimestampTz now, Portion *portion, int64 *after) {
    constexpr int64 k_passed_over_per_removed = 10;
    const Retentions retentions = read_retentions(store);
    int64 passed_over = 0;
    int64 reached = *after;
    for_each(scan_outcomes(store, *after), portion, [&](const store::Scan &scan) {
        const store::OutcomeKey row = store::outcome_key(scan);
        reached = row.id;
        const auto spec = find_spec(store, row.id, store::With::no_spec);
        if (!spec)
            return true; // being restored
        if (row.finished + retention_of(retentions, row.queue) > now) {
            portion->more = ++passed_over / k_passed_over_per_removed >= portion->limit;
            return spec->created + retentions.shortest <= now && !portion->more;
        }
        // The spec first: it is the row that others may lock, and both go or none.
        if (take(store, TableId::spec, spec->tid, Wait::no) == store::Taken::ok) {
            if (take(store, TableId::outcome, row.tid, Wait::no) != store::Taken::ok)
                elog(ERROR, "outcome of task " INT64_FORMAT " was changed while its specification was removed", row.id);
            portion->done++;
        }
        return true;
    });
    *after = portion->more ? reached : 0;
}

} // namespace scylla

namespace {

constexpr int64 k_no_limit = PG_INT64_MAX;

} // namespace

SCYLLA_FUNCTION(scylla_reset_expired) {
    using namespace scylla;
    (void)fcinfo;
    store::Store store = open_for_write("scylla.reset_expired()");
    Portion portion{k_no_limit, 0, false};
    TimestampTz next = DT_NOEND;
    end_expired_leases(store, GetCurrentTimestamp(), &portion, &next);
    close(store);
    PG_RETURN_INT64(portion.done);
}

SCYLLA_FUNCTION(scylla_purge) {
    using namespace scylla;
    (void)fcinfo;
    store::Store store = open_for_write("scylla.purge()");
    Portion portion{k_no_limit, 0, false};
    int64 after = 0;
    purge_old_tasks(store, GetCurrentTimestamp(), &portion, &after);
    close(store);
    PG_RETURN_INT64(portion.done);
}

SCYLLA_FUNCTION(scylla_maintain) {
    using namespace scylla;
    (void)fcinfo;
    store::Store store = open_for_write("scylla.maintain()");
    const TimestampTz now = GetCurrentTimestamp();
    Portion portion{k_no_limit, 0, false};
    TimestampTz next = DT_NOEND;
    int64 after = 0;
    open_due_tasks(store, now, &portion, &next);
    end_expired_leases(store, now, &portion, &next);
    purge_old_tasks(store, now, &portion, &after);
    close(store);
    PG_RETURN_VOID();
}
