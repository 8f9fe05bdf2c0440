/// @file json.h
/// JSON as text. The library neither parses nor writes it: the server checks it, and the application reads it with a
/// library of its choice. `scylla/nlohmann.h` is the adapter for nlohmann/json.
#ifndef SCYLLA_JSON_H
#define SCYLLA_JSON_H

#include <ostream>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace scylla {

/// Specialise this for a JSON type to pass its values where a scylla::json is expected, and to get them by json::as():
/// `static std::string to_text(const T &)` and `static T from_text(const std::string &)`.
template <class T> struct json_adapter;

namespace detail {
template <class T, class = void> struct has_json_adapter : std::false_type {};
template <class T> struct has_json_adapter<T, std::void_t<decltype(sizeof(json_adapter<T>))>> : std::true_type {};
} // namespace detail

/// One JSON value, as text.
class json {
public:
    json() : m_text{"null"} {}
    json(std::string text) : m_text{std::move(text)} {}
    json(std::string_view text) : m_text{text} {}
    json(const char *text) : m_text{text} {}
    template <class T, class = std::enable_if_t<detail::has_json_adapter<T>::value>>
    json(const T &value) : m_text{json_adapter<T>::to_text(value)} {}

    [[nodiscard]] const std::string &text() const noexcept { return m_text; }

    /// The value in another library's type. Throws what that library throws.
    template <class T> [[nodiscard]] T as() const { return json_adapter<T>::from_text(m_text); }

    /// Compares the texts: the server writes equal values in the same way, an application may not.
    friend bool operator==(const json &a, const json &b) noexcept { return a.m_text == b.m_text; }
    friend bool operator!=(const json &a, const json &b) noexcept { return a.m_text != b.m_text; }
    friend std::ostream &operator<<(std::ostream &out, const json &value) { return out << value.m_text; }

    /// A text as a JSON string: quoted and escaped.
    [[nodiscard]] static json string(std::string_view text);

private:
    std::string m_text;
};

} // namespace scylla

#endif
