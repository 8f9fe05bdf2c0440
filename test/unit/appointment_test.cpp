#include "model/appointment.h"

#include <gtest/gtest.h>

namespace test_appointment {
namespace {

using namespace scylla::model;

constexpr std::int64_t second = 1'000'000;
constexpr std::int64_t never = INT64_MAX;
constexpr DutyPace on_timer{.pause = 10 * second, .share = 10, .has_timer = true};
constexpr DutyPace walk{.pause = 10 * second, .share = 10, .has_timer = false};

DutyTurn turn_at(std::int64_t now) { return {.began = now, .ended = now, .next = never, .done = 0, .more = false}; }

TEST(Appointment, ADutyThatHasNeverRunIsDue) {
    EXPECT_EQ(due_at(on_timer, {}, never), 0);
    EXPECT_EQ(due_at(walk, {}, never), 0);
}

TEST(Appointment, ATimerComesFirst) {
    const Appointment after = appoint(on_timer, turn_at(100 * second), 0);
    EXPECT_EQ(due_at(on_timer, after, 101 * second), 101 * second);
    EXPECT_EQ(due_at(on_timer, after, never), 110 * second) << "commits without a callback announce nothing";
}

TEST(Appointment, WhatATurnFoundIsDueThen) {
    DutyTurn turn = turn_at(100 * second);
    turn.next = 103 * second;
    EXPECT_EQ(due_at(on_timer, appoint(on_timer, turn, 0), never), 103 * second);
}

TEST(Appointment, WhatIsLeftIsDoneAtOnceOrRetried) {
    DutyTurn turn = turn_at(100 * second);
    turn.more = true;
    EXPECT_EQ(due_at(on_timer, appoint(on_timer, turn, 0), never), 100 * second + k_retry) << "all rows were busy";
    turn.done = 1;
    EXPECT_EQ(due_at(on_timer, appoint(on_timer, turn, 0), never), 100 * second);
    EXPECT_EQ(due_at(walk, appoint(walk, turn, 0), never), 100 * second);
}

TEST(Appointment, LongTurnsTakeTheirShareOfTheTime) {
    DutyTurn turn = turn_at(100 * second);
    turn.ended = 105 * second;
    turn.more = true;
    EXPECT_EQ(due_at(walk, appoint(walk, turn, 0), never), 155 * second);
    turn.more = false;
    EXPECT_EQ(due_at(walk, appoint(walk, turn, 0), never), 155 * second);
    EXPECT_EQ(appoint(on_timer, turn, 0).safety, 155 * second);
}

TEST(Appointment, HurriedWalksHaveNoPauses) {
    Appointment hurried = hurry({});
    EXPECT_EQ(due_at(on_timer, hurried, never), 0);
    DutyTurn turn = turn_at(100 * second);
    turn.ended = 105 * second;
    turn.more = true;
    hurried = appoint(walk, turn, hurried.hurried_walks);
    EXPECT_EQ(due_at(walk, hurried, never), 105 * second);
    turn.more = false;
    EXPECT_EQ(due_at(walk, appoint(walk, turn, hurried.hurried_walks), never), 155 * second);

    hurried = hurry(hurried);
    EXPECT_EQ(hurried.hurried_walks, 2) << "the present walk has passed some of the rows";
    hurried = appoint(walk, turn, hurried.hurried_walks);
    EXPECT_EQ(due_at(walk, hurried, never), 105 * second) << "so another one follows";
    EXPECT_EQ(appoint(walk, turn, hurried.hurried_walks).hurried_walks, 0);
}

// A monitor with one duty under a clock that is set: what waits for a second must not wait for hours.
TEST(Appointment, AClockThatIsSetBackIsNoticed) {
    ClockWatch watch;
    Appointment next{};
    std::int64_t now = 7200 * second;
    EXPECT_FALSE(watch.is_set_back(now));
    next = appoint(on_timer, turn_at(now), 0);
    now += second;
    EXPECT_FALSE(watch.is_set_back(now));
    EXPECT_GT(due_at(on_timer, next, never), now);
    now -= 3600 * second;
    ASSERT_GT(due_at(on_timer, next, never), now + 3600 * second) << "it would sleep for an hour";
    EXPECT_TRUE(watch.is_set_back(now));
    next = {}; // restart_duties()
    EXPECT_LE(due_at(on_timer, next, never), now);
    EXPECT_FALSE(watch.is_set_back(now + 1)) << "once";
}

TEST(Appointment, AClockThatIsSetForwardIsHarmless) {
    ClockWatch watch;
    const Appointment next = appoint(on_timer, turn_at(second), 0);
    const std::int64_t now = 7200 * second;
    EXPECT_FALSE(watch.is_set_back(now));
    EXPECT_LE(due_at(on_timer, next, never), now);
}

} // namespace
} // namespace test_appointment
