#include "model/sel/regex.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "model/sel/utf8.h"

namespace scylla::model::sel {

namespace {

constexpr std::size_t k_most_code = 5'000;
constexpr std::size_t k_most_groups = 32;
constexpr int k_most_repeats = 1'000;
constexpr int k_no_most = -1;

bool is_word(char32_t c) noexcept { return is_digit(c) || is_letter(c) || c == '_'; }
constexpr char32_t k_last_char = 0x10FFFF;

} // namespace

bool Regex::Set::has(char32_t c) const noexcept {
    const bool in =
        std::any_of(spans.begin(), spans.end(), [c](Span span) { return c >= span.first && c <= span.last; });
    return in != negated;
}

// A parsed pattern, before it becomes code: a small tree, since repetitions write a part several times.
class RegexParser {
public:
    RegexParser(Context &context, Regex &regex, std::string_view pattern)
        : context_{context}, regex_{regex}, pattern_{pattern} {}

    void parse() {
        folds_ = take_if("(?i)");
        const Part whole = alternatives();
        if (at_ != pattern_.size())
            fault("an unmatched \")\"");
        emit({Regex::Code::save, 0});
        write(whole);
        emit({Regex::Code::save, 1});
        emit({Regex::Code::match});
    }

private:
    enum class Kind : std::uint8_t { empty, one, sequence, choice, repeat, group };
    struct Part {
        Kind kind = Kind::empty;
        Regex::Instruction one{Regex::Code::match};
        int least = 0;
        int most = 0; // or k_no_most
        bool lazy = false;
        std::size_t group = 0;
        std::vector<Part> parts{};
    };

    [[noreturn]] void fault(const std::string &what) const {
        fail(FaultKind::value, "the regular expression \"" + std::string(pattern_.substr(0, 100)) + "\" has " + what +
                                   " at character " + std::to_string(count_chars(pattern_.substr(0, at_)) + 1));
    }
    bool more() const noexcept { return at_ < pattern_.size(); }
    char peek() const noexcept { return more() ? pattern_[at_] : '\0'; }
    bool take_if(std::string_view text) noexcept {
        if (!pattern_.substr(at_).starts_with(text))
            return false;
        at_ += text.size();
        return true;
    }
    char32_t take() {
        if (!more())
            fault("an end that is too early");
        const char32_t c = char_at(pattern_, at_);
        at_ += char_size(pattern_, at_);
        return c;
    }

    Part alternatives() {
        if (++depth_ > context_.limits.depth)
            fault("groups that are nested too deeply");
        Part choice{Kind::choice};
        do
            choice.parts.push_back(sequence());
        while (take_if("|"));
        depth_--;
        return choice.parts.size() == 1 ? Part(choice.parts.front()) : choice;
    }

    Part sequence() {
        Part whole{Kind::sequence};
        while (more() && peek() != '|' && peek() != ')') {
            Part part = atom();
            while (auto repeated = repetition(part))
                part = std::move(*repeated);
            whole.parts.push_back(std::move(part));
        }
        return whole;
    }

    std::optional<Part> repetition(const Part &part) {
        int least = 0;
        int most = k_no_most;
        if (take_if("*")) {
        } else if (take_if("+")) {
            least = 1;
        } else if (take_if("?")) {
            most = 1;
        } else if (take_if("{")) {
            least = number();
            most = take_if(",") ? (peek() == '}' ? k_no_most : number()) : least;
            if (!take_if("}") || (most != k_no_most && most < least))
                fault("a wrong repetition");
        } else {
            return std::nullopt;
        }
        if (take_if("+"))
            fault("a possessive repetition, which is not supported,");
        Part repeated{Kind::repeat};
        repeated.least = least;
        repeated.most = most;
        repeated.lazy = take_if("?");
        repeated.parts.push_back(part);
        return repeated;
    }
    int number() {
        int value = 0;
        if (!is_digit(static_cast<unsigned char>(peek())))
            fault("a wrong repetition");
        while (is_digit(static_cast<unsigned char>(peek()))) {
            value = value * 10 + (pattern_[at_++] - '0');
            if (value > k_most_repeats)
                fault("too many repetitions");
        }
        return value;
    }

    Part atom() {
        if (take_if("("))
            return group();
        if (take_if("[")) {
            if (++depth_ > context_.limits.depth)
                fault("classes that are nested too deeply");
            Part part = one(Regex::Code::set, keep(set()));
            depth_--;
            return part;
        }
        if (take_if("."))
            return one(Regex::Code::any);
        if (take_if("^"))
            return one(Regex::Code::line_start);
        if (take_if("$"))
            return one(Regex::Code::line_end);
        if (peek() == '*' || peek() == '+' || peek() == '?' || peek() == '{')
            fault("nothing to repeat");
        if (take_if("\\"))
            return escaped();
        return character(take());
    }

