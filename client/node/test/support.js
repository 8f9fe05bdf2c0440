// What the tests share. The server is the one that the environment names, as psql would take it.
'use strict';
const assert = require('node:assert');
const { readFileSync } = require('node:fs');
const { join } = require('node:path');
const { test } = require('node:test');
const { setTimeout: sleep } = require('node:timers/promises');
const { Client, types } = require('pg');
const { Worker } = require('..');

types.setTypeParser(20, Number); // count(*)

let last = 0;
const unique = (what) => `${what}-${process.pid}-${++last}`;

async function eventually(condition, why = () => '', patience = 60000) {
  const end = Date.now() + patience;
  while (!(await condition())) {
    if (Date.now() > end) assert.fail(`${condition}\n${why()}`);
    await sleep(5);
  }
}

// The table of events in README.md.
const documented = new Map();
for (const [, names, levels] of readFileSync(join(__dirname, '../README.md'), 'utf8').matchAll(/^\| ((?:`[a-z-]+`(?:, )?)+) \| ([a-z, ]+) \|/gm))
  for (const [, name] of names.matchAll(/`([a-z-]+)`/g)) documented.set(name, levels.split(', '));

// A worker that runs, and what it logs.
class Running {
  constructor(options, handler) {
    this.events = [];
    this.worker = new Worker({ ...options, log: (entry) => this.events.push(entry) }, handler);
    this.ended = this.worker.run();
    this.ended.catch(() => {});
  }
  get counters() { return this.worker.counters(); }
  logged(event) { return this.events.filter((entry) => entry.event === event).length; }
  why = () => this.events.map((entry) => JSON.stringify(entry)).join('\n');
  async stop() {
    this.worker.stop();
    return this.ended;
  }
}

// A test with a queue of its own, and a connection to look at it.
function queueTest(name, body) {
  test(name, async () => {
    const connection = new Client();
    await connection.connect();
    connection.on('error', () => {});
    const running = [];
    const t = {
      queue: unique('queue'),
      connection,
      go: false,
      async ask(sql, ...values) {
        const { rows } = await connection.query({ text: sql, values, rowMode: 'array' });
        return rows[0]?.[0];
      },
      async submit(...specs) {
        const rns = [];
        for (const spec of specs) rns.push(await t.ask('select (scylla.submit($1, $2)).rn', t.queue, JSON.stringify(spec)));
        return rns;
      },
      status: (rn) => t.ask('select status from scylla.get_task($1)', rn),
      count: (condition) => t.ask(`select count(*) from scylla.task where queue = $1 and ${condition}`, t.queue),
      all: (condition, why) =>
        eventually(() => t.ask(`select bool_and(${condition}) from scylla.task where queue = $1`, t.queue), why),
      start(handler, options = {}) {
        const w = new Running({ queues: t.queue, leaseTimeout: 30000, ...options }, handler);
        running.push(w);
        return w;
      },
      // A handler: until t.go, or a stop; notes why it stopped.
      reasons: [],
      untilGo: async (job) => {
        while (!t.go && !(await job.sleep(5)));
        t.reasons.push(job.stopReason);
        return 'done';
      },
    };
    try {
      await body(t);
    } finally {
      t.go = true;
      for (const w of running) {
        await w.stop().catch(() => {});
        for (const { event, level } of w.events)
          assert.ok(documented.get(event)?.includes(level), `${level} ${event} is not in README.md`);
      }
      await connection.end();
    }
  });
}

module.exports = { Running, eventually, queueTest, sleep, unique };
