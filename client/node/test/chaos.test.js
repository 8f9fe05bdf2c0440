// Workers that are killed, stopped and paused, and a server that restarts.
'use strict';
const assert = require('node:assert');
const { execFileSync, spawn } = require('node:child_process');
const { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { Client } = require('pg');
const { eventually, queueTest, sleep } = require('./support');

// A test with workers that are processes.
function chaosTest(name, body) {
  queueTest(name, async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'scylla-'));
    const processes = [];
    const gate = join(folder, 'gate');
    const lines = (worker) => (existsSync(join(folder, worker)) ? readFileSync(join(folder, worker), 'utf8').trim().split('\n') : []);
    try {
      await body({
        ...t,
        gate,
        lines,
        logged: (worker, event, rn) => lines(worker).some((line) => line.startsWith(`${event} ${rn ?? ''}`)),
        held: (worker) => t.count(`status = 'running' and owner = '${worker}'`),
        hire(worker, { lease = 2000, concurrency = 2, prefetch = 20, grace = 30000, gated = false } = {}) {
          const values = [worker, t.queue, lease, concurrency, prefetch, grace, join(folder, worker), ...(gated ? [gate] : [])];
          const child = spawn(process.execPath, [join(__dirname, 'worker_program.js'), ...values.map(String)], { stdio: 'inherit' });
          processes.push(child);
          child.ended = new Promise((resolve) => { child.on('exit', (code, signal) => resolve(signal ?? code)); });
          return child;
        },
        // SIGTERM, but not before the program is ready for it.
        async terminate(child, worker) {
          await eventually(() => this.logged(worker, 'connected'));
          child.kill('SIGTERM');
        },
      });
    } finally {
      for (const child of processes) child.kill('SIGKILL');
      rmSync(folder, { recursive: true });
    }
  });
}

chaosTest('every task is completed by one owner', async (t) => {
  const tasks = 4000;
  await t.ask("select scylla.submit_bulk($1, array_agg('1'::jsonb)) from generate_series(1, $2::int)", t.queue, tasks);
  // By a connection of its own, because the server restarts.
  const look = async (condition) => {
    for (;;) {
      const client = new Client();
      client.on('error', () => {});
      try {
        await client.connect();
        const { rows } = await client.query(`select count(*) from scylla.task where queue = $1 and ${condition}`, [t.queue]);
        return rows[0].count;
      } catch {
        await sleep(20);
      } finally {
        await client.end().catch(() => {});
      }
    }
  };
  const names = [];
  const join = () => {
    names.push(`chaos-${names.length}-${t.queue}`);
    return { name: names.at(-1), child: t.hire(names.at(-1)) };
  };
  const team = Array.from({ length: 3 }, join);
  let restarted = false;
  let done = 0;
  while (done < tasks) {
    const milestone = Math.min(done + 500, tasks);
    await eventually(async () => (done = await look("status = 'completed'")) >= milestone);
    if (done >= tasks / 2 && !restarted) {
      execFileSync('bash', ['-c', process.env.SCYLLA_TEST_RESTART], { stdio: 'ignore' });
      restarted = true;
      continue;
    }
    const number = Math.floor(Math.random() * team.length);
    const { name, child } = team[number];
    if (Math.random() < 0.5) {
      child.kill('SIGKILL');
      assert.equal(await child.ended, 'SIGKILL');
    } else {
      await t.terminate(child, name);
      assert.equal(await child.ended, 0);
      assert.equal(await look(`status = 'running' and owner = '${name}'`), 0, t.lines(name).slice(-5).join('\n'));
    }
    team[number] = join();
  }
  assert.ok(restarted);
  for (const { name, child } of team) await t.terminate(child, name);
  for (const { child } of team) assert.equal(await child.ended, 0);

  // No worker was told that it had completed a task that another one completed.
  const completedBy = new Map();
  for (const name of names)
    for (const line of t.lines(name)) {
      const [event, rn] = line.split(' ');
      if (event !== 'completed') continue;
      assert.ok(!completedBy.has(rn), `${rn} by ${completedBy.get(rn)} and ${name}`);
      completedBy.set(rn, name);
    }
  assert.ok(completedBy.size > tasks / 2);
  const client = new Client();
  await client.connect();
  const { rows } = await client.query("select rn, owner from scylla.task where queue = $1 and status = 'completed' and result = to_jsonb(owner)", [t.queue]);
  assert.equal(rows.length, tasks);
  for (const { rn, owner } of rows) assert.equal(completedBy.get(rn) ?? owner, owner);
  assert.equal((await client.query('select from scylla.check()')).rowCount, 0);
  await client.end();
});

