#include "model/workflow/problem.h"

#include <algorithm>

namespace scylla::model::workflow {

namespace {

// Other names are shown in brackets and quotes.
bool is_plain(std::string_view name) noexcept {
    return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
    });
}

} // namespace

std::string Where::text() const {
    if (parent_ == nullptr)
        return {};
    const std::string before = parent_->text();
    if (name_.data() == nullptr)
        return before + "[" + std::to_string(index_) + "]";
    if (!is_plain(name_))
        return before + "[\"" + std::string(name_) + "\"]";
    return before + (before.empty() ? "" : ".") + std::string(name_);
}

} // namespace scylla::model::workflow
