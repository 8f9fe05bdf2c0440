// An expression that has been parsed: a tree of nodes. The operators of one level share a node, as do the branches of
// else-if and of ?:, so that only real nesting makes the tree deep.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "model/sel/fault.h"
#include "model/sel/limits.h"
#include "model/sel/value.h"

namespace scylla::model::sel {

enum class NodeKind : std::uint8_t {
    literal,
    name,      // slot
    params,    // the word params
    chain,     // children, each joined to those before by its op
    and_,      // children
    or_,       // children
    choose,    // condition, value, condition, value, …, value (?:)
    unary,     // op, child
    index,     // of child 0, by child 1
    field,     // text, of child 0
    call,      // text, of child 0, with the other children
    create,    // text: a class; with the children
    new_array, // elements; child: the size
    array_of,  // elements; children
    assign,    // slot, op, child
    put,       // slot, op, child 0: the index, child 1: the value
    block,     // children
    declare,   // slot, text: the type; child, or none
    statement, // an expression: child
    if_,       // condition, statement, condition, statement, …, or one more statement for else
    while_,    // condition, statement
    for_,      // 4 children: init, condition, update, statement; those left out are blocks
    break_,
    continue_,
    return_, // child
    throw_,  // child
};

enum class Op : std::uint8_t {
    none,
    equal,
    not_equal,
    less,
    greater,
    less_equal,
    greater_equal,
    add,
    subtract,
    multiply,
    divide,
    modulo,
    not_,
};

std::string_view sign_of(Op op) noexcept;

// What a variable may hold.
enum class Kind : std::uint8_t {
    any,
    string,
    long_,
    double_,
    boolean,
    strings,
    longs,
    doubles,
    booleans,
    array,
    map,
    date,
    zone,
    formatter,
    days,
    property,
};

struct Function;

struct Node {
    NodeKind kind = NodeKind::block;
    Op op = Op::none;    // its own
    Op joins = Op::none; // in a chain: the operator between it and the nodes before it
    Elements elements = Elements::any;
    Kind declared = Kind::any;
    std::int32_t slot = -1;
    Position place{};
    Position joined_at{};
    Value constant{};
    std::string_view text{};
    const Function *function = nullptr; // of a call of a class
    std::vector<Node> children{};
};

class Program {
public:
    // Throws Failure.
    static std::unique_ptr<Program> parse(std::string_view text, const Limits &limits);

    const Node &root() const noexcept { return root_; }
    // Names of variables and parameters; the index of a name is its slot.
    const std::vector<std::string> &names() const noexcept { return names_; }
    // Names that are read before the program declares them, and params['x'] and params.get('x'): what it can refer to.
    const std::vector<std::string> &references() const noexcept { return references_; }
    // Names that must be parameters: they are read by themselves, and the program has no variable of that name.
    struct Required {
        std::string name;
        Position place; // of the first
    };
    const std::vector<Required> &required() const noexcept { return required_; }
    // Whether the program declares the name of that slot, or assigns to it.
    bool is_variable(std::int32_t slot) const noexcept { return variables_[static_cast<std::size_t>(slot)]; }

private:
    friend class Parser;
    Program() : heap_{1'000'000'000} {}

    Heap heap_; // of constants
    Node root_;
    std::vector<std::string> names_;
    std::vector<std::string> references_;
    std::vector<Required> required_;
    std::vector<bool> variables_; // by slot
};

} // namespace scylla::model::sel
