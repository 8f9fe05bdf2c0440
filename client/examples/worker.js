#!/usr/bin/env node
// A worker in JavaScript, with pg: counts the words of {"text": "..."}.   PGDATABASE=... worker.js QUEUE
'use strict';
const { Client } = require('pg');

const countWords = (spec) => ({ words: spec.text.split(/\s+/).filter((word) => word !== '').length });

async function main(queue) {
  const database = new Client(); // PGHOST, PGDATABASE, ... say where
  await database.connect();
  const ask = async (sql, ...values) => (await database.query(sql, values)).rows;
  let stopping = false;
  process.on('SIGTERM', () => { stopping = true; });

  const [{ me }] = await ask('select scylla.register_worker() as me');
  while (!stopping) {
    // What takes longer than the lease calls scylla.heartbeat() in between.
    const tasks = await ask("select rn, attempt, spec from scylla.lease($1, $2, timeout => '30 s')", queue, me);
    for (const { rn, attempt, spec } of tasks) {
      let [verb, answer] = ['abort', null];
      try {
        [verb, answer] = ['complete', countWords(spec)];
      } catch (error) { // whatever the spec is, the next task is another
        answer = { code: 'no-text', message: error.message };
      }
      try {
        await ask(`select from scylla.${verb}($1, $2, $3, attempt => $4)`, rn, me, JSON.stringify(answer), attempt);
      } catch (error) {
        if (error.code !== '55000') throw error; // else it was cancelled, or we were too late: it is ours no more
      }
    }
    if (tasks.length === 0) await ask("call scylla.wait($1, '1 s')", queue);
  }
  await database.end();
}

main(process.argv[2]).catch((error) => { console.error(error); process.exitCode = 1; });
