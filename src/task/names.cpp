#include "task/names.h"

#include "model/uuid.h"

namespace scylla {

namespace {

// Random bytes for one name. Got from the system for many at once: asking costs more than making the name.
std::array<std::uint8_t, 8> random_bytes() {
    static constinit std::array<std::array<std::uint8_t, 8>, 64> stock{};
    static constinit std::size_t left = 0;
    if (left == 0) {
        if (!pg_strong_random(stock.data(), sizeof(stock)))
            ereport(ERROR, (errcode(ERRCODE_INTERNAL_ERROR), errmsg("could not generate random values")));
        left = stock.size();
    }
    return stock[--left];
}

} // namespace

text *make_up_name(TimestampTz now) {
    constexpr int64 k_epoch = (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * USECS_PER_DAY;
    const auto name = model::uuid_v7(static_cast<std::uint64_t>(now + k_epoch), random_bytes());
    return cstring_to_text_with_len(name.data(), static_cast<int>(name.size()));
}

} // namespace scylla
