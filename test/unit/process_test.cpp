#include "model/process.h"

#include <gtest/gtest.h>

namespace test_process {
namespace {

using namespace scylla::model;
using enum ProcessState;

constexpr ProcessState all[] = {vacant, starting, running, stopping};

TEST(Process, AnOrdinaryLife) {
    ProcessState state = vacant;
    for (const auto &[event, expected] :
         {std::pair{ProcessEvent::launch, starting}, std::pair{ProcessEvent::attach, running},
          std::pair{ProcessEvent::stop, stopping}, std::pair{ProcessEvent::reap, vacant}}) {
        state = after(state, event);
        EXPECT_EQ(state, expected);
    }
}

TEST(Process, AStopBeforeItHasAttachedIsNotLost) {
    EXPECT_EQ(after(after(starting, ProcessEvent::stop), ProcessEvent::attach), stopping);
}

TEST(Process, ASlotWithoutAProcessIsNotStopped) {
    EXPECT_EQ(after(vacant, ProcessEvent::stop), vacant) << "the next process there would exit at once";
}

TEST(Process, AProcessThatComesTooLateDoesNotRun) {
    EXPECT_EQ(after(vacant, ProcessEvent::attach), vacant) << "its launcher has ended, and the slot was freed";
}

TEST(Process, EveryStateEnds) {
    for (const ProcessState state : all) {
        EXPECT_EQ(after(state, ProcessEvent::reap), vacant);
        EXPECT_EQ(after(state, ProcessEvent::launch), starting);
        EXPECT_NE(after(state, ProcessEvent::stop), running);
    }
}

TEST(Process, AnExitThatNobodyAskedForIsAFailure) {
    EXPECT_TRUE(has_failed(starting));
    EXPECT_TRUE(has_failed(running));
    EXPECT_FALSE(has_failed(stopping));
    EXPECT_FALSE(has_failed(vacant));
}

} // namespace
} // namespace test_process
