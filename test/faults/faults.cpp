// Makes the n-th call fail that the library makes to the server: whatever it calls that may raise an error.
//
// The library under test is the one that is shipped. Its calls to the server go through a table of addresses, which the
// dynamic linker fills; here the addresses of functions that may raise are replaced by ones that count, and then call
// the real one. So every allocation, every row, index entry, lock, look into a catalog and statement of the library is
// a step at which it can be made to fail, in commit callbacks too.
//
// In a session that is asked for by SQL. In a monitor nobody can ask, so where this library is preloaded after the one
// under test a monitor looks at its first step into the file that SCYLLA_FAULT names. It holds the number of the step
// that is to fail, or "hold": to wait until something else is in it. What comes of it is left there: "failed", or
// "passed" when the monitor goes to sleep for the first time, and its pid. Time passes a thousand times as fast for the
// launcher then: it lets five seconds go by after a failure.
#include "pg/prelude.h"

extern "C" {
#include "commands/async.h"

#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

PG_MODULE_MAGIC;
PGDLLEXPORT void _PG_init(void);
}

namespace {

enum class Mode : int { error, cancel };

constinit bool armed = false;
constinit Mode mode = Mode::error;
constinit int64 fails_at = 0; // 0: never
constinit int64 passed = 0;

constexpr int k_haste = 1000;
constinit bool asked = false; // a background worker: it has looked what it is to do
constinit bool hasty = false; // the launcher

bool is_worker(const char *type) { return MyBgworkerEntry != nullptr && strcmp(MyBgworkerEntry->bgw_type, type) == 0; }

// What the file says.
std::string_view read_orders(std::span<char> room) {
    const char *file = getenv("SCYLLA_FAULT");
    const int fd = file != nullptr ? open(file, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0)
        return "none";
    const ssize_t length = read(fd, room.data(), room.size());
    close(fd);
    return {room.data(), static_cast<std::size_t>(Max(length, 0))};
}

void report(const char *outcome) {
    char line[32];
    const int length = snprintf(line, sizeof(line), "%s %d", outcome, MyProcPid);
    const int fd = open(getenv("SCYLLA_FAULT"), O_WRONLY | O_TRUNC | O_CLOEXEC);
    if (fd < 0 || write(fd, line, static_cast<std::size_t>(length)) != length)
        elog(FATAL, "could not write to the file that SCYLLA_FAULT names: %m");
    close(fd);
}

void ask() {
    asked = true;
    hasty = is_worker("scylla launcher");
    if (!is_worker("scylla monitor"))
        return;
    std::array<char, 32> room{};
    std::string_view orders = read_orders(std::span(room).first(room.size() - 1));
    while (orders.empty() || orders.starts_with("hold")) { // empty: it is just being written
        CHECK_FOR_INTERRUPTS();
        pg_usleep(1000);
        orders = read_orders(std::span(room).first(room.size() - 1));
    }
    fails_at = atoll(orders.data());
    armed = fails_at > 0;
}

// A step of the library. The armed one fails at once, or leaves a cancel behind for the next look at interrupts.
void step(const char *function) {
    if (MyBgworkerEntry != nullptr && !asked)
        ask();
    if (!armed || ++passed != fails_at)
        return;
    armed = false;
    if (MyBgworkerEntry != nullptr)
        report("failed");
    if (mode == Mode::cancel) {
        QueryCancelPending = true;
        InterruptPending = true;
        return;
    }
    ereport(ERROR,
            (errcode(ERRCODE_SYSTEM_ERROR), errmsg("injected error at step " INT64_FORMAT ": %s()", passed, function)));
}

template <int N, typename F> struct Hook;
template <int N, typename R, typename... A> struct Hook<N, R(A...)> {
    using Function = R (*)(A...);
    static inline Function real = nullptr;
    static inline const char *name = nullptr;
    static R call(A... arguments) {
        step(name);
        return real(arguments...);
    }
};

struct Entry {
    const char *name;
    const char **hook_name;
    void **real;
    void *call;
};

using WaitLatchHook = Hook<-1, decltype(WaitLatch)>;
int wait_latch(Latch *latch, int events, long timeout, uint32 wait_event) {
    step("WaitLatch");
    if (armed && is_worker("scylla monitor")) {
        armed = false;
        report("passed");
    }
    return WaitLatchHook::real(latch, events, hasty ? (timeout + k_haste - 1) / k_haste : timeout, wait_event);
}

// Its declaration says that it does not throw, so it is no hook like the others.
constinit const char *clock_name = nullptr;
using Clock = int (*)(clockid_t, timespec *);
constinit Clock real_clock = nullptr;
int fast_clock(clockid_t clock, timespec *time) {
    if (MyBgworkerEntry != nullptr && !asked)
        ask();
    const int result = real_clock(clock, time);
    if (hasty && clock == CLOCK_MONOTONIC) {
        static constinit int64 began = 0;
        constexpr int64 k_second = 1'000'000'000;
        int64 now = time->tv_sec * k_second + time->tv_nsec;
        began = began != 0 ? began : now;
        now += (now - began) * (k_haste - 1);
        *time = {now / k_second, now % k_second};
    }
    return result;
}

#define HOOKED(function) hooked<__COUNTER__, decltype(function)>(#function)
template <int N, typename F> Entry hooked(const char *name) {
    using H = Hook<N, F>;
    return {name, &H::name, reinterpret_cast<void **>(&H::real), reinterpret_cast<void *>(&H::call)};
}

// What the library calls and what may raise. Not here: what takes any number of arguments, what cannot raise, and what
// deals with an error that is on its way.
const Entry k_entries[] = {
    HOOKED(AllocSetContextCreateInternal),
    HOOKED(Async_Notify),
    HOOKED(BlessTupleDesc),
    HOOKED(CommandCounterIncrement),
    HOOKED(CommitTransactionCommand),
    HOOKED(CreateExecutorState),
    HOOKED(DirectFunctionCall1Coll),
    HOOKED(DirectFunctionCall2Coll),
    HOOKED(DirectFunctionCall3Coll),
    HOOKED(ExecFetchSlotHeapTuple),
    HOOKED(ExecInsertIndexTuples),
    HOOKED(ExecOpenIndices),
    HOOKED(ExecStoreHeapTuple),
    HOOKED(GetCurrentCommandId),
    HOOKED(GetLatestSnapshot),
    HOOKED(GetSysCacheOid),
    HOOKED(GetTopTransactionId),
    HOOKED(GetTransactionSnapshot),
    HOOKED(GetUserNameFromId),
    HOOKED(HeapTupleHeaderGetDatum),
    HOOKED(InitMaterializedSRF),
    HOOKED(JsonbIteratorInit),
    HOOKED(JsonbIteratorNext),
    HOOKED(JsonbToCString),
    HOOKED(JsonbValueToJsonb),
    HOOKED(LockAcquire),
    HOOKED(LockBuffer),
    HOOKED(LockDatabaseObject),
    HOOKED(LockRelationOid),
    HOOKED(LookupFuncName),
    HOOKED(MakeSingleTupleTableSlot),
    HOOKED(MemoryContextAlloc),
    HOOKED(MemoryContextAllocHuge),
    HOOKED(MemoryContextAllocZero),
    HOOKED(OidOutputFunctionCall),
    HOOKED(PushActiveSnapshot),
    HOOKED(ReadBuffer),
    HOOKED(RegisterSnapshot),
    HOOKED(RelationGetIndexList),
    HOOKED(RelationGetNumberOfBlocksInFork),
    HOOKED(SPI_commit),
    HOOKED(SPI_connect),
    HOOKED(SPI_connect_ext),
    HOOKED(SPI_execute_plan),
    HOOKED(SPI_execute_with_args),
    HOOKED(SPI_finish),
    HOOKED(SPI_getbinval),
    HOOKED(SPI_keepplan),
    HOOKED(SPI_prepare),
    HOOKED(SearchSysCache1),
    HOOKED(StartTransactionCommand),
    HOOKED(TransactionIdIsInProgress),
    {"WaitLatch", &WaitLatchHook::name, reinterpret_cast<void **>(&WaitLatchHook::real),
     reinterpret_cast<void *>(&wait_latch)},
    {"clock_gettime", &clock_name, reinterpret_cast<void **>(&real_clock), reinterpret_cast<void *>(&fast_clock)},
#if PG_VERSION_NUM >= 160000
    HOOKED(check_can_set_role),
#else
    HOOKED(check_is_member_of_role),
#endif
    HOOKED(construct_array),
    HOOKED(construct_md_array),
    HOOKED(cstring_to_text),
    HOOKED(cstring_to_text_with_len),
    HOOKED(datumCopy),
    HOOKED(deconstruct_array),
    HOOKED(fmgr_info),
    HOOKED(getIthJsonbValueFromContainer),
    HOOKED(getKeyJsonValueFromContainer),
    HOOKED(getTypeOutputInfo),
    HOOKED(get_array_type),
    HOOKED(get_call_result_type),
    HOOKED(get_database_oid),
    HOOKED(get_extension_oid),
    HOOKED(get_func_name),
    HOOKED(get_func_rettype),
    HOOKED(get_namespace_oid),
    HOOKED(get_relname_relid),
    HOOKED(get_role_oid),
    HOOKED(get_typlenbyvalalign),
    HOOKED(has_privs_of_role),
    HOOKED(hash_create),
    HOOKED(hash_search),
    HOOKED(heap_deform_tuple),
    HOOKED(heap_form_tuple),
    HOOKED(heap_getnext),
    HOOKED(heap_hot_search_buffer),
    HOOKED(heap_insert),
    HOOKED(heap_multi_insert),
    HOOKED(heap_page_prune_opt),
    HOOKED(heap_update),
    HOOKED(index_beginscan),
    HOOKED(index_close),
    HOOKED(index_endscan),
    HOOKED(index_fetch_heap),
    HOOKED(index_getnext_tid),
    HOOKED(index_insert),
    HOOKED(index_open),
    HOOKED(index_rescan),
    HOOKED(initStringInfo),
    HOOKED(int64_to_numeric),
    HOOKED(interval_in),
    HOOKED(jsonb_concat),
    HOOKED(jsonb_in),
    HOOKED(lookup_rowtype_tupdesc),
    HOOKED(nextval_internal),
    HOOKED(nocache_index_getattr),
    HOOKED(numeric_in),
    HOOKED(numeric_trunc),
    HOOKED(palloc),
    HOOKED(palloc0),
    HOOKED(palloc_extended),
    HOOKED(pg_detoast_datum),
    HOOKED(pg_detoast_datum_copy),
    HOOKED(pg_detoast_datum_packed),
    HOOKED(pg_mbstrlen_with_len),
    HOOKED(pnstrdup),
    HOOKED(pstrdup),
    HOOKED(pushJsonbValue),
    HOOKED(repalloc),
    HOOKED(repalloc_huge),
    HOOKED(slot_getsomeattrs_int),
    HOOKED(systable_beginscan),
    HOOKED(systable_endscan),
    HOOKED(systable_getnext),
    HOOKED(table_beginscan_catalog),
    HOOKED(table_close),
    HOOKED(table_open),
    HOOKED(text_to_cstring),
    HOOKED(timestamptz_in),
    HOOKED(tuplestore_puttuple),
    HOOKED(tuplestore_putvalues),
};

// The addresses through which a library calls others.
struct Library {
    const char *strings;
    const ElfW(Sym) * symbols;
    struct {
        const ElfW(Rela) * first;
        std::size_t bytes;
    } addresses[2];
};

Library read_dynamic(const dl_phdr_info *info, const ElfW(Dyn) * dynamic) {
    Library library{};
    const auto at = [info](const ElfW(Dyn) * entry) {
        const auto address = entry->d_un.d_ptr; // absolute, or still relative to where the library is
        return address < info->dlpi_addr ? address + info->dlpi_addr : address;
    };
    for (; dynamic->d_tag != DT_NULL; dynamic++)
        switch (dynamic->d_tag) {
        case DT_STRTAB:
            library.strings = reinterpret_cast<const char *>(at(dynamic));
            break;
        case DT_SYMTAB:
            library.symbols = reinterpret_cast<const ElfW(Sym) *>(at(dynamic));
            break;
        case DT_JMPREL:
            library.addresses[0].first = reinterpret_cast<const ElfW(Rela) *>(at(dynamic));
            break;
        case DT_PLTRELSZ:
            library.addresses[0].bytes = dynamic->d_un.d_val;
            break;
        case DT_RELA:
            library.addresses[1].first = reinterpret_cast<const ElfW(Rela) *>(at(dynamic));
            break;
        case DT_RELASZ:
            library.addresses[1].bytes = dynamic->d_un.d_val;
            break;
        default:
            break;
        }
    return library;
}

const Entry *find_entry(std::string_view name) {
    for (const Entry &entry : k_entries)
        if (name == entry.name)
            return &entry;
    return nullptr;
}

// Puts the address of the hook in the place of the function's. The page is read-only since the library was loaded.
void replace(ElfW(Addr) place, const Entry &entry) {
    const auto page = static_cast<ElfW(Addr)>(sysconf(_SC_PAGESIZE));
    auto *address = reinterpret_cast<void **>(place);
    if (*address == entry.call)
        return;
    if (mprotect(reinterpret_cast<void *>(place & ~(page - 1)), page, PROT_READ | PROT_WRITE) != 0)
        elog(ERROR, "mprotect: %m");
    *entry.hook_name = entry.name;
    *entry.real = *address;
    *address = entry.call;
}

extern "C" int hook_library(dl_phdr_info *info, size_t, void *count) {
    if (!std::string_view(info->dlpi_name).ends_with("/scylla.so"))
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type != PT_DYNAMIC)
            continue;
        const Library library =
            read_dynamic(info, reinterpret_cast<const ElfW(Dyn) *>(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr));
        for (const auto &addresses : library.addresses)
            for (std::size_t r = 0; r < addresses.bytes / sizeof(ElfW(Rela)); r++) {
                const ElfW(Rela) &relocation = addresses.first[r];
                const auto symbol = ELF64_R_SYM(relocation.r_info);
                if (symbol == 0 || relocation.r_addend != 0)
                    continue;
                if (const Entry *entry = find_entry(library.strings + library.symbols[symbol].st_name)) {
                    replace(info->dlpi_addr + relocation.r_offset, *entry);
                    ++*static_cast<int *>(count);
                }
            }
    }
    return 1;
}

} // namespace