    Part group() {
        Part part{Kind::group};
        if (take_if("?")) {
            if (!take_if(":"))
                fault("a kind of group that is not supported");
        } else {
            part.group = regex_.groups_++;
            if (part.group >= k_most_groups)
                fault("too many groups");
        }
        part.parts.push_back(alternatives());
        if (!take_if(")"))
            fault("a group that is not closed");
        return part;
    }

    static Part one(Regex::Code code, char32_t value = 0) {
        Part part{Kind::one};
        part.one = {code, value};
        return part;
    }
    // After (?i) in both cases, if it is a letter of ASCII.
    Part character(char32_t c) {
        if (!folds_ || !is_letter(c))
            return one(Regex::Code::character, c);
        return one(Regex::Code::set, keep({false, {{c, c}, {c ^ 0x20U, c ^ 0x20U}}}));
    }
    static void fold(Regex::Set &set) {
        const std::size_t count = set.spans.size();
        for (std::size_t i = 0; i < count; i++) {
            for (const auto &[first, last] : {std::pair{U'a', U'z'}, std::pair{U'A', U'Z'}}) {
                const char32_t from = std::max(set.spans[i].first, first);
                const char32_t to = std::min(set.spans[i].last, last);
                if (from <= to)
                    set.spans.push_back({from ^ 0x20U, to ^ 0x20U});
            }
        }
    }
    char32_t keep(Regex::Set set) {
        regex_.sets_.push_back(std::move(set));
        return static_cast<char32_t>(regex_.sets_.size() - 1);
    }

    // \d and the like; nothing if the letter has another meaning.
    static std::optional<Regex::Set> known_set(char32_t letter) {
        switch (letter) {
        case 'd':
            return Regex::Set{false, {{'0', '9'}}};
        case 'D':
            return Regex::Set{true, {{'0', '9'}}};
        case 'w':
            return Regex::Set{false, {{'0', '9'}, {'a', 'z'}, {'A', 'Z'}, {'_', '_'}}};
        case 'W':
            return Regex::Set{true, {{'0', '9'}, {'a', 'z'}, {'A', 'Z'}, {'_', '_'}}};
        case 's':
            return Regex::Set{false, {{'\t', '\r'}, {' ', ' '}}};
        case 'S':
            return Regex::Set{true, {{'\t', '\r'}, {' ', ' '}}};
        default:
            return std::nullopt;
        }
    }
    // {Alpha} and the like, after \p or \P. Letters of ASCII, as Java reads them.
    Regex::Set property(bool negated) {
        struct Known {
            std::string_view name;
            std::vector<Regex::Span> spans;
        };
        const Known known[] = {{"Lower", {{'a', 'z'}}},
                               {"Upper", {{'A', 'Z'}}},
                               {"ASCII", {{0, 0x7F}}},
                               {"Alpha", {{'A', 'Z'}, {'a', 'z'}}},
                               {"Digit", {{'0', '9'}}},
                               {"Alnum", {{'0', '9'}, {'A', 'Z'}, {'a', 'z'}}},
                               {"Punct", {{'!', '/'}, {':', '@'}, {'[', '`'}, {'{', '~'}}},
                               {"Graph", {{'!', '~'}}},
                               {"Print", {{' ', '~'}}},
                               {"Blank", {{'\t', '\t'}, {' ', ' '}}},
                               {"Cntrl", {{0, 0x1F}, {0x7F, 0x7F}}},
                               {"XDigit", {{'0', '9'}, {'A', 'F'}, {'a', 'f'}}},
                               {"Space", {{'\t', '\r'}, {' ', ' '}}}};
        for (const auto &[name, spans] : known) {
            if (take_if("{" + std::string(name) + "}"))
                return {negated, spans};
        }
        fault("a property that is not supported");
    }
    // \d, \p{Alpha} and the like; nothing if the letter after the backslash has another meaning.
    std::optional<Regex::Set> escaped_set() {
        if (!more())
            return std::nullopt;
        const char letter = pattern_[at_];
        if (letter == 'p' || letter == 'P') {
            at_++;
            return property(letter == 'P');
        }
        auto set = known_set(char_at(pattern_, at_));
        at_ += set ? 1 : 0;
        return set;
    }
    char32_t escaped_char() {
        const char32_t c = take();
        switch (c) {
        case 't':
            return '\t';
        case 'n':
            return '\n';
        case 'r':
            return '\r';
        case 'f':
            return '\f';
        default:
            break;
        }
        if (is_word(c) && c != '_')
            fault("an escape that is not supported");
        return c;
    }
    Part escaped() {
        if (auto set = escaped_set()) {
            if (folds_)
                fold(*set);
            return one(Regex::Code::set, keep(std::move(*set)));
        }
        if (take_if("b"))
            return one(Regex::Code::word);
        if (take_if("B"))
            return one(Regex::Code::not_word);
        if (take_if("Q"))
            return quoted();
        return character(escaped_char());
    }
    Part quoted() {
        Part whole{Kind::sequence};
        while (more() && !take_if("\\E"))
            whole.parts.push_back(character(take()));
        return whole;
    }

