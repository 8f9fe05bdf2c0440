// The grammar of the expression language, read by recursive descent.
#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>

#include "model/sel/lexer.h"
#include "model/sel/library.h"
#include "model/sel/program.h"
#include "model/sel/utf8.h"

namespace scylla::model::sel {

namespace {

struct Operator {
    std::string_view sign;
    Op op;
    int level; // a higher one binds tighter
};
constexpr auto k_operators = std::to_array<Operator>({{"==", Op::equal, 0},
                                                      {"!=", Op::not_equal, 0},
                                                      {"<", Op::less, 1},
                                                      {">", Op::greater, 1},
                                                      {"<=", Op::less_equal, 1},
                                                      {">=", Op::greater_equal, 1},
                                                      {"+", Op::add, 2},
                                                      {"-", Op::subtract, 2},
                                                      {"*", Op::multiply, 3},
                                                      {"/", Op::divide, 3},
                                                      {"%", Op::modulo, 3}});
constexpr int k_levels = 4;

constexpr auto k_assignments = std::to_array<std::pair<std::string_view, Op>>({{"=", Op::none},
                                                                               {"+=", Op::add},
                                                                               {"-=", Op::subtract},
                                                                               {"*=", Op::multiply},
                                                                               {"/=", Op::divide},
                                                                               {"%=", Op::modulo}});

constexpr auto k_not_words = std::to_array<std::string_view>(
    {"abstract",   "assert",    "byte",         "case",    "catch",   "char",      "class",  "const",
     "default",    "do",        "enum",         "extends", "final",   "finally",   "goto",   "implements",
     "instanceof", "interface", "native",       "package", "private", "protected", "public", "short",
     "super",      "switch",    "synchronized", "this",    "try"});
constexpr auto k_words =
    std::to_array<std::string_view>({"import", "if", "else", "while", "for", "break", "continue", "return", "throw",
                                     "new", "true", "false", "null", "boolean", "int", "long", "float"});
constexpr auto k_not_signs = std::to_array<std::string_view>(
    {"~", "&", "|", "^", "++", "--", "<<", ">>", ">>>", "&=", "|=", "^=", "<<=", ">>=", "->", "::", ">>>="});

struct TypeName {
    std::string_view name;
    Kind kind;
    Kind array;
    Elements elements;
};
constexpr auto k_types = std::to_array<TypeName>({
    {"boolean", Kind::boolean, Kind::booleans, Elements::boolean},
    {"int", Kind::long_, Kind::longs, Elements::long_},
    {"long", Kind::long_, Kind::longs, Elements::long_},
    {"float", Kind::double_, Kind::doubles, Elements::double_},
    {"double", Kind::double_, Kind::doubles, Elements::double_},
    {"Boolean", Kind::boolean, Kind::booleans, Elements::boolean},
    {"Integer", Kind::long_, Kind::longs, Elements::long_},
    {"Long", Kind::long_, Kind::longs, Elements::long_},
    {"Float", Kind::double_, Kind::doubles, Elements::double_},
    {"Double", Kind::double_, Kind::doubles, Elements::double_},
    {"String", Kind::string, Kind::strings, Elements::string},
    {"Object", Kind::any, Kind::array, Elements::any},
    {"Map", Kind::map, Kind::array, Elements::any},
    {"HashMap", Kind::map, Kind::array, Elements::any},
    {"LinkedHashMap", Kind::map, Kind::array, Elements::any},
    {"DateTime", Kind::date, Kind::array, Elements::any},
    {"DateTimeZone", Kind::zone, Kind::array, Elements::any},
    {"DateTimeFormatter", Kind::formatter, Kind::array, Elements::any},
    {"Days", Kind::days, Kind::array, Elements::any},
    {"Property", Kind::property, Kind::array, Elements::any},
    {"UUID", Kind::string, Kind::strings, Elements::string},
    {"List", Kind::array, Kind::array, Elements::any},
});

const TypeName *find_type(std::string_view name) noexcept {
    const auto *found = std::find_if(k_types.begin(), k_types.end(), [&](const TypeName &t) { return t.name == name; });
    return found == k_types.end() ? nullptr : found;
}

bool is_reserved(std::string_view word) noexcept {
    return std::find(k_words.begin(), k_words.end(), word) != k_words.end() || word == "double" ||
           std::find(k_not_words.begin(), k_not_words.end(), word) != k_not_words.end();
}

bool is_primitive(std::string_view word) noexcept {
    return word == "boolean" || word == "int" || word == "long" || word == "float" || word == "double";
}

std::string quoted(std::string_view text) { return "\"" + std::string(text) + "\""; }

std::string shown(const Token &token) {
    return token.kind == TokenKind::end ? "the end of the expression" : quoted(token.text);
}

} // namespace

std::string_view sign_of(Op op) noexcept {
    for (const Operator &known : k_operators) {
        if (known.op == op)
            return known.sign;
    }
    return op == Op::not_ ? "!" : "=";
}

class Parser {
public:
    Parser(std::string_view text, const Limits &limits, Program &program)
        : limits_{limits}, program_{program}, lexer_{text} {
        for (Token &token : ahead_)
            token = lexer_.next();
    }

