// Text to and from the server: parameters, times, array literals, and parts of error messages. Pure functions.
#ifndef SCYLLA_SRC_TEXT_H
#define SCYLLA_SRC_TEXT_H

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <scylla/error.h>
#include <scylla/types.h>

namespace scylla::detail {

// A text as a parameter. The protocol ends it at its first zero byte, so one with such a byte is refused.
std::string checked(const std::string &value, std::string_view argument);

constexpr std::size_t k_max_error = std::size_t{1} << 20; // bytes of an error's JSON that the server stores

// Valid UTF-8 without zero bytes, whose JSON has at most so many bytes: what cannot be stored is replaced, and what is
// too long is cut at a character, and says so. So an error can always be reported.
std::string printable(std::string_view text, std::size_t room = k_max_error / 16);

std::string interval(duration value);    // '1500000 microseconds'
std::string timestamp(time_point value); // microseconds since 1970, for the server to convert
time_point to_time_point(std::string_view microseconds);
int to_int(std::string_view text);
std::int64_t to_int64(std::string_view text);
double to_double(std::string_view text);
std::string from_double(double value);
std::string json_number(double value); // null for values that are no JSON numbers

// The literal of a one-dimensional array.
class array_literal {
public:
    void add(std::string_view value);
    void add_null() { next() += "NULL"; }
    void add_plain(std::string_view value) { next() += value; } // a number
    [[nodiscard]] std::string str() const { return m_text.empty() ? "{}" : m_text + '}'; }

private:
    std::string &next() { return m_text += m_text.empty() ? '{' : ','; }
    std::string m_text;
};

// A JSON array of strings.
std::string json_array(const std::vector<resource_name> &names);

// Parses libpq's text of an error: "ERROR:  message", "DETAIL:  …", "HINT:  …" and in verbose mode the SQLSTATE before
// the message and "CONSTRAINT NAME:  …".
error_info parse_error(std::string_view text, std::string_view sqlstate);

// Throws the class for the SQLSTATE and the rule.
// Gives the refusal of a connection to a database that does not exist its SQLSTATE.
void name_missing_database(error_info &info);
[[noreturn]] void throw_error(error_info info);

} // namespace scylla::detail

#endif