    Regex::Set set() {
        Regex::Set made;
        made.negated = take_if("^");
        bool first = true;
        while (!(peek() == ']' && !first)) {
            if (!more())
                fault("a class that is not closed");
            first = false;
            if (peek() == '[' || pattern_.substr(at_).starts_with("&&"))
                fault("a class within a class, which is not supported,");
            if (!add_known(made))
                add_span(made);
        }
        at_++;
        if (folds_)
            fold(made);
        return made;
    }
    bool add_known(Regex::Set &made) {
        if (peek() != '\\' || at_ + 1 >= pattern_.size())
            return false;
        at_++;
        auto known = escaped_set();
        if (!known) {
            at_--;
            return false;
        }
        if (!known->negated) {
            made.spans.insert(made.spans.end(), known->spans.begin(), known->spans.end());
            return true;
        }
        // The gaps between the spans.
        std::sort(known->spans.begin(), known->spans.end(), [](auto a, auto b) { return a.first < b.first; });
        char32_t from = 0;
        for (const Regex::Span span : known->spans) {
            if (span.first > from)
                made.spans.push_back({from, span.first - 1});
            from = span.last + 1;
        }
        made.spans.push_back({from, k_last_char});
        return true;
    }
    char32_t set_char() { return take_if("\\") ? escaped_char() : take(); }
    void add_span(Regex::Set &made) {
        const char32_t begin = set_char();
        char32_t end = begin;
        if (peek() == '-' && at_ + 1 < pattern_.size() && pattern_[at_ + 1] != ']') {
            at_++;
            end = set_char();
            if (end < begin)
                fault("a wrong range");
        }
        made.spans.push_back({begin, end});
    }

    // Code

    std::size_t emit(Regex::Instruction instruction) {
        if (regex_.code_.size() >= k_most_code)
            fault("too many parts");
        context_.work();
        instruction.first = instruction.first == 0 ? regex_.code_.size() + 1 : instruction.first;
        regex_.code_.push_back(instruction);
        return regex_.code_.size() - 1;
    }
    std::size_t here() const noexcept { return regex_.code_.size(); }

    void write(const Part &part) {
        switch (part.kind) {
        case Kind::empty:
            return;
        case Kind::one:
            emit(part.one);
            return;
        case Kind::sequence:
            for (const Part &inner : part.parts)
                write(inner);
            return;
        case Kind::choice:
            return write_choice(part);
        case Kind::repeat:
            return write_repeat(part);
        case Kind::group:
            break;
        }
        if (part.group > 0)
            emit({Regex::Code::save, static_cast<char32_t>(part.group * 2)});
        write(part.parts[0]);
        if (part.group > 0)
            emit({Regex::Code::save, static_cast<char32_t>(part.group * 2 + 1)});
    }
    void write_choice(const Part &part) {
        std::vector<std::size_t> ends;
        for (std::size_t i = 0; i < part.parts.size(); i++) {
            const bool last = i + 1 == part.parts.size();
            const std::size_t split = last ? 0 : emit({Regex::Code::split});
            write(part.parts[i]);
            if (last)
                break;
            ends.push_back(emit({Regex::Code::jump}));
            regex_.code_[split].second = here();
        }
        for (const std::size_t end : ends)
            regex_.code_[end].first = here();
    }
    void aim(std::size_t split, bool lazy) {
        Regex::Instruction &instruction = regex_.code_[split];
        instruction.second = here();
        if (lazy)
            std::swap(instruction.first, instruction.second);
    }
    void write_repeat(const Part &part) {
        for (int i = 0; i < part.least; i++)
            write(part.parts[0]);
        if (part.most == k_no_most) {
            const std::size_t split = emit({Regex::Code::split});
            write(part.parts[0]);
            regex_.code_[emit({Regex::Code::jump})].first = split;
            aim(split, part.lazy);
            return;
        }
        std::vector<std::size_t> splits;
        for (int i = part.least; i < part.most; i++) {
            splits.push_back(emit({Regex::Code::split}));
            write(part.parts[0]);
        }
        for (const std::size_t split : splits)
            aim(split, part.lazy);
    }

