#include "model/sel/evaluate.h"

#include <algorithm>

#include "model/sel/library.h"

namespace scylla::model::sel {

void Context::look() {
    if (steps > limits.steps)
        fail(FaultKind::limit, "the expression takes more than " + std::to_string(limits.steps) + " steps");
    next_look = steps + k_steps_between_looks;
    if (world.stop())
        fail(FaultKind::stopped, "the evaluation was stopped");
    const std::int64_t took = world.steady_millis() - begun;
    if (took > limits.patience)
        throw NotYet{.is_slow = true};
    if (took > limits.milliseconds)
        fail(FaultKind::limit,
             "the expression takes longer than " + std::to_string(limits.milliseconds) + " milliseconds");
}

namespace {

enum class Flow : std::uint8_t { next, leave, again, done }; // break, continue, return

struct Slot {
    Value value{};
    Kind kind = Kind::any;
    bool known = false; // its value is here, not with the parameters
    bool fixed = false; // declared
};

constexpr std::size_t k_arguments_at_hand = 8;

Kind kind_of(const Value &value) noexcept {
    switch (value.type) {
    case Type::string:
        return Kind::string;
    case Type::long_:
        return Kind::long_;
    case Type::double_:
        return Kind::double_;
    case Type::boolean:
        return Kind::boolean;
    case Type::map:
        return Kind::map;
    case Type::date:
        return Kind::date;
    case Type::zone:
        return Kind::zone;
    case Type::formatter:
        return Kind::formatter;
    case Type::days:
        return Kind::days;
    case Type::property:
        return Kind::property;
    case Type::array:
        break;
    default:
        return Kind::any;
    }
    switch (value.array->elements) {
    case Elements::string:
        return Kind::strings;
    case Elements::long_:
        return Kind::longs;
    case Elements::double_:
        return Kind::doubles;
    case Elements::boolean:
        return Kind::booleans;
    default:
        return Kind::array;
    }
}

bool is_array(Kind kind) noexcept {
    return kind == Kind::strings || kind == Kind::longs || kind == Kind::doubles || kind == Kind::booleans ||
           kind == Kind::array;
}

bool fits(const Value &value, Kind kind) noexcept {
    if (kind == Kind::any || value.is_null() || kind_of(value) == kind)
        return true;
    // An empty array has no type yet; an Object[] holds anything.
    return value.type == Type::array && is_array(kind) && (value.array->size == 0 || kind == Kind::array);
}

Value initial(Kind kind) noexcept {
    switch (kind) {
    case Kind::long_:
        return Value::of(std::int64_t{0});
    case Kind::double_:
        return Value::of(0.0);
    case Kind::boolean:
        return Value::of(false);
    default:
        return {};
    }
}

std::string_view kind_name(Kind kind) noexcept {
    constexpr std::string_view k_names[] = {
        "any",           "STRING",           "LONG",  "DOUBLE", "BOOLEAN",  "STRING_ARRAY",  "LONG_ARRAY",
        "DOUBLE_ARRAY",  "BOOLEAN_ARRAY",    "ARRAY", "MAP",    "DATETIME", "DATETIME_ZONE", "DATETIME_FORMATTER",
        "DATETIME_DAYS", "DATETIME_PROPERTY"};
    return k_names[static_cast<std::size_t>(kind)];
}

class Evaluator {
public:
    Evaluator(const Program &program, Context &context)
        : program_{program}, context_{context}, slots_{context.heap.allocate<Slot>(program.names().size())} {
        std::uninitialized_fill_n(slots_, program.names().size(), Slot{});
    }

    Value run() {
        execute(program_.root());
        return result_;
    }

private:
    // Statements

