// A connection of a pool, for as long as it is needed.
#ifndef SCYLLA_SRC_POOLED_H
#define SCYLLA_SRC_POOLED_H

#include <memory>

#include <scylla/pool.h>

#include "connection.h"

namespace scylla::detail {

class pooled_connection {
public:
    explicit pooled_connection(pool &p); // waits for its turn, connects if need be
    ~pooled_connection();
    pooled_connection(const pooled_connection &) = delete;
    pooled_connection &operator=(const pooled_connection &) = delete;

    connection *operator->() const { return m_connection.get(); }
    void discard() noexcept; // it is broken

private:
    void give_back() noexcept;

    pool_state &m_state;
    std::unique_ptr<connection> m_connection;
};

class pool_executor final : public executor {
public:
    explicit pool_executor(pool &p) : m_pool{p} {}
    pqxx::result run(const statement &call, const params &values) override;

private:
    pool &m_pool;
};

} // namespace scylla::detail

#endif
