// The signals that a step sends before it succeeds (docs/workflows.md, Output signals).
#include "model/workflow/advance.h"
#include "model/workflow/outputs.h"
#include "model/workflow/step_times.h"

namespace scylla::model::workflow {

// The step waits in FINISHING until its signals are sent.
void Advance::announce(LiveScope &scope, LiveStep &step, std::string_view data) {
    try {
        std::string signals;
        if (!attempt(scope, step, [&] { signals = signals_of(state_, scope, step, data); }))
            return;
        if (signals.empty())
            return conclude(scope, step, StepStatus::succeeded);
        step.signals = state_.keep(std::move(signals));
        step.now.status = StepStatus::finishing;
        step.now.due = 0;
        keep_time(state_, step, StepStatus::finishing);
        change(step);
    } catch (const NotYet &why) {
        if (step.node->kind == StepKind::typed && !data.empty())
            step.now.loop = state_.keep(std::string(data));
        postpone(step, StepStatus::finishing, why);
    }
}

void Advance::take_of_signals(LiveScope &scope, LiveStep &step, const Event &event) {
    if (step.now.status == StepStatus::waiting_for_signals && event.kind == EventKind::signals_refused)
        return fail_for_good(scope, step,
                             event.data.empty() ? error_message("its signals cannot be waited for")
                                                : std::string(event.data));
    const bool is_concluded = !step.now.edges.empty();
    if (step.now.status != StepStatus::finishing || !step.signals.empty() || is_concluded)
        return;
    if (event.kind == EventKind::signals_sent)
        conclude(scope, step, StepStatus::succeeded);
    else
        fail_for_good(scope, step,
                      event.data.empty() ? error_message("its signals could not be sent") : std::string(event.data));
}

} // namespace scylla::model::workflow
