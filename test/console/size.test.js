// How long the server takes for a page, and a browser until it shows the first, with many tasks. Every run has some thousands;
// the figures in docs/console.md are those of SCYLLA_CONSOLE_TASKS=1000000 ./test/run console/size.
"use strict";
const assert = require("node:assert/strict");
const fs = require("node:fs");
const { after, before, test } = require("node:test");
const { Console, createDatabase, openBrowser, openPage, sql, visit } = require("./lib.js");

const tasks = Number(process.env.SCYLLA_CONSOLE_TASKS ?? 3000);
const iterations = Math.min(tasks, 25000); // of a loop
const rounds = 20;
// The limits of time hold where nothing else runs; every other run has a few times as much.
const alone = tasks >= 1000000;
const limits = alone ? { look: tasks < 5000000 ? 100 : 200, page: 600, share: 0.05 } : { look: 500, page: 3000, share: 0.5 }; // milliseconds; of a processor
let one;

// What the other pages show, for each thousand tasks of the first million: a hundred conditions with a task each, signals, tasks in the line of a
// pool, and runs of a workflow; ten callbacks and runs of jobs; a schedule, a trigger with a signal that has no partner, and a workflow.
function createOthers() {
  sql("console_size", `
    select scylla.create_pool('full', '{"slots": 1}');
    select from scylla.submit('placed', '1', needs => '{"full": {"slots": 1}}');
    select from scylla.lease('placed', 'worker');
    select scylla.create_queue('chunks');
    select scylla.define_job('job', 'chunks');
    select scylla.create_workflow('{"properties": {"owner": "ann", "run_strategy": "1000"}, "workflow": {"id": "short", "steps": [{"step": {"id": "only", "type": "NoOp"}}]}}');
    do $$ begin
      for portion in 1 .. ${Math.min(tasks, 1000000)} / 1000 loop
        perform scylla.submit_many((select jsonb_agg(jsonb_build_object('queue', 'waits', 'spec', i, 'wait_for',
          jsonb_build_array(jsonb_build_object('signal', 'expected', 'match', jsonb_build_object('n', portion * 100 + i))))) from generate_series(1, 100) i));
        perform scylla.send_signal('seen', jsonb_build_object('n', i)) from generate_series(1, 100) i;
        perform scylla.submit_many((select jsonb_agg(jsonb_build_object('queue', 'placed', 'spec', i, 'needs', '{"full": {"slots": 1}}'::jsonb)) from generate_series(1, 100) i));
        perform scylla.start_workflow('short') from generate_series(1, 100) i;
        perform scylla.create_callback('token-' || portion || '-' || i) from generate_series(1, 10) i;
        perform scylla.run_job('job', int8multirange(int8range(portion * 10 + i, portion * 10 + i, '[]'))) from generate_series(1, 10) i;
        perform scylla.mark_fresh('job', int8multirange(int8range(1000000 + portion * 10, 1000000 + portion * 10 + 9, '[]')));
        perform scylla.schedule('schedule-' || portion, '30 2 * * *', 'big', '1');
        perform scylla.create_trigger('trigger-' || portion, jsonb_build_array(jsonb_build_object('signal', 'left-' || portion), '{"signal": "right"}'::jsonb), '{"submit": {"queue": "big", "spec": 1}}');
        perform scylla.send_signal('left-' || portion, '{}');
        perform scylla.create_workflow(jsonb_build_object('properties', '{"owner": "ann"}'::jsonb, 'workflow', jsonb_build_object('id', 'workflow-' || portion, 'steps', '[{"step": {"id": "only", "type": "NoOp"}}]'::jsonb)));
        commit;
      end loop;
    end $$;`);
}

