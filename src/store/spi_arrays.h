// Rows that a statement is given as arrays, one for each column.
#pragma once

#include "pg/growing.h"
#include "pg/text.h"
#include "store/spi_rows.h"

namespace scylla::store {

class ArrayColumn {
public:
    explicit ArrayColumn(Oid type) : type_(type) {}

    void add(Datum value, bool is_null = false) {
        values_.add(value);
        nulls_.add(is_null);
    }
    void add(int64 value) { add(Int64GetDatum(value)); }
    void add(std::optional<int64> value) { add(Int64GetDatum(value.value_or(0)), !value); }
    // Null where it is empty.
    void add(std::string_view value) {
        add(value.empty() ? Datum{0}
                          : PointerGetDatum(cstring_to_text_with_len(value.data(), static_cast<int>(value.size()))),
            value.empty());
    }

    [[nodiscard]] std::size_t size() const { return values_.size(); }
    void give_to(Parameters &parameters) const {
        int16 length = 0;
        bool by_value = false;
        char align = 0;
        get_typlenbyvalalign(type_, &length, &by_value, &align);
        int size = static_cast<int>(values_.size());
        int lower = 1;
        parameters.add(get_array_type(type_),
                       PointerGetDatum(construct_md_array(values_.at, nulls_.at, 1, &size, &lower, type_, length,
                                                          by_value, align)));
    }

private:
    Oid type_;
    Growing<Datum> values_{};
    Growing<bool> nulls_{};
};

} // namespace scylla::store