// Preloaded: in every process of the server.
void _PG_init() {
    int count = 0;
    if (process_shared_preload_libraries_in_progress)
        dl_iterate_phdr(hook_library, &count);
}

// Which functions the library calls by way of the hooks from now on: how many.
SCYLLA_FUNCTION(install_faults) {
    (void)fcinfo;
    int count = 0;
    dl_iterate_phdr(hook_library, &count);
    PG_RETURN_INT32(count);
}

// Counts the steps from here; the given one fails.
SCYLLA_FUNCTION(arm_fault) {
    fails_at = PG_GETARG_INT64(0);
    mode = PG_GETARG_BOOL(1) ? Mode::cancel : Mode::error;
    passed = 0;
    armed = true;
    PG_RETURN_VOID();
}

// Stops counting. How many steps there were, negative if one of them failed.
SCYLLA_FUNCTION(disarm_fault) {
    (void)fcinfo;
    const bool fired = !armed;
    armed = false;
    QueryCancelPending = false; // it may have come too late for anybody to look
    PG_RETURN_INT64(fired ? -passed : passed);
}

// Ends the session, as whatever it runs cannot catch.
SCYLLA_FUNCTION(raise_fatal) {
    (void)fcinfo;
    ereport(FATAL, errmsg("fatal"));
    PG_RETURN_NULL();
}

// A handler that catches whatever interrupts it, without a subtransaction that would show that.
SCYLLA_FUNCTION(ignore_cancel) {
    (void)fcinfo;
    MemoryContext caller = CurrentMemoryContext;
    for (;;) {
        PG_TRY();
        {
            pg_usleep(10'000);
            CHECK_FOR_INTERRUPTS();
        }
        PG_CATCH();
        {
            MemoryContextSwitchTo(caller);
            FlushErrorState();
        }
        PG_END_TRY();
    }
    PG_RETURN_NULL();
}

// One that nothing but the end of the server ends.
SCYLLA_FUNCTION(never_check) {
    (void)fcinfo;
    for (;;)
        pg_usleep(10'000);
    PG_RETURN_NULL();
}
