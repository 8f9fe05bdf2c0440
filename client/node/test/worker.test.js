// What the worker promises, against a server.
'use strict';
const assert = require('node:assert');
const { test } = require('node:test');
const { Client } = require('pg');
const { AbortTask, Complete, FailTask, StopError, Worker, YieldTask } = require('..');
const { eventually, queueTest, sleep, unique } = require('./support');

const numbers = (count) => Array.from({ length: count }, (_, i) => i);

// ---- leasing and finishing

queueTest('completes tasks', async (t) => {
  await t.submit(...numbers(50).map((n) => ({ n })));
  const w = t.start((job) => ({ spec: job.spec }), { concurrency: 4 });
  await t.all("status = 'completed' and result = jsonb_build_object('spec', spec)", w.why);
  await t.submit({ n: 1 }); // and what comes later
  await t.all("status = 'completed'");
  assert.equal(await w.stop(), 0);
  const { leased, completed, held, running, failed, aborted, yielded, lost, cancelled } = w.counters;
  assert.deepEqual([leased, completed, held, running], [51, 51, 0, 0]);
  assert.equal(failed + aborted + yielded + lost + cancelled, 0);
});

queueTest('a task has all fields', async (t) => {
  await t.ask(`select scylla.create_pool($1, '{"slots": 1}')`, t.queue);
  await t.ask("select scylla.submit($1, '1', rn => $2)", t.queue, `${t.queue}-a`);
  await t.ask(
    `select scylla.submit($1, '{"x": [1, null, "ß"]}', 7, $2, depends_on => $3, max_attempts => 9, key => 'k',
            needs => jsonb_build_object($1::text, '{"slots": 1}'::jsonb))`,
    t.queue, `${t.queue}-b`, [`${t.queue}-a`]);
  const seen = [];
  const options = '-c timezone=Asia/Tokyo -c datestyle=German -c intervalstyle=iso_8601';
  t.start((job) => {
    seen.push(job.task);
    if (job.rn.endsWith('-b') && job.attempt === 1) throw new FailTask('once', '', {}, { retryAfter: 0 });
    return { r: job.spec };
  }, { connection: { options } });
  await t.all("status = 'completed'");
  const { errors, created, ...task } = seen.at(-1);
  assert.deepEqual(task, {
    rn: `${t.queue}-b`, queue: t.queue, spec: { x: [1, null, 'ß'] }, priority: 7, args: [{ r: 1 }], attempt: 2, failures: 1,
    maxAttempts: 9, plan: null, key: 'k', pool: t.queue,
  });
  assert.equal(errors[0].code, 'once');
  assert.equal(created.getTime(), (await t.ask('select created from scylla.task where rn = $1', task.rn)).getTime());
  assert.deepEqual([seen[0].args, seen[0].errors], [[], []]);
});

queueTest('turns outcomes into calls', async (t) => {
  const expected = {
    nothing: "status = 'completed' and result is null",
    metrics: "status = 'completed' and result = '1' and metrics = '{\"s\": 2}'",
    abort: "status = 'aborted' and errors @> '[{\"code\": \"b\", \"message\": \"d\", \"args\": {\"x\": 1}}]'",
    fail: "status = 'waiting' and failures = 1 and errors -> 0 ->> 'code' = 'c' and not_before > now() + '50 min'",
    throw: "errors -> 0 @> '{\"code\": \"exception\", \"message\": \"TypeError: weiß\\ufffd?\"}'"
      + " and errors -> 0 ->> 'details' ~ '^TypeError: weiß.*\n +at .*worker.test.js'",
    'throw 1': "errors -> 0 ->> 'code' = 'exception' and failures >= 1",
    'no json': "errors -> 0 ->> 'code' = 'invalid-outcome'",
    circular: "errors -> 0 ->> 'code' = 'invalid-outcome'",
    nul: "errors -> 0 ->> 'code' = 'invalid-outcome' and failures >= 1",
    'bad error': "errors -> 0 ->> 'code' = 'invalid-outcome' and failures >= 1",
    yield: "status = 'completed' and attempt = 2 and failures = 0",
  };
  await t.submit(...Object.keys(expected));
  const w = t.start((job) => {
    switch (job.spec) {
      case 'metrics': return new Complete(1, { s: 2 });
      case 'abort': throw new AbortTask('b', 'd', { x: 1 });
      case 'fail': throw new FailTask('c', '', {}, { retryAfter: 3600000 });
      case 'throw': throw new TypeError('weiß\0?');
      case 'throw 1': throw 1; // eslint-disable-line no-throw-literal
      case 'no json': return () => 1;
      case 'circular': { const loop = {}; loop.loop = loop; return loop; }
      case 'nul': return '\0';
      case 'bad error': throw new FailTask('', 'the code is empty');
      case 'yield': if (job.attempt === 1) throw new YieldTask(); return 1;
      default: return undefined;
    }
  }, { prefetch: 20 });
  for (const [spec, condition] of Object.entries(expected))
    await eventually(() => t.ask(`select ${condition} from scylla.task where queue = $1 and spec = to_jsonb($2::text)`, t.queue, spec), () => `${spec}\n${w.why()}`, 20000);
  assert.ok(w.logged('exception') >= 1);
});