    Context &context_;
    Regex &regex_;
    std::string_view pattern_;
    std::size_t at_ = 0;
    int depth_ = 0;
    bool folds_ = false; // (?i)
};

Regex::Regex(Context &context, std::string_view pattern) { RegexParser(context, *this, pattern).parse(); }

// The instructions that are reached, in the order of preference, each once per character of the text.
struct Regex::Threads {
    struct Thread {
        std::size_t pc;
        std::vector<std::size_t> bounds;
    };
    std::vector<Thread> list{};
    std::vector<std::size_t> seen{}; // per instruction: the position in the text + 1 at which it was reached
};

bool Regex::holds(Code code, std::string_view text, std::size_t at) const noexcept {
    if (code == Code::line_start)
        return at == 0;
    if (code == Code::line_end)
        return at == text.size() || (at + 1 == text.size() && text[at] == '\n');
    const bool before = at > 0 && is_word(static_cast<unsigned char>(text[at - 1]));
    const bool after = at < text.size() && is_word(static_cast<unsigned char>(text[at]));
    return (before != after) == (code == Code::word);
}

bool Regex::takes(const Instruction &instruction, char32_t c) const noexcept {
    switch (instruction.code) {
    case Code::character:
        return c == instruction.value;
    case Code::any:
        return c != '\n' && c != '\r';
    case Code::set:
        return sets_[instruction.value].has(c);
    default:
        return false;
    }
}

void Regex::follow(Context &context, Threads &threads, std::size_t start, std::string_view text, std::size_t at,
                   std::vector<std::size_t> &bounds) const {
    struct Todo {
        std::size_t pc;
        std::size_t restore = k_none; // instead: the bound to restore
        std::size_t value = 0;
    };
    std::vector<Todo> todo{{start}};
    while (!todo.empty()) {
        const Todo next = todo.back();
        todo.pop_back();
        if (next.restore != k_none) {
            bounds[next.restore] = next.value;
            continue;
        }
        if (threads.seen[next.pc] == at + 1)
            continue;
        threads.seen[next.pc] = at + 1;
        context.work();
        const Instruction &instruction = code_[next.pc];
        switch (instruction.code) {
        case Code::split:
            todo.push_back({instruction.second});
            todo.push_back({instruction.first});
            break;
        case Code::jump:
            todo.push_back({instruction.first});
            break;
        case Code::save:
            todo.push_back({0, instruction.value, bounds[instruction.value]});
            bounds[instruction.value] = at;
            todo.push_back({instruction.first});
            break;
        case Code::line_start:
        case Code::line_end:
        case Code::word:
        case Code::not_word:
            if (holds(instruction.code, text, at))
                todo.push_back({instruction.first});
            break;
        default:
            context.work(static_cast<std::int64_t>(bounds.size()));
            threads.list.push_back({next.pc, bounds});
        }
    }
}

bool Regex::find(Context &context, std::string_view text, std::size_t from, Match &match) const {
    context.work_on(code_.size() * 2);
    Threads now{{}, std::vector<std::size_t>(code_.size(), 0)};
    Threads then{{}, std::vector<std::size_t>(code_.size(), 0)};
    bool found = false;
    for (std::size_t at = from;; at += char_size(text, at)) {
        context.work(8);
        if (!found) { // a match may begin here, if none has begun before
            std::vector<std::size_t> bounds(groups_ * 2, k_none);
            follow(context, now, 0, text, at, bounds);
        }
        const bool ends = at >= text.size();
        const char32_t c = ends ? 0 : char_at(text, at);
        const std::size_t next = ends ? at : at + char_size(text, at);
        then.list.clear();
        for (Threads::Thread &thread : now.list) {
            const Instruction &instruction = code_[thread.pc];
            if (instruction.code == Code::match) {
                match.bounds = std::move(thread.bounds);
                found = true;
                break; // those after it are less preferred
            }
            if (!ends && takes(instruction, c))
                follow(context, then, instruction.first, text, next, thread.bounds);
        }
        std::swap(now, then);
        if (ends || (found && now.list.empty()))
            return found;
    }
}

} // namespace scylla::model::sel
