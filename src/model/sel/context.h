// The context of an evaluation: what it has used of its limits, and what it may ask.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "model/sel/fault.h"
#include "model/sel/limits.h"
#include "model/sel/value.h"

namespace scylla::model::sel {

using Args = std::span<const Value>;
struct Context;

// What the caller provides. Nothing here may raise a server error: the frames that call it must not be left by longjmp.
class World {
public:
    virtual std::int64_t now_millis() noexcept = 0;    // since 1970 in UTC
    virtual std::int64_t steady_millis() noexcept = 0; // for the limit on time
    virtual std::uint64_t random() noexcept = 0;
    virtual bool stop() noexcept = 0; // whether the evaluation must end

    // For work that can be left for later, such as the steps of a turn. Whether the time for it is used up; false until
    // the first piece has begun.
    virtual bool is_late() noexcept { return false; }
    // Called before each piece. False: it is late, and the piece must be left for later.
    virtual bool may_begin() noexcept { return true; }

    // A time zone by its name; null: there is none. It stays valid as long as the evaluation.
    virtual const void *find_zone(std::string_view name) noexcept = 0;
    // Seconds east of Greenwich at a moment in seconds since 1970.
    virtual std::int32_t zone_offset(const void *zone, std::int64_t moment) noexcept = 0;

protected:
    ~World() = default;
};

// The parameters. These may throw Failure.
class Params {
public:
    virtual std::optional<Value> find(std::string_view name, Context &context) = 0;
    // Whether there is a parameter of that name, although nothing was found: it has no value, and is null.
    virtual bool knows(std::string_view /*name*/) { return false; }
    // params.getFromStep(…) and the like, with at least one argument.
    virtual std::optional<Value> find_from(std::string_view function, Args args, Context &context) = 0;

protected:
    ~Params() = default;
};

struct Context {
    Heap &heap;
    World &world;
    Params &params;
    const Limits &limits;
    std::int64_t steps = 0;
    std::int64_t next_look = k_steps_between_looks;
    std::int64_t begun = 0;
    Position place{};

    Context(Heap &with_heap, World &with_world, Params &with_params, const Limits &with_limits) noexcept
        : heap{with_heap}, world{with_world}, params{with_params}, limits{with_limits},
          begun{with_world.steady_millis()} {}

    // Counts steps. Ends the evaluation if there were too many, if it took too long or if the caller asks to stop.
    // Throws NotYet if it took longer than its patience.
    void work(std::int64_t count = 1) {
        steps += count;
        if (steps >= next_look)
            look();
    }
    // Counts the steps of an operation over this many bytes.
    void work_on(std::size_t bytes) { work(static_cast<std::int64_t>(bytes / 16) + 1); }
    void look();
};

} // namespace scylla::model::sel
