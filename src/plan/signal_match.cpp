#include "plan/signal_match.h"

#include "model/sortable.h"
#include "pg/error.h"
#include "pg/hash.h"
#include "pg/json.h"
#include "pg/memory.h"

namespace scylla {

namespace {

constexpr int k_max_value = 500; // bytes: it must fit in an index entry
constexpr const char *k_params_rule =
    "It must be an object of at most 16 members whose values are texts of at most 500 bytes, numbers of at most 100 "
    "digits, booleans or null.";
constexpr const char *k_match_rule =
    "It must be an object of at most 16 members: scalars for equality, and at most one {\"<\", \"<=\", \">\" or "
    "\">=\": number or text}.";

constexpr std::array<const char *, 5> k_ops = {"", "<", "<=", ">", ">="};

std::string_view view_of(const JsonbValue &value) {
    return {value.val.string.val, static_cast<std::size_t>(value.val.string.len)};
}

// False if a value cannot be compared.
bool read_value(const JsonbValue &value, SignalTerm *term) {
    constexpr std::ptrdiff_t k_max_digits = 100;
    switch (value.type) {
    case jbvNull:
        term->type = SignalTerm::Type::null;
        term->value = {};
        return true;
    case jbvBool:
        term->type = SignalTerm::Type::boolean;
        term->value = value.val.boolean ? "t" : "f";
        return true;
    case jbvString:
        term->type = SignalTerm::Type::text;
        term->value = view_of(value);
        return value.val.string.len <= k_max_value;
    case jbvNumeric: {
        const std::string_view number =
            DatumGetCString(DirectFunctionCall1(numeric_out, NumericGetDatum(value.val.numeric)));
        const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
        if (std::count_if(number.begin(), number.end(), is_digit) > k_max_digits)
            return false;
        const auto room = allocate<char>(number.size() + model::k_sortable_extra);
        term->type = SignalTerm::Type::number;
        term->value = {room.data(), model::make_sortable(number, room)};
        return true;
    }
    default:
        return false;
    }
}

SignalOp op_of(std::string_view name) {
    for (std::size_t i = 1; i < k_ops.size(); i++)
        if (name == k_ops[i])
            return static_cast<SignalOp>(i);
    return SignalOp::none;
}

// {">=": 5}. False if it is something else.
bool read_range(const JsonbValue &value, SignalMatch *match) {
    if (value.type != jbvBinary || !JsonContainerIsObject(value.val.binary.data) ||
        JsonContainerSize(value.val.binary.data) != 1 || match->op != SignalOp::none)
        return false;
    bool good = false;
    json::for_each_member(value.val.binary.data, [&](const char *name, JsonbValue *bound) {
        match->op = op_of(name);
        good = match->op != SignalOp::none && (bound->type == jbvString || bound->type == jbvNumeric) &&
               read_value(*bound, &match->range);
    });
    return good;
}

const SignalTerm *find(std::span<const SignalTerm> terms, std::string_view param) {
    for (const SignalTerm &term : terms)
        if (term.param == param)
            return &term;
    return nullptr;
}

bool compares(SignalOp op, std::string_view value, std::string_view bound) {
    const int order = value.compare(bound);
    switch (op) {
    case SignalOp::less:
        return order < 0;
    case SignalOp::less_equal:
        return order <= 0;
    case SignalOp::greater:
        return order > 0;
    case SignalOp::greater_equal:
        return order >= 0;
    case SignalOp::none:
        break;
    }
    return true;
}

} // namespace

std::span<const SignalTerm> read_signal_params(Jsonb *params) {
    if (!json::is_object(params) || static_cast<std::size_t>(JB_ROOT_COUNT(params)) > k_max_signal_params)
        error::bad_argument("params", error::show(params), k_params_rule);
    const auto terms = allocate<SignalTerm>(JB_ROOT_COUNT(params));
    std::size_t count = 0;
    json::for_each_member(&params->root, [&](const char *name, JsonbValue *value) {
        terms[count].param = name;
        if (!read_value(*value, &terms[count++]))
            error::bad_argument("params", error::show(params), k_params_rule);
    });
    return terms;
}

SignalMatch read_signal_match(Jsonb *match) {
    if (!json::is_object(match) || static_cast<std::size_t>(JB_ROOT_COUNT(match)) > k_max_signal_params)
        error::bad_argument("match", error::show(match), k_match_rule);
    SignalMatch result{.equal = {}, .op = SignalOp::none, .range = {}};
    const auto terms = allocate<SignalTerm>(JB_ROOT_COUNT(match));
    std::size_t count = 0;
    json::for_each_member(&match->root, [&](const char *name, JsonbValue *value) {
        terms[count].param = name;
        if (read_value(*value, &terms[count])) {
            count++;
            return;
        }
        if (!read_range(*value, &result))
            error::bad_argument("match", error::show(match), k_match_rule);
        result.range.param = name;
    });
    result.equal = terms.first(count);
    return result;
}

bool matches(const SignalMatch &match, std::span<const SignalTerm> params) {
    for (const SignalTerm &wanted : match.equal) {
        const SignalTerm *given = find(params, wanted.param);
        if (given == nullptr || given->type != wanted.type || given->value != wanted.value)
            return false;
    }
    if (match.op == SignalOp::none)
        return true;
    const SignalTerm *given = find(params, match.range.param);
    return given != nullptr && given->type == match.range.type && compares(match.op, given->value, match.range.value);
}

int64 digest_of(std::string_view signal, const SignalMatch &match) {
    StringInfoData text;
    initStringInfo(&text);
    // Each part is preceded by its size, so that different lists of parts give different texts.
    const auto add = [&text](std::string_view part) {
        appendStringInfo(&text, "%zu:", part.size());
        appendBinaryStringInfo(&text, part.data(), static_cast<int>(part.size()));
    };
    add(signal);
    for (const SignalTerm &term : match.equal) {
        add(term.param);
        appendStringInfoChar(&text, static_cast<char>(term.type));
        add(term.value);
    }
    if (match.op != SignalOp::none) {
        appendStringInfoString(&text, k_ops[static_cast<std::size_t>(match.op)]);
        appendStringInfoChar(&text, static_cast<char>(match.range.type));
        add(match.range.param);
    }
    const uint64 digest = hash_of({text.data, static_cast<std::size_t>(text.len)});
    pfree(text.data);
    return static_cast<int64>(digest);
}

store::Bounds bounds_of(const SignalMatch &probe) {
    const std::string_view value = probe.range.value;
    switch (probe.op) {
    case SignalOp::less:
        return {.low = value, .high = std::nullopt, .without_low = true};
    case SignalOp::less_equal:
        return {.low = value, .high = std::nullopt};
    case SignalOp::greater:
        return {.low = {}, .high = value, .without_high = true};
    case SignalOp::greater_equal:
        return {.low = {}, .high = value};
    case SignalOp::none:
        break;
    }
    return {.low = {}, .high = std::string_view{}};
}

Jsonb *shape_of(const SignalMatch &match) {
    json::Builder list = json::build_array();
    list.begin_array();
    for (const SignalTerm &term : match.equal)
        list.element(term.param);
    list.end_array();
    if (match.op != SignalOp::none) {
        list.element(match.range.param);
        list.element(k_ops[static_cast<std::size_t>(match.op)]);
    }
    return list.finish();
}

std::optional<SignalMatch> probe_of(Jsonb *shape, std::span<const SignalTerm> params) {
    const JsonbValue *names = getIthJsonbValueFromContainer(&shape->root, 0);
    const auto equal = allocate<SignalTerm>(JsonContainerSize(names->val.binary.data));
    for (std::size_t i = 0; i < equal.size(); i++) {
        const JsonbValue *name = getIthJsonbValueFromContainer(names->val.binary.data, static_cast<uint32>(i));
        const SignalTerm *term = find(params, view_of(*name));
        if (term == nullptr)
            return std::nullopt;
        equal[i] = *term;
    }
    SignalMatch probe{.equal = equal, .op = SignalOp::none, .range = {}};
    if (JB_ROOT_COUNT(shape) == 1)
        return probe;
    const SignalTerm *range = find(params, view_of(*getIthJsonbValueFromContainer(&shape->root, 1)));
    if (range == nullptr || (range->type != SignalTerm::Type::number && range->type != SignalTerm::Type::text))
        return std::nullopt;
    probe.range = *range;
    probe.op = op_of(view_of(*getIthJsonbValueFromContainer(&shape->root, 2)));
    return probe;
}

Jsonb *equal_part(Jsonb *match) {
    json::Builder object = json::build_object();
    json::for_each_member(&match->root, [&](const char *name, JsonbValue *value) {
        if (value->type != jbvBinary)
            object.member(name, *value);
    });
    return object.finish();
}

} // namespace scylla
