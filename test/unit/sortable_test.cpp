#include "model/sortable.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace test_sortable {
namespace {

using namespace scylla::model;

std::string sortable(const std::string &number) {
    std::string text(number.size() + k_sortable_extra, '?');
    text.resize(make_sortable(number, text));
    return text;
}

TEST(Sortable, TextsSortAsTheirNumbers) {
    const std::vector<std::string> ascending = {"-" + std::string(1000, '9'),
                                                "-1000",
                                                "-999.5",
                                                "-999",
                                                "-12.3",
                                                "-12",
                                                "-1.23",
                                                "-1.2",
                                                "-1",
                                                "-0.5",
                                                "-0.05",
                                                "-0.0499",
                                                "-0.00001",
                                                "0",
                                                "0.00001",
                                                "0.0499",
                                                "0.05",
                                                "0.5",
                                                "1",
                                                "1.2",
                                                "1.23",
                                                "9",
                                                "10",
                                                "12",
                                                "12.3",
                                                "99",
                                                "100",
                                                "999",
                                                "999.5",
                                                "1000",
                                                "20260101",
                                                "20260102",
                                                "9007199254740993",
                                                "9007199254740994",
                                                std::string(1000, '9'),
                                                "1" + std::string(1000, '0')};
    for (std::size_t i = 1; i < ascending.size(); i++)
        EXPECT_LT(sortable(ascending[i - 1]), sortable(ascending[i])) << ascending[i - 1] << " < " << ascending[i];
}

TEST(Sortable, EqualNumbersHaveOneText) {
    for (const auto &[one, other] : std::vector<std::pair<std::string, std::string>>{{"1", "1.0"},
                                                                                     {"1", "1.000"},
                                                                                     {"0", "-0"},
                                                                                     {"0", "0.00"},
                                                                                     {"100", "100.0"},
                                                                                     {"-2.50", "-2.5"},
                                                                                     {"007", "7"},
                                                                                     {"0.10", ".1"}})
        EXPECT_EQ(sortable(one), sortable(other)) << one << " = " << other;
}

TEST(Sortable, AgreesWithDoublesOnRandomNumbers) {
    std::mt19937_64 random(1);
    std::uniform_int_distribution<int> digits(-99'999, 99'999);
    const std::vector<double> scales = {0.001, 0.01, 1, 10, 1000};
    const auto draw = [&] { return digits(random) * scales[random() % scales.size()]; };
    for (int i = 0; i < 100'000; i++) {
        const double a = draw();
        const double b = i % 10 == 0 ? a : draw();
        const std::string x = sortable(std::to_string(a));
        const std::string y = sortable(std::to_string(b));
        ASSERT_EQ(x < y, std::stod(std::to_string(a)) < std::stod(std::to_string(b))) << a << ' ' << b;
        ASSERT_EQ(x == y, std::to_string(a) == std::to_string(b)) << a << ' ' << b;
    }
}

TEST(Sortable, NeedsNoMoreRoomThanItSays) {
    for (const std::string number : {"0", "-0", "1", "-1", "-1.5", "-.5", "123456789", "-123456789.123456789"}) {
        std::string text(number.size() + k_sortable_extra, '?');
        EXPECT_LE(make_sortable(number, text), text.size());
    }
}

} // namespace
} // namespace test_sortable
