#include "model/sel/sel.h"

#include <new>

#include "model/sel/evaluate.h"
#include "model/sel/interpolate.h"
#include "model/sel/json.h"
#include "model/sel/library.h"
#include "model/sel/program_cache.h"

namespace scylla::model::sel {

namespace {

// The members of a JSON object.
class JsonParams final : public Params {
public:
    void set(const Value &object) noexcept { members_ = object.type == Type::map ? object.map : nullptr; }

    std::optional<Value> find(std::string_view name, Context & /*context*/) override {
        const Value *found = members_ == nullptr ? nullptr : members_->find(name);
        return found == nullptr ? std::nullopt : std::optional(*found);
    }
    std::optional<Value> find_from(std::string_view /*function*/, Args args, Context &context) override {
        std::string name;
        for (const Value &arg : args)
            name += (&arg == args.data() ? "" : "__") + number_or_text(arg);
        return find(name, context);
    }

private:
    const Map *members_ = nullptr;
};

OutcomeKind kind_of(FaultKind kind) noexcept {
    switch (kind) {
    case FaultKind::syntax:
        return OutcomeKind::syntax;
    case FaultKind::unknown:
        return OutcomeKind::unknown;
    case FaultKind::thrown:
        return OutcomeKind::thrown;
    case FaultKind::limit:
        return OutcomeKind::limit;
    case FaultKind::stopped:
        return OutcomeKind::stopped;
    case FaultKind::value:
        break;
    }
    return OutcomeKind::fault;
}

Outcome keep(OutcomeKind kind, Position place, std::string &&text) {
    auto *owned = new std::string(std::move(text));
    return {kind, place.line, place.column, *owned, owned};
}

template <typename Work> Outcome guarded(Work work) noexcept {
    try {
        try {
            return keep(OutcomeKind::value, {}, work());
        } catch (Failure &failure) {
            return keep(kind_of(failure.fault.kind), failure.fault.place, std::move(failure.fault.message));
        }
    } catch (const NotYet &) {
        return {OutcomeKind::not_yet, 0, 0, {}, nullptr};
    } catch (...) { // only bad_alloc is left
        return {OutcomeKind::out_of_memory, 0, 0, "out of memory", nullptr};
    }
}

} // namespace

Outcome evaluate_json(std::string_view expression, std::string_view params, World &world,
                      const Limits &limits) noexcept {
    return guarded([&] {
        const auto program = program_of(expression, limits);
        Heap heap(limits.memory);
        JsonParams given;
        Context context(heap, world, given, limits);
        given.set(read_json(context, params));
        return write_json(context, evaluate(*program, context));
    });
}

Outcome interpolate_json(std::string_view text, std::string_view params, World &world, const Limits &limits) noexcept {
    return guarded([&] {
        Heap heap(limits.memory);
        JsonParams given;
        Context context(heap, world, given, limits);
        given.set(read_json(context, params));
        return interpolate(context, text);
    });
}

void release(Outcome &outcome) noexcept {
    delete static_cast<std::string *>(outcome.owned);
    outcome.owned = nullptr;
    outcome.text = {};
}

} // namespace scylla::model::sel
