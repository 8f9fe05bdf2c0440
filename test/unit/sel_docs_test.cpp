// docs/expressions.md: each row of its tables of expressions is what the language does, and each name of the library is
// there.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "model/sel/library.h"
#include "sel_world.h"

namespace test_sel_docs {
namespace {

namespace sel = scylla::model::sel;

constexpr std::string_view k_params = R"({"a": 3, "b": 8, "s": "text", "d": 1.5, "list": [1, 2, 3], "m": {"k": "v"}})";

std::string read_docs() {
    std::ifstream file(SCYLLA_SOURCE "/docs/expressions.md");
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

TEST(SelDocs, EveryRowIsTrue) {
    std::istringstream docs(read_docs());
    int rows = 0;
    bool table = false;
    for (std::string line; std::getline(docs, line);) {
        table = line == "| expression | value |" || (table && line.starts_with("|"));
        if (!table || !line.starts_with("| `"))
            continue;
        const std::size_t between = line.rfind("` | `");
        ASSERT_NE(between, std::string::npos) << line;
        const std::string expression = line.substr(3, between - 3);
        const std::string value = line.substr(between + 5, line.size() - between - 5 - 3);
        EXPECT_EQ(eval(expression, k_params), value) << expression;
        rows++;
    }
    EXPECT_GE(rows, 80);
}

TEST(SelDocs, EveryNameIsThere) {
    const std::string docs = read_docs();
    for (int i = 0; i <= static_cast<int>(sel::Receiver::util_class); i++) {
        for (const sel::Function &function : sel::functions_of(static_cast<sel::Receiver>(i))) {
            std::string name(function.name);
            // Fields of dates are listed without get, with, plus and minus.
            for (const std::string_view verb : {"get", "with", "plus", "minus"}) {
                if (docs.find(name) == std::string::npos && name.starts_with(verb))
                    name.erase(0, verb.size());
            }
            if (docs.find(name) == std::string::npos)
                name[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(name[0])));
            EXPECT_NE(docs.find(name), std::string::npos) << function.name;
        }
    }
}

} // namespace
} // namespace test_sel_docs