before(async () => {
  createDatabase("console_size");
  // Of a thousand, 600 are completed, 100 aborted, 299 wait, and one is in a plan. A fifth more is ready. There are ten smaller plans for each
  // thousand.
  sql("console_size", `
    select from scylla.create_queue('big', default_timeout => '1 h');
    select scylla.create_plan('plan');
    do $$ begin
      for portion in 1 .. ${tasks} / 1000 loop
        perform scylla.submit_bulk('big', array(select jsonb_build_object('number', i, 'text', repeat('x', 100)) from generate_series(1, 700) i));
        perform scylla.complete_many((array_agg(rn))[1:600], 'worker') from scylla.lease('big', 'worker', 700);
        perform scylla.abort(rn, 'worker', jsonb_build_object('code', 'code-' || n % 7))
        from (select rn, row_number() over () as n from scylla.list_tasks('big', 'running', 'worker', 1000)) rest;
        perform scylla.submit_many((select jsonb_agg(jsonb_build_object('queue', 'big', 'spec', i, 'priority', 1, 'key', 'key-' || i, 'not_before', now() + interval '1 day'))
          from generate_series(1, 299) i));
        perform scylla.submit('big', '1', rn => 'planned-' || portion, plan => 'plan');
        perform scylla.create_plan('small-' || portion || '-' || i) from generate_series(1, 10) i;
        perform scylla.submit_many((select jsonb_agg(jsonb_build_object('queue', 'big', 'spec', i, 'plan', 'small-' || portion || '-' || i % 10 + 1)) from generate_series(1, 20) i));
        perform scylla.open_plan('small-' || portion || '-' || i) from generate_series(1, 10) i;
        commit;
      end loop;
    end $$;
    select scylla.open_plan('plan');
    select count(scylla.submit_bulk('big', array_fill('1'::jsonb, array[1000]))) from generate_series(1, ${tasks} / 5000);
    select count(*) from generate_series(1, 10) i, scylla.lease('big', 'worker-' || i, 10);`);
  // The last of the iterations fails.
  sql("console_size", `
    select scylla.create_workflow('{"properties": {"owner": "ann"}, "workflow": {"id": "wide", "steps": [
      {"foreach": {"id": "each", "concurrency": 500, "params": {"loop_params": {"type": "MAP", "value": {"i": {"type": "LONG_ARRAY", "expression": "Util.intsBetween(0, ${iterations}, 1)"}}}},
        "steps": [{"step": {"id": "one", "type": "NoOp", "transition": {"successors": {"two": "true"}}}},
                  {"step": {"id": "two", "type": "NoOp", "params": {"x": {"type": "LONG", "expression": "1 / (${iterations - 1} - i)"}}}}]}}]}}');
    select from scylla.start_workflow('wide');`);
  createOthers();
  while (sql("console_size", "select count(*) from scylla.workflow_run where status <> 'SUCCEEDED'") !== "1" || sql("console_size", "select status from scylla.workflow_run where workflow = 'wide'") !== "FAILED")
    await new Promise((resolve) => setTimeout(resolve, 200));
  sql("console_size", "vacuum (analyze)");
  // A server may compile every query, which takes longer than a look may. Where tables are small, an index that exists is used all the same.
  for (const setting of ["jit = on", "jit_above_cost = 0", "jit_inline_above_cost = 0", "jit_optimize_above_cost = 0", ...(alone ? [] : ["enable_seqscan = off"])])
    sql("console_size", `alter database console_size set ${setting}`);
  one = await Console.start("console_size");
});
after(() => one?.stop());

const looks = {
  "all tasks": "tasks?queue=big",
  "ready tasks": "tasks?queue=big&status=ready",
  "waiting tasks": "tasks?queue=big&status=waiting",
  "running tasks": "tasks?queue=big&status=running",
  "completed tasks": "tasks?queue=big&status=completed",
  "aborted tasks": "tasks?queue=big&status=aborted",
  "tasks of a worker": "tasks?queue=big&worker=worker-3",
  "completed tasks of a worker": "tasks?queue=big&status=completed&worker=nobody",
  "tasks of a key": "tasks?queue=big&key=key-7",
  "tasks with an error": "tasks?queue=big&status=aborted&code=code-3",
  "tasks like none": "tasks?queue=big&key=nobody",
  "a task": "task?rn=planned-1",
  "a queue": "queue?name=big",
  plans: "plans",
  "a plan": "plan?name=plan",
  workflows: "workflows", "a workflow": "workflow?id=short", "runs of one status": "workflow?id=short&status=FAILED", "older runs": `workflow?id=short&before=${Math.min(tasks, 1000000) / 20}.1`,
  "a run with a large loop": "run?workflow=wide&instance=1&run=1",
  "iterations of the loop": "iterations?workflow=wide&instance=1&run=1&loop=each",
  "iterations of the loop that have failed": "iterations?workflow=wide&instance=1&run=1&loop=each&status=FATALLY_FAILED",
  "further iterations of the loop": `iterations?workflow=wide&instance=1&run=1&loop=each&after=2:${Math.floor(iterations / 2)}`,
  "timeline of the run": "timeline?workflow=wide&instance=1", "signals of the run": "lineage?workflow=wide&instance=1",
  "a step of the loop": `step?workflow=wide&instance=1&run=1&step=two&iterations=${iterations}`,
  schedules: "schedules", pools: "pools", "the line of the pools": "line", "many tasks like none": "tasks?queue=big&key=nobody&max_looks=50000", "job types": "jobs", conditions: "conditions", errors: "errors", workers: "workers", doctor: "doctor",
};

