// The adapter for nlohmann/json.
#include <scylla/nlohmann.h>

#include <scylla/types.h>

#include <gtest/gtest.h>

namespace {

TEST(Nlohmann, BothWays) {
    const nlohmann::json value = {{"a", {1, 2.5, nullptr}}, {"b", "\"zoë\""}};
    const scylla::new_task task{"queue", value};
    EXPECT_EQ(task.spec.as<nlohmann::json>(), value);
    EXPECT_EQ(scylla::json{nlohmann::ordered_json({{"z", 1}, {"a", 2}})}.text(), R"({"z":1,"a":2})");
    EXPECT_THROW((void)scylla::json{"{"}.as<nlohmann::json>(), nlohmann::json::parse_error);
}

} // namespace