chaosTest('a killed worker is replaced when its leases expire', async (t) => {
  const [rn] = await t.submit(1);
  const first = t.hire(`first-${t.queue}`, { lease: 1000, gated: true });
  await eventually(async () => (await t.status(rn)) === 'running');
  first.kill('SIGKILL');
  writeFileSync(t.gate, '');
  t.hire(`second-${t.queue}`);
  await t.all("status = 'completed' and attempt = 2");
});

// A worker that was paused for longer than its lease lasts finds out, and leaves the task alone.
chaosTest('a paused worker does not complete what it has lost', async (t) => {
  const name = `sleeper-${t.queue}`;
  const [rn] = await t.submit(1);
  const sleeper = t.hire(name, { lease: 500, concurrency: 1, prefetch: 0, gated: true });
  await eventually(async () => (await t.status(rn)) === 'running');
  sleeper.kill('SIGSTOP');
  await eventually(async () => (await t.ask("select rn from scylla.lease($1, 'other', 1, '1 min')", t.queue)) === rn);
  sleeper.kill('SIGCONT');
  await eventually(() => t.logged(name, 'lost', rn));
  writeFileSync(t.gate, ''); // now its handler returns a result
  const [other] = await t.submit(2);
  await eventually(async () => (await t.status(other)) === 'completed'); // it goes on with others
  assert.equal(await t.ask('select owner from scylla.get_task($1)', rn), 'other');
  await t.ask("select scylla.complete($1, 'other', attempt => 2)", rn);
  assert.ok(!t.logged(name, 'completed', rn));
  sleeper.kill('SIGTERM');
  assert.equal(await sleeper.ended, 0);
});

// The same, when the handler returns before a heartbeat could tell: the server refuses the result.
chaosTest('a paused worker is refused even before it finds out', async (t) => {
  const name = `sleeper-${t.queue}`;
  const [rn] = await t.submit(1);
  const sleeper = t.hire(name, { lease: 60000, concurrency: 1, prefetch: 0, gated: true });
  await eventually(async () => (await t.status(rn)) === 'running');
  sleeper.kill('SIGSTOP');
  await t.ask('select scylla.yield($1, $2)', rn, name); // as if its time were over
  await t.ask("select scylla.lease_task($1, 'other', '1 min')", rn);
  writeFileSync(t.gate, '');
  sleeper.kill('SIGCONT'); // the next heartbeat is 20 s away
  await eventually(() => t.logged(name, 'lost', rn));
  assert.equal(await t.status(rn), 'running');
  sleeper.kill('SIGTERM');
  assert.equal(await sleeper.ended, 0);
});

chaosTest('SIGTERM waits for the grace, and a second one does not', async (t) => {
  const name = `worker-${t.queue}`;
  const rns = await t.submit(1, 2, 3);
  const child = t.hire(name, { lease: 60000, concurrency: 1, prefetch: 2, grace: 60000, gated: true });
  await eventually(async () => (await t.held(name)) === 3);
  child.kill('SIGTERM');
  await eventually(async () => (await t.held(name)) === 1); // what has not been started goes back at once
  await sleep(300);
  assert.equal(child.exitCode, null);
  child.kill('SIGTERM');
  const start = Date.now();
  assert.equal(await child.ended, 4);
  assert.ok(Date.now() - start < 30000);
  for (const rn of rns) assert.equal(await t.status(rn), 'ready');
  assert.equal(await t.count('failures > 0'), 0);
});

chaosTest('SIGINT is a stop, too', async (t) => {
  const child = t.hire(`i-${t.queue}`);
  await eventually(() => t.logged(`i-${t.queue}`, 'connected'));
  child.kill('SIGINT');
  assert.equal(await child.ended, 0);
  assert.ok(t.logged(`i-${t.queue}`, 'stopped'));
});