queueTest('leases no more than there is room for', async (t) => {
  await t.submit(...numbers(30));
  const w = t.start(t.untilGo, { concurrency: 2, prefetch: 3 });
  await eventually(async () => w.counters.running === 2 && (await t.count("status = 'running'")) === 5);
  assert.equal(w.counters.leased, 5);
  t.go = true;
  await t.all("status = 'completed'");
});

// One transaction per call, so the rows of a call have the same xmin.
queueTest('no call is about more than a batch', async (t) => {
  const largest = (table) => t.ask(
    `select max(n) from (select count(*) as n from scylla.${table} t join scylla.task_spec s on s.id = t.id
       join scylla.queue q on q.id = s.queue where q.name = $1 group by t.xmin::text) x`, t.queue);
  await t.submit(...numbers(25));
  const w = t.start(t.untilGo, { prefetch: 24, maxBatch: 10, leaseTimeout: 3000 });
  await eventually(() => w.counters.leased === 25);
  assert.equal(await largest('task_lease'), 10);
  await eventually(() => w.counters.heartbeats >= 25);
  assert.ok((await largest('task_lease')) <= 10);
  t.go = true;
  await t.all("status = 'completed'");
  assert.ok((await largest('task_outcome')) <= 10);
  t.go = false;
  await t.submit(...numbers(25));
  await eventually(() => w.counters.leased === 50 && w.counters.running === 1);
  await w.stop();
  assert.ok(w.counters.yielded >= 24);
  assert.equal(await largest('task_ready'), 10);
  assert.equal(await t.count("status = 'running'"), 0);
});

// What one call of the worker did has one transaction: the first task was completed by that which leased the second.
queueTest('completions and leases travel together', async (t) => {
  await t.submit(1, 2);
  const w = t.start((job) => (job.spec === 2 ? t.untilGo(job) : null));
  await eventually(() => w.counters.completed === 1 && w.counters.running === 1);
  assert.equal(await t.ask(
    `select count(*) from scylla.task_outcome o join scylla.task_lease l on l.xmin::text = o.xmin::text
       join scylla.task_spec s on s.id = l.id join scylla.queue q on q.id = s.queue where q.name = $1`, t.queue), 1);
});

queueTest('asks for capacity', async (t) => {
  await t.submit(...numbers(10));
  const asked = [];
  let allowed = 0;
  const w = t.start(() => null, { concurrency: 8, capacityInterval: 10, capacity: (room) => { asked.push(room); return allowed; } });
  await eventually(() => asked.length > 3);
  assert.equal(w.counters.leased, 0);
  assert.equal(asked[0], 8);
  allowed = 1;
  await t.all("status = 'completed'");
  assert.equal(await t.ask("select max(n) from (select count(*) n from scylla.task where queue = $1 group by history -> 0 ->> 'time') x", t.queue), 1);
});

queueTest('queues take turns', async (t) => {
  const other = unique('other');
  await t.submit(...numbers(100));
  for (let i = 0; i < 5; i++) await t.ask("select scylla.submit($1, '1')", other);
  const done = [];
  t.start((job) => { done.push(job.task.queue); }, { queues: [t.queue, other] });
  await eventually(() => done.length === 105);
  assert.ok(!done.slice(20).includes(other));
});

// ---- waiting

