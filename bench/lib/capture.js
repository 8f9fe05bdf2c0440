// Runs a small worker of a peer and writes what it sends to the server as scripts for pgbench:
//
//   node capture.js pg-boss|graphile-worker FOLDER
//
// Every parameter becomes a literal, but the job's id, which comes from the statement that fetched it.
'use strict';
const fs = require('fs');
const path = require('path');
const pg = require('pg');
const { connection, pgBoss, spec, batchSize } = require('./peers.js');

const sent = [];
const query = pg.Client.prototype.query;
pg.Client.prototype.query = function (statement, values, ...rest) {
  const config = typeof statement === 'string' ? { text: statement, values } : statement;
  if (config && config.text) sent.push({ text: config.text.trim(), values: Array.isArray(config.values) ? config.values : [] });
  return query.call(this, statement, values, ...rest);
};

// The only statement among those since `from` that matches.
function statement(from, pattern) {
  const found = sent.slice(from).filter(({ text }) => pattern.test(text));
  if (found.length === 0) throw new Error(`nothing sent matches ${pattern}: ${JSON.stringify(sent.slice(from))}`);
  return found[0];
}

const quoted = (value) => `'${String(value).replaceAll("'", "''")}'`;

function literal(value) {
  if (value === null || value === undefined) return 'null';
  if (Array.isArray(value)) return quoted(`{${value.join(',')}}`);
  if (typeof value === 'object') return quoted(JSON.stringify(value));
  return typeof value === 'number' ? String(value) : quoted(value);
}

// `instead` replaces parameters by number.
function script({ text, values }, instead = {}) {
  return text.replace(/;$/, '').replace(/\$(\d+)/g, (_, n) => instead[n] ?? literal(values[n - 1]));
}

const one = "('{' || :id || '}')";

// "with a as (...) update ... returning ..." becomes one row with all the ids and all the payloads.
function collect(fetch, payload, share = '') {
  let depth = 0;
  let main = -1;
  for (let i = 0; i < fetch.length && main < 0; i++) {
    if (fetch[i] === '(') depth++;
    else if (fetch[i] === ')') depth--;
    else if (depth === 0 && /^update\s/i.test(fetch.slice(i))) main = i;
  }
  if (main < 0) throw new Error(`no UPDATE at the end of ${fetch}`);
  return `-- tasks: ${batchSize}\n${share}${fetch.slice(0, main)}, fetched as (\n${fetch.slice(main)})\nselect array_agg(id) as ids, array_agg(${payload}) as specs from fetched \\gset\n`;
}

async function capturePgBoss() {
  const boss = pgBoss();
  await boss.start();
  await boss.createQueue('bench');
  let from = sent.length;
  for (let i = 0; i < 5; i++) await boss.send('bench', spec);
  const send = statement(from, /insert into pgboss\.job/i);

  from = sent.length;
  const [job] = await boss.fetch('bench');
  await boss.complete('bench', job.id);
  const fetch = statement(from, /skip locked/i);
  const complete = statement(from, /set completed_on/i);

  from = sent.length;
  const jobs = await boss.fetch('bench', { batchSize });
  await boss.complete('bench', jobs.map(({ id }) => id));
  const fetchMany = statement(from, /skip locked/i);
  const completeMany = statement(from, /set completed_on/i);

  from = sent.length;
  await boss.insert([{ name: 'bench', data: spec }]);
  const insert = statement(from, /insert into pgboss\.job/i);
  await boss.stop({ graceful: false });
  return {
    create: '',
    reset: 'truncate pgboss.job;',
    fill: script(insert, {
      1: `(select json_agg(json_build_object('name', 'bench', 'data', ${literal(spec)}::json)) from generate_series(1, :tasks))`,
    }) + ';',
    submit: script(send) + ';',
    single: `${script(fetch)} \\gset\n${script(complete, { 2: one })};`,
    batch: `${collect(script(fetchMany), 'data')}${script(completeMany, { 2: ':ids' })};`,
  };
}

async function captureGraphileWorker() {
  const { runOnce, run, makeWorkerUtils } = require('graphile-worker');
  const pgPool = new pg.Pool(connection('graphile-worker'));
  const utils = await makeWorkerUtils({ pgPool });
  await utils.migrate();
  const add = async (n) => { for (let i = 0; i < n; i++) await utils.addJob('bench', spec); };

  let from = sent.length;
  await add(1);
  const addJob = statement(from, /add_job/i);

  const task = { bench: async () => {} };
  from = sent.length;
  await runOnce({ pgPool, taskList: task, concurrency: 1 });
  const get = statement(from, /skip\s+locked/i);
  const complete = statement(from, /delete from .*jobs/i);

  await add(2 * batchSize);
  from = sent.length;
  let done = 0;
  let finished;
  const all = new Promise((resolve) => { finished = resolve; });
  const worker = await run({
    pgPool,
    taskList: { bench: async () => { if (++done === 2 * batchSize) finished(); } },
    preset: { worker: { concurrentJobs: 8, localQueue: { size: batchSize }, completeJobBatchDelay: 0 } },
  });
  await all;
  await worker.stop();
  const getMany = statement(from, /skip\s+locked/i);
  const completeMany = statement(from, /delete from .*jobs[^]*unnest/i);
  await utils.release();
  await pgPool.end();
  return {
    create: '',
    reset: 'truncate graphile_worker._private_jobs;',
    fill: `select count(*) from graphile_worker.add_jobs(array(select json_populate_record(null::graphile_worker.job_spec,
      json_build_object('identifier', 'bench', 'payload', ${literal(spec)}::json)) from generate_series(1, :tasks)));`,
    submit: script(addJob) + ';',
    single: `${script(get)} \\gset\n${script(complete, { 1: ':id' })};`,
    // "returning *" has the id twice, which a row must not.
    batch: `${collect(script(getMany).replace(/returning \*$/, 'returning jobs.*'), 'payload', '-- share: 90\n')}${script(completeMany, { 1: ':ids' })};`,
  };
}

async function main([peer, folder]) {
  const scripts = await (peer === 'pg-boss' ? capturePgBoss() : captureGraphileWorker());
  fs.mkdirSync(folder, { recursive: true });
  for (const [name, text] of Object.entries(scripts)) fs.writeFileSync(path.join(folder, `${name}.sql`), `${text}\n`);
}

main(process.argv.slice(2)).then(() => process.exit(0), (error) => {
  console.error(error);
  process.exit(1);
});
