// The statistics survive a clean restart in a file.
#include "shmem/stat_entries.h"

extern "C" {
#include "catalog/pg_control.h"
#include "common/controldata_utils.h"
#include "port/pg_crc32c.h"
#include "storage/fd.h"
}

namespace scylla::shmem {

namespace {

constexpr const char *k_file = PGSTAT_STAT_PERMANENT_DIRECTORY "/scylla.stat";
constexpr uint32 k_file_format = 0x5c111a01;

struct FileHeader {
    uint32 format;
    uint32 entry_size;
    int32 count;
    pg_crc32c checksum; // of the entries
};

pg_crc32c checksum_of(const StatEntry *entries, int count) {
    pg_crc32c sum;
    INIT_CRC32C(sum);
    COMP_CRC32C(sum, entries, sizeof(StatEntry) * static_cast<Size>(count));
    FIN_CRC32C(sum);
    return sum;
}

// In the postmaster, when everybody else has gone.
extern "C" void save_stats(int code, Datum) {
    if (code != 0 || stats == nullptr)
        return;
    const FileHeader header{k_file_format, sizeof(StatEntry), stats->count,
                            checksum_of(&stats->entry(0), stats->count)};
    const auto count = static_cast<Size>(stats->count);
    FILE *file = AllocateFile(psprintf("%s.tmp", k_file), PG_BINARY_W);
    const bool written = file != nullptr && fwrite(&header, sizeof(header), 1, file) == 1 &&
                         (count == 0 || fwrite(&stats->entry(0), sizeof(StatEntry), count, file) == count);
    if (file != nullptr && FreeFile(file) == 0 && written)
        (void)durable_rename(psprintf("%s.tmp", k_file), k_file, LOG);
    else {
        const int error = errno;
        ereport(LOG, (errcode_for_file_access(), errmsg("could not write file \"%s\": %s", k_file, strerror(error))));
        unlink(psprintf("%s.tmp", k_file));
    }
}

bool was_shut_down_cleanly() {
    bool crc_ok = false;
    ControlFileData *control = get_controlfile(DataDir, &crc_ok);
    const bool clean = crc_ok && (control->state == DB_SHUTDOWNED || control->state == DB_SHUTDOWNED_IN_RECOVERY);
    pfree(control);
    return clean;
}

// Takes over what the file tells. False: it cannot be used.
bool load(FILE *file) {
    FileHeader header;
    if (fread(&header, sizeof(header), 1, file) != 1 || header.format != k_file_format ||
        header.entry_size != sizeof(StatEntry) || header.count < 0)
        return false;
    const auto count = static_cast<Size>(header.count);
    auto *entries = static_cast<StatEntry *>(palloc_extended(count * sizeof(StatEntry) + 1, MCXT_ALLOC_HUGE));
    const bool good = (count == 0 || fread(entries, sizeof(StatEntry), count, file) == count) &&
                      header.checksum == checksum_of(entries, header.count);
    for (Size i = 0; good && i < count && i < static_cast<Size>(stats->size); i++) {
        const StatEntry &saved = entries[i];
        StatEntry *entry = find_or_make_entry(saved.id, saved.used); // nothing is in flight
        entry->reset = saved.reset;
        entry->stats = saved.stats;
        entry->stats.place = {};
        entry->monitor = saved.monitor;
    }
    pfree(entries);
    return good;
}

} // namespace

void restore_stats() {
    if (!IsUnderPostmaster)
        on_shmem_exit(save_stats, 0);
    FILE *file = AllocateFile(k_file, PG_BINARY_R);
    if (file == nullptr) {
        const int error = errno;
        if (error != ENOENT)
            ereport(LOG,
                    (errcode_for_file_access(), errmsg("could not read file \"%s\": %s", k_file, strerror(error))));
        return;
    }
    if (!was_shut_down_cleanly())
        ereport(LOG, (errmsg("scylla begins its statistics anew: the server was not shut down cleanly")));
    else if (!load(file))
        ereport(LOG, (errmsg("scylla begins its statistics anew: file \"%s\" is not valid", k_file)));
    FreeFile(file);
    unlink(k_file); // a crash must not find it
}

} // namespace scylla::shmem
