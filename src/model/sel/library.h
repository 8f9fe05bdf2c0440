// What can be called: classes and the types of values, their methods and fields.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "model/sel/context.h"
#include "model/sel/program.h"
#include "model/sel/value.h"

namespace scylla::model::sel {

enum class Receiver : std::uint8_t {
    // values
    string,
    long_,
    double_,
    boolean,
    array,
    map,
    date,
    zone,
    formatter,
    property,
    days,
    params,
    // classes
    string_class,
    long_class,
    double_class,
    boolean_class,
    map_class,
    math_class,
    uuid_class,
    arrays_class,
    system_class,
    date_class,
    zone_class,
    format_class,
    days_class,
    constants_class,
    util_class,
};

struct Function {
    std::string_view name;
    int least; // arguments; -1: a field, which has none
    int most;
    Value (*call)(Context &context, const Value &self, Args args);
};
inline constexpr int k_any_number = 1'000;

std::span<const Function> functions_of(Receiver receiver) noexcept;
std::span<const Function> text_functions(Receiver receiver) noexcept;
std::span<const Function> number_functions(Receiver receiver) noexcept;
std::span<const Function> collection_functions(Receiver receiver) noexcept;
std::span<const Function> date_functions(Receiver receiver) noexcept;
std::span<const Function> util_functions(Receiver receiver) noexcept;

std::optional<Receiver> find_class(std::string_view name) noexcept;
std::optional<Receiver> receiver_of(const Value &value) noexcept;
std::string_view receiver_name(Receiver receiver) noexcept;
const Function *find_function(Receiver receiver, std::string_view name, int arguments) noexcept;
std::string describe_missing(Receiver receiver, std::string_view name, int arguments);

// Arguments of an expected type; any other type is a fault.
std::string_view to_string(const Value &value);
std::int64_t to_long(const Value &value);
double to_double(const Value &value); // also of a LONG
Map &to_map(const Value &value);
const Date &to_date(const Value &value);
const Zone *to_zone(const Value &value);
// As text, where the library takes a text or a number: Util.dateIntToTs('20210707') and Util.dateIntToTs(20210707).
std::string number_or_text(const Value &value);
std::int64_t parse_long(std::string_view text);
double parse_double(std::string_view text);

// As Java shows them.
std::string show(Context &context, const Value &value);
std::string show_double(double value);

Value combine(Context &context, Op op, const Value &left, const Value &right);
bool to_truth(const Value &value);
Value new_string(Context &context, std::string_view text);
Array *new_array(Context &context, Elements elements, std::int64_t size);

} // namespace scylla::model::sel
