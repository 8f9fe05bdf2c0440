#include "workflow_dsl.h"

#include <algorithm>
#include <cctype>
#include <initializer_list>

#include "json_tree.h"
#include "session.h"

namespace scylla::cli {

namespace {

using kind = json_node::kind;

std::string upper(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(),
                   [](unsigned char letter) { return static_cast<char>(std::toupper(letter)); });
    return text;
}

std::string trimmed(const std::string &text) {
    constexpr const char *k_blanks = " \t\r\n";
    const std::size_t first = text.find_first_not_of(k_blanks);
    return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(k_blanks) - first + 1);
}

// The last word of a text, and the text before it.
struct split_text {
    std::string before;
    std::string word;
};
split_text split_last(const std::string &text) {
    const std::size_t blank = text.find_last_of(" \t\r\n");
    if (blank == std::string::npos)
        return {"", text};
    return {trimmed(text.substr(0, blank)), text.substr(blank + 1)};
}

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

// Members that mean the same for every kind of job.
bool is_common(std::string_view name) {
    return is_one_of(name, {"id", "name", "description", "failure_mode", "tags", "timeout", "signal_dependencies",
                            "signal_outputs"});
}

class expander {
public:
    explicit expander(const std::string &file) : m_file{file} {}

    json_node document(const json_node &given, const json_node &workflow) const {
        json_node result = json_node::object();
        for (std::size_t i = 0; i < given.names.size(); i++)
            if (!is_one_of(given.names[i], {"workflow", "Workflow", "properties"}))
                result.add(given.names[i], given.elements[i]);
        const json_node *properties = given.given("properties");
        result.add("properties", properties_of(properties == nullptr ? json_node::object() : *properties, workflow));
        result.add("workflow", workflow_of(workflow));
        return result;
    }

private:
    [[noreturn]] void refuse(const std::string &place, const std::string &what) const {
        throw failure{"\"" + m_file + "\" has no workflow in the short form: " + place + ": " + what};
    }

    // ---- the workflow ----------------------------------------------------------------------------------------------

    json_node properties_of(json_node properties, const json_node &workflow) const {
        if (properties.type != kind::object)
            refuse("properties", "must be an object");
        if (const json_node *owner = workflow.given("owner"))
            properties.add("owner", *owner);
        const json_node *rule = workflow.given("run_strategy");
        const json_node *concurrency = workflow.given("workflow_concurrency");
        if (concurrency != nullptr) {
            if (rule == nullptr)
                refuse("workflow.workflow_concurrency", "needs run_strategy");
            json_node strategy = json_node::object();
            strategy.add("rule", *rule);
            strategy.add("workflow_concurrency", *concurrency);
            properties.add("run_strategy", std::move(strategy));
        } else if (rule != nullptr) {
            properties.add("run_strategy", *rule);
        }
        return properties;
    }

    json_node workflow_of(const json_node &given) const {
        const std::string place = "workflow";
        json_node workflow = json_node::object();
        json_node params = json_node::object();
        for (std::size_t i = 0; i < given.names.size(); i++) {
            const std::string &name = given.names[i];
            if (is_one_of(name, {"id", "name", "description", "tags", "timeout", "criticality", "time_triggers",
                                 "signal_triggers", "instance_step_concurrency"}))
                workflow.add(name, given.elements[i]);
            else if (!is_one_of(name, {"owner", "run_strategy", "workflow_concurrency", "jobs", "dag"}))
                add_param(params, name, given.elements[i], place);
        }
        if (!params.names.empty())
            workflow.add("params", std::move(params));
        workflow.add("steps", steps_of(given, place));
        return workflow;
    }

    // ---- jobs ------------------------------------------------------------------------------------------------------

    // The only member of a job, whose name is its kind.
    const json_node &inner(const json_node &job, const std::string &place) const {
        if (job.type != kind::object || job.names.size() != 1 || job.elements[0].type != kind::object ||
            !is_one_of(job.names[0], {"job", "foreach", "while", "subworkflow"}))
            refuse(place, R"(must be an object with one member: "job", "foreach", "while" or "subworkflow")");
        return job.elements[0];
    }