    Node parse() {
        Node root = node(NodeKind::block);
        while (peek().is("import"))
            parse_import();
        while (peek().kind != TokenKind::end)
            root.children.push_back(parse_block_statement());
        std::erase_if(program_.required_,
                      [this](const Program::Required &read) { return program_.is_variable(slots_.at(read.name)); });
        return root;
    }

private:
    // Counts the levels of nesting: each parse of a statement, an expression or an operand in parentheses.
    class Level {
    public:
        explicit Level(Parser &parser) : parser_{parser} {
            if (++parser_.depth_ > parser_.limits_.depth)
                fail_at(parser_.peek().place, "the expression is nested too deeply", FaultKind::limit);
        }
        ~Level() { parser_.depth_--; }
        Level(const Level &) = delete;
        Level &operator=(const Level &) = delete;

    private:
        Parser &parser_;
    };

    const Token &peek(std::size_t ahead = 0) const noexcept { return ahead_[ahead]; }
    Token take() {
        Token token = std::move(ahead_[0]);
        std::move(ahead_.begin() + 1, ahead_.end(), ahead_.begin());
        ahead_.back() = lexer_.next();
        return token;
    }
    bool take_if(std::string_view text) {
        if (!peek().is(text))
            return false;
        take();
        return true;
    }
    [[noreturn]] void unexpected() const {
        const Token &token = peek();
        if (token.kind == TokenKind::sign &&
            std::find(k_not_signs.begin(), k_not_signs.end(), token.text) != k_not_signs.end())
            fail_at(token.place, "the operator " + quoted(token.text) + " is not supported");
        if (token.kind == TokenKind::word &&
            std::find(k_not_words.begin(), k_not_words.end(), token.text) != k_not_words.end())
            fail_at(token.place, quoted(token.text) + " is not supported");
        fail_at(token.place, token.kind == TokenKind::end ? "the expression ends too early"
                                                          : quoted(token.text) + " does not fit here");
    }
    void expect(std::string_view text) {
        if (peek().is(text)) {
            take();
            return;
        }
        if (peek().kind == TokenKind::sign &&
            std::find(k_not_signs.begin(), k_not_signs.end(), peek().text) != k_not_signs.end())
            unexpected();
        fail_at(peek().place, quoted(text) + " is missing before " + shown(peek()));
    }
    // The last statement needs none.
    void expect_semicolon() {
        if (peek().kind != TokenKind::end)
            expect(";");
    }
    std::string_view keep(std::string_view text) { return make_string(program_.heap_, text).view(); }
    Node node(NodeKind kind) const {
        Node made;
        made.kind = kind;
        made.place = peek().place;
        return made;
    }
    bool is_name() const noexcept { return peek().kind == TokenKind::word && !is_reserved(peek().text); }
    std::string_view take_name() {
        if (!is_name())
            unexpected();
        return keep(take().text);
    }

