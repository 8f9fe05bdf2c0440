#include "model/workflow/param_json.h"

#include <algorithm>

#include "model/sel/program.h"
#include "model/workflow/param_values.h"
#include "model/workflow/reader.h"

namespace scylla::model::workflow {

namespace {

using sel::Value;

class ParamReader {
public:
    ParamReader(sel::Context &context, Problems &problems) noexcept : context_{context}, problems_{problems} {}

    ParamMap read_all(const Value &json, const Where &where) {
        ParamMap params;
        if (json.type != sel::Type::map) {
            problems_.add(where, "must be an object whose members are parameters");
            return params;
        }
        for (const sel::Map::Member &member : json.map->all()) {
            context_.work();
            if (auto param = read(member.value, where.member(member.key.view())))
                params.put(member.key.view(), std::move(*param));
        }
        return params;
    }

    std::optional<Param> read(const Value &json, const Where &where) {
        if (json.type != sel::Type::map) {
            problems_.add(where, R"(must be an object with the members "type" and "value" or "expression")");
            return std::nullopt;
        }
        const sel::Map &object = *json.map;
        const auto type = read_name(object, "type", where, find_type, "a type of parameters");
        if (!type && find_member(object, "type") == nullptr)
            problems_.add(where, R"(has no "type")");
        if (!type)
            return std::nullopt;
        Param param{.type = *type};
        param.mode = read_name(object, "mode", where, find_mode, "a mode of parameters");
        param.system_mode = read_name(object, "internal_mode", where, find_system_mode, "a system mode of parameters");
        param.source = read_name(object, "source", where, find_source, "a source of parameters");
        const Object read{object, where};
        param.tags = Reader(context_, problems_).tags(read);
        if (const Value *validator = find_member(object, "validator"))
            param.validator = read_program(*validator, where.member("validator"));
        if (const Value *meta = find_member(object, "meta"); meta != nullptr && meta->type != sel::Type::map)
            problems_.add(where.member("meta"), "must be an object");
        Reader(context_, problems_)
            .refuse_others(read, {"type", "value", "expression", "mode", "internal_mode", "source", "tags", "validator",
                                  "meta", "name"});
        read_content(object, where, param);
        return param;
    }

private:
    // Null: the member is missing or null.
    static const Value *find_member(const sel::Map &object, std::string_view name) {
        const Value *found = object.find(name);
        return found == nullptr || found->is_null() ? nullptr : found;
    }

    // One of the names of an enumeration.
    template <typename Found>
    std::optional<Found> read_name(const sel::Map &object, std::string_view name, const Where &where,
                                   std::optional<Found> (*find)(std::string_view) noexcept, std::string_view what) {
        const Value *given = find_member(object, name);
        if (given == nullptr)
            return std::nullopt;
        const auto found = given->type == sel::Type::string ? find(given->view()) : std::nullopt;
        if (!found)
            problems_.add(where.member(name), given->type == sel::Type::string
                                                  ? quoted(given->view()) + " is not " + std::string(what)
                                                  : "must be a string");
        return found;
    }

    std::string read_text(const Value &json, const Where &where) {
        if (json.type == sel::Type::string)
            return std::string(json.view());
        problems_.add(where, "must be a string");
        return {};
    }

    // The value or the expression. Only parameters that the system writes may have neither.
    void read_content(const sel::Map &object, const Where &where, Param &param) {
        const Value *value = find_member(object, "value");
        const Value *expression = find_member(object, "expression");
        if (value != nullptr && expression != nullptr)
            return problems_.add(where, R"(has both "value" and "expression")");
        if (value == nullptr && expression == nullptr) {
            if (!param.system_mode)
                problems_.add(where, R"(has neither "value" nor "expression")");
            return;
        }
        if (expression != nullptr)
            return read_expression(*expression, where.member("expression"), param);
        read_literal(*value, where.member("value"), param);
    }

    void read_expression(const Value &json, const Where &where, Param &param) {
        param.form = ParamForm::expression;
        param.expression = read_program(json, where);
    }

    std::string read_program(const Value &json, const Where &where) {
        std::string text = read_text(json, where);
        try {
            if (json.type == sel::Type::string)
                (void)sel::Program::parse(text, context_.limits);
        } catch (const sel::Failure &failure) {
            problems_.add(where, show_fault(failure.fault));
        }
        return text;
    }

    void read_literal(const Value &json, const Where &where, Param &param) {
        param.form = ParamForm::literal;
        if (param.type == ParamType::map) {
            param.members = read_all(json, where);
            return;
        }
        if (const auto value = to_type(context_, json, param.type))
            param.value = *value;
        else
            problems_.add(where, std::string(sel::type_name(json)) + " is not " + std::string(name_of(param.type)));
    }

    sel::Context &context_;
    Problems &problems_;
};

// ---- what workers put out ------------------------------------------------------------------------------------------

const Value *member_in(const sel::Map &object, std::string_view name) {
    const Value *found = object.find(name);
    return found == nullptr || found->is_null() ? nullptr : found;
}

// The type of a parameter as Maestro writes it. Nothing: the value is no such parameter.
std::optional<ParamType> written_type(const Value &json) {
    constexpr std::string_view k_members[] = {"type",         "value", "evaluated_result", "evaluated_time", "name",
                                              "mode",         "tags",  "validator",        "meta",           "source",
                                              "internal_mode"};
    if (json.type != sel::Type::map)
        return std::nullopt;
    const Value *type = member_in(*json.map, "type");
    const bool has_value =
        member_in(*json.map, "value") != nullptr || member_in(*json.map, "evaluated_result") != nullptr;
    const bool is_written = std::all_of(json.map->all().begin(), json.map->all().end(), [&](const auto &member) {
        return std::find(std::begin(k_members), std::end(k_members), member.key.view()) != std::end(k_members);
    });
    return type != nullptr && type->type == sel::Type::string && has_value && is_written ? find_type(type->view())
                                                                                         : std::nullopt;
}

// Nothing: it is not written as Maestro does.
std::optional<Value> read_written(sel::Context &context, const Value &json, std::optional<ParamType> as) {
    context.work();
    const auto type = written_type(json);
    if (!type || (as && *type != *as))
        return std::nullopt;
    if (const Value *result = member_in(*json.map, "evaluated_result"))
        return *result;
    const Value &value = *member_in(*json.map, "value");
    const bool is_map = *type == ParamType::map || *type == ParamType::string_map;
    if (is_map && value.type != sel::Type::map)
        return std::nullopt;
    if (*type != ParamType::map)
        return value;
    sel::Map *read = sel::make_map(context.heap);
    for (const sel::Map::Member &member : value.map->all()) {
        const auto inner = read_written(context, member.value, std::nullopt);
        if (!inner)
            return std::nullopt;
        read->put(context.heap, member.key, *inner);
    }
    return Value::of(read);
}

} // namespace

Value value_put_out(sel::Context &context, const Value &json, ParamType type) {
    const bool is_map = type == ParamType::map || type == ParamType::string_map;
    return read_written(context, json, is_map ? std::optional(type) : std::nullopt).value_or(json);
}

std::optional<Param> read_param(sel::Context &context, const Value &json, const Where &where, Problems &problems) {
    return ParamReader(context, problems).read(json, where);
}

ParamMap read_params(sel::Context &context, const Value &json, const Where &where, Problems &problems) {
    return ParamReader(context, problems).read_all(json, where);
}

} // namespace scylla::model::workflow
