// The server for expressions: clocks, time zones, interrupts.
//
// model/sel uses C++ exceptions, so no server error may leave through its frames by longjmp. Two of its calls can raise
// one: the check for interrupts, and the lookup of a time zone. Such an error stays on the error stack (Seen), the
// evaluation is told to stop, and the error is raised again when its frames have returned.
#pragma once

#include "pg/prelude.h"

#include "model/sel/context.h"
#include "pg/clock.h"
#include "pg/zone.h"
#include "workflow/pace.h"

namespace scylla {

class ServerWorld final : public model::sel::World {
public:
    // Raises the error of a call from inside the evaluation.
    void raise_seen() const {
        if (seen_)
            PG_RE_THROW();
    }

    std::int64_t now_millis() noexcept override {
        constexpr int64 k_epoch = static_cast<int64>(POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * SECS_PER_DAY * 1'000;
        return GetCurrentTimestamp() / 1'000 + k_epoch;
    }
    std::int64_t steady_millis() noexcept override { return steady_now() / 1'000; }
    std::uint64_t random() noexcept override { return pg_prng_uint64(&pg_global_prng_state); }
    bool stop() noexcept override {
        if (!seen_)
            guarded([] { CHECK_FOR_INTERRUPTS(); });
        return seen_;
    }
    bool is_late() noexcept override { return workflow::pace.is_late(); }
    bool may_begin() noexcept override { return workflow::pace.may_begin(); }
    const void *find_zone(std::string_view name) noexcept override {
        const pg_tz *zone = nullptr;
        if (!seen_)
            guarded([&] { zone = scylla::find_zone(name); });
        return zone;
    }
    std::int32_t zone_offset(const void *zone, std::int64_t moment) noexcept override {
        return offset_at(static_cast<const pg_tz *>(zone), moment);
    }

private:
    // The error is neither copied nor flushed: its handling continues later.
    template <typename Work> void guarded(Work work) noexcept {
        MemoryContext context = CurrentMemoryContext;
        PG_TRY();
        { work(); }
        PG_CATCH();
        {
            MemoryContextSwitchTo(context);
            seen_ = true;
        }
        PG_END_TRY();
    }

    volatile bool seen_ = false;
};

} // namespace scylla