    std::int32_t slot_of(std::string_view name) {
        const auto found = slots_.find(name);
        if (found != slots_.end())
            return found->second;
        const auto slot = static_cast<std::int32_t>(program_.names_.size());
        program_.names_.emplace_back(name);
        program_.variables_.push_back(false);
        slots_.emplace(std::string(name), slot);
        return slot;
    }
    void make_variable(std::int32_t slot) { program_.variables_[static_cast<std::size_t>(slot)] = true; }
    void require(std::string_view name, Position place) {
        auto &all = program_.required_;
        if (std::none_of(all.begin(), all.end(), [&](const Program::Required &read) { return read.name == name; }))
            all.push_back({std::string(name), place});
    }
    void refer(std::string_view name) {
        auto &all = program_.references_;
        if (referred_.insert(std::string(name)).second)
            all.emplace_back(name);
    }

    // Statements

    void parse_import() {
        take();
        take_if("static");
        take_name();
        while (take_if(".")) {
            if (take_if("*"))
                break;
            take_name();
        }
        expect(";");
    }

    bool begins_declaration() const noexcept {
        if (peek().kind != TokenKind::word || (!is_primitive(peek().text) && is_reserved(peek().text)))
            return false;
        if (peek(1).kind == TokenKind::word)
            return true;
        return peek(1).is("[") && peek(2).is("]") && peek(3).kind == TokenKind::word;
    }

    Node parse_block_statement() {
        if (!begins_declaration())
            return parse_statement();
        Node declaration = parse_declaration();
        expect_semicolon();
        return declaration;
    }

    Node parse_declaration() {
        Node all = node(NodeKind::block);
        const Token name = take();
        const TypeName *type = find_type(name.text);
        if (type == nullptr)
            fail_at(name.place, "there is no type " + quoted(name.text), FaultKind::unknown);
        const bool array = take_if("[");
        if (array)
            expect("]");
        do {
            Node one = node(NodeKind::declare);
            one.text = take_name();
            one.slot = slot_of(one.text);
            one.declared = array ? type->array : type->kind;
            if (take_if("="))
                one.children.push_back(parse_expression());
            declared_.insert(std::string(one.text));
            make_variable(one.slot);
            all.children.push_back(std::move(one));
        } while (take_if(","));
        if (all.children.size() > 1)
            return all;
        Node only = std::move(all.children.front());
        return only;
    }

    Node parse_statement() {
        const Level level(*this);
        if (peek().is("{"))
            return parse_block();
        if (peek().is("if"))
            return parse_if();
        if (peek().is("while"))
            return parse_while();
        if (peek().is("for"))
            return parse_for();
        if (peek().is("break") || peek().is("continue"))
            return parse_jump();
        if (peek().is("return") || peek().is("throw"))
            return parse_end();
        if (peek().is(";")) { // an empty one
            Node nothing = node(NodeKind::block);
            take();
            return nothing;
        }
        Node statement = node(NodeKind::statement);
        statement.children.push_back(parse_expression());
        expect_semicolon();
        return statement;
    }

    Node parse_block() {
        Node block = node(NodeKind::block);
        expect("{");
        while (!peek().is("}")) {
            if (peek().kind == TokenKind::end)
                fail_at(block.place, "\"{\" is not closed");
            block.children.push_back(parse_block_statement());
        }
        take();
        return block;
    }

    Node parse_condition() {
        expect("(");
        Node condition = parse_expression();
        expect(")");
        return condition;
    }

    Node parse_if() {
        Node whole = node(NodeKind::if_);
        do {
            take(); // if
            whole.children.push_back(parse_condition());
            whole.children.push_back(parse_statement());
            if (!take_if("else"))
                return whole;
        } while (peek().is("if"));
        whole.children.push_back(parse_statement());
        return whole;
    }

