#include "pool/needs.h"

#include "pg/error.h"
#include "pg/json.h"
#include "pg/text.h"

namespace scylla {

namespace {

constexpr std::size_t k_max_resources = 32;
constexpr std::size_t k_max_pools = 32;
constexpr int k_max_name = 63; // bytes, of a resource
constexpr int k_decimals = 3;
constexpr int k_digits = 15; // before the point

constexpr const char *k_needs_rule =
    "It must be an object of pools with amounts by resource, or have \"any\", an array of pools, and amounts.";
constexpr const char *k_amount_rule =
    "An amount must be a number of at least 0, with at most 15 digits before and 3 after the point.";
constexpr const char *k_resource_rule = "The name of a resource must have 1 to 63 bytes.";

std::string_view string_of(const JsonbValue &value) {
    return {value.val.string.val, static_cast<std::size_t>(value.val.string.len)};
}

bool is_container(const JsonbValue *value, bool object) {
    return value->type == jbvBinary &&
           (object ? JsonContainerIsObject(value->val.binary.data) : JsonContainerIsArray(value->val.binary.data));
}

// Nothing: it is not an amount.
std::optional<Amount> to_amount(Numeric number) {
    const std::string_view digits(DatumGetCString(DirectFunctionCall1(numeric_out, NumericGetDatum(number))));
    const std::size_t point = Min(digits.find('.'), digits.size());
    if (point > k_digits)
        return std::nullopt;
    Amount amount = 0;
    int decimals = 0;
    for (std::size_t i = 0; i < digits.size(); i++) {
        if (i == point)
            continue;
        if (digits[i] < '0' || digits[i] > '9')
            return std::nullopt; // a minus sign, for example
        if (i > point && ++decimals > k_decimals) {
            if (digits[i] != '0')
                return std::nullopt;
            continue;
        }
        amount = amount * 10 + (digits[i] - '0');
    }
    for (; decimals < k_decimals; decimals++)
        amount *= 10;
    return amount;
}

struct Where {
    const char *argument;
    int64 element;
};

void add_amount(Growing<ResourceAmount> &to, std::string_view resource, JsonbValue *value, const Where &where) {
    if (resource.empty() || resource.size() > k_max_name)
        error::bad_argument(where.argument,
                            error::quote(cstring_to_text_with_len(resource.data(), static_cast<int>(resource.size()))),
                            k_resource_rule, where.element);
    const auto amount = value->type == jbvNumeric ? to_amount(value->val.numeric) : std::nullopt;
    if (!amount)
        error::bad_argument(where.argument, json::show(value), k_amount_rule, where.element);
    to.add({resource, *amount});
    if (to.count > k_max_resources)
        error::bad_argument(where.argument, psprintf("more than %zu resources", k_max_resources),
                            psprintf("There may be at most %zu.", k_max_resources), where.element);
}

std::span<const ResourceAmount> amounts_in(JsonbContainer *object, const Where &where) {
    Growing<ResourceAmount> amounts;
    json::for_each_member(object,
                          [&](std::string_view name, JsonbValue *value) { add_amount(amounts, name, value, where); });
    return amounts.all();
}

std::span<const std::string_view> names_in(JsonbContainer *array, Jsonb *needs, const Where &where) {
    Growing<std::string_view> names;
    JsonbIterator *iterator = JsonbIteratorInit(array);
    JsonbValue value;
    for (JsonbIteratorToken token = JsonbIteratorNext(&iterator, &value, true); token != WJB_DONE;
         token = JsonbIteratorNext(&iterator, &value, true)) {
        if (token != WJB_ELEM)
            continue;
        if (value.type != jbvString ||
            std::find(names.all().begin(), names.all().end(), string_of(value)) != names.all().end())
            error::bad_argument(where.argument, error::show(needs), "\"any\" must name pools, each once.",
                                where.element);
        names.add(string_of(value));
    }
    return names.all();
}

} // namespace

Needs read_needs(Jsonb *needs, int64 element) {
    const Where where{"needs", element};
    const auto refuse = [&](const char *rule) { error::bad_argument("needs", error::show(needs), rule, element); };
    if (!json::is_object(needs))
        refuse(k_needs_rule);
    Growing<PoolNeeds> all;
    Growing<ResourceAmount> of_any;
    std::span<const std::string_view> any;
    json::for_each_member(&needs->root, [&](std::string_view name, JsonbValue *value) {
        if (name == "any" && value->type == jbvNull)
            return;
        if (name == "any" && is_container(value, false))
            any = names_in(value->val.binary.data, needs, where);
        else if (is_container(value, true))
            all.add({name, amounts_in(value->val.binary.data, where)});
        else if (value->type == jbvNumeric)
            add_amount(of_any, name, value, where);
        else
            refuse(k_needs_rule);
    });
    for (const PoolNeeds &each : all.all()) {
        if (each.amounts.empty())
            refuse("Each pool must have an amount of a resource.");
        if (std::find(any.begin(), any.end(), each.pool) != any.end())
            refuse("\"any\" must not name a pool that is needed anyway.");
    }
    if (any.empty() != (of_any.count == 0) || all.count + any.size() == 0)
        refuse(k_needs_rule);
    if (all.count + any.size() > k_max_pools)
        refuse(psprintf("It may name at most %zu pools.", k_max_pools));
    return {all.all(), any, of_any.all()};
}

std::span<const ResourceAmount> read_amounts(const char *argument, Jsonb *amounts) {
    if (!json::is_object(amounts))
        error::bad_argument(argument, error::show(amounts), "It must be an object of amounts by resource.");
    return amounts_in(&amounts->root, {argument, 0});
}

Amount amount_of(std::span<const ResourceAmount> amounts, std::string_view resource) {
    for (const ResourceAmount &each : amounts)
        if (each.resource == resource)
            return each.amount;
    return 0;
}

const char *show(Amount amount) {
    constexpr Amount k_one = 1000;
    const bool negative = amount < 0;
    const Amount size = negative ? -amount : amount;
    std::array<char, 24> digits{};
    std::size_t at = digits.size() - 1; // the last one is the end of the string
    for (Amount whole = size / k_one; whole > 0 || at == digits.size() - 1; whole /= 10)
        digits[--at] = static_cast<char>('0' + static_cast<int>(whole % 10));
    if (negative)
        digits[--at] = '-';
    const auto fraction = static_cast<int>(size % k_one);
    if (fraction == 0)
        return pstrdup(&digits[at]);
    char *shown = psprintf("%s.%03d", &digits[at], fraction);
    std::size_t length = strlen(shown);
    while (shown[length - 1] == '0')
        shown[--length] = '\0';
    return shown;
}

Jsonb *to_jsonb(std::span<const ResourceAmount> amounts) {
    json::Builder object = json::build_object();
    for (const ResourceAmount &each : amounts) {
        const Datum amount = DirectFunctionCall3(numeric_in, CStringGetDatum(show(each.amount)),
                                                 ObjectIdGetDatum(InvalidOid), Int32GetDatum(-1));
        object.member(each.resource, json::of_number(DatumGetNumeric(amount)));
    }
    return object.finish();
}

} // namespace scylla
