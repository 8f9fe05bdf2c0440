#include "store/hints.h"

namespace scylla::store {

constinit Hints<4096> lease_hints;
constinit Hints<4096> spec_hints;

} // namespace scylla::store