test("every look is fast", async (t) => {
  const slow = [];
  const token = await one.token();
  for (const [name, where] of Object.entries(looks)) {
    const times = [];
    for (let i = 0; i < rounds; i++) {
      // After a change, even one that was refused, nothing is answered from memory.
      await fetch(one.address + "api/do/cancel", { method: "POST", headers: { "Content-Type": "application/json", "X-Scylla-Token": token }, body: '{"rn": "nobody"}' }).then((r) => r.text());
      const began = performance.now();
      const answer = await one.get("api/" + where);
      await answer.text();
      times.push(performance.now() - began);
      assert.equal(answer.status, 200, name);
    }
    const p95 = times.sort((a, b) => a - b)[Math.ceil(rounds * 0.95) - 1];
    t.diagnostic(`${name}: p95 ${p95.toFixed(1)} ms, median ${times[rounds / 2].toFixed(1)} ms`);
    if (p95 > limits.look) slow.push(`${name}: ${p95.toFixed(1)} ms`);
  }
  assert.deepEqual(slow, []);
});

// Opens a page without anything kept. Returns the milliseconds until it was there: all that it loads has been drawn, with an element
// `until`, and the frame is painted. The page tells it itself: what this process would send to look for the element takes the browser longer
// than some pages.
async function timeToShow(browser, where, until) {
  const page = await openPage(browser, { plain: true });
  await page.addInitScript((wanted) => {
    new MutationObserver((_, observer) => {
      if (!document.querySelector("main[data-page]:not([aria-busy])") || !document.querySelector(wanted)) return;
      observer.disconnect();
      requestAnimationFrame(() => setTimeout(() => console.debug("there after " + performance.now())));
    }).observe(document, { subtree: true, childList: true, attributes: true });
  }, until);
  const told = page.waitForEvent("console", (message) => message.text().startsWith("there after "));
  await page.goto(one.address + where);
  const time = Math.round(Number((await told).text().split(" ").at(-1)));
  assert.deepEqual(page.wrong, []);
  await page.context().close();
  return time;
}

test("a browser shows it", async (t) => {
  const browser = await openBrowser();
  const slow = [];
  try {
    // With the first page that it shows the browser ends its own start.
    t.diagnostic(`the first page of a browser that has just started: ready after ${await timeToShow(browser, "", "main tbody th a")} ms`);
    for (const [where, until] of [["", "main tbody th a"], ["queue?name=big", "main tbody th"], ["plan?name=plan", "main svg.graph, main p.note"],
      ["run?workflow=wide&instance=1&run=1", "main ul.plain li"], ["run?workflow=wide&instance=1&run=1&open=" + encodeURIComponent('[{"path": ["each"]}]'), "main .tree details li"]]) {
      const times = [];
      for (let i = 0; i < 5; i++) times.push(await timeToShow(browser, where, until));
      times.sort((a, b) => a - b);
      t.diagnostic(`/${where}: ready after ${times.join(", ")} ms`);
      if (times[2] > limits.page) slow.push(`/${where}: ${times[2]} ms`);
    }
  } finally {
    await browser.close();
  }
  assert.deepEqual(slow, []);
});

test("iterations are chosen by the status of a step in them", async () => {
  const of = async (status) => (await (await one.get("api/iterations?workflow=wide&instance=1&run=1&loop=each&status=" + status)).json()).iterations;
  assert.deepEqual((await of("FATALLY_FAILED")).map((each) => each.iterations), [[iterations]]);
  assert.equal((await of("SUCCEEDED")).length, 50);
  assert.deepEqual(await of("STOPPED"), []);
});

test("of a large plan only what is shown is loaded", async () => {
  const { tasks: rows, result } = await (await one.get("api/plan?name=plan")).json();
  assert.equal(rows.length, Math.min(1000, tasks / 1000));
  assert.equal(result, null);
});

