// Hashes of bytes, as the server's hash functions compute them. The ones that are stored (names of workflow triggers,
// shapes of signal conditions) must never change.
#pragma once

#include "pg/text.h"

namespace scylla {

inline uint64 hash_of(std::string_view bytes, uint64 seed = 0) noexcept {
    return hash_bytes_extended(reinterpret_cast<const unsigned char *>(bytes.data()), static_cast<int>(bytes.size()),
                               seed);
}

inline uint64 hash_of(const text *value) noexcept { return hash_of(view(value)); }

// The bytes of a value, with its header if it has variable length.
inline std::string_view bytes_of(const Jsonb *value) noexcept {
    return {reinterpret_cast<const char *>(value), VARSIZE(value)};
}
// Not of an address, which would be the better match for a Jsonb that is not const.
template <Pod T>
requires(!std::is_pointer_v<T>) std::string_view bytes_of(const T &value)
noexcept {
    static_assert(std::has_unique_object_representations_v<T>, "padding would be hashed");
    return {reinterpret_cast<const char *>(&value), sizeof(T)};
}

} // namespace scylla
