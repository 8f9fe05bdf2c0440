// Programs of short expressions are kept (model/sel/program_cache.h).
#include <gtest/gtest.h>

#include "model/sel/fault.h"
#include "model/sel/program_cache.h"
#include "sel_world.h"

namespace test_sel_programs {
namespace {

namespace sel = scylla::model::sel;

TEST(SelPrograms, AreParsedOnce) {
    const sel::Limits limits;
    const auto first = sel::program_of("1 + once", limits);
    EXPECT_EQ(sel::program_of("1 + once", limits), first);
    EXPECT_NE(sel::program_of("1 + twice", limits), first);
}

TEST(SelPrograms, LongOnesAreNotKept) {
    const sel::Limits limits;
    const std::string text = "'" + std::string(600, 'x') + "'";
    EXPECT_NE(sel::program_of(text, limits), sel::program_of(text, limits));
}

TEST(SelPrograms, OtherLimitsAreLookedAt) {
    const std::string_view text = "((((1))))";
    EXPECT_NO_THROW((void)sel::program_of(text, {}));
    EXPECT_THROW((void)sel::program_of(text, {.depth = 3}), sel::Failure);
    EXPECT_THROW((void)sel::program_of(text, {.text = 5}), sel::Failure);
    EXPECT_NO_THROW((void)sel::program_of(text, {}));
}

TEST(SelPrograms, MistakesAreFoundEachTime) {
    for (int i = 0; i < 2; i++)
        EXPECT_THROW((void)sel::program_of("1 +", {}), sel::Failure);
}

// More texts than there are places: who holds a program keeps it.
TEST(SelPrograms, OutliveTheirPlaces) {
    const auto held = sel::program_of("'held'", {});
    for (int i = 0; i < 5'000; i++)
        (void)sel::program_of(std::to_string(i), {});
    ASSERT_EQ(held->root().children.size(), 1U);
    EXPECT_EQ(sel::program_of("'held'", {})->root().children.size(), 1U);
}

// What an evaluation changes is not the program.
TEST(SelPrograms, StayAsTheyAre) {
    const std::string_view text = "String s = 'a'; int[] n = new int[]{1, 2}; n[0] = n[0] + 5; s += 'b'; s + n[0]";
    for (int i = 0; i < 3; i++)
        EXPECT_EQ(eval(text), R"("ab6")");
}

} // namespace
} // namespace test_sel_programs
