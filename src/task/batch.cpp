#include "task/batch.h"

namespace scylla {

void settle(BatchItem &item, const Claim &claim, model::Status now) {
    item.done = claim.lease.has_value();
    if (item.done) {
        item.attempt = claim.lease->carry.attempt;
        item.status = now;
    } else if (claim.instead)
        item.status = claim.instead->status;
}

} // namespace scylla
