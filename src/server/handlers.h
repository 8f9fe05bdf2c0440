// Calling the handlers of queues: a function f(scylla.task) returns jsonb runs a task inside the server.
//
// A task is leased in a transaction that commits before its handler is called. The call and what ends the lease are one
// transaction, so what the handler does in this database happens exactly once with the completion; that transaction
// also leases the next task. An error undoes the call, and fails the task in the same transaction.
#pragma once

#include "shmem/workers.h"

namespace scylla::handlers {

// How the transactions of a process end, each with the beginning of the next.
struct Transactions {
    void (*commit)();
    // After commit() has raised an error.
    void (*recover)();
};

// A process that calls handlers.
struct Worker {
    Transactions transactions;
    text *name;
    Oid user;                            // the role of the process; a handler may have switched to another
    std::array<MemoryContext, 2> memory; // of the task that is called, and of the next one; they outlive transactions
    // What a server worker does about each call; null pointers for a session.
    void (*begin_call)(const shmem::Call &call) = nullptr;
    // Whether an interrupt yields the task; otherwise it is an error of the handler.
    bool (*end_call)() = nullptr;
    bool (*may_go_on)() = nullptr; // to the next task
};

// The name of this process as a worker.
Worker make_worker(const Transactions &transactions);

// Runs tasks of a queue until none can be leased, at most so many. Returns how many. In a transaction, and leaves one.
int64 run_tasks(Worker &worker, const text *queue, int64 max_tasks);

} // namespace scylla::handlers
