// Steps that a statement is given as two arrays: their scopes and their ids.
#pragma once

#include "store/spi_arrays.h"

namespace scylla::workflow {

class StepArrays {
public:
    void add(int64 scope, std::string_view step) { // empty: null
        scopes_.add(scope);
        steps_.add(step);
    }

    [[nodiscard]] bool empty() const { return scopes_.size() == 0; }
    [[nodiscard]] store::Parameters as_parameters() const {
        store::Parameters parameters;
        scopes_.give_to(parameters);
        steps_.give_to(parameters);
        return parameters;
    }

private:
    store::ArrayColumn scopes_{INT8OID};
    store::ArrayColumn steps_{TEXTOID};
};

} // namespace scylla::workflow
