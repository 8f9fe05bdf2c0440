/// @file nlohmann.h
/// Optional: nlohmann::json (and ordered_json) wherever the library takes a scylla::json, and by
/// json::as<nlohmann::json>().
#ifndef SCYLLA_NLOHMANN_H
#define SCYLLA_NLOHMANN_H

#include <nlohmann/json.hpp>

#include <scylla/json.h>

namespace scylla {

template <> struct json_adapter<nlohmann::json> {
    static std::string to_text(const nlohmann::json &value) { return value.dump(); }
    static nlohmann::json from_text(const std::string &text) { return nlohmann::json::parse(text); }
};

template <> struct json_adapter<nlohmann::ordered_json> {
    static std::string to_text(const nlohmann::ordered_json &value) { return value.dump(); }
    static nlohmann::ordered_json from_text(const std::string &text) { return nlohmann::ordered_json::parse(text); }
};

} // namespace scylla

#endif