    std::string id_of(const json_node &job, const std::string &place) const {
        const json_node *id = inner(job, place).given("id");
        if (id == nullptr || id->type != kind::string)
            refuse(place, R"(has no "id")");
        return id->text;
    }

    json_node steps_of(const json_node &of, const std::string &place) const {
        const json_node *jobs = of.given("jobs");
        if (jobs == nullptr || jobs->type != kind::array)
            refuse(place + ".jobs", "must be an array");
        const std::vector<json_node> transitions = order_of(of, *jobs, place);
        json_node steps = json_node::array();
        for (std::size_t i = 0; i < jobs->elements.size(); i++) {
            const std::string where = place + ".jobs[" + std::to_string(i) + "]";
            steps.elements.push_back(step_of(jobs->elements[i], transitions[i], where));
        }
        return steps;
    }

    // The successors of each job: as in the job itself, otherwise by "dag". Null: none.
    std::vector<json_node> order_of(const json_node &of, const json_node &jobs, const std::string &place) const {
        std::vector<std::string> ids;
        std::vector<json_node> transitions;
        for (std::size_t i = 0; i < jobs.elements.size(); i++) {
            const std::string where = place + ".jobs[" + std::to_string(i) + "]";
            ids.push_back(id_of(jobs.elements[i], where));
            const json_node *transition = inner(jobs.elements[i], where).given("transition");
            transitions.push_back(transition == nullptr ? json_node{} : *transition);
        }
        const json_node *dag = of.given("dag");
        if (dag == nullptr)
            return transitions;
        if (dag->type == kind::object)
            add_map(*dag, ids, transitions, place + ".dag");
        else if (dag->type == kind::string && upper(dag->text) == "SEQUENTIAL")
            add_sequence(ids, transitions);
        else if (dag->type != kind::string || upper(dag->text) != "PARALLEL")
            refuse(place + ".dag", R"(must be "sequential", "parallel" or an object)");
        return transitions;
    }

    static bool is_empty(const json_node &transition) {
        return transition.type == kind::null || (transition.type == kind::array && transition.elements.empty());
    }

    static void add_sequence(const std::vector<std::string> &ids, std::vector<json_node> &transitions) {
        for (std::size_t i = 0; i + 1 < ids.size(); i++)
            if (is_empty(transitions[i]))
                transitions[i] = json_node::string(ids[i + 1]);
    }

    void add_map(const json_node &dag, const std::vector<std::string> &ids, std::vector<json_node> &transitions,
                 const std::string &place) const {
        for (std::size_t i = 0; i < dag.names.size(); i++) {
            const auto found = std::find(ids.begin(), ids.end(), dag.names[i]);
            if (found == ids.end())
                refuse(place, "there is no job \"" + dag.names[i] + "\"");
            json_node &transition = transitions[static_cast<std::size_t>(found - ids.begin())];
            if (is_empty(transition))
                transition = dag.elements[i];
        }
    }

    json_node step_of(const json_node &job, const json_node &transition, const std::string &outer) const {
        const std::string &type = job.names[0];
        const std::string place = outer + "." + type;
        const json_node &given = job.elements[0];
        json_node step = json_node::object();
        json_node params = json_node::object();
        for (std::size_t i = 0; i < given.names.size(); i++) {
            if (is_common(given.names[i]) || (given.names[i] == "sql" && is_sql(given)))
                step.add(given.names[i], given.elements[i]);
            else if (given.names[i] != "transition" && !add_own(step, type, given.names[i], given.elements[i]))
                add_param(params, given.names[i], given.elements[i], place);
        }
        if (step.find("sub_type_version") != nullptr && step.find("sub_type") == nullptr &&
            step.given("type") != nullptr)
            step.add("sub_type", *step.given("type"));
        if (type == "subworkflow")
            add_subworkflow(params, given);
        else if (type != "job")
            add_loop(step, params, given, place);
        if (!params.names.empty())
            step.add("params", std::move(params));
        if (!is_empty(transition))
            step.add("transition", transition_of(transition, place + ".transition"));
        json_node result = json_node::object();
        result.add(type == "job" ? "step" : type, std::move(step));
        return result;
    }

