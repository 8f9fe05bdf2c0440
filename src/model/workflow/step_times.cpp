#include "model/workflow/step_times.h"

namespace scylla::model::workflow {

// Reads no JSON: the names are those of statuses, and the values numbers.
void keep_time(RunState &state, LiveStep &step, StepStatus status) {
    const std::string_view kept = step.now.times;
    const std::string name = json_text(name_of(status));
    if (kept.find(name) != std::string_view::npos)
        return;
    const bool has_members = kept.size() > 2 && kept.back() == '}';
    step.now.times = state.keep((has_members ? std::string(kept.substr(0, kept.size() - 1)) + "," : "{") + name + ":" +
                                std::to_string(state.now) + "}");
}

} // namespace scylla::model::workflow
