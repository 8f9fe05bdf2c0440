// Where the tables are, what they must look like, and opening them.
#include "model/version.h"
#include "pg/error.h"
#include "store/table.h"

namespace scylla::store {

namespace {

constexpr std::array<TableDef, k_tables> k_definitions = {{
    {.name = "queue",
     .columns = queue_col::k_columns,
     .indexes = {{{.name = "queue_pkey", .key = {{{queue_col::id}}}, .columns = 1, .unique = true},
                  {.name = "queue_name_key", .key = {{{queue_col::name}}}, .columns = 1, .unique = true}}},
     .index_count = 2},
    {.name = "task_spec",
     .columns = spec_col::k_columns,
     .indexes = {{{.name = "task_spec_pkey",
                   .key = {{{spec_col::id}, {spec_col::queue}}},
                   .columns = 2,
                   .included = 1,
                   .unique = true},
                  {.name = "task_spec_rn", .key = {{{spec_col::rn, Order::bytes}}}, .columns = 1, .unique = true}}},
     .index_count = 2},
    {.name = "task_ready",
     .columns = ready_col::k_columns,
     .indexes = {{{.name = "task_ready_order",
                   .key = {{{ready_col::queue}, {ready_col::priority, Order::descending}, {ready_col::id}}},
                   .columns = 3,
                   .unique = true},
                  {.name = "task_ready_key",
                   .key = {{{ready_col::queue},
                            {ready_col::key, Order::bytes},
                            {ready_col::priority, Order::descending},
                            {ready_col::id}}},
                   .columns = 4,
                   .not_null = ready_col::key}}},
     .index_count = 2},
    {.name = "task_lease",
     .columns = lease_col::k_columns,
     .indexes = {{{.name = "task_lease_pkey", .key = {{{lease_col::id}}}, .columns = 1, .unique = true},
                  {.name = "task_lease_permit",
                   .key = {{{lease_col::queue}, {lease_col::permit, Order::bytes}, {lease_col::id}}},
                   .columns = 3,
                   .not_null = lease_col::permit}}},
     .index_count = 2},
    {.name = "task_waiting",
     .columns = waiting_col::k_columns,
     .indexes = {{{.name = "task_waiting_pkey", .key = {{{waiting_col::id}}}, .columns = 1, .unique = true},
                  {.name = "task_waiting_due", .key = {{{waiting_col::due}}}, .columns = 1}}},
     .index_count = 2},
    {.name = "task_outcome",
     .columns = outcome_col::k_columns,
     .indexes = {{{.name = "task_outcome_pkey",
                   .key = {{{outcome_col::id}, {outcome_col::queue}, {outcome_col::status}}},
                   .columns = 3,
                   .included = 2,
                   .unique = true}}},
     .index_count = 1},
    {.name = "task_gate",
     .columns = gate_col::k_columns,
     .indexes =
         {{{.name = "task_gate_pkey", .key = {{{gate_col::task}, {gate_col::ord}}}, .columns = 2, .unique = true},
           {.name = "task_gate_provider", .key = {{{gate_col::provider}, {gate_col::task}}}, .columns = 2}}},
     .index_count = 2},
    {.name = "task_plan",
     .columns = plan_col::k_columns,
     .indexes = {{{.name = "task_plan_pkey", .key = {{{plan_col::id}}}, .columns = 1, .unique = true},
                  {.name = "task_plan_name", .key = {{{plan_col::name, Order::bytes}}}, .columns = 1, .unique = true}}},
     .index_count = 2},
    {.name = "task_dedup",
     .columns = dedup_col::k_columns,
     .indexes = {{{.name = "task_dedup_key",
                   .key = {{{dedup_col::queue}, {dedup_col::key, Order::bytes}}},
                   .columns = 2,
                   .unique = true}}},
     .index_count = 1},
    {.name = "event",
     .columns = event_col::k_columns,
     .indexes =
         {{{.name = "event_pkey", .key = {{{event_col::position}, {event_col::id}}}, .columns = 2, .unique = true}}},
     .index_count = 1},
    {.name = "task_condition_end",
     .columns = condition_end_col::k_columns,
     .indexes =
         {{{.name = "task_condition_end_pkey", .key = {{{condition_end_col::id}}}, .columns = 1, .unique = true}}},
     .index_count = 1},
    {.name = "signal_condition",
     .columns = signal_condition_col::k_columns,
     .indexes =
         {{{.name = "signal_condition_pkey", .key = {{{signal_condition_col::id}}}, .columns = 1, .unique = true},
           {.name = "signal_condition_match",
            .key = {{{signal_condition_col::digest}, {signal_condition_col::bound, Order::bytes}}},
            .columns = 2}}},
     .index_count = 2},
    {.name = "signal_shape",
     .columns = signal_shape_col::k_columns,
     .indexes = {{{.name = "signal_shape_pkey", .key = {{{signal_shape_col::id}}}, .columns = 1, .unique = true},
                  {.name = "signal_shape_name", .key = {{{signal_shape_col::name, Order::bytes}}}, .columns = 1}}},
     .index_count = 2},
    {.name = "pool_line",
     .columns = line_col::k_columns,
     .indexes = {{{.name = "pool_line_order",
                   .key = {{{line_col::pool}, {line_col::task_class}, {line_col::task}}},
                   .columns = 3},
                  {.name = "pool_line_task", .key = {{{line_col::task}}}, .columns = 1}}},
     .index_count = 2},
    {.name = "task_reservation",
     .columns = reservation_col::k_columns,
     .indexes = {{{.name = "task_reservation_pkey",
                   .key = {{{reservation_col::task}, {reservation_col::pool}}},
                   .columns = 2,
                   .unique = true},
                  {.name = "task_reservation_pool", .key = {{{reservation_col::pool}}}, .columns = 1}}},
     .index_count = 2},
    {.name = "task_memo",
     .columns = memo_col::k_columns,
     .indexes = {{{.name = "task_memo_pkey", .key = {{{memo_col::id}}}, .columns = 1, .unique = true}}},
     .index_count = 1},
    {.name = "task_check",
     .columns = check_col::k_columns,
     .indexes = {{{.name = "task_check_pkey", .key = {{{check_col::id}}}, .columns = 1, .unique = true},
                  {.name = "task_check_digest", .key = {{{check_col::digest}}}, .columns = 1}}},
     .index_count = 2},
}};

// Oids of our tables and indexes, found by name and kept until the server says that one of them has changed.
struct Oids {
    bool valid;
    std::array<Oid, k_tables> table;
    std::array<std::array<Oid, 2>, k_tables> index; // 0: there is none of that name
    std::array<bool, k_tables> has_shape;           // it has been held against its definition
};
constinit Oids oids{};
constinit uint64 invalidations = 0; // of whatever table
constinit uint64 changes = 0;       // of ours
constinit bool callbacks_registered = false;

// The table that the relation is, or that it is an index of.
std::optional<std::size_t> table_of(Oid relation) noexcept {
    for (std::size_t t = 0; t < k_tables; t++)
        if (oids.table[t] == relation || oids.index[t][0] == relation || oids.index[t][1] == relation)
            return t;
    return std::nullopt;
}

void forget_oids() noexcept {
    changes++;
    oids.valid = false;
}

extern "C" void forget_relation(Datum, Oid relation) {
    invalidations++;
    if (relation == InvalidOid) {
        oids.has_shape = {};
        forget_oids();
    } else if (const auto t = table_of(relation)) {
        oids.has_shape[*t] = false;
        forget_oids();
    }
}

extern "C" void forget_schema(Datum, compat::SyscacheId, uint32) {
    invalidations++;
    forget_oids();
}

// The version of the extension's objects in this database; null if there are none.
const char *installed_version() {
    const char *version = nullptr;
    Relation rel = table_open(ExtensionRelationId, AccessShareLock);
    ScanKeyData key;
    ScanKeyInit(&key, Anum_pg_extension_extname, BTEqualStrategyNumber, F_NAMEEQ, CStringGetDatum("scylla"));
    SysScanDesc scan = systable_beginscan(rel, ExtensionNameIndexId, true, nullptr, 1, &key);
    if (HeapTuple tuple = systable_getnext(scan); HeapTupleIsValid(tuple)) {
        bool null = false;
        version = TextDatumGetCString(heap_getattr(tuple, Anum_pg_extension_extversion, RelationGetDescr(rel), &null));
    }
    systable_endscan(scan);
    table_close(rel, AccessShareLock);
    return version;
}

// The library knows the places of columns, so it works with the objects of its own version only.
void require_own_version(const char *installed) {
    const auto theirs = model::release_of(installed);
    constexpr auto ours = model::release_of(SCYLLA_VERSION);
    if (theirs != ours)
        error::other_version(installed, theirs < ours);
}

// The name that the schema of the extension has now; null: it has none.
const char *name_of_schema(Oid extension) {
    const char *name = nullptr;
    Relation rel = table_open(DependRelationId, AccessShareLock);
    std::array<ScanKeyData, 2> key;
    ScanKeyInit(&key[0], Anum_pg_depend_refclassid, BTEqualStrategyNumber, F_OIDEQ,
                ObjectIdGetDatum(ExtensionRelationId));
    ScanKeyInit(&key[1], Anum_pg_depend_refobjid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(extension));
    SysScanDesc scan = systable_beginscan(rel, DependReferenceIndexId, true, nullptr, 2, key.data());
    for (HeapTuple tuple = systable_getnext(scan); name == nullptr && HeapTupleIsValid(tuple);
         tuple = systable_getnext(scan)) {
        const auto *row = reinterpret_cast<Form_pg_depend>(GETSTRUCT(tuple));
        if (row->classid == NamespaceRelationId && row->deptype == DEPENDENCY_EXTENSION)
            name = get_namespace_name(row->objid);
    }
    systable_endscan(scan);
    table_close(rel, AccessShareLock);
    return name;
}

// Raises an error that says what is missing: the extension, its schema or a table. Returns if it has come meanwhile.
void report_missing() {
    const Oid extension = get_extension_oid("scylla", true);
    if (!OidIsValid(extension))
        error::not_installed();
    const Oid schema = get_namespace_oid("scylla", true);
    if (!OidIsValid(schema))
        error::schema_renamed(name_of_schema(extension));
    for (const TableDef &def : k_definitions)
        if (!OidIsValid(get_relname_relid(def.name, schema)))
            error::no_such_table(def.name);
}

// Returns false if the extension or a table does not exist.
bool find_oids() {
    if (oids.valid)
        return true;
    if (!callbacks_registered) {
        CacheRegisterRelcacheCallback(forget_relation, 0);
        CacheRegisterSyscacheCallback(NAMESPACEOID, forget_schema, 0);
        callbacks_registered = true;
    }
    const uint64 seen = invalidations;
    const Oid schema = get_namespace_oid("scylla", true);
    const char *version = OidIsValid(schema) ? installed_version() : nullptr;
    if (version == nullptr)
        return false;
    require_own_version(version);
    Oids found{};
    for (std::size_t t = 0; t < k_tables; t++) {
        found.table[t] = get_relname_relid(k_definitions[t].name, schema);
        if (!OidIsValid(found.table[t]))
            return false;
        for (int i = 0; i < k_definitions[t].index_count; i++) {
            const auto at = static_cast<std::size_t>(i);
            found.index[t][at] = get_relname_relid(k_definitions[t].indexes[at].name, schema);
        }
    }
    for (std::size_t t = 0; t < k_tables; t++)
        found.has_shape[t] = oids.has_shape[t] && found.table[t] == oids.table[t] && found.index[t] == oids.index[t];
    found.valid = seen == invalidations; // else good for now, but to be looked up again
    oids = found;
    changes++; // what was told of them before was not known to be theirs
    return true;
}

// Taking a lock processes invalidations of what others have committed before: the extension may have been dropped and
// created again, or an index replaced by REINDEX CONCURRENTLY. So the OIDs are valid only if they have not changed when
// the table is locked. Returns false if the extension is not there.
bool lock_present(TableId id, LOCKMODE mode) {
    const auto t = static_cast<std::size_t>(id);
    while (find_oids()) {
        const Oid known = oids.table[t];
        LockRelationOid(known, mode);
        if (find_oids() && oids.table[t] == known)
            return true;
        UnlockRelationOid(known, mode);
    }
    return false;
}

void require_oids() {
    while (!find_oids())
        report_missing();
}

// Everything that this layer takes for granted of a table, once for each change that the server tells of.
void require_shape(const Table &table) {
    const auto t = static_cast<std::size_t>(table.id);
    if (oids.valid && oids.has_shape[t])
        return;
    const TableDef &def = definition(table.id);
    // REINDEX CONCURRENTLY gives the name of an index to another one. Of that the server tells a moment after it can be
    // seen, so an index that was found by its name may not be valid any more.
    constexpr int k_attempts = 10;
    for (int attempt = 1;; attempt++) {
        const char *problem = shape_problem(def, table.rel, oids.index[t]);
        if (problem == nullptr)
            break;
        if (attempt == k_attempts)
            error::other_shape(def.name, problem);
        CHECK_FOR_INTERRUPTS();
        pg_usleep(1000);
        AcceptInvalidationMessages();
        forget_oids();
        require_oids();
    }
    oids.has_shape[t] = oids.valid; // else a change was told meanwhile
}

bool has_own_indexes_only(const Table &table) {
    if (!table.rel->rd_indexvalid)
        list_free(RelationGetIndexList(table.rel)); // the relation keeps a list of its own
    return list_length(table.rel->rd_indexlist) == definition(table.id).index_count;
}

Relation open_to_read(TableId id) {
    lock_table(id, AccessShareLock);
    return table_open(oids.table[static_cast<std::size_t>(id)], NoLock);
}

} // namespace

const TableDef &definition(TableId id) noexcept { return k_definitions[static_cast<std::size_t>(id)]; }

std::optional<TableId> table_of_name(std::string_view name) noexcept {
    for (std::size_t t = 0; t < k_tables; t++)
        if (name == k_definitions[t].name)
            return static_cast<TableId>(t);
    return std::nullopt;
}

// REINDEX CONCURRENTLY names a new index NAME_ccnew, the old one NAME_ccold, and adds a number if there is one from an
// earlier call that was interrupted. Such a copy refuses what the index refuses.
bool is_name_of(const IndexDef &def, std::string_view index) noexcept {
    const std::string_view name = def.name;
    if (index.substr(0, name.size()) != name)
        return false;
    index.remove_prefix(name.size());
    if (index.substr(0, 6) == "_ccnew" || index.substr(0, 6) == "_ccold")
        return index.find_first_not_of("0123456789", 6) == std::string_view::npos;
    return index.empty();
}

bool is_own_index(std::string_view table, std::string_view index) noexcept {
    const auto id = table_of_name(table);
    if (!id)
        return false;
    const TableDef &def = definition(*id);
    const auto ours = std::span(def.indexes).first(static_cast<std::size_t>(def.index_count));
    return std::any_of(ours.begin(), ours.end(), [index](const IndexDef &each) { return is_name_of(each, index); });
}

bool hold_installed() {
    const Oid extension = get_extension_oid("scylla", true);
    if (!OidIsValid(extension))
        return false;
    // What DROP EXTENSION locks before anything else: or each of us could hold a table that the other one wants.
    LockDatabaseObject(ExtensionRelationId, extension, 0, AccessShareLock);
    while (!lock_present(TableId::spec, AccessShareLock)) {
        if (!OidIsValid(get_extension_oid("scylla", true)))
            return false; // dropped while we waited for the lock
        report_missing();
    }
    return true;
}

bool is_our_schema(Oid schema) {
    const Oid extension = OidIsValid(schema) ? getExtensionOfObject(NamespaceRelationId, schema) : InvalidOid;
    return OidIsValid(extension) && extension == get_extension_oid("scylla", true);
}

Oid identity() {
    require_oids();
    return oids.table[static_cast<std::size_t>(TableId::spec)];
}

uint64 table_changes() noexcept { return changes; }

void tell_changed(TableId id) {
    require_oids();
    CacheInvalidateRelcacheByRelid(oids.table[static_cast<std::size_t>(id)]);
}

void tell_at_once(TableId id) {
    require_oids();
    SharedInvalidationMessage message;
    message.rc.id = SHAREDINVALRELCACHE_ID;
    message.rc.dbId = MyDatabaseId;
    message.rc.relId = oids.table[static_cast<std::size_t>(id)];
    SendSharedInvalidMessages(&message, 1);
}

Oid tables_owner() {
    lock_table(TableId::spec, AccessShareLock);
    Relation rel = table_open(oids.table[static_cast<std::size_t>(TableId::spec)], NoLock);
    const Oid role = rel->rd_rel->relowner;
    table_close(rel, AccessShareLock);
    return role;
}

Table open(TableId id, LOCKMODE mode) {
    lock_table(id, mode);
    Table table{};
    table.id = id;
    table.mode = mode;
    table.rel = table_open(oids.table[static_cast<std::size_t>(id)], NoLock);
    require_shape(table);
    if (mode != AccessShareLock)
        table.own_indexes_only = has_own_indexes_only(table);
    return table;
}

const char *shape_problem(TableId id) {
    Relation rel = open_to_read(id);
    const char *problem = shape_problem(definition(id), rel, oids.index[static_cast<std::size_t>(id)]);
    table_close(rel, NoLock);
    return problem;
}

const char *bypassed(TableId id) {
    Relation rel = open_to_read(id);
    const char *what = bypassed(rel);
    table_close(rel, NoLock);
    return what;
}

Relation index_of(Table &table, std::size_t i) {
    if (table.index[i] == nullptr)
        table.index[i] = index_open(oids.index[static_cast<std::size_t>(table.id)][i], table.mode);
    return table.index[i];
}

void lock_table(TableId id, LOCKMODE mode) {
    while (!lock_present(id, mode))
        require_oids(); // says so; if it has come meanwhile, again
}

void close(Table &table) {
    if (table.rel == nullptr)
        return;
    for (Relation &index : table.index) {
        if (index != nullptr)
            index_close(index, NoLock);
        index = nullptr;
    }
    table_close(table.rel, NoLock);
    table.rel = nullptr;
}

} // namespace scylla::store
