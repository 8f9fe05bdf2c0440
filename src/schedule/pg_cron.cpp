#include "schedule/pg_cron.h"

#include "pg/error.h"
#include "pg/settings.h"
#include "schedule/run.h"
#include "store/spi.h"

namespace scylla::schedule {

namespace {

constexpr const char *k_tick = "select scylla.run_schedules()";
constexpr const char *k_job = "scylla schedules";
constexpr const char *k_every_minute = "* * * * *";

Datum to_text(const char *value) { return CStringGetTextDatum(value); }

// Runs a statement whose parameters are texts; returns the first column of the first row, null if there is none.
const char *ask(const char *sql, std::span<const char *const> parameters) {
    std::array<Oid, 4> types{TEXTOID, TEXTOID, TEXTOID, TEXTOID};
    std::array<Datum, 4> values{};
    for (std::size_t i = 0; i < parameters.size(); i++)
        values[i] = to_text(parameters[i]);
    const int code =
        SPI_execute_with_args(sql, static_cast<int>(parameters.size()), types.data(), values.data(), nullptr, false, 0);
    if (code != SPI_OK_SELECT)
        elog(ERROR, "SPI_execute_with_args failed: %s", SPI_result_code_string(code));
    return SPI_processed == 0 ? nullptr : SPI_getvalue(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1);
}

// The cron expression of the job: the shortest interval of schedules in seconds, otherwise every minute.
const char *wanted_beat() { return store::schedules::shortest_beat(k_every_minute); }

void require_seconds() {
    const char *too_old = ask("select substring(default_version from '^[0-9]+[.][0-9]+') from pg_available_extensions "
                              "where name = 'pg_cron' and string_to_array(substring(default_version from "
                              "'^[0-9]+[.][0-9]+'), '.')::int[] < array[1, 5]",
                              {});
    if (too_old != nullptr)
        error::pg_cron_too_old(too_old);
}

void warn_of_other_database(const char *cron_database, const char *beat) {
    const char *database = get_database_name(MyDatabaseId);
    const char *call =
        ask("select format('select cron.schedule_in_database(%L, %L, %L, %L)', left('scylla schedules of ' "
            "|| $1, 63), $2, $3, $1)",
            std::array{database, beat, k_tick});
    ereport(WARNING, (errmsg("schedules of this database run once pg_cron is told to"),
                      errdetail("pg_cron works in the database \"%s\".", cron_database),
                      errhint("Connect to that database, and call: %s", call)));
}

void remove_job() {
    (void)ask("select cron.unschedule(j.jobid) from cron.job j where j.jobname = $1 and j.command = $2 "
              "and j.database = current_database() and j.username = current_user",
              std::array{k_job, k_tick});
}

void make_job(const char *beat) {
    const bool is_there = ask("select '' from cron.job j where j.command = $1 and j.database = current_database() "
                              "and j.schedule = $2",
                              std::array{k_tick, beat}) != nullptr;
    if (!is_there)
        (void)ask("select cron.schedule($1, $2, $3)", std::array{k_job, beat, k_tick});
}

void keep_job_as_owner(Warn warn) {
    const char *cron_database = GetConfigOption("cron.database_name", true, false);
    const bool created = OidIsValid(get_extension_oid("pg_cron", true));
    const bool is_here = cron_database != nullptr && strcmp(cron_database, get_database_name(MyDatabaseId)) == 0;
    if (!store::schedules::has_any()) {
        if (is_here && created)
            remove_job();
        return;
    }
    if (settings::schedules != static_cast<int>(settings::Schedules::pg_cron) && is_monitored())
        return; // an existing job may stay: with two tickers, each planned time still gets one task
    if (cron_database == nullptr)
        error::no_ticker(error::NoTicker::nothing);
    const char *beat = wanted_beat();
    if (strcmp(beat, k_every_minute) != 0)
        require_seconds();
    if (!is_here) {
        if (warn == Warn::yes)
            warn_of_other_database(cron_database, beat);
        return;
    }
    if (!created)
        error::no_ticker(error::NoTicker::not_created);
    make_job(beat);
}

} // namespace

void keep_job(Warn warn) {
    if (settings::schedules != static_cast<int>(settings::Schedules::manual))
        store::act_as_owner([warn] { keep_job_as_owner(warn); });
}

void drop_job() {
    // cron.job exists only in the database of pg_cron.
    const Oid pg_cron = get_extension_oid("pg_cron", true);
    if (OidIsValid(pg_cron) && OidIsValid(get_relname_relid("job", get_namespace_oid("cron", true))))
        store::act_as_owner(remove_job);
}

} // namespace scylla::schedule