    Flow execute(const Node &node) {
        context_.work();
        switch (node.kind) {
        case NodeKind::block:
            return execute_block(node);
        case NodeKind::declare:
            declare(node);
            return Flow::next;
        case NodeKind::statement:
            result_ = value_of(node.children[0]);
            return Flow::next;
        case NodeKind::if_:
            return execute_if(node);
        case NodeKind::while_:
            return execute_while(node);
        case NodeKind::for_:
            return execute_for(node);
        case NodeKind::break_:
            return Flow::leave;
        case NodeKind::continue_:
            return Flow::again;
        case NodeKind::return_:
            result_ = value_of(node.children[0]);
            return Flow::done;
        case NodeKind::throw_:
            throw_error(node);
        default:
            result_ = value_of(node);
            return Flow::next;
        }
    }

    Flow execute_block(const Node &block) {
        for (const Node &statement : block.children) {
            const Flow flow = execute(statement);
            if (flow != Flow::next)
                return flow;
        }
        return Flow::next;
    }

    Flow execute_if(const Node &node) {
        const auto &parts = node.children;
        std::size_t part = 0;
        for (; part + 1 < parts.size(); part += 2) {
            if (truth_of(parts[part]))
                return execute(parts[part + 1]);
        }
        return part < parts.size() ? execute(parts[part]) : Flow::next;
    }

    void count_iteration(const Node &loop, std::int64_t &count) {
        context_.place = loop.place;
        context_.work();
        if (++count >= context_.limits.loop)
            fail(FaultKind::limit, "the loop reaches " + std::to_string(context_.limits.loop) + " iterations");
    }

    Flow execute_while(const Node &loop) {
        std::int64_t count = 0;
        while (truth_of(loop.children[0])) {
            count_iteration(loop, count);
            const Flow flow = execute(loop.children[1]);
            if (flow == Flow::leave)
                break;
            if (flow == Flow::done)
                return flow;
        }
        return Flow::next;
    }

    Flow execute_for(const Node &loop) {
        const auto &parts = loop.children;
        std::int64_t count = 0;
        for (execute(parts[0]); parts[1].kind == NodeKind::block || truth_of(parts[1]); execute(parts[2])) {
            count_iteration(loop, count);
            const Flow flow = execute(parts[3]);
            if (flow == Flow::leave)
                break;
            if (flow == Flow::done)
                return flow;
        }
        return Flow::next;
    }

    [[noreturn]] void throw_error(const Node &node) {
        const Value message = value_of(node.children[0]);
        context_.place = node.place;
        fail(FaultKind::thrown, show(context_, message));
    }

    void declare(const Node &node) {
        Value value = node.children.empty() ? initial(node.declared) : value_of(node.children[0]);
        Slot &slot = slots_[node.slot];
        slot = {{}, node.declared, true, true};
        context_.place = node.place;
        store(slot, node.text, value);
    }

    // Variables

    void store(Slot &slot, std::string_view name, Value value) {
        if (value.type == Type::none || value.type == Type::class_ || value.type == Type::params)
            fail(FaultKind::value, std::string(type_name(value)) + " cannot be assigned");
        if (slot.kind == Kind::double_ && value.type == Type::long_)
            value = Value::of(static_cast<double>(value.number));
        if (!fits(value, slot.kind))
            fail(FaultKind::value, "\"" + std::string(name) + "\" is " + std::string(kind_name(slot.kind)) +
                                       " and cannot become " + std::string(type_name(value)));
        if (!slot.fixed && slot.kind == Kind::any)
            slot.kind = kind_of(value);
        slot.value = value;
        slot.known = true;
    }

    // With the value of a parameter, if it has not been assigned to.
    Slot &load(const Node &node) {
        Slot &slot = slots_[node.slot];
        if (!slot.known)
            load_param(node, slot);
        return slot;
    }
    void load_param(const Node &node, Slot &slot) {
        context_.place = node.place;
        const auto found = context_.params.find(node.text, context_);
        if (!found && !program_.is_variable(node.slot) && !context_.params.knows(node.text))
            fail(FaultKind::unknown, no_parameter(node.text));
        slot.value = found.value_or(Value{});
        slot.kind = kind_of(slot.value);
        slot.known = true;
    }

