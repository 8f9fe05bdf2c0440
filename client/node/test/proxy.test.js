// A connection that breaks at each step of the protocol, by a proxy that cuts it, and a server that stops answering.
'use strict';
const assert = require('node:assert');
const { mkdtempSync, rmSync } = require('node:fs');
const net = require('node:net');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { AbortTask, Complete } = require('..');
const { Running, eventually, queueTest, sleep, unique } = require('./support');

// Listens on a socket of its own and passes on what comes, chunk by chunk, until it cuts.
//   cutAt: the number of the chunk, of all connections and both directions; 0: never
//   mode: before (the chunk is lost), middle (half of it arrives), after (it arrives, and nothing after it)
class Proxy {
  chunks = 0;
  held = false; // from now on nothing passes, and no connection ends: as with a server that hangs
  static async make(t, cutAt = 0, mode = 'before') {
    const proxy = new Proxy();
    const folder = await t.ask("select split_part(current_setting('unix_socket_directories'), ',', 1)");
    const server = join(folder, `.s.PGSQL.${await t.ask('show port')}`);
    proxy.folder = mkdtempSync(join(tmpdir(), 'scylla-'));
    proxy.sockets = new Set();
    proxy.listener = net.createServer((client) => proxy.passOn(client, net.connect(server), cutAt, mode));
    await new Promise((resolve) => { proxy.listener.listen(join(proxy.folder, '.s.PGSQL.1'), resolve); });
    proxy.config = { host: proxy.folder, port: 1, database: await t.ask('select current_database()'), connectionTimeoutMillis: 3000 };
    return proxy;
  }
  passOn(client, server, cutAt, mode) {
    for (const [from, to] of [[client, server], [server, client]]) {
      this.sockets.add(from);
      if (this.held) from.pause();
      from.on('data', (data) => {
        const cut = ++this.chunks === cutAt;
        const size = !cut || mode === 'after' ? data.length : mode === 'middle' ? data.length >> 1 : 0;
        if (size > 0) to.write(data.subarray(0, size));
        if (cut) { client.destroySoon(); server.destroySoon(); }
      });
      from.on('end', () => to.end());
      from.on('error', () => to.destroy());
    }
  }
  hold() {
    this.held = true;
    for (const socket of this.sockets) socket.pause();
  }
  close() {
    for (const socket of this.sockets) socket.destroy();
    this.listener.close();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

// A few tasks, through the proxy. Returns how many chunks passed until all was done.
async function workThrough(t, cutAt, mode, exactlyOnce) {
  t.queue = unique('proxy');
  const proxy = await Proxy.make(t, cutAt, mode);
  await t.submit(1, 2, 3);
  const w = new Running({
    connection: proxy.config, queues: t.queue, concurrency: 2, leaseTimeout: 3000, reconnectMin: 1, reconnectMax: 20,
  }, (job) => {
    if (job.spec === 2) return new Complete(2, {});
    if (job.spec === 3) throw new AbortTask('three');
    return 1;
  });
  const why = () => `cut ${mode} ${cutAt}\n${w.why()}`;
  await eventually(async () => (await t.count("status in ('completed', 'aborted')")) === 3, why);
  await eventually(() => w.counters.held === 0, why); // the worker knows, too, whatever it was told
  assert.equal(await w.stop(), 0);
  if (exactlyOnce) {
    assert.equal(await t.count("status in ('completed', 'aborted') and attempt = 1 and failures = 0"), 3, why());
    const { completed, aborted, lost } = w.counters;
    assert.deepEqual([completed, aborted, lost], [2, 1, 0], why());
  }
  proxy.close();
  return proxy.chunks;
}

// Until a run needs fewer chunks than that.
async function cutAtEachStep(t, mode, exactlyOnce) {
  let step = 1;
  while ((await workThrough(t, step, mode, exactlyOnce)) >= step) step++;
  assert.ok(step > 15, `${step} steps`);
}

queueTest('without a cut', async (t) => { assert.ok((await workThrough(t, 0, 'before', true)) > 15); });
// When a chunk is lost, or half of it, it is clear what the server has done by the time that the worker asks.
queueTest('cut before each step', (t) => cutAtEachStep(t, 'before', true));
queueTest('cut in the middle of each step', (t) => cutAtEachStep(t, 'middle', true));
// The server may still be at it when the worker asks again: then a lease may have to expire.
queueTest('cut after each step', (t) => cutAtEachStep(t, 'after', false));

// stop() keeps its promise although the server no longer answers, long before any time-out of a call.
for (const what of ['connecting', 'waiting', 'finishing'])
  queueTest(`the server falls silent: ${what}`, async (t) => {
    const proxy = await Proxy.make(t);
    if (what === 'connecting') proxy.hold();
    if (what === 'finishing') await t.submit(...Array(20).keys());
    const w = t.start(t.untilGo, {
      connection: { ...proxy.config, application_name: t.queue }, concurrency: 2, prefetch: 10, leaseTimeout: 60000, stopGrace: 200,
      callTimeout: 60000,
    });
    if (what === 'waiting')
      await eventually(async () => (await t.ask("select count(*) from pg_stat_activity where application_name = $1 and query like 'call%' and wait_event_type = 'Extension'", t.queue)) === 1);
    if (what === 'finishing') await eventually(() => w.counters.running === 2 && w.counters.held === 12);
    proxy.hold();
    t.go = true;
    await eventually(() => w.counters.running === 0);
    const start = Date.now();
    assert.equal(await w.stop(), 0);
    assert.ok(Date.now() - start < 30000);
    proxy.close();
  });

// By the worker's own clock the lease ends, and the handler is told, although the server never says so.
queueTest('handlers learn that no call extends their lease', async (t) => {
  const proxy = await Proxy.make(t);
  await t.submit(1);
  let reason = null;
  const w = t.start(async (job) => {
    await job.sleep(30000);
    await sleep(1);
    reason = job.signal.reason.reason;
  }, { connection: proxy.config, leaseTimeout: 2000, stopGrace: 0 });
  await eventually(() => w.counters.running === 1);
  proxy.hold();
  await eventually(() => reason === 'lease-lost');
  assert.equal(w.logged('overdue'), 1);
  await w.stop();
  proxy.close();
});