queueTest('sleeps by wait', async (t) => {
  const w = t.start(() => null, { connection: { application_name: t.queue } });
  const waiting = "select count(*) from pg_stat_activity where application_name = $1 and query like 'call%' and wait_event_type = 'Extension'";
  await eventually(async () => (await t.ask(waiting, t.queue)) === 1);
  const { polls } = w.counters;
  const start = Date.now();
  for (let n = 0; n < 20; n++) {
    const [rn] = await t.submit(n);
    await eventually(async () => (await t.status(rn)) === 'completed');
  }
  assert.equal(w.counters.polls, polls);
  assert.ok(Date.now() - start < 30000);
  // An idle worker asks nothing: its other connections are not used.
  await eventually(async () => (await t.ask(waiting, t.queue)) === 1);
  const used = "select max(state_change)::text from pg_stat_activity where application_name = $1 and query not like 'call%'";
  const before = await t.ask(used, t.queue);
  await sleep(1200);
  assert.equal(await t.ask(used, t.queue), before);
});

queueTest('a queue that does not exist is noticed', async (t) => {
  const other = unique('other');
  const w = t.start(() => null, { connection: { application_name: t.queue }, queues: [t.queue, other], reconnectMin: 10 });
  await eventually(() => w.logged('notice') === 2);
  assert.ok(w.events.some(({ event, message }) => event === 'notice' && message.includes(other)));
  await t.ask('select count(pg_terminate_backend(pid)) from pg_stat_activity where application_name = $1', t.queue);
  await t.submit(1);
  await t.all("status = 'completed'");
  assert.equal(w.logged('notice'), 2); // the next connection is not told again
});

queueTest('polls without wait', async (t) => {
  const w = t.start(() => null, { useWait: false, pollMax: 100 });
  await eventually(() => w.counters.polls > 2);
  await t.submit(1);
  await t.all("status = 'completed'");
  assert.equal(w.counters.waits, 0);
});

queueTest('polls where the server refuses to wait', async (t) => {
  const role = `no_wait_${t.queue.replaceAll('-', '_')}`;
  await t.ask('select scylla.create_queue($1)', t.queue);
  await t.ask(`create role ${role} login`);
  await t.ask(`grant usage on schema scylla to ${role}`);
  await t.ask(`grant execute on all functions in schema scylla to ${role}`); // but not on procedures
  await t.ask("select scylla.grant_queue($1, $2, 'work')", t.queue, role);
  const w = t.start(() => null, { connection: { user: role }, pollMax: 100 });
  await eventually(() => w.logged('wait-refused') === 1);
  await t.submit(1);
  await t.all("status = 'completed'");
});

// ---- keeping leases

queueTest('keeps leases and tells progress', async (t) => {
  await t.submit(1, 2, 3);
  const connection = { application_name: t.queue };
  const w = t.start((job) => { job.progress(0.5); return t.untilGo(job); }, { concurrency: 2, prefetch: 1, leaseTimeout: 600, connection });
  await eventually(() => w.counters.heartbeats > 20);
  await eventually(async () => (await t.count("status = 'running' and progress = 0.5")) === 2);
  // A long task holds no transaction.
  assert.equal(await t.ask("select count(*) from pg_stat_activity where application_name = $1 and state like 'idle in%'", t.queue), 0);
  t.go = true;
  await t.all("status = 'completed' and attempt = 1");
  assert.equal(w.counters.lost, 0);
  await eventually(() => w.counters.connections === 3); // to lease and finish, for heartbeats, to wait
});

queueTest('handlers learn of cancellation', async (t) => {
  const [rn] = await t.submit(1);
  let reason;
  const w = t.start(async (job) => {
    job.signal.addEventListener('abort', () => { reason = job.signal.reason; });
    return t.untilGo(job);
  }, { leaseTimeout: 300 });
  await eventually(() => w.counters.running === 1);
  await t.ask('select scylla.cancel($1)', rn);
  await eventually(() => w.counters.running === 0 && w.counters.held === 0);
  assert.deepEqual(t.reasons, ['cancelled']);
  assert.ok(reason instanceof StopError && reason.reason === 'cancelled' && reason.code === 'ABORT_ERR');
  assert.deepEqual([w.counters.cancelled, w.counters.completed], [1, 0]);
  const [next] = await t.submit(2); // and the worker goes on
  await eventually(async () => (await t.status(next)) === 'running');
  t.go = true;
  await eventually(async () => (await t.status(next)) === 'completed');
});