    Node parse_loop_body() {
        loops_++;
        Node body = parse_statement();
        loops_--;
        return body;
    }

    Node parse_while() {
        Node loop = node(NodeKind::while_);
        take();
        loop.children.push_back(parse_condition());
        loop.children.push_back(parse_loop_body());
        return loop;
    }

    Node parse_for() {
        Node loop = node(NodeKind::for_);
        take();
        expect("(");
        loop.children.push_back(parse_for_part(";"));
        expect(";");
        loop.children.push_back(peek().is(";") ? node(NodeKind::block) : parse_expression());
        expect(";");
        loop.children.push_back(parse_for_part(")"));
        expect(")");
        loop.children.push_back(parse_loop_body());
        return loop;
    }
    Node parse_for_part(std::string_view end) {
        if (peek().is(end))
            return node(NodeKind::block);
        if (end == ";" && begins_declaration()) {
            Node declaration = parse_declaration();
            if (declaration.kind == NodeKind::block)
                fail_at(declaration.place, "a loop can declare one variable only");
            return declaration;
        }
        Node statement = node(NodeKind::statement);
        statement.children.push_back(parse_expression());
        return statement;
    }

    Node parse_jump() {
        Node jump = node(peek().is("break") ? NodeKind::break_ : NodeKind::continue_);
        if (loops_ == 0)
            fail_at(jump.place, quoted(peek().text) + " stands in no loop");
        take();
        expect_semicolon();
        return jump;
    }

    Node parse_end() {
        Node end = node(peek().is("return") ? NodeKind::return_ : NodeKind::throw_);
        take();
        end.children.push_back(parse_expression());
        expect_semicolon();
        return end;
    }

    // Expressions

    Node parse_expression() {
        const Level level(*this);
        Node left = parse_choice();
        const auto *found = std::find_if(k_assignments.begin(), k_assignments.end(),
                                         [this](const auto &assignment) { return peek().is(assignment.first); });
        return found == k_assignments.end() ? left : parse_assignment(std::move(left), found->second);
    }

    Node parse_assignment(Node left, Op op) {
        const bool to_name = left.kind == NodeKind::name;
        const bool to_element = left.kind == NodeKind::index && left.children[0].kind == NodeKind::name;
        if (!to_name && !to_element)
            fail_at(peek().place, "only a variable, or an element of one, can be assigned to");
        Node assignment = node(to_name ? NodeKind::assign : NodeKind::put);
        take();
        assignment.op = op;
        assignment.slot = to_name ? left.slot : left.children[0].slot;
        assignment.text = to_name ? left.text : left.children[0].text;
        if (to_name && op == Op::none)
            make_variable(assignment.slot);
        if (to_element)
            assignment.children.push_back(std::move(left.children[1]));
        assignment.children.push_back(parse_expression());
        return assignment;
    }

    Node parse_choice() {
        Node first = parse_logic(NodeKind::or_);
        if (!peek().is("?"))
            return first;
        Node whole = node(NodeKind::choose);
        whole.children.push_back(std::move(first));
        while (take_if("?")) {
            whole.children.push_back(parse_expression());
            expect(":");
            whole.children.push_back(parse_else());
        }
        return whole;
    }
    // The operand after the colon. An assignment ends the choice; a further ? continues it.
    Node parse_else() {
        Node operand = parse_logic(NodeKind::or_);
        const bool assigned = std::any_of(k_assignments.begin(), k_assignments.end(),
                                          [this](const auto &assignment) { return peek().is(assignment.first); });
        if (!assigned)
            return operand;
        const Level level(*this);
        const auto *found = std::find_if(k_assignments.begin(), k_assignments.end(),
                                         [this](const auto &assignment) { return peek().is(assignment.first); });
        return parse_assignment(std::move(operand), found->second);
    }

