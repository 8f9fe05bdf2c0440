// Where nothing else can be read.
#pragma once

#include "model/sel/context.h"

namespace scylla::model::workflow {

class NoParams final : public sel::Params {
public:
    std::optional<sel::Value> find(std::string_view /*name*/, sel::Context & /*context*/) override {
        return std::nullopt;
    }
    std::optional<sel::Value> find_from(std::string_view /*function*/, sel::Args /*args*/,
                                        sel::Context & /*context*/) override {
        return std::nullopt;
    }
};

} // namespace scylla::model::workflow