queueTest('handlers learn that their lease is lost', async (t) => {
  const [rn] = await t.submit(1);
  const w = t.start(t.untilGo, { leaseTimeout: 300 });
  await eventually(() => w.counters.running === 1);
  await t.ask('begin'); // at once: no heartbeat comes between
  await t.ask('select scylla.yield($1, $2)', rn, w.worker.name);
  await t.ask("select scylla.lease_task($1, 'other', '1 min')", rn);
  await t.ask('commit');
  await eventually(() => w.counters.running === 0 && w.counters.held === 0);
  assert.deepEqual(t.reasons, ['lease-lost']);
  assert.deepEqual([w.counters.lost, w.counters.completed], [1, 0]);
  assert.equal(await t.ask("select owner from scylla.task where rn = $1 and attempt = 2 and status = 'running'", rn), 'other');
});

// No heartbeat tells the worker before: the server refuses the result by its attempt, even of the same owner.
queueTest('a late result is dropped', async (t) => {
  const [rn] = await t.submit(1);
  const w = t.start(t.untilGo);
  await eventually(() => w.counters.running === 1);
  await t.ask('begin');
  await t.ask('select scylla.yield($1, $2)', rn, w.worker.name);
  await t.ask("select scylla.lease_task($1, $2, '1 min')", rn, w.worker.name);
  await t.ask('commit');
  t.go = true;
  await eventually(() => w.counters.lost === 1 && w.counters.held === 0);
  assert.equal(await t.status(rn), 'running');
});

// Somebody is just cancelling one task, in a transaction that stays open: the other leases stay alive.
queueTest('a locked task does not hold up the others', async (t) => {
  const [rn] = await t.submit(1, 2, 3);
  const w = t.start(t.untilGo, { concurrency: 3, leaseTimeout: 3000 });
  await eventually(() => w.counters.running === 3);
  const other = new Client();
  await other.connect();
  await other.query('begin');
  await other.query('select scylla.cancel($1)', [rn]);
  await eventually(() => w.logged('heartbeat-failed') >= 1);
  t.go = true;
  await eventually(async () => (await t.count("status = 'completed'")) === 2);
  await other.query('commit');
  await other.end();
  await eventually(() => w.counters.held === 0);
  assert.deepEqual([w.counters.cancelled, w.counters.lost], [1, 0]);
  assert.equal(await t.count('attempt = 1'), 3);
});

// ---- connections

// The server answers, but not in time: the connection is given up, and the question asked again.
queueTest('a call that takes too long is a broken connection', async (t) => {
  const [rn] = await t.submit(1);
  const w = t.start(t.untilGo, { callTimeout: 300, reconnectMin: 10 });
  await eventually(() => w.counters.running === 1);
  const other = new Client();
  await other.connect();
  await other.query('begin');
  await other.query('select scylla.cancel($1)', [rn]);
  t.go = true;
  await eventually(() => w.logged('connection-lost') >= 1);
  await other.query('rollback');
  await other.end();
  await t.all("status = 'completed' and attempt = 1");
  await eventually(() => w.counters.completed === 1 && w.counters.held === 0);
  assert.equal(w.counters.lost, 0);
});

queueTest('survives the loss of its connections', async (t) => {
  const w = t.start(() => null, { connection: { application_name: t.queue }, concurrency: 4, prefetch: 8, reconnectMin: 10 });
  await eventually(() => w.counters.connections >= 1);
  for (let i = 0; i < 10; i++) {
    const before = w.counters.connections;
    await t.submit(...numbers(10));
    await t.ask('select count(pg_terminate_backend(pid)) from pg_stat_activity where application_name = $1', t.queue);
    await eventually(() => w.counters.connections > before, w.why);
  }
  await t.all("status = 'completed'");
});

queueTest('survives settings that end calls and sessions', async (t) => {
  const options = '-c statement_timeout=200 -c idle_session_timeout=150 -c idle_in_transaction_session_timeout=1';
  const w = t.start(() => null, { connection: { options }, reconnectMin: 10 });
  for (let n = 0; n < 5; n++) {
    await t.submit(n);
    await sleep(300);
  }
  await t.all("status = 'completed' and attempt = 1");
  assert.ok(w.counters.connections > 3);
  assert.equal(w.logged('wait-refused'), 0);
});