    Node parse_logic(NodeKind kind) {
        const std::string_view sign = kind == NodeKind::or_ ? "||" : "&&";
        const auto operand = [&] { return kind == NodeKind::or_ ? parse_logic(NodeKind::and_) : parse_chain(0); };
        Node first = operand();
        if (!peek().is(sign))
            return first;
        Node whole = node(kind);
        whole.children.push_back(std::move(first));
        while (take_if(sign))
            whole.children.push_back(operand());
        return whole;
    }

    const Operator *operator_of(int level) const noexcept {
        if (peek().kind != TokenKind::sign)
            return nullptr;
        const auto *found = std::find_if(k_operators.begin(), k_operators.end(), [&](const Operator &known) {
            return known.level == level && known.sign == peek().text;
        });
        return found == k_operators.end() ? nullptr : found;
    }

    Node parse_chain(int level) {
        if (level == k_levels)
            return parse_unary();
        Node first = parse_chain(level + 1);
        if (operator_of(level) == nullptr)
            return first;
        Node whole = node(NodeKind::chain);
        whole.children.push_back(std::move(first));
        while (const Operator *known = operator_of(level)) {
            const Position place = take().place;
            Node operand = parse_chain(level + 1);
            operand.joins = known->op;
            operand.joined_at = place;
            whole.children.push_back(std::move(operand));
        }
        return whole;
    }

    Node parse_unary() {
        const bool minus = peek().is("-");
        if (!minus && !peek().is("+") && !peek().is("!"))
            return parse_postfix();
        const Level level(*this);
        Node whole = node(NodeKind::unary);
        whole.op = minus ? Op::subtract : peek().is("+") ? Op::add : Op::not_;
        take();
        whole.children.push_back(parse_unary());
        return whole;
    }

    Node parse_postfix() {
        Node value = parse_primary();
        int suffixes = 0;
        for (;; suffixes++) {
            if (!peek().is("[") && !peek().is("."))
                return value;
            // Each suffix makes the tree one level deeper.
            if (suffixes + depth_ >= limits_.depth)
                fail_at(peek().place, "the expression is nested too deeply", FaultKind::limit);
            Node whole = node(NodeKind::index);
            if (take_if("[")) {
                whole.children.push_back(std::move(value));
                whole.children.push_back(parse_expression());
                expect("]");
            } else {
                take();
                whole = parse_member(std::move(value));
            }
            note_reference(whole);
            value = std::move(whole);
        }
    }

    Node parse_member(Node object) {
        Node member = node(NodeKind::field);
        if (peek().kind != TokenKind::word)
            unexpected();
        member.text = keep(take().text);
        member.children.push_back(std::move(object));
        if (peek().is("(")) {
            member.kind = NodeKind::call;
            parse_arguments(member);
        }
        const Node &of = member.children[0];
        if (of.kind == NodeKind::literal && of.constant.type == Type::class_)
            member.function = require_function(member, static_cast<Receiver>(of.constant.number));
        return member;
    }

    static const Function *require_function(const Node &member, Receiver receiver) {
        const int arguments = member.kind == NodeKind::field ? -1 : static_cast<int>(member.children.size()) - 1;
        if (const Function *function = find_function(receiver, member.text, arguments))
            return function;
        fail_at(member.place, describe_missing(receiver, member.text, arguments), FaultKind::unknown);
    }

    void parse_arguments(Node &call) {
        expect("(");
        if (take_if(")"))
            return;
        do
            call.children.push_back(parse_expression());
        while (take_if(","));
        expect(")");
    }

    // params['x'], params.get('x'), params.x
    void note_reference(const Node &whole) {
        if (whole.kind == NodeKind::field && whole.children[0].kind == NodeKind::params)
            refer(whole.text);
        const bool get = whole.kind == NodeKind::call && whole.text == "get" && whole.children.size() == 2;
        if ((whole.kind == NodeKind::index || get) && whole.children[0].kind == NodeKind::params &&
            whole.children[1].kind == NodeKind::literal && whole.children[1].constant.type == Type::string)
            refer(whole.children[1].constant.view());
    }