    static bool is_sql(const json_node &job) {
        const json_node *type = job.given("type");
        return type != nullptr && is_one_of(type->text, {"sql", "Sql", "SQL"});
    }

    // Adds a member that belongs to this kind of job, and is not a parameter.
    static bool add_own(json_node &step, const std::string &type, const std::string &name, const json_node &value) {
        if (type == "job") {
            if (is_one_of(name, {"type", "sub_type", "sub_type_version", "retry_policy"}))
                step.add(name, value);
            else if (name == "type_version")
                step.add("sub_type_version", value);
            else
                return false;
            return true;
        }
        if (type == "subworkflow") {
            if (is_one_of(name, {"sync", "explicit_params"}))
                step.add(name, value);
            return is_one_of(
                name, {"sync", "explicit_params", "workflow_id", "subworkflow_id", "version", "subworkflow_version"});
        }
        if (type == "foreach" && is_one_of(name, {"concurrency", "job_concurrency"}))
            step.add("concurrency", value);
        else if ((type == "foreach" && is_one_of(name, {"strict_ordering", "loop_order"})) ||
                 (type == "while" && name == "condition"))
            step.add(name, value);
        else
            return is_one_of(name, {"loop_params", "params", "jobs", "dag"}) || (type == "foreach" && name == "ranges");
        return true;
    }

    static const json_node *either(const json_node &of, std::string_view name, std::string_view other) {
        const json_node *found = of.given(name);
        return found == nullptr ? of.given(other) : found;
    }

    static void add_subworkflow(json_node &params, const json_node &given) {
        const json_node *id = either(given, "workflow_id", "subworkflow_id");
        params.add("subworkflow_id", typed("STRING", "value", id == nullptr ? *given.given("id") : *id));
        if (const json_node *version = either(given, "version", "subworkflow_version"))
            params.add("subworkflow_version", typed("STRING", "value", *version));
    }

    void add_loop(json_node &step, json_node &params, const json_node &given, const std::string &place) const {
        json_node loop = json_node::object();
        if (const json_node *values = either(given, "loop_params", "params")) {
            if (values->type != kind::object)
                refuse(place + ".params", "must be an object");
            for (std::size_t i = 0; i < values->names.size(); i++)
                add_param(loop, values->names[i], values->elements[i], place + ".params");
        }
        if (const json_node *ranges = given.given("ranges"))
            add_ranges(loop, *ranges, place + ".ranges");
        params.add("loop_params", typed("MAP", "value", std::move(loop)));
        step.add("steps", steps_of(given, place));
    }

    // {"from": 0, "to": 24, "increment": 1}
    void add_ranges(json_node &loop, const json_node &ranges, const std::string &place) const {
        if (ranges.type != kind::object)
            refuse(place, "must be an object");
        for (std::size_t i = 0; i < ranges.names.size(); i++) {
            const json_node &range = ranges.elements[i];
            const std::string where = place + "." + ranges.names[i];
            if (range.given("to") == nullptr)
                refuse(where, R"(must be an object with "to")");
            const std::string expression = "Util.intsBetween(" + bound(range, "from", "0", where) + ", " +
                                           bound(range, "to", "", where) + ", " +
                                           bound(range, "increment", "1", where) + ")";
            loop.add(ranges.names[i], typed("LONG_ARRAY", "expression", json_node::string(expression)));
        }
    }

    std::string bound(const json_node &range, const std::string &name, const char *otherwise,
                      const std::string &place) const {
        const json_node *given = range.given(name);
        if (given == nullptr)
            return otherwise;
        if (given->type != kind::number || given->text.find_first_not_of("-0123456789") != std::string::npos)
            refuse(place + "." + name, "must be a whole number");
        return given->text;
    }

    // ---- transitions -----------------------------------------------------------------------------------------------