queueTest('of several servers the first that accepts writes is taken', async (t) => {
  const connection = [{ host: '/nowhere' }, { options: '-c default_transaction_read_only=on' }, {}];
  const w = t.start(() => null, { connection, reconnectMin: 10 });
  await t.submit(1);
  await t.all("status = 'completed'");
  assert.ok(w.logged('connect-failed') >= 2);
});

// ---- stopping

queueTest('stop gives back what is not done', async (t) => {
  await t.submit(...numbers(60));
  const w = t.start(async (job) => {
    await t.untilGo(job);
    throw job.spec % 2 ? new Error('interrupted') : new YieldTask();
  }, { concurrency: 4, prefetch: 30 });
  await eventually(() => w.counters.running === 4 && w.counters.leased === 34);
  const start = Date.now();
  assert.equal(await w.stop(), 0);
  assert.ok(Date.now() - start < 30000);
  await t.all("status = 'ready' and failures = 0");
  assert.deepEqual([w.counters.yielded, w.counters.held], [34, 0]);
  assert.deepEqual([...new Set(t.reasons)], ['stopping']);
});

queueTest('stop lets handlers finish within their grace', async (t) => {
  await t.submit(1);
  let aborted = null;
  const w = t.start(async (job) => {
    const result = await t.untilGo(job);
    aborted = job.signal.aborted;
    return result;
  });
  await eventually(() => w.counters.running === 1);
  assert.equal(await w.stop(), 0);
  await t.all("status = 'completed' and result = '\"done\"'");
  assert.equal(aborted, false);
});

queueTest('stop is bounded, and aborts what goes on', async (t) => {
  await t.submit(1, 2);
  let aborted = 0;
  const w = t.start((job) => new Promise((resolve) => {
    job.signal.addEventListener('abort', () => { aborted++; setTimeout(resolve, 50); });
  }), { concurrency: 2, stopGrace: 200 });
  await eventually(() => w.counters.running === 2);
  const start = Date.now();
  assert.equal(await w.stop(), 2);
  assert.ok(Date.now() - start < 30000);
  assert.equal(aborted, 2);
  assert.equal(w.logged('abandoned'), 1);
  await t.all("status = 'ready' and failures = 0");
});

test('stop before run', async () => {
  const worker = new Worker({ queues: 'q', log: () => {} }, () => null);
  worker.stop();
  assert.equal(await worker.run(), 0);
  await assert.rejects(worker.run(), /runs once/);
});

// ---- what cannot pass by itself

queueTest('refuses what cannot pass by itself', async (t) => {
  const role = `login_${t.queue.replaceAll('-', '_')}`;
  await t.ask(`create role ${role} login`);
  const run = (connection) => new Worker({ connection, queues: t.queue, name: 'me', log: () => {} }, () => null).run();
  await assert.rejects(run({ database: 'template1' }), { code: '3F000' });
  await assert.rejects(run({ user: role }), { code: '42501' });
  // What is missing is named, with what to do.
  await assert.rejects(run({ database: 'template1' }), { hint: /CREATE EXTENSION scylla/ });
  await assert.rejects(run({ database: 'no_such_database' }), { code: '3D000', hint: /Create the database/ });
});

test('refuses options that make no sense', () => {
  for (const options of [
    { queues: [] }, { queues: Array(65).fill('q') }, { queues: '' }, { queues: 'a\0b' }, { queues: undefined }, { concurrency: 0 },
    { concurrency: '4' }, { prefetch: 100000 }, { maxBatch: 0 }, { leaseTimeout: 0 }, { leaseTimeout: 366 * 86400000 }, { stopGrace: -1 },
    { pollMin: NaN }, { name: '' }, { connection: [] }, { capacity: 5 }, { lease_timeout: 5 },
  ])
    assert.throws(() => new Worker({ queues: 'q', ...options }, () => null), RangeError, JSON.stringify(options));
  assert.throws(() => new Worker({ queues: 'q' }), TypeError);
});

queueTest('the server names it', async (t) => {
  const w = t.start((job) => job.worker);
  await eventually(() => w.worker.name !== null);
  await t.submit(1);
  await t.all(`status = 'completed' and owner = '${w.worker.name}' and result = to_jsonb(owner)`);
});