test("the timeline of a run with a large loop leaves the loop out", async () => {
  const { events, without_loops: isPart } = await (await one.get("api/timeline?workflow=wide&instance=1")).json();
  assert.equal(isPart, true);
  assert.ok(events.some((each) => each.step === "each"));
  assert.deepEqual(events.filter((each) => each.iterations), []);
});

// Of the process, in seconds.
function processorTime(pid) {
  const fields = fs.readFileSync(`/proc/${pid}/stat`, "latin1").replace(/^.*\) /, "").split(" ");
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

test("ten open tabs cost little", async (t) => {
  const seconds = tasks > 100000 ? 60 : 10;
  const began = sql("console_size", "select clock_timestamp()");
  const many = await Console.start("console_size", ["--interval", "2s"]);
  const browser = await openBrowser();
  const read = () => Object.fromEntries(sql("console_size", "select relname, seq_tup_read from pg_stat_user_tables where schemaname = 'scylla'")
    .split("\n").map((line) => line.split("|")));
  // Of the console and its sessions.
  const used = () => [many.process.pid, ...sql("console_size", `select pid from pg_stat_activity where datname = 'console_size' and backend_start > '${began}'
    and backend_type = 'client backend' and pid <> pg_backend_pid()`).split("\n")].reduce((sum, pid) => sum + processorTime(pid), 0);
  try {
    // A site has at most six connections of a browser: each of these has a memory, and connections, of its own.
    for (const where of ["", "queue?name=big", "queue?name=big&status=ready", "queue?name=big&status=waiting", "queue?name=big&status=completed",
      "plans", "workflows", "run?workflow=wide&instance=1&run=1", "pools", "schedules"]) {
      const page = await openPage(browser, { plain: true });
      await visit(page, many.address + where);
    }
    const before = read();
    const usedBefore = used();
    await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
    const share = (used() - usedBefore) / seconds;
    await browser.close();
    await many.stop(); // its sessions tell what they have read
    const after = read();
    const scanned = Object.keys(after).map((name) => [name, after[name] - (before[name] ?? 0)]).filter(([, rows]) => rows > 0);
    t.diagnostic(`${(share * 100).toFixed(1)} % of a processor; rows read by sequential scans in ${seconds} s: ` +
      (scanned.map(([name, rows]) => `${name} ${rows}`).join(", ") || "none"));
    assert.ok(share < limits.share, `${(share * 100).toFixed(1)} % of a processor`);
    // A read of scylla.stat_queue counts the tables of tasks again, large ones at most every ten seconds (docs/monitoring.md). A run that has
    // ended is read again at least every 30 intervals, and the tables of workflows have nothing but the run with the loop. The list of workflows
    // reads the row of each, and the line of pools is counted, the less often the longer it is: this one every 12 intervals. No other
    // table with more than a thousand rows is read as a whole.
    const times = (table) =>
      /^task_(waiting|ready|lease|outcome)$/.test(table) ? (alone ? 1 + seconds / 10 : Infinity) : table === "workflow_head" ? seconds : alone && /^workflow_/.test(table) ? 1 + seconds / 60 : table === "pool_line" ? 2 + seconds / 12 : 0;
    const size = (table) => Number(sql("console_size", `select count(*) from scylla.${table}`));
    const whole = scanned.filter(([name, rows]) => rows > 1000 && size(name) > 1000 && rows > times(name) * size(name)).map(([name, rows]) => `${name} ${rows}`).join(", ");
    assert.equal(whole, "", "rows read by sequential scans: " + whole);
  } finally {
    await browser.close();
    await many.stop();
  }
});

test("the files of the pages are small", async (t) => {
  const files = ["", "style.css", "icon.svg"];
  const seen = new Set();
  let bytes = 0;
  const scripts = ["app.js"];
  while (scripts.length) {
    const name = scripts.pop();
    if (seen.has(name)) continue;
    seen.add(name);
    files.push(name);
    for (const [, other] of (await (await one.get(name)).text()).matchAll(/from "\.\/(\w+\.js)"/g)) scripts.push(other);
  }
  for (const name of files) bytes += Number((await one.get(name, { "Accept-Encoding": "identity" })).headers.get("content-length"));
  t.diagnostic(`${files.length} files, ${bytes} bytes before compression`);
  assert.ok(bytes > 10000 && bytes < 200000);
});
