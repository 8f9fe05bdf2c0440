// Lets a peer run workflows of three steps that do nothing, by its own library with its defaults:
//
//   node flows.js dbos|absurd|restate WORKFLOWS TURNS
//
// First WORKFLOWS of them, 32 at once, from the start of the first to the end of the last. Then TURNS, one after the other, of
// which it notes the time from the return of a step's function to the call of the next step's. Prints one line of JSON:
// {"rate": workflows per second, "gaps": [ms, ...]}.
'use strict';
const { connection } = require('./peers.js');

const atOnce = 32;
const steps = ['one', 'two', 'three'];

// A workflow's body, given how the peer runs a step. The functions of the steps tell when they were called and returned.
const flow = async (step, gaps) => {
  let ended = null;
  for (const name of steps)
    await step(name, async () => {
      const now = process.hrtime.bigint();
      if (ended !== null) gaps?.push(Number(now - ended) / 1e6);
      ended = process.hrtime.bigint();
      return name;
    });
};

// Calls `run` so many times, so many at once, and returns the calls per second.
async function rate(run, count, concurrency) {
  const begin = process.hrtime.bigint();
  let left = count;
  const lane = async () => { while (left-- > 0) await run(); };
  await Promise.all(Array.from({ length: concurrency }, lane));
  return count / (Number(process.hrtime.bigint() - begin) / 1e9);
}

// Each peer: prepares itself and returns {run, end}; `run` starts one workflow and returns when it has ended.
const peers = {
  async dbos(gaps) {
    const { DBOS } = require('@dbos-inc/dbos-sdk');
    const { Pool } = require('pg');
    DBOS.setConfig({ name: 'bench', systemDatabasePool: new Pool({ ...connection('dbos'), max: 20 }), logLevel: 'error' });
    const workflow = DBOS.registerWorkflow(() => flow((name, body) => DBOS.runStep(body, { name }), gaps()), { name: 'chain' });
    await DBOS.launch();
    return { run: async () => (await DBOS.startWorkflow(workflow)()).getResult(), end: () => DBOS.shutdown() };
  },

  async absurd(gaps) {
    const { Absurd } = require('absurd-sdk');
    const { Pool } = require('pg');
    const app = new Absurd({ db: new Pool({ ...connection('absurd'), max: 40 }), queueName: 'bench' });
    const ended = new Map();
    await app.createQueue('bench');
    app.registerTask({ name: 'chain' }, async ({ turn }, context) => {
      await flow((name, body) => context.step(name, body), gaps());
      // It has no notice of an end; the completion that follows is in the time of the next one.
      setImmediate(() => { ended.get(turn)(); ended.delete(turn); });
    });
    let turns = 0;
    const run = () => new Promise((resolve, reject) => {
      const turn = turns++;
      ended.set(turn, resolve);
      app.spawn('chain', { turn }).catch(reject);
    });
    const worker = await app.startWorker({ concurrency: atOnce, batchSize: atOnce, pollInterval: 0.001 });
    return { run, end: () => worker.close() };
  },

  async restate(gaps) {
    // Its SDK expects this of node 22 and newer.
    Promise.withResolvers ??= function () {
      const parts = {};
      parts.promise = new this((resolve, reject) => Object.assign(parts, { resolve, reject }));
      return parts;
    };
    const restate = require('@restatedev/restate-sdk');
    const service = restate.service({
      name: 'flow',
      handlers: { chain: (context) => flow((name, body) => context.run(name, body), gaps()).then(() => 'done') },
      options: { journalRetention: { seconds: 0 } },
    });
    const { port, ingress, admin } = JSON.parse(process.env.RESTATE_BENCH);
    await restate.serve({ services: [service], port });
    const post = async (url, body) => {
      const answer = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
      if (!answer.ok) throw new Error(`${url}: ${answer.status} ${await answer.text()}`);
      return answer.text();
    };
    await post(`${admin}/deployments`, { uri: `http://127.0.0.1:${port}` });
    return { run: () => post(`${ingress}/flow/chain`, null), end: () => {} };
  },
};

async function main([peer, workflows, turns]) {
  let gaps = null;
  const { run, end } = await peers[peer](() => gaps);
  await rate(run, atOnce, atOnce); // warm
  const result = { rate: await rate(run, Number(workflows), atOnce), gaps: [] };
  gaps = result.gaps;
  await rate(run, Number(turns), 1);
  await end();
  console.log(JSON.stringify(result));
}

main(process.argv.slice(2)).then(() => process.exit(0), (error) => {
  console.error(error);
  process.exit(1);
});