    // One or several of: id; IF condition THEN id; and at last OTHERWISE id.
    json_node transition_of(const json_node &given, const std::string &place) const {
        std::vector<json_node> all = given.type == kind::array ? given.elements : std::vector{given};
        json_node successors = json_node::object();
        std::string conditions;
        for (std::size_t i = 0; i < all.size(); i++) {
            const std::string where = given.type == kind::array ? place + "[" + std::to_string(i) + "]" : place;
            if (all[i].type != kind::string)
                refuse(where, "must be a text");
            const split_text split = split_last(trimmed(all[i].text));
            std::string condition = condition_of(split.before, conditions, where);
            if (split.before.empty() || upper(split.before) != "OTHERWISE") {
                if (condition != "true")
                    conditions += (conditions.empty() ? "(" : " || (") + condition + ")";
            } else if (i + 1 < all.size()) {
                refuse(where, "OTHERWISE must be the last");
            }
            if (successors.find(split.word) != nullptr)
                refuse(where, "the job \"" + split.word + "\" is there twice");
            successors.add(split.word, json_node::string(std::move(condition)));
        }
        json_node transition = json_node::object();
        transition.add("successors", std::move(successors));
        return transition;
    }

    // The condition, from the words before the id.
    std::string condition_of(const std::string &words, const std::string &before, const std::string &place) const {
        if (words.empty())
            return "true";
        if (upper(words) == "OTHERWISE")
            return before.empty() ? "true" : "!(" + before + ")";
        const split_text split = split_last(words);
        const bool begins = split.before.size() > 2 && upper(split.before.substr(0, 2)) == "IF" &&
                            std::isspace(static_cast<unsigned char>(split.before[2])) != 0;
        if (upper(split.word) != "THEN" || !begins)
            refuse(place, R"(must be "id", "IF condition THEN id" or "OTHERWISE id")");
        return trimmed(split.before.substr(3));
    }

    // ---- parameters ------------------------------------------------------------------------------------------------

    static json_node typed(const char *type, const char *name, json_node value) {
        json_node param = json_node::object();
        param.add("type", json_node::string(type));
        if (value.type == kind::number && std::string_view{type} == "STRING")
            value.type = kind::string;
        param.add(name, std::move(value));
        return param;
    }

    // name, !name (an expression), name<type>, name(mode), and all of it.
    void add_param(json_node &params, const std::string &key, const json_node &value, const std::string &place) const {
        std::string name = trimmed(key);
        const bool is_expression = !name.empty() && name[0] == '!';
        name.erase(0, is_expression ? 1 : 0);
        const std::string mode = take_suffix(name, '(', ')');
        std::string type = take_suffix(name, '<', '>');
        const std::string where = place + "." + key;
        if (name.empty())
            refuse(where, "has no name");
        if (value.type == kind::null)
            refuse(where, "has no value");
        if (!type.empty())
            type = type_of(upper(type), where);
        else
            type = is_expression ? "STRING" : implied_type(value, where);
        json_node param = is_expression ? typed(type.c_str(), "expression", json_node::string(expression(value, where)))
                          : type == "MAP" ? typed("MAP", "value", map_of(value, where))
                                          : typed(type.c_str(), "value", value);
        if (!mode.empty())
            param.add("mode", json_node::string(upper(mode)));
        if (params.find(name) != nullptr)
            refuse(where, "is there twice");
        params.add(name, std::move(param));
    }

    // Removes and returns the text between the first `first` and the last `last` at the end of the name.
    static std::string take_suffix(std::string &name, char first, char last) {
        const std::size_t begin = name.find(first);
        if (begin == std::string::npos || begin == 0 || name.back() != last)
            return {};
        const std::string inside = trimmed(name.substr(begin + 1, name.size() - begin - 2));
        name = trimmed(name.substr(0, begin));
        return inside;
    }

