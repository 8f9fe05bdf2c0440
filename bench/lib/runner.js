// Lets a peer's own worker do so many jobs that are ready already, and prints the jobs per second:
//
//   node runner.js pg-boss|graphile-worker JOBS
'use strict';
const { connection, pgBoss, batchSize } = require('./peers.js');

async function runPgBoss(done) {
  const boss = pgBoss();
  await boss.start();
  // Polling as often as it allows.
  for (let i = 0; i < 8; i++)
    await boss.work('bench', { batchSize, pollingIntervalSeconds: 0.5 }, async (jobs) => done(jobs.length));
}

async function runGraphileWorker(done) {
  const { run, Logger } = require('graphile-worker');
  await run({
    pgPool: new (require('pg').Pool)(connection('graphile-worker')),
    taskList: { bench: async () => done(1) },
    logger: new Logger(() => () => {}),
    preset: { worker: { concurrentJobs: 8, localQueue: { size: batchSize }, completeJobBatchDelay: 0 } },
  });
}

async function main([peer, jobs]) {
  let left = Number(jobs);
  let begin;
  await new Promise((resolve, reject) => {
    begin = process.hrtime.bigint();
    const done = (n) => { left -= n; if (left <= 0) resolve(); };
    (peer === 'pg-boss' ? runPgBoss(done) : runGraphileWorker(done)).catch(reject);
  });
  const seconds = Number(process.hrtime.bigint() - begin) / 1e9;
  console.log((Number(jobs) / seconds).toFixed(1));
}

main(process.argv.slice(2)).then(() => process.exit(0), (error) => {
  console.error(error);
  process.exit(1);
});
