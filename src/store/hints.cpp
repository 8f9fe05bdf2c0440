#include "store/hints.h"

namespace scylla::store {

constinit Hints lease_hints;
constinit Hints spec_hints;

} // namespace scylla::store