    // long, array<long>, map (of texts), pmap (of parameters), and the words of definitions.
    std::string type_of(const std::string &type, const std::string &place) const {
        if (type == "PMAP")
            return "MAP";
        if (type == "MAP")
            return "STRING_MAP";
        if (type.size() > 7 && type.compare(0, 6, "ARRAY<") == 0 && type.back() == '>')
            return trimmed(type.substr(6, type.size() - 7)) + "_ARRAY";
        if (type.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ_") != std::string::npos)
            refuse(place, "\"" + type + "\" is no type");
        return type;
    }

    std::string implied_type(const json_node &value, const std::string &place) const {
        switch (value.type) {
        case kind::boolean:
            return "BOOLEAN";
        case kind::number:
            return value.text.find_first_of(".eE") == std::string::npos ? "LONG" : "DOUBLE";
        case kind::array:
            return array_type(value, place);
        case kind::object:
            return !value.elements.empty() &&
                           std::all_of(value.elements.begin(), value.elements.end(),
                                       [](const json_node &each) { return each.type == kind::string; })
                       ? "STRING_MAP"
                       : "MAP";
        case kind::string:
        case kind::null:
            break;
        }
        return "STRING";
    }

    std::string array_type(const json_node &array, const std::string &place) const {
        std::string type = "STRING";
        for (std::size_t i = 0; i < array.elements.size(); i++) {
            const json_node &element = array.elements[i];
            if (element.type == kind::null || element.type == kind::array || element.type == kind::object)
                refuse(place + "[" + std::to_string(i) + "]", "must be a text, a number or a boolean");
            const std::string found = implied_type(element, place);
            type = i == 0 || found == "DOUBLE" ? found : type;
        }
        return type + "_ARRAY";
    }

    std::string expression(const json_node &value, const std::string &place) const {
        if (value.type == kind::array || value.type == kind::object)
            refuse(place, "must be an expression");
        return value.text;
    }

    json_node map_of(const json_node &value, const std::string &place) const {
        if (value.type != kind::object)
            refuse(place, "must be an object");
        json_node params = json_node::object();
        for (std::size_t i = 0; i < value.names.size(); i++)
            add_param(params, value.names[i], value.elements[i], place);
        return params;
    }

    const std::string &m_file;
};

} // namespace

namespace {

// ---- the order of loop parameters
// ------------------------------------------------------------------------------------

json_node *object_in(json_node *of, std::string_view name) {
    const json_node *found = of == nullptr || of->type != kind::object ? nullptr : of->find(name);
    return found == nullptr || found->type != kind::object
               ? nullptr
               : &of->elements[static_cast<std::size_t>(found - of->elements.data())];
}

// In jsonb, the members of an object are sorted by the length of their names, then by the names.
bool comes_first(const std::string &name, const std::string &other) {
    return name.size() != other.size() ? name.size() < other.size() : name < other;
}

// Gives a foreach whose loop_params are in another order its loop_order.
bool add_loop_order(json_node &loop) {
    const json_node *params = object_in(object_in(object_in(&loop, "params"), "loop_params"), "value");
    if (params == nullptr || loop.find("loop_order") != nullptr ||
        std::is_sorted(params->names.begin(), params->names.end(), comes_first))
        return false;
    json_node order = json_node::array();
    for (const std::string &name : params->names)
        order.elements.push_back(json_node::string(name));
    loop.add("loop_order", std::move(order));
    return true;
}

// Of a workflow or a loop. Returns whether anything was added.
bool add_loop_orders(json_node &of) {
    bool added = false;
    for (std::size_t i = 0; i < of.names.size(); i++)
        if (of.names[i] == "steps" && of.elements[i].type == kind::array)
            for (json_node &step : of.elements[i].elements)
                for (const char *type : {"foreach", "while"})
                    if (json_node *loop = object_in(&step, type)) {
                        added = add_loop_orders(*loop) || added;
                        added = (type == std::string_view{"foreach"} && add_loop_order(*loop)) || added;
                    }
    return added;
}

} // namespace

std::string expand_workflow(const std::string &json, const std::string &file) {
    json_node document = parse_json(json);
    if (document.type != kind::object)
        return json;
    const json_node *workflow = document.given("workflow");
    if (workflow == nullptr)
        workflow = document.given("Workflow");
    const bool is_short = workflow != nullptr && workflow->type == kind::object && workflow->find("jobs") != nullptr;
    if (is_short)
        document = expander{file}.document(document, *workflow);
    json_node *whole = object_in(&document, "workflow");
    const bool added = whole != nullptr && add_loop_orders(*whole);
    return is_short || added ? to_json(document) : json;
}

} // namespace scylla::cli
