// Whatever a handler throws, returns or logs ends its own task and nothing else.
// SCYLLA_TEST_SECONDS=600 makes ten minutes of random misuse.
'use strict';
const assert = require('node:assert');
const { readFileSync } = require('node:fs');
const { join } = require('node:path');
const { test } = require('node:test');
const { AbortTask, Complete, FailTask, YieldTask } = require('..');
const { fateOf } = require('../lib/refusal');
const { eventually, queueTest, sleep } = require('./support');

const SECONDS = Number(process.env.SCYLLA_TEST_SECONDS ?? 2);
const INVALID = 'invalid-outcome';
const RAISED = 'exception';

/* eslint-disable no-throw-literal */
const raise = (value) => { throw value; };
const getter = (object, name) => Object.defineProperty(object, name, { get() { throw new Error(`getter ${name}`); } });
const traps = new Proxy({}, { get: () => (() => raise(new Error('trap'))) });
const evil = (target = {}) => new Proxy(target, traps);
const deep = (levels) => {
  let value = [];
  for (let i = 0; i < levels; i++) value = [value];
  return value;
};
const recursion = () => recursion();
const revoked = () => {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
};
const thenable = (then) => ({ then });
class EvilText extends String { toString() { throw new Error('toString'); } }
class EvilName extends Error { static get name() { throw new Error('name'); } }
class EvilFail extends FailTask { get code() { throw new Error('code'); } set code(_) {} } // eslint-disable-line no-empty-function

