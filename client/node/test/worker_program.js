// A worker as a process of its own, to be killed, stopped and paused:
//
//   worker_program.js NAME QUEUE LEASE CONCURRENCY PREFETCH GRACE LOG [GATE]
//
// Events go to LOG, a line each, written at once. With GATE a task takes until that file exists, whatever it is told.
'use strict';
const { existsSync, openSync, writeSync } = require('node:fs');
const { setTimeout: sleep } = require('node:timers/promises');
const { Worker } = require('..');

const [name, queue, lease, concurrency, prefetch, grace, file, gate] = process.argv.slice(2);
const log = openSync(file, 'a');
const worker = new Worker({
  name,
  queues: queue,
  leaseTimeout: Number(lease),
  concurrency: Number(concurrency),
  prefetch: Number(prefetch),
  reconnectMin: 20,
  reconnectMax: 500,
  stopGrace: Number(grace),
  log: ({ event, rn, message }) => writeSync(log, `${event} ${rn ?? '-'} ${message}\n`),
}, async (job) => {
  while (gate && !existsSync(gate)) await sleep(5);
  return job.worker;
});
worker.stopOnSignals();
worker.run().then((abandoned) => process.exit(abandoned === 0 ? 0 : 4), (error) => {
  console.error(error);
  process.exit(5);
});
