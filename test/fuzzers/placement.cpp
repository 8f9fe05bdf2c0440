// What starts, and what is planned for the heads of pools, against going through the tasks one by one.
#include "fuzz.h"

#include "../unit/placement_scenario.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    FuzzedDataProvider input(data, size);
    const scenario::Scenario given = scenario::make_scenario([&](std::uint64_t limit) {
        return static_cast<std::int64_t>(input.ConsumeIntegralInRange<std::uint64_t>(0, limit));
    });
    const scenario::Result model = scenario::Model(given).run();
    const scenario::Result reference = scenario::Reference(given).run();
    require(model.starts == reference.starts, "the same tasks start");
    require(model.complete == reference.complete, "the limit counts the same");
    for (std::size_t p = 0; p < given.pools.size(); p++) {
        require(model.heads[p].task == reference.heads[p].task, "a pool has the same head");
        require(model.heads[p].start == reference.heads[p].start, "its start is planned for the same time");
        require(model.heads[p].passed == reference.heads[p].passed, "as many have passed it");
    }
    std::vector<scenario::Amount> left;
    for (const scenario::Cell &cell : given.cells)
        left.push_back(cell.free);
    for (const scenario::Start &start : model.starts)
        for (const scenario::Task &task : given.tasks)
            if (task.at.id == start.id)
                for (const scenario::Need &need : task.ways[start.way]) {
                    left[need.cell] -= need.amount;
                    require(need.amount == 0 || left[need.cell] >= 0, "no more starts than there is room for");
                }
    return 0;
}
