// The states of a task: their names are those of the SQL type, and exactly three of them are final.
#include "model/status.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace test_status {
namespace {

using scylla::model::is_final;
using scylla::model::k_status_names;
using scylla::model::name;
using scylla::model::Status;

constexpr std::array k_all = {Status::waiting,   Status::ready,   Status::running,
                              Status::completed, Status::aborted, Status::cancelled};

TEST(Status, NamesAreThoseOfTheSqlType) {
    const std::array<std::string, 6> expected = {"waiting", "ready", "running", "completed", "aborted", "cancelled"};
    ASSERT_EQ(k_status_names.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); i++)
        EXPECT_EQ(name(k_all[i]), expected[i]);
}

// The library turns an enum label into a Status by its place in the list.
TEST(Status, ValuesCountUpInTheOrderOfTheSqlType) {
    for (std::size_t i = 0; i < k_all.size(); i++)
        EXPECT_EQ(static_cast<std::size_t>(k_all[i]), i);
}

TEST(Status, LiveStatesAreNotFinal) {
    EXPECT_FALSE(is_final(Status::waiting));
    EXPECT_FALSE(is_final(Status::ready));
    EXPECT_FALSE(is_final(Status::running));
}

TEST(Status, EndedStatesAreFinal) {
    EXPECT_TRUE(is_final(Status::completed));
    EXPECT_TRUE(is_final(Status::aborted));
    EXPECT_TRUE(is_final(Status::cancelled));
}

} // namespace
} // namespace test_status
