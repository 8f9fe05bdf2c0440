#include "store/queue_changes.h"

#include "pg/hash.h"
#include "store/locks.h"
#include "store/queue/queues.h"

namespace scylla::store {

namespace {

// ---- making one ----------------------------------------------------------------------------------------------------

// The queues that a transaction has created.
struct OwnQueues {
    TransactionId by;
    std::size_t count;
    std::array<int32, 64> queue;
};
constinit OwnQueues own_queues{};

void note_own(int32 queue) {
    const TransactionId own = GetTopTransactionId();
    if (own_queues.by != own)
        own_queues = {own, 0, {}};
    if (own_queues.count < own_queues.queue.size())
        own_queues.queue[own_queues.count++] = queue;
}

// Returns the id of the queue, or nullopt if its name is taken. The columns are those of k_queue_settings.
std::optional<int32> insert(const text *name, const QueueSettings &settings) {
    static constinit SPIPlanPtr statement = nullptr;
    constexpr std::size_t k_count = 2 + k_queue_settings.size();
    std::array<Oid, k_count> types{TEXTOID, TEXTOID};
    std::array<Datum, k_count> values{PointerGetDatum(name),
                                      CStringGetTextDatum(GetUserNameFromId(GetUserId(), false))};
    std::array<char, k_count + 1> nulls{' ', ' '};
    StringInfoData columns;
    StringInfoData places;
    initStringInfo(&columns);
    initStringInfo(&places);
    for (std::size_t i = 0; i < k_queue_settings.size(); i++) {
        const Setting &setting = k_queue_settings[i];
        const NullableDatum value = get(settings, setting);
        types[i + 2] = type_of(setting);
        values[i + 2] = value.value;
        nulls[i + 2] = value.isnull ? 'n' : ' ';
        appendStringInfo(&columns, ", %s", setting.name);
        appendStringInfo(&places, ", $%zu", i + 3);
    }
    const char *sql = psprintf("insert into scylla.queue (name, owner%s) values ($1, $2::name%s) "
                               "on conflict (name) do nothing returning id",
                               columns.data, places.data);
    return act_as_owner([&]() -> std::optional<int32> {
        run(&statement, sql, types, values, nulls.data(), SPI_OK_INSERT_RETURNING);
        if (SPI_processed == 0)
            return std::nullopt;
        bool null = false;
        return DatumGetInt32(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &null));
    });
}

} // namespace

bool insert_queue(const text *name, const QueueSettings &settings) {
    // Two never insert a row of the same name at once: ON CONFLICT knows nothing of the index that REINDEX CONCURRENTLY
    // builds, and both would find the other there only. The later one waits here or for the row of the first.
    const LOCKTAG tag = name_lock_tag(hash_of(name));
    (void)LockAcquire(&tag, ExclusiveLock, false, false);
    // No other process knows the queue yet; but after a rollback this process must forget it. Before the insert: a
    // change that is announced after it is lost if an error ends the command.
    tell_changed(TableId::queue);
    const auto inserted = insert(name, settings);
    if (inserted)
        note_own(*inserted);
    LockRelease(&tag, ExclusiveLock, false);
    return inserted.has_value();
}

bool is_own_queue(int32 queue) {
    const auto own = std::span(own_queues.queue).first(own_queues.count);
    return own_queues.by == GetTopTransactionIdIfAny() && std::find(own.begin(), own.end(), queue) != own.end();
}

void add_grantee(int32 queue, model::Privilege privilege, const text *role) {
    tell_changed(TableId::queue);
    queues::grant_to(queue, privilege, role);
}

void remove_grantee(int32 queue, model::Privilege privilege, const text *role) {
    tell_changed(TableId::queue);
    queues::revoke_from(queue, privilege, role);
}

void set_queue_owner(int32 queue, const text *owner) {
    tell_changed(TableId::queue);
    queues::set_owner(queue, owner);
}

} // namespace scylla::store
