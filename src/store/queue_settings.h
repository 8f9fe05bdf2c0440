// The settings of a queue. Each is described once, in k_queue_settings: the row, the arguments of create_queue(), the
// members of alter_queue()'s argument and the rules follow from that.
#pragma once

#include "pg/prelude.h"

#include <variant>

namespace scylla::store {

// What happens to a submit to a queue that has reached its max_depth.
enum class OnFull : std::uint8_t { error, shed };
inline constexpr std::array<const char *, 2> k_on_full_names{"error", "shed"};

// The values here are those of settings that are null or were not given.
struct QueueSettings {
    Interval *default_timeout = nullptr; // null: scylla.default_timeout
    Interval *retention = nullptr;       // null: scylla.retention
    float8 aging = 0;
    std::optional<int32> max_attempts;
    Jsonb *retry = nullptr;                  // null: the default policy
    Interval *retention_completed = nullptr; // null: retention
    Interval *retention_aborted = nullptr;
    Interval *retention_cancelled = nullptr;
    bool paused = false;
    std::optional<int32> max_running; // nothing: any number
    bool events = false;
    bool notify = false;
    std::optional<int32> max_running_per_key; // nothing: any number
    std::optional<int32> max_depth;           // nothing: any number
    OnFull on_full = OnFull::error;
    Jsonb *key_weights = nullptr;    // null: tasks go in the order of the queue
    Jsonb *rate = nullptr;           // null: none
    Jsonb *rate_per_key = nullptr;   // likewise
    text *handler = nullptr;         // with its schema; null: none
    Interval *run_timeout = nullptr; // null: none
};

// The rule for a value (queue/settings.cpp).
enum class SettingRule : std::uint8_t {
    none,
    timeout,
    retention,
    aging,
    attempts,
    retry,
    bound,
    key_weights,
    rate,
    handler
};

// The member with the value. Its type is the kind of the setting.
using SettingMember =
    std::variant<Interval * QueueSettings::*, float8 QueueSettings::*, std::optional<int32> QueueSettings::*,
                 bool QueueSettings::*, OnFull QueueSettings::*, Jsonb * QueueSettings::*, text * QueueSettings::*>;

// When a value takes effect that is set in a queue without one.
enum class Effect : std::uint8_t {
    at_commit,
    // When the rows of the queue are prepared for it, after all transactions have ended that wrote rows without knowing
    // of it (queue/pending.h). Until then the setting is pending.
    prepared,
};

struct Setting {
    const char *name;
    SettingMember member;
    SettingRule rule;
    Effect effect = Effect::at_commit;
};

// In the order of create_queue()'s arguments.
inline constexpr std::array<Setting, 20> k_queue_settings{{
    {"default_timeout", &QueueSettings::default_timeout, SettingRule::timeout},
    {"retention", &QueueSettings::retention, SettingRule::retention},
    {"aging", &QueueSettings::aging, SettingRule::aging},
    {"max_attempts", &QueueSettings::max_attempts, SettingRule::attempts},
    {"retry", &QueueSettings::retry, SettingRule::retry},
    {"retention_completed", &QueueSettings::retention_completed, SettingRule::retention},
    {"retention_aborted", &QueueSettings::retention_aborted, SettingRule::retention},
    {"retention_cancelled", &QueueSettings::retention_cancelled, SettingRule::retention},
    {"paused", &QueueSettings::paused, SettingRule::none},
    {"max_running", &QueueSettings::max_running, SettingRule::bound, Effect::prepared},
    {"events", &QueueSettings::events, SettingRule::none},
    {"notify", &QueueSettings::notify, SettingRule::none},
    {"max_running_per_key", &QueueSettings::max_running_per_key, SettingRule::bound, Effect::prepared},
    {"max_depth", &QueueSettings::max_depth, SettingRule::bound, Effect::prepared},
    {"on_full", &QueueSettings::on_full, SettingRule::none},
    {"key_weights", &QueueSettings::key_weights, SettingRule::key_weights, Effect::prepared},
    {"rate", &QueueSettings::rate, SettingRule::rate},
    {"rate_per_key", &QueueSettings::rate_per_key, SettingRule::rate, Effect::prepared},
    {"handler", &QueueSettings::handler, SettingRule::handler},
    {"run_timeout", &QueueSettings::run_timeout, SettingRule::timeout},
}};

// A set of settings, by their places in the table.
struct SettingSet {
    std::uint32_t bits = 0;

    [[nodiscard]] constexpr bool has(std::size_t place) const noexcept { return (bits >> place & 1) != 0; }
    constexpr void add(std::size_t place) noexcept { bits |= std::uint32_t{1} << place; }
    [[nodiscard]] constexpr bool empty() const noexcept { return bits == 0; }
};
consteval std::size_t place_of(std::string_view name) {
    std::size_t place = 0;
    while (name != k_queue_settings[place].name)
        place++;
    return place;
}

// The SQL type of a setting, and its value of that type; null if it is the default.
Oid type_of(const Setting &setting);
NullableDatum get(const QueueSettings &settings, const Setting &setting);
// The opposite: sets the value; null is the default. Copies. 22023 if it is an unknown word.
void set(QueueSettings &settings, const Setting &setting, NullableDatum value);

} // namespace scylla::store
