/// @file names.h
/// The names of the scheduler's objects, as types of their own: a worker's name in place of a task's name does not
/// compile.
#ifndef SCYLLA_NAMES_H
#define SCYLLA_NAMES_H

#include <cstddef>
#include <functional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>

namespace scylla {

/// A name of 1 to 200 characters (the server checks it). Made from any string, turned into one only by str().
template <class Tag> class basic_name {
public:
    basic_name() = default;
    basic_name(std::string text) : m_text{std::move(text)} {}
    basic_name(std::string_view text) : m_text{text} {}
    basic_name(const char *text) : m_text{text} {}

    [[nodiscard]] const std::string &str() const noexcept { return m_text; }
    [[nodiscard]] bool empty() const noexcept { return m_text.empty(); }

    friend bool operator==(const basic_name &a, const basic_name &b) noexcept { return a.m_text == b.m_text; }
    friend bool operator!=(const basic_name &a, const basic_name &b) noexcept { return a.m_text != b.m_text; }
    friend bool operator<(const basic_name &a, const basic_name &b) noexcept { return a.m_text < b.m_text; }
    friend std::ostream &operator<<(std::ostream &out, const basic_name &name) { return out << name.m_text; }

private:
    std::string m_text;
};

using resource_name = basic_name<struct resource_tag>; ///< of a task (`rn`); unique in the database
using queue_name = basic_name<struct queue_tag>;
using worker_name = basic_name<struct worker_tag>;
using plan_name = basic_name<struct plan_tag>;
using schedule_name = basic_name<struct schedule_tag>;
using pool_name = basic_name<struct pool_tag>; ///< of a pool that tasks need; scylla::pool is one of connections

using job_name = basic_name<struct job_tag>;           ///< of a job type
using workflow_name = basic_name<struct workflow_tag>; ///< the id of a workflow

} // namespace scylla

template <class Tag> struct std::hash<scylla::basic_name<Tag>> {
    std::size_t operator()(const scylla::basic_name<Tag> &name) const noexcept {
        return std::hash<std::string>{}(name.str());
    }
};

#endif
