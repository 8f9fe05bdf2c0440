// Parameters in tests: written as JSON, shown as JSON.
#pragma once

#include <string>
#include <string_view>

#include "model/sel/json.h"
#include "model/workflow/param_evaluate.h"
#include "model/workflow/param_json.h"
#include "model/workflow/param_merge.h"
#include "sel_world.h"

// What parameters have around them.
class Desk : public scylla::model::sel::Params {
public:
    TestWorld world{};
    scylla::model::sel::Limits limits{};
    scylla::model::sel::Heap heap{100'000'000};
    scylla::model::sel::Context context{heap, world, *this, limits};
    std::string around = "{}"; // other parameters, as a JSON object; getFromStep('s', 'p') reads s__p

    std::optional<scylla::model::sel::Value> find(std::string_view name, scylla::model::sel::Context &asking) override {
        namespace sel = scylla::model::sel;
        const sel::Value object = sel::read_json(asking, around);
        const sel::Value *found = object.map->find(name);
        return found == nullptr ? std::nullopt : std::optional(*found);
    }
    std::optional<scylla::model::sel::Value> find_from(std::string_view /*function*/, scylla::model::sel::Args args,
                                                       scylla::model::sel::Context &asking) override {
        std::string name;
        for (const auto &arg : args)
            name += (name.empty() ? "" : "__") + std::string(arg.view());
        return find(name, asking);
    }

    // As text, so that JSON of tests stays where it is.
    scylla::model::workflow::ParamMap read(std::string_view json, scylla::model::workflow::Problems &problems) {
        namespace sel = scylla::model::sel;
        const std::string_view kept = sel::make_string(heap, json).view();
        return scylla::model::workflow::read_params(context, sel::read_json(context, kept),
                                                    scylla::model::workflow::Where{}, problems);
    }
    scylla::model::workflow::ParamMap read(std::string_view json) {
        scylla::model::workflow::Problems problems;
        auto params = read(json, problems);
        for (const auto &[where, what] : problems.found())
            ADD_FAILURE() << where << ": " << what;
        return params;
    }
};

// What is wrong, as "name: message".
template <typename Work> std::string or_failure(Work work) {
    try {
        return work();
    } catch (const scylla::model::workflow::ParamFailure &failure) {
        return failure.name + ": " + scylla::model::workflow::show_fault(failure.fault);
    } catch (const scylla::model::sel::Failure &failure) {
        return scylla::model::workflow::show_fault(failure.fault);
    }
}

// The problems of a text, one a line.
inline std::string problems_of(std::string_view json) {
    Desk desk;
    scylla::model::workflow::Problems problems;
    desk.read(json, problems);
    std::string text;
    for (const auto &[where, what] : problems.found())
        text += (text.empty() ? "" : "\n") + where + ": " + what;
    return text;
}

// The values of parameters, as a JSON object.
inline std::string values_of(std::string_view json, std::string_view around = "{}") {
    Desk desk;
    desk.around = around;
    const auto params = desk.read(json);
    return or_failure([&] {
        return scylla::model::workflow::write_values(desk.context,
                                                     scylla::model::workflow::evaluate_params(desk.context, params));
    });
}
