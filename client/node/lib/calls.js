// The calls of a worker. Tasks are passed as leases, JSON as text; all results are text.
'use strict';

// Times as microseconds, independent of the settings of the session.
const JOB =
  'select rn, queue, spec, priority, (extract(epoch from created) * 1000000)::bigint as created, args, errors, attempt, failures, ' +
  'max_attempts, plan, key, pool, (extract(epoch from deadline - updated) * 1000000)::bigint as lasts from ';

const statements = {
  register_worker: 'select scylla.register_worker() as name',
  wait_any: 'call scylla.wait_any($1::text[], $2::interval)',
  lease: `${JOB} scylla.lease($1, $2, $3::int, $4::interval)`,
  complete_and_lease: `${JOB} scylla.complete_and_lease($1::text[], $2, $3, $4::int, $5::interval, $6::text[]::jsonb[], $7::int[])`,
  held_tasks: `${JOB} scylla.list_tasks(null, 'running', $1, 100000)`,
  heartbeat_many: 'select held, status from scylla.heartbeat_many($1::text[], $2, $3::interval, $4::int[])',
  // All or none, in the order of their names, as in the server's own batches, so that two of them cannot deadlock.
  heartbeat_each:
    'select h.rn from (select * from unnest($1::text[], $2::float8[], $3::int[]) as u(rn, progress, attempt) order by rn) t, ' +
    'lateral scylla.heartbeat(t.rn, $4, t.progress, $5::interval, t.attempt) h',
  yield_each:
    'select y.rn from (select * from unnest($1::text[], $2::int[]) as u(rn, attempt) order by rn) t, ' +
    'lateral scylla.yield(t.rn, $3, t.attempt) y',
  complete_many: 'select completed, status from scylla.complete_many($1::text[], $2, $3::text[]::jsonb[], $4::int[])',
  complete: 'select from scylla.complete($1, $2, $3::jsonb, $4::jsonb, $5::int)',
  fail: 'select from scylla.fail($1, $2, $3::jsonb, $4::interval, $5::int)',
  abort: 'select from scylla.abort($1, $2, $3::jsonb, $4::int)',
  yield: 'select from scylla.yield($1, $2, $3::int)',
  state_of: 'select status, attempt, failures from scylla.get_task($1)',
};

const run = async (on, name, ...values) => (await on.query({ name: `scylla_${name}`, text: statements[name], values })).rows;

const interval = (milliseconds, least = 1) =>
  milliseconds === null || milliseconds === undefined ? null : `${Math.max(least, Math.round(milliseconds * 1000))} microseconds`;
const rns = (jobs) => jobs.map((job) => job.task.rn);
const attempts = (jobs) => jobs.map((job) => job.task.attempt);
const integer = (text) => (text === null ? null : Number(text));

function leased(rows) {
  return rows.map((row) => ({
    lasts: Number(row.lasts) / 1000,
    task: Object.freeze({
      rn: row.rn,
      queue: row.queue,
      spec: JSON.parse(row.spec),
      priority: Number(row.priority),
      created: new Date(Number(row.created) / 1000),
      args: JSON.parse(row.args) ?? [],
      errors: JSON.parse(row.errors) ?? [],
      attempt: Number(row.attempt),
      failures: Number(row.failures),
      maxAttempts: integer(row.max_attempts),
      plan: row.plan,
      key: row.key,
      pool: row.pool,
    }),
  }));
}

module.exports = {
  registerWorker: async (on) => (await run(on, 'register_worker'))[0].name,
  waitAny: async (on, queues, time) => (await run(on, 'wait_any', queues, interval(time)))[0].queue,
  lease: async (on, queue, worker, maxTasks, timeout) => leased(await run(on, 'lease', queue, worker, maxTasks, interval(timeout))),
  completeAndLease: async (on, jobs, results, worker, queue, maxTasks, timeout) =>
    leased(await run(on, 'complete_and_lease', rns(jobs), worker, queue, maxTasks, interval(timeout), results, attempts(jobs))),
  heldTasks: async (on, worker) => leased(await run(on, 'held_tasks', worker)),
  heartbeatMany: async (on, jobs, worker, timeout) =>
    (await run(on, 'heartbeat_many', rns(jobs), worker, interval(timeout), attempts(jobs))).map((row) => ({
      held: row.held === 't',
      status: row.status,
    })),
  heartbeatEach: (on, jobs, progress, worker, timeout) =>
    run(on, 'heartbeat_each', rns(jobs), progress, attempts(jobs), worker, interval(timeout)),
  yieldEach: (on, jobs, worker) => run(on, 'yield_each', rns(jobs), attempts(jobs), worker),
  completeMany: async (on, jobs, results, worker) =>
    (await run(on, 'complete_many', rns(jobs), worker, results, attempts(jobs))).map((row) => ({
      completed: row.completed === 't',
      status: row.status,
    })),
  complete: (on, { task, worker }, outcome) => run(on, 'complete', task.rn, worker, outcome.result, outcome.metrics, task.attempt),
  fail: (on, { task, worker }, outcome) => run(on, 'fail', task.rn, worker, outcome.error, interval(outcome.retryAfter, 0), task.attempt),
  abort: (on, { task, worker }, outcome) => run(on, 'abort', task.rn, worker, outcome.error, task.attempt),
  yieldTask: (on, { task, worker }) => run(on, 'yield', task.rn, worker, task.attempt),
  stateOf: async (on, rn) => {
    const [row] = await run(on, 'state_of', rn);
    return row && { status: row.status, attempt: Number(row.attempt), failures: Number(row.failures) };
  },
};
