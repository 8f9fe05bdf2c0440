// The common part of the tests of calls.
#ifndef SCYLLA_TEST_CALLS_FIXTURE_H
#define SCYLLA_TEST_CALLS_FIXTURE_H

#include <scylla/client.h>

#include <stdexcept>
#include <typeinfo>

#include "environment.h"

namespace scylla_test {

class Calls : public ::testing::Test {
protected:
    pqxx::connection connection{""};
    scylla::client c{connection};
    scylla::queue_name queue{unique("queue")};
    scylla::worker_name me{unique("worker")};

    scylla::resource_name submit(const scylla::submit_options &options = {}) {
        return c.submit(queue, "{}", options).rn;
    }
    scylla::resource_name leased() {
        const scylla::resource_name rn = submit();
        c.lease_task(rn, me);
        return rn;
    }
};

// Runs a call that must throw exactly this class, and returns what it threw.
template <class E, class F> E thrown(F call) {
    try {
        call();
    } catch (const E &e) {
        EXPECT_EQ(typeid(e).name(), typeid(E).name()) << e.what();
        return e;
    } catch (const std::exception &e) {
        ADD_FAILURE() << "threw " << typeid(e).name() << ": " << e.what();
        throw;
    }
    ADD_FAILURE() << "threw nothing";
    throw std::logic_error{"nothing thrown"};
}

} // namespace scylla_test

#endif