    Value assign(const Node &node) {
        Value value = value_of(node.children[0]);
        Slot &slot = load(node);
        context_.place = node.place;
        if (node.op != Op::none)
            value = combine(context_, node.op, slot.value, value);
        store(slot, node.text, value);
        return slot.value;
    }

    Value put(const Node &node) {
        const Value index = value_of(node.children[0]);
        Value value = value_of(node.children[1]);
        const Value target = load(node).value;
        context_.place = node.place;
        if (node.op != Op::none)
            value = combine(context_, node.op, element_of(target, index), value);
        if (target.type == Type::map) {
            context_.work_on(to_string(index).size());
            check_storable(value);
            target.map->put(context_.heap, index, value);
            return value;
        }
        Value &place = array_place(target, index);
        value = to_element(*target.array, value);
        place = value;
        return value;
    }

    static void check_storable(const Value &value) {
        if (value.type == Type::none || value.type == Type::class_ || value.type == Type::params)
            fail(FaultKind::value, std::string(type_name(value)) + " cannot be stored");
    }
    static Value to_element(const Array &array, const Value &value) {
        check_storable(value);
        if (array.elements == Elements::double_ && value.type == Type::long_)
            return Value::of(static_cast<double>(value.number));
        if (array.elements != Elements::any && !value.is_null() && elements_of(value.type) != array.elements)
            fail(FaultKind::value,
                 std::string(array_name(array.elements)) + " cannot hold " + std::string(type_name(value)));
        return value;
    }

    static Value &array_place(const Value &array, const Value &index) {
        if (array.type != Type::array)
            fail(FaultKind::value, std::string(type_name(array)) + " has no elements");
        const std::int64_t place = to_long(index);
        if (place < 0 || place >= array.array->size)
            fail(FaultKind::value, "there is no element " + std::to_string(place) + " in an array of " +
                                       std::to_string(array.array->size));
        return array.array->items[place];
    }

    Value element_of(const Value &object, const Value &index) {
        if (object.type == Type::params)
            return context_.params.find(to_string(index), context_).value_or(Value{});
        if (object.type == Type::map) {
            context_.work_on(to_string(index).size());
            const Value *found = object.map->find(index.view());
            return found == nullptr ? Value{} : *found;
        }
        return array_place(object, index);
    }

    // Expressions

    bool truth_of(const Node &node) {
        const Value value = value_of(node);
        context_.place = node.place;
        return to_truth(value);
    }

    Value value_of(const Node &node) {
        context_.work();
        switch (node.kind) {
        case NodeKind::literal:
            return node.constant;
        case NodeKind::name:
            return load(node).value;
        case NodeKind::params:
            return Value::of(Type::params, 0);
        case NodeKind::chain:
            return chain(node);
        case NodeKind::and_:
        case NodeKind::or_:
            return logic(node);
        case NodeKind::choose:
            return choose(node);
        case NodeKind::unary:
            return unary(node);
        case NodeKind::index:
            return index(node);
        case NodeKind::field:
        case NodeKind::call:
        case NodeKind::create:
            return call(node);
        case NodeKind::new_array:
            return create_array(node);
        case NodeKind::array_of:
            return array_of(node);
        case NodeKind::assign:
            return assign(node);
        case NodeKind::put:
            return put(node);
        default:
            break;
        }
        fail(FaultKind::value, "a statement has no value"); // the parser makes no such tree
    }

    Value chain(const Node &node) {
        Value value = value_of(node.children[0]);
        for (std::size_t i = 1; i < node.children.size(); i++) {
            const Node &operand = node.children[i];
            const Value right = value_of(operand);
            context_.place = operand.joined_at;
            value = combine(context_, operand.joins, value, right);
        }
        return value;
    }

    Value logic(const Node &node) {
        const bool ends_with = node.kind == NodeKind::or_;
        for (const Node &operand : node.children) {
            if (truth_of(operand) == ends_with)
                return Value::of(ends_with);
        }
        return Value::of(!ends_with);
    }

