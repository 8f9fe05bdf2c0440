// Parameters: any JSON is read as parameters with its problems named; what has none is evaluated within the limits,
// twice alike, and merged over itself it stays what it is.
#include "fuzz.h"

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "model/sel/json.h"
#include "model/workflow/param_evaluate.h"
#include "model/workflow/param_json.h"
#include "model/workflow/param_merge.h"
#include "../unit/sel_world.h"

using namespace scylla::model;

namespace {

class Nothing final : public sel::Params {
public:
    std::optional<sel::Value> find(std::string_view, sel::Context &) override { return std::nullopt; }
    std::optional<sel::Value> find_from(std::string_view, sel::Args, sel::Context &) override { return std::nullopt; }
};

// The values, or what is wrong.
std::string run(std::string_view text) {
    const sel::Limits limits{.steps = 100'000, .memory = 10'000'000, .output = 100'000};
    TestWorld world;
    Nothing nothing;
    sel::Heap heap(limits.memory);
    sel::Context context(heap, world, nothing, limits);
    try {
        workflow::Problems problems;
        const auto read = workflow::read_params(context, sel::read_json(context, text), {}, problems);
        for (const auto &[where, what] : problems.found())
            require(!what.empty(), "a problem is described");
        if (!problems.found().empty())
            return "problems";
        workflow::ParamMap params;
        workflow::merge_params(context, params, read, {workflow::ParamSource::system});
        const auto size = params.size();
        workflow::merge_params(context, params, read, {workflow::ParamSource::system});
        require(params.size() == size, "the same parameters are no new ones");
        workflow::finish_merge(params);
        const auto values = workflow::evaluate_params(context, params);
        require(values.size() == params.size(), "each parameter has a value");
        return "=" + workflow::write_values(context, values);
    } catch (const workflow::ParamFailure &failure) {
        require(!failure.fault.message.empty(), "a fault is described");
        return failure.name + workflow::show_fault(failure.fault);
    } catch (const sel::Failure &failure) {
        return workflow::show_fault(failure.fault);
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char *>(data), size);
    const std::string once = run(text);
    require(once == run(text), "the same parameters have the same values");
    bool plain = true; // bytes that are no UTF-8 go through as they are
    for (const char c : text)
        plain = plain && static_cast<unsigned char>(c) < 0x80;
    if (once[0] == '=' && plain)
        require(nlohmann::json::accept(once.substr(1)), "the values are JSON");
    return 0;
}
