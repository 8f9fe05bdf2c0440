/// @file error.h
/// What the library throws. Every failure of a call, of the server, libpqxx or the connection, is a scylla::error. The
/// only other exception of a call is std::bad_alloc.
#ifndef SCYLLA_ERROR_H
#define SCYLLA_ERROR_H

#include <stdexcept>
#include <string>

namespace scylla {

/// What is known about an error. Texts that are not known are empty.
struct error_info {
    std::string message;  ///< the primary message, without its severity
    std::string sqlstate; ///< five characters; empty when the server did not answer
    std::string detail;   ///< for a lost lease: the present status, owner and attempt
    std::string hint;     ///< what to do about it
    std::string rule;     ///< which rule of the scheduler was broken: `held`, `ready`, `live`, `exists`, `unique`,
                          ///< `argument`, …; the reference lists them. Empty for an error of the server itself
};

/// The base of all. what() is the primary message, followed by the server's detail and hint in lines of their own.
///
/// In a transaction of the application an error aborts that transaction, like any error in PostgreSQL.
class error : public std::runtime_error {
public:
    explicit error(error_info info);

    [[nodiscard]] const std::string &message() const noexcept { return m_info.message; }
    [[nodiscard]] const std::string &sqlstate() const noexcept { return m_info.sqlstate; }
    [[nodiscard]] const std::string &detail() const noexcept { return m_info.detail; }
    [[nodiscard]] const std::string &hint() const noexcept { return m_info.hint; }
    [[nodiscard]] const std::string &rule() const noexcept { return m_info.rule; }

private:
    error_info m_info;
};

/// There is no such task, queue, plan or schedule (P0002, 42704), or no such database (3D000).
class not_found : public error {
    using error::error;
};

/// The name is taken (23505, 42710).
class duplicate : public error {
    using error::error;
};

/// The task, plan or queue is not in the state that the call needs (55000, 2BP01): it is not ready, has already ended,
/// or is not empty.
class wrong_state : public error {
    using error::error;
};

/// The caller does not hold the task, or not in this attempt (55000, rule `held`): it was cancelled, its lease expired,
/// or another worker has it. Nothing was changed. Stop working on it.
class lease_lost : public wrong_state {
    using wrong_state::wrong_state;
};

/// A bad argument (class 22), among them text that is no JSON. message() names the argument, detail() the rule.
class invalid_argument : public error {
    using error::error;
};

/// The argument or call needs a newer server extension, or one at all (0A000, 42883, 42P01, 3F000).
class not_supported : public error {
    using error::error;
};

/// No privilege (42501).
class denied : public error {
    using error::error;
};

/// The transaction cannot write: it is read-only, or the server is a standby (25006).
class read_only : public error {
    using error::error;
};

/// A serialisation failure, a deadlock or a lock timeout (40001, 40P01, 55P03): repeat the transaction.
class conflict : public error {
    using error::error;
};

/// statement_timeout, or the statement was cancelled (57014).
class timed_out : public error {
    using error::error;
};

/// The connection failed or could not be made, or the server is stopping (class 08, 57P01 to 57P05, no SQLSTATE).
/// Whether the call took effect is not known, unless it ran in a transaction that was not yet committed.
class connection_lost : public error {
    using error::error;
};

} // namespace scylla

#endif