    Value choose(const Node &node) {
        const auto &parts = node.children;
        std::size_t part = 0;
        for (; part + 1 < parts.size(); part += 2) {
            if (truth_of(parts[part]))
                return value_of(parts[part + 1]);
        }
        return value_of(parts[part]);
    }

    Value unary(const Node &node) {
        const Value value = value_of(node.children[0]);
        context_.place = node.place;
        if (node.op == Op::not_)
            return Value::of(!to_truth(value));
        if (value.type == Type::double_)
            return node.op == Op::add ? value : Value::of(-value.real);
        if (value.type != Type::long_)
            fail(FaultKind::value,
                 std::string(type_name(value)) + " does not support " + std::string(node.op == Op::add ? "+" : "-"));
        return node.op == Op::add ? value : combine(context_, Op::subtract, Value::of(std::int64_t{0}), value);
    }

    Value index(const Node &node) {
        const Value object = value_of(node.children[0]);
        const Value place = value_of(node.children[1]);
        context_.place = node.place;
        return element_of(object, place);
    }

    Value call(const Node &node) {
        const std::size_t count = node.children.size();
        Value at_hand[k_arguments_at_hand];
        Value *values = count <= k_arguments_at_hand ? at_hand : context_.heap.allocate<Value>(count);
        for (std::size_t i = 0; i < count; i++)
            new (values + i) Value(value_of(node.children[i]));
        context_.place = node.place;
        if (node.kind == NodeKind::field && values[0].type == Type::params)
            return context_.params.find(node.text, context_).value_or(Value{});
        if (node.kind == NodeKind::create)
            return node.function->call(context_, Value{}, {values, count});
        const Function *function = node.function == nullptr ? bind(node, values[0]) : node.function;
        return function->call(context_, values[0], {values + 1, count - 1});
    }

    static const Function *bind(const Node &node, const Value &self) {
        const int arguments = node.kind == NodeKind::field ? -1 : static_cast<int>(node.children.size()) - 1;
        const auto receiver = receiver_of(self);
        if (!receiver)
            fail(FaultKind::value, std::string(type_name(self)) + " has no \"" + std::string(node.text) + "\"");
        const Function *function = find_function(*receiver, node.text, arguments);
        if (function == nullptr)
            fail(FaultKind::unknown, describe_missing(*receiver, node.text, arguments));
        return function;
    }

    Value create_array(const Node &node) {
        const std::int64_t size = to_long(value_of(node.children[0]));
        context_.place = node.place;
        if (size < 0)
            fail(FaultKind::value, "an array cannot have " + std::to_string(size) + " elements");
        Array *array = new_array(context_, node.elements, size);
        // As in Java: numbers are 0, truths false, everything else is null.
        const Value first = node.elements == Elements::long_     ? Value::of(std::int64_t{0})
                            : node.elements == Elements::double_ ? Value::of(0.0)
                            : node.elements == Elements::boolean ? Value::of(false)
                                                                 : Value{};
        std::fill(array->values().begin(), array->values().end(), first);
        return Value::of(array);
    }

    Value array_of(const Node &node) {
        context_.place = node.place;
        Array *array = new_array(context_, node.elements, static_cast<std::int64_t>(node.children.size()));
        for (std::size_t i = 0; i < node.children.size(); i++) {
            const Value value = value_of(node.children[i]);
            context_.place = node.children[i].place;
            array->items[i] = to_element(*array, value);
        }
        return Value::of(array);
    }

    const Program &program_;
    Context &context_;
    Slot *slots_;
    Value result_ = Value::of(Type::none, 0);
};

} // namespace

Value evaluate(const Program &program, Context &context) {
    try {
        return Evaluator(program, context).run();
    } catch (Failure &failure) {
        if (failure.fault.place.line == 0)
            failure.fault.place = context.place;
        throw;
    }
}

} // namespace scylla::model::sel
