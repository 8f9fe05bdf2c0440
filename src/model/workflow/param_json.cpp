#include "model/workflow/param_json.h"

#include "model/sel/program.h"
#include "model/workflow/param_values.h"

namespace scylla::model::workflow {

namespace {

using sel::Value;

std::string quoted(std::string_view text) { return "\"" + std::string(text) + "\""; }

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

private:
    std::optional<Param> read(const Value &json, const Where &where) {
        if (json.type != sel::Type::map) {
            problems_.add(where, R"(must be an object with the members "type" and "value" or "expression")");
            return std::nullopt;
        }
        const sel::Map &object = *json.map;
        const auto type = read_name(object, "type", where, find_type, "a type of parameters");
        if (!type && object.find("type") == nullptr)
            problems_.add(where, R"(has no "type")");
        if (!type)
            return std::nullopt;
        Param param{.type = *type};
        param.mode = read_name(object, "mode", where, find_mode, "a mode of parameters");
        param.system_mode = read_name(object, "internal_mode", where, find_system_mode, "a system mode of parameters");
        param.source = read_name(object, "source", where, find_source, "a source of parameters");
        param.tags = read_tags(object, where);
        if (const Value *validator = object.find("validator"))
            param.validator = read_text(*validator, where.member("validator"));
        if (const Value *meta = object.find("meta"); meta != nullptr && meta->type != sel::Type::map)
            problems_.add(where.member("meta"), "must be an object");
        find_strangers(object, where);
        read_content(object, where, param);
        return param;
    }

    // One of the names of an enumeration.
    template <typename Found>
    std::optional<Found> read_name(const sel::Map &object, std::string_view name, const Where &where,
                                   std::optional<Found> (*find)(std::string_view) noexcept, std::string_view what) {
        const Value *given = object.find(name);
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

    // A tag is a name, or an object that has one.
    std::vector<std::string> read_tags(const sel::Map &object, const Where &param) {
        std::vector<std::string> tags;
        const Value *json = object.find("tags");
        if (json == nullptr)
            return tags;
        const Where where = param.member("tags");
        if (json->type != sel::Type::array) {
            problems_.add(where, "must be an array");
            return tags;
        }
        for (std::uint32_t i = 0; i < json->array->size; i++) {
            const Value &tag = json->array->items[i];
            const Value *name = tag.type == sel::Type::map ? tag.map->find("name") : &tag;
            if (name == nullptr || name->type != sel::Type::string)
                problems_.add(where.element(i), R"(must be a name or an object with a "name")");
            else if (std::find(tags.begin(), tags.end(), name->view()) != tags.end())
                problems_.add(where.element(i), "the tag " + quoted(name->view()) + " is there twice");
            else
                tags.emplace_back(name->view());
        }
        return tags;
    }

    void find_strangers(const sel::Map &object, const Where &where) {
        constexpr std::string_view k_known[] = {"type",   "value", "expression", "mode", "internal_mode",
                                                "source", "tags",  "validator",  "meta", "name"};
        for (const sel::Map::Member &member : object.all()) {
            if (std::find(std::begin(k_known), std::end(k_known), member.key.view()) == std::end(k_known))
                problems_.add(where.member(member.key.view()), "is not known here");
        }
    }

    // The value or the expression. Only what the system writes may have neither.
    void read_content(const sel::Map &object, const Where &where, Param &param) {
        const Value *value = object.find("value");
        const Value *expression = object.find("expression");
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
        param.expression = read_text(json, where);
        if (json.type != sel::Type::string)
            return;
        try {
            (void)sel::Program::parse(param.expression, context_.limits);
        } catch (const sel::Failure &failure) {
            problems_.add(where, show_fault(failure.fault));
        }
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

} // namespace

ParamMap read_params(sel::Context &context, const Value &json, const Where &where, Problems &problems) {
    return ParamReader(context, problems).read_all(json, where);
}

} // namespace scylla::model::workflow