    Node parse_primary() {
        const Token &token = peek();
        if (token.is("(")) {
            take();
            Node inner = parse_expression();
            expect(")");
            return inner;
        }
        if (token.is("new"))
            return parse_new();
        if (const auto constant = literal()) {
            Node made = node(NodeKind::literal);
            made.constant = *constant;
            take();
            return made;
        }
        return parse_name();
    }

    std::optional<Value> literal() {
        const Token &token = peek();
        if (token.kind == TokenKind::long_)
            return Value::of(token.number);
        if (token.kind == TokenKind::double_)
            return Value::of(token.real);
        if (token.kind == TokenKind::string)
            return wrap_string(program_.heap_, keep(token.string));
        if (token.is("true") || token.is("false"))
            return Value::of(token.is("true"));
        if (token.is("null"))
            return Value{};
        return std::nullopt;
    }

    Node parse_name() {
        Node name = node(NodeKind::name);
        name.text = take_name();
        const bool declared = declared_.contains(name.text);
        if (!declared && name.text == "params") {
            name.kind = NodeKind::params;
            return name;
        }
        const auto receiver = declared ? std::nullopt : find_class(name.text);
        if (receiver && peek().is(".")) {
            name.kind = NodeKind::literal;
            name.constant = Value::of(Type::class_, static_cast<std::int64_t>(*receiver));
            return name;
        }
        name.slot = slot_of(name.text);
        if (!declared) {
            refer(name.text);
            require(name.text, name.place);
        }
        return name;
    }

    Node parse_new() {
        Node made = node(NodeKind::create);
        take();
        made.place = peek().place;
        if (!is_name() && !is_primitive(peek().text))
            unexpected();
        made.text = keep(take().text);
        if (peek().is("["))
            return parse_new_array(std::move(made));
        const auto receiver = find_class(made.text);
        parse_arguments(made);
        const int arguments = static_cast<int>(made.children.size());
        made.function = receiver ? find_function(*receiver, "new", arguments) : nullptr;
        if (made.function == nullptr)
            fail_at(made.place,
                    "there is no constructor of " + quoted(made.text) + " with " + std::to_string(arguments) +
                        (arguments == 1 ? " argument" : " arguments"),
                    FaultKind::unknown);
        return made;
    }

    Node parse_new_array(Node made) {
        const TypeName *type = find_type(made.text);
        if (type == nullptr)
            fail_at(made.place, "there is no type " + quoted(made.text), FaultKind::unknown);
        made.elements = type->elements;
        take(); // [
        if (!take_if("]")) {
            made.kind = NodeKind::new_array;
            made.children.push_back(parse_expression());
            expect("]");
            if (peek().is("["))
                fail_at(peek().place, "an array has one dimension");
            return made;
        }
        made.kind = NodeKind::array_of;
        expect("{");
        while (!peek().is("}")) {
            made.children.push_back(parse_expression());
            if (!take_if(","))
                break;
        }
        expect("}");
        return made;
    }

    const Limits &limits_;
    Program &program_;
    Lexer lexer_;
    std::array<Token, 4> ahead_{};
    int depth_ = 0;
    int loops_ = 0;
    std::map<std::string, std::int32_t, std::less<>> slots_{};
    std::set<std::string, std::less<>> declared_{};
    std::set<std::string, std::less<>> referred_{};
};

std::unique_ptr<Program> Program::parse(std::string_view text, const Limits &limits) {
    if (static_cast<std::int64_t>(text.size()) > limits.text && count_chars(text) > limits.text)
        fail(FaultKind::limit, "the expression is longer than " + std::to_string(limits.text) + " characters");
    std::unique_ptr<Program> program(new Program);
    program->root_ = Parser(text, limits, *program).parse();
    return program;
}

} // namespace scylla::model::sel