// What a handler does → the code of its task's error, null: it is completed; and what the message says.
const misuses = {
  'no prototype': [() => raise(Object.create(null)), INVALID, /object/],
  'message getter': [() => raise(getter(new Error('x'), 'message')), INVALID, /Error/],
  'stack getter': [() => raise(getter(new Error('x'), 'stack')), RAISED, /Error: x/],
  'name getter': [() => raise(getter(new TypeError('x'), 'name')), INVALID, /TypeError/],
  'toString getter': [() => raise(getter({}, 'toString')), INVALID, /Object/],
  'toString object': [() => raise({ toString: () => ({}), valueOf: () => ({}) }), INVALID, /Object/],
  'toPrimitive': [() => raise({ [Symbol.toPrimitive]() { throw null; } }), INVALID, /Object/],
  'text object': [() => raise(new EvilText('x')), INVALID, /EvilText/],
  'constructor getter': [() => raise(getter(new Error('x'), 'constructor')), RAISED, /Error: x/],
  'class name': [() => raise(new EvilName('x')), RAISED, /Error: x/],
  proxy: [() => raise(evil()), INVALID, /object/],
  'proxy of an error': [() => raise(evil(new Error('x'))), INVALID, /object/],
  'proxy of a function': [() => raise(evil(() => {})), INVALID, /function/],
  'revoked proxy': [() => raise(revoked()), INVALID, /object/],
  undefined: [() => raise(undefined), RAISED, /undefined/],
  null: [() => raise(null), RAISED, /null/],
  symbol: [() => raise(Symbol('s')), RAISED, /Symbol\(s\)/],
  bigint: [() => raise(5n), RAISED, /5/],
  function: [() => raise(recursion), RAISED, /recursion/],
  class: [() => raise(FailTask), RAISED, /class/],
  recursion: [recursion, RAISED, /RangeError/],
  'null prototype error': [() => raise(Object.setPrototypeOf(new Error('x'), null)), INVALID, /object/],
  surrogate: [() => raise(new Error('\ud800\0ß')), RAISED, /Error: \ufffd\ufffdß/],
  'message large': [() => raise(new Error('ß'.repeat(3000000))), RAISED, /ßßß… \(cut: 3000007 characters\)$/],
  'message of pairs': [() => raise(new Error('😀'.repeat(1000000))), RAISED, /😀… \(cut: 2000007 characters\)$/],
  'message escapes': [() => raise(new Error('\x01'.repeat(1000000))), RAISED, /cut: 1000007 characters/],
  'aggregate': [() => raise(new AggregateError([evil(), Object.create(null)], 'all')), RAISED, /AggregateError: all/],
  'code number': [() => raise(new FailTask(503)), INVALID, /FailTask.*Number/],
  'code symbol': [() => raise(new FailTask(Symbol('x'))), INVALID, /FailTask/],
  'code undefined': [() => raise(new FailTask()), INVALID, /FailTask/],
  'code evil': [() => raise(new AbortTask(Object.create(null))), INVALID, /AbortTask.*object/],
  'code getter': [() => raise(new EvilFail('x')), INVALID, /EvilFail/],
  'code empty': [() => raise(new FailTask('')), INVALID, /code/],
  'code surrogate': [() => raise(new FailTask('x\ud800\0')), 'x\ufffd\ufffd', /^$/],
  'message error': [() => raise(new FailTask('x', new RangeError('y'))), INVALID, /RangeError/],
  'message evil': [() => raise(new FailTask('x', evil())), INVALID, /object/],
  'message large': [() => raise(new AbortTask('x', '😀'.repeat(400000), { y: 'z'.repeat(100000) })), 'x', /😀… \(cut: 800000/],
  'args bigint': [() => raise(new FailTask('x', '', { y: 5n })), INVALID, /FailTask/],
  'args evil': [() => raise(new FailTask('x', '', evil())), INVALID, /FailTask/],
  'args toJSON': [() => raise(new AbortTask('x', '', { toJSON() { throw undefined; } })), INVALID, /AbortTask/],
  'args large': [() => raise(new FailTask('x', '', { y: 'z'.repeat(2000000) })), INVALID, /./],
  'args cycle': [() => { const args = {}; args.args = args; throw new FailTask('x', '', args); }, INVALID, /FailTask/],
  'after bigint': [() => raise(new FailTask('x', '', {}, { retryAfter: 5n })), INVALID, /BigInt/],
  'after infinite': [() => raise(new FailTask('x', '', {}, { retryAfter: Infinity })), INVALID, /Infinity/],
  'after nan': [() => raise(new FailTask('x', '', {}, { retryAfter: NaN })), INVALID, /NaN/],
  'after negative': [() => raise(new FailTask('x', '', {}, { retryAfter: -1 })), INVALID, /-1/],
  'after huge': [() => raise(new FailTask('x', '', {}, { retryAfter: 1e300 })), INVALID, /1e\+300/],
  'after text': [() => raise(new FailTask('x', '', {}, { retryAfter: '5' })), INVALID, /String/],
  'after symbol': [() => raise(new FailTask('x', '', {}, { retryAfter: Symbol('5') })), INVALID, /Symbol/],
  'after date': [() => raise(new FailTask('x', '', {}, { retryAfter: new Date(0) })), INVALID, /Date/],
  'after evil': [() => raise(new FailTask('x', '', {}, { retryAfter: { valueOf: () => raise(1) } })), INVALID, /Object/],
  'options null': [() => raise(new FailTask('x', '', {}, null)), RAISED, /TypeError/],
  'result bigint': [() => 5n, INVALID, /BigInt/],
  'result symbol': [() => Symbol('x'), INVALID, /Symbol/],
  'result function': [() => () => 1, INVALID, /Function/],
  'result cycle': [() => { const loop = []; loop.push(loop); return loop; }, INVALID, /Array/],
  'result toJSON': [() => ({ toJSON() { throw Object.create(null); } }), INVALID, /Object/],
  'result toJSON undefined': [() => ({ toJSON: () => undefined }), INVALID, /Object/],
  'result getter': [() => getter({}, 'x') && Object.defineProperty({}, 'x', { enumerable: true, get() { throw 1; } }), INVALID, /Object/],
  'result proxy': [() => evil(), RAISED, /trap/],
  'result revoked': [() => revoked(), RAISED, /revoked/],
  'result deep': [() => deep(20000), INVALID, /./],
  'result surrogate': [() => '\ud800', INVALID, /./],
  'result zero': [() => ['\0'], INVALID, /./],
  'result large': [() => 'x'.repeat(300 << 20), INVALID, /String/],
  'result date': [() => new Date(NaN), null],
  'result nan': [() => NaN, null],
  'metrics bigint': [() => new Complete(1, { x: 5n }), INVALID, /BigInt/],
  'metrics deep': [() => new Complete(1, deep(20000)), INVALID, /./],
  'complete getter': [() => getter(new Complete(1), 'result'), INVALID, /./],
  'then throws': [() => thenable(() => raise(Object.create(null))), INVALID, /object/],
  'then getter': [() => getter({}, 'then'), RAISED, /getter then/],
  'then rejects': [() => thenable((_, reject) => reject(undefined)), RAISED, /undefined/],
  'then twice': [() => thenable((resolve, reject) => { resolve(1); reject(2); resolve(3); throw 4; }), null],
  'then later': [() => thenable((resolve) => setTimeout(resolve, 5, 1)), null],
  'then of then': [() => thenable((resolve) => resolve(thenable((_, reject) => reject(Symbol('t'))))), RAISED, /Symbol\(t\)/],
  'rejects with nothing': [() => Promise.reject(), RAISED, /undefined/], // eslint-disable-line prefer-promise-reject-errors
  'rejects with evil': [() => Promise.reject(evil()), INVALID, /object/],
  'rejects later': [() => new Promise((_, reject) => { setTimeout(reject, 5, Symbol('late')); }), RAISED, /Symbol\(late\)/],
  'rejects twice': [() => { const p = Promise.reject(new Error('p')); p.catch(() => {}); return p; }, RAISED, /Error: p/],
  'progress': [(job) => { job.progress(NaN); job.progress(Infinity); job.progress('x'); job.progress(undefined); return 1; }, null],
  'progress symbol': [(job) => job.progress(Symbol('x')), RAISED, /TypeError/],
  nothing: [() => undefined, null],
};
const slow = new Set(['result large']);
const handler = (job) => (job.spec === 'good' ? 'done' : misuses[job.spec][0](job));

// Of the process: node:test counts what is caught here as failures of the test that runs, but not in what a worker does between tests.
const escaped = [];
process.on('unhandledRejection', (reason) => escaped.push(['unhandledRejection', reason]));
process.on('uncaughtException', (error) => escaped.push(['uncaughtException', error]));

async function drained(t, w) {
  await eventually(async () => (await t.count("status not in ('completed', 'aborted')")) === 0, () => w.why().slice(-5000), 300000);
  await eventually(() => w.counters.held === 0 && w.counters.running === 0);
  assert.deepEqual([w.counters.lost, w.counters.cancelled, escaped], [0, 0, []]);
}

const put = (t, specs) =>
  t.ask("select count(*) from unnest($2::text[]) s, lateral scylla.submit($1, to_jsonb(s), max_attempts => 1)", t.queue, specs);

queueTest('each misuse ends its own task, and says why', async (t) => {
  await put(t, Object.keys(misuses).flatMap((name) => [name, 'good']));
  const w = t.start(handler, { concurrency: 3, prefetch: 5, leaseTimeout: 300000 });
  await drained(t, w);
  for (const [name, [, code, said = /^$/]] of Object.entries(misuses)) {
    const task = await t.ask(
      "select jsonb_build_object('status', status, 'error', errors -> -1) from scylla.task where queue = $1 and spec = to_jsonb($2::text)", t.queue, name);
    assert.deepEqual([task.status, task.error?.code ?? null], [code === null ? 'completed' : 'aborted', code], `${name}: ${JSON.stringify(task)?.slice(0, 1000)}`);
    assert.match(task.error?.message ?? '', said, name);
  }
  assert.equal(await t.count(`status = 'completed' and spec = '"good"'`), Object.keys(misuses).length);
  assert.equal(await w.stop(), 0);
});

// The same numbers in every run with the same seed.
function generator(seed) {
  let state = seed;
  return () => {
    state = (state * 1103515245 + 12345) % 2 ** 31;
    return state / 2 ** 31;
  };
}

queueTest('random misuse, with a log that throws', async (t) => {
  const random = generator(Number(process.env.SCYLLA_TEST_SEED ?? 1));
  const choice = (list) => list[Math.floor(random() * list.length)];
  const names = Object.keys(misuses).filter((name) => !slow.has(name));
  const capacity = (room) => choice([() => room, () => room, () => 1, () => -5, () => NaN, () => 'x', () => undefined, () => 5n, () => raise(evil())])();
  const w = t.start(handler, { concurrency: 4, prefetch: 8, capacity, capacityInterval: 10, leaseTimeout: 300000 });
  const add = w.events.push;
  w.events.push = function push(entry) {
    if (this.length < 5000) add.call(this, entry);
    return choice([() => raise(new Error('log')), () => raise(Object.create(null)), () => Promise.reject(new Error('log')), () => thenable(() => raise(1)), () => 5])();
  };
  const end = Date.now() + SECONDS * 1000;
  let rounds = 0;
  let tasks = 0;
  do {
    const specs = [...Array.from({ length: 40 }, () => (random() < 0.8 ? choice(names) : 'good')), 'good'];
    await put(t, specs);
    await drained(t, w);
    assert.equal(await t.count(`status <> 'completed' and spec = '"good"'`), 0);
    rounds++;
    tasks += specs.length;
  } while (Date.now() < end);
  const { completed, failed, aborted, leased } = w.counters;
  assert.deepEqual([completed + failed + aborted, leased], [tasks, tasks]);
  assert.equal(await w.stop(), 0);
  console.log(`# ${rounds} rounds, ${tasks} tasks`);
});

queueTest('promises that never settle keep no other task, and are given back when the worker stops', async (t) => {
  await put(t, ['never', 'never', 'good', 'good']);
  const w = t.start((job) => (job.spec === 'good' ? 1 : thenable(() => {})), { concurrency: 3, stopGrace: 0 });
  await eventually(async () => (await t.count("status = 'completed'")) === 2);
  assert.equal(await w.stop(), 2);
  assert.equal(await t.count("status = 'ready'"), 2);
  assert.equal(w.counters.yielded, 2);
});

queueTest('what is thrown in answer to a stop gives the task back', async (t) => {
  await put(t, ['evil', 'fail']);
  const w = t.start(async (job) => {
    while (!(await job.sleep(1000)));
    throw job.spec === 'evil' ? evil() : new YieldTask();
  }, { concurrency: 2 });
  await eventually(() => w.counters.running === 2);
  assert.equal(await w.stop(), 0);
  assert.equal(await t.count("status = 'ready'"), 2);
});

queueTest('reports are sent while the server refuses to lease', async (t) => {
  const role = `refused_${t.queue.replaceAll('-', '_')}`;
  await put(t, ['any']);
  await t.ask(`create role ${role} login`);
  await t.ask(`grant usage on schema scylla to ${role}`);
  await t.ask(`grant execute on all functions in schema scylla to ${role}`);
  await t.ask("select scylla.grant_queue($1, $2, 'work')", t.queue, role);
  const w = t.start(async () => { while (!t.go) await sleep(5); return 1; }, { connection: { user: role }, concurrency: 2, reconnectMax: 50 });
  await eventually(() => w.counters.running === 1);
  await t.ask(`revoke execute on function scylla.lease(text, text, int, interval) from ${role}`);
  await t.ask(`revoke execute on function scylla.complete_and_lease(text[], text, text, int, interval, jsonb[], int[]) from ${role}`);
  await t.ask("select scylla.submit($1, '1')", t.queue);
  await eventually(() => w.logged('call-failed') > 0);
  t.go = true;
  await eventually(async () => (await t.count("status = 'completed'")) === 1);
});

test('the rule for what the server refuses is the documented one', () => {
  const page = readFileSync(join(__dirname, '../../../docs/client.md'), 'utf8');
  const rows = [...page.matchAll(/^\| `?(\w+)`? \| (temporary|permanent|unknown) \|/gm)];
  assert.ok(rows.length > 20);
  for (const [, sqlstate, fate] of rows) assert.equal(fateOf(sqlstate === 'none' ? undefined : sqlstate.padEnd(5, '0')), fate, sqlstate);
});
