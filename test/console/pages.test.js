// What people see and do, in a browser.
"use strict";
const assert = require("node:assert/strict");
const { after, before, test } = require("node:test");
const { Console, barriers, createDatabase, openBrowser, openPage, settled, sql, visit } = require("./lib.js");

const hostile = "<img src=x onerror=alert(1)>";
let console_, browser, page;

before(async () => {
  createDatabase("console_pages", { data: true });
  console_ = await Console.start("console_pages");
  browser = await openBrowser();
  page = await openPage(browser);
});
after(async () => {
  await browser?.close();
  await console_?.stop();
});

const text = (of = "main") => page.innerText(of);
// What a page shows of the pulse comes after the rest of it.
async function shows(contains) {
  await page.waitForFunction((parts) => parts.every((part) => document.querySelector("main").innerText.includes(part)), contains).catch(() => {});
  const shown = (await text()).replaceAll("\n", " | ");
  for (const part of contains) assert.ok(shown.includes(part.replaceAll("\n", " | ")), `"${part}" is missing in: ${shown}`);
}
const told = (what) => page.waitForFunction((what) => document.getElementById("told").innerText.includes(what), what);
const q = (name) => encodeURIComponent(name);

const all = {
  overview: ["", ["Queues", "mail", "paused", "worker-<b>1</b>", hostile, "What doctor finds", "last round"]],
  queue: ["queue?name=mail", ["mail-waits", "ready 121", "max_attempts"]],
  "queue with a hostile name": ["queue?name=" + q(hostile), [`Queue ${hostile}`, "<script>alert(1)</script>", `"><img src=x onerror=alert(1)>`]],
  task: ["task?rn=mail-failed", ["smtp-timeout", "its next attempt", "joe@example.org", "1 of 3"]],
  "task with a hostile name": ["task?rn=" + q("<script>alert(1)</script>"), ["Task <script>alert(1)</script>", hostile]],
  "task with hostile values": ["task?rn=mail-aborted", ["no-such-address: <svg onload=alert(1)>"]],
  "task that waits": ["task?rn=mail-waits", ["callback " + hostile]],
  plans: ["plans", ["release", "running", `"><img src=x onerror=alert(1)>`]],
  plan: ["plan?name=release", ["compile", "test <b>all</b>", "builder-1", "Times"]],
  "plan without tasks": ["plan?name=" + q(`"><img src=x onerror=alert(1)>`), ["building", "It has no task"]],
  "an unknown plan": ["plan?name=" + q(hostile), ["There is no such plan"]],
  workflows: ["workflows", ["nightly", "IN_PROGRESS", "SEQUENTIAL", "Job templates", "special 2", "base default", hostile]],
  "a job template": ["template?type=special&version=2", [hostile, "base default", "<script>alert(1)</script>", "wf_load"]],
  "an unknown job template": ["template?type=" + q(hostile) + "&version=1", ["There is no such job template"]],
  "a workflow": ["workflow?id=nightly", ["<b>ann</b>", "<i>daily</i>", hostile, "IN_PROGRESS", "active"]],
  "a run": ["run?workflow=nightly&instance=1&run=1", ["extract", "FATALLY_FAILED 1", "SUCCEEDED 1", "<svg onload=alert(1)>", "report", "not begun", "6 steps", "Failed", "FATALLY_FAILED load"]],
  "a run with a loop unfolded, its timeline and its signals": ["run?workflow=nightly&instance=1&run=1&show=timeline,lineage&open=" + q('[{"path": ["each"]}]'),
    ["FATALLY_FAILED load", "SUCCEEDED load", "RUNNING load", "CREATED", "<svg onload=alert(1)>", "No signal has started it."]],
  "a run with an address that makes no sense": ["run?workflow=nightly&instance=1&run=1&show=nothing&open=" + q('[1, {"path": ["<b>none</b>"]}, {"path": 5}]'), ["extract"]],
  "the last run of an instance": ["run?workflow=nightly&instance=1", ["extract", "IN_PROGRESS"]],
  "a workflow with hostile values": ["workflow?id=odd", ["<b>ann</b>", "stopped", "breakpoint", "all instances", "IN_PROGRESS"]],
  "a run with hostile values": ["run?workflow=odd&instance=1&run=1", ["<i>given</i>", "PAUSED stopped", "Breakpoints", "all instances"]],
  "a step that is stopped": ["step?workflow=odd&instance=1&step=stopped", ["PAUSED", "workflow odd, instance 1", "Breakpoints", "Why it does not go on", "step stopped to be resumed"]],
  "why a run does not go on": ["run?workflow=odd&instance=1&show=why", ["Why it does not go on", "step stopped to be resumed"]],
  "a step": ["step?workflow=nightly&instance=1&run=1&step=extract", ["SUCCEEDED", "workflow nightly, instance 1", "Attempts"]],
  "a step that has not begun": ["step?workflow=nightly&instance=1&run=1&step=report", ["This step has not begun"]],
  "a step of a loop": ["step?workflow=nightly&instance=1&step=load&iterations=2", ["workflow nightly, instance 1", "Attempts"]],
  "an unknown run": ["run?workflow=" + q(hostile) + "&instance=9&run=1", ["There is no such run"]],
  schedules: ["schedules", ["nightly <i>report</i>", "30 2 * * *"]],
  pools: ["pools", ["cluster", "cores 16", "in-line", "placed"]],
  "job types": ["jobs", ["aggregate", "load <u>raw</u>", "load <u>raw</u>, ne", "aggregate, never"]],
  conditions: ["conditions", [hostile, "file <b>arrived</b>", "on <b>file</b>"]],
  errors: ["errors", ["no-such-address", "<svg onload=alert(1)>", "mail-aborted"]],
};

for (const [name, [where, contains]] of Object.entries(all))
  test(`page: ${name}`, async () => {
    await visit(page, console_.address + where);
    await shows(contains);
    assert.deepEqual(await page.$$eval("main img, main script, main b, main i, main u", (found) => found.length), 0, "names are text");
    assert.deepEqual(await page.$$eval("main *", (found) => found.filter((each) => each.onclick && each.nodeName !== "BUTTON").length), 0, "what can be clicked can be reached by the keyboard");
    assert.deepEqual(await page.$$eval("main time", (found) => found.filter((each) => !/\d:\d\d/.test(each.title)).length), 0, "times have the exact one as their title");
    const data = await page.evaluate(() => [...document.querySelectorAll("main a")].find((link) => link.innerText === "As JSON")?.href);
    if (data) assert.equal(typeof (await (await fetch(data)).json()), "object");
    assert.deepEqual(await barriers(page), []);
    assert.deepEqual(page.wrong, []);
  });

test("dark, and on a narrow screen", async () => {
  const dark = await openPage(browser, { colorScheme: "dark", viewport: { width: 360, height: 640 } });
  for (const where of ["", "queue?name=mail", "task?rn=mail-failed", "plan?name=release"]) {
    await visit(dark, console_.address + where);
    assert.deepEqual(await barriers(dark), [], where);
    assert.ok(await dark.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${where} is not too wide`);
  }
  assert.deepEqual(dark.wrong, []);
  await dark.context().close();
});

test("an unknown task, and an unknown page", async () => {
  await visit(page, console_.address + "task?rn=nobody");
  assert.match(await text(), /task "nobody" does not exist/);
  assert.equal((await console_.get("nobody")).status, 404);
});

test("attempts and their errors are together", async () => {
  sql("console_pages", `select from scylla.submit('trials', '1', rn => 'tried', max_attempts => 9);
    select from scylla.lease_task('tried', 'w1'); select from scylla.fail('tried', 'w1', '{"code": "busy", "message": "<b>try</b> again"}', '0');
    select from scylla.lease_task('tried', 'w2'); select from scylla.yield('tried', 'w2');
    select from scylla.lease_task('tried', 'w3'); select from scylla.fail('tried', 'w3', '{"code": "full"}', '0');
    select from scylla.lease_task('tried', 'w4'); select from scylla.abort('tried', 'w4', '{"code": "no"}')`);
  await visit(page, console_.address + "task?rn=tried");
  const lines = await page.$$eval("main ol.times li", (found) => found.map((line) => line.innerText.replace(line.querySelector("time").innerText, "").trim()));
  assert.equal(lines.filter((line) => !line.startsWith("leased")).join("; "),
    "submitted; failed at w1, attempt 1: busy <b>try</b> again; given back by w2, attempt 2; failed at w3, attempt 3: full; aborted: no");
  // Many failures: those that are left out do not move the errors of the others.
  sql("console_pages", `select from scylla.submit('trials', '1', rn => 'often', max_attempts => 100);
    do $$ begin for i in 1 .. 70 loop perform scylla.lease_task('often', 'w'); perform scylla.fail('often', 'w', jsonb_build_object('code', 'code-' || i), '0'); end loop; end $$`);
  await visit(page, console_.address + "task?rn=often");
  const last = await page.$$eval("main ol.times li", (found) => found.map((line) => line.innerText).filter((line) => line.includes("failed at")).slice(-3));
  last.forEach((line, i) => assert.ok(line.endsWith(`attempt ${68 + i}: code-${68 + i}`), line));
});

test("filters are links", async () => {
  await visit(page, console_.address + "queue?name=mail");
  await page.click(".tabs >> text=/^waiting/");
  await settled(page);
  await page.waitForFunction(() => !document.querySelector("main").innerText.includes("mail-running"));
  assert.match(page.url(), /status=waiting/);
  await page.click(".tabs >> text=all");
  await page.waitForURL((url) => !url.search.includes("status"));
  await settled(page);
  await page.fill("input[name=key]", "ada");
  await page.click("main form button");
  await page.waitForFunction(() => document.querySelectorAll("main tbody tr").length === 1);
  assert.match(await text(), /mail-running/);
  assert.match(page.url(), /key=ada/);
  await page.reload();
  await settled(page);
  assert.equal(await page.inputValue("input[name=key]"), "ada");
  await page.goBack();
  await page.waitForFunction(() => document.querySelectorAll("main tbody tr").length > 1);
  await visit(page, console_.address + "queue?name=mail&code=no-such-address");
  assert.deepEqual(await page.$$eval("main tbody th", (names) => names.map((name) => name.innerText)), ["mail-aborted"]);
  assert.equal(await page.locator("main tbody tr").count(), 1);
});

test("the next tasks, and those before them", async () => {
  await visit(page, console_.address + "queue?name=mail&status=ready");
  const names = () => page.$$eval("main tbody th", (found) => found.map((name) => name.innerText));
  const first = await names();
  assert.equal(first.length, 50);
  assert.equal(await page.locator("text=Previous").count(), 0);
  await page.click("text=Next");
  await page.waitForURL(/after=/);
  await settled(page);
  await page.waitForFunction((name) => ![...document.querySelectorAll("main tbody th")].some((one) => one.innerText === name), first[0]);
  const second = await names();
  await page.click("text=Next");
  await page.waitForFunction(() => document.querySelectorAll("main tbody tr").length === 21);
  const third = await names();
  assert.equal(new Set([...first, ...second, ...third]).size, 121, "each task once");
  assert.equal(await page.locator("main a >> text=Next").count(), 0);
  await page.reload();
  await settled(page);
  assert.deepEqual(await names(), third, "a page is a link");
  await page.click("text=Previous");
  await page.waitForFunction((name) => document.querySelector("main tbody th")?.innerText === name, second[0]);
  await page.click("text=Previous");
  await page.waitForFunction((name) => document.querySelector("main tbody th")?.innerText === name, first[0]);
  assert.ok(!page.url().includes("after"));
});

test("tasks by what is in them, and by their age", async () => {
  await visit(page, console_.address + "queue?name=mail");
  await page.fill("input[name=spec]", '{"to": "joe@example.org"}');
  await page.click("main form button");
  await page.waitForFunction(() => document.querySelectorAll("main tbody tr").length === 1);
  assert.match(await text(), /mail-failed/);
  assert.deepEqual(await barriers(page), []);
  await page.fill("input[name=created_before]", "2001-01-01T00:00");
  await page.click("main form button");
  await page.waitForSelector("text=No task matches.");
  assert.match(page.url(), /created_before=200[01]-/);
  assert.equal(await page.inputValue("input[name=created_before]"), "2001-01-01T00:00");
  await visit(page, console_.address + "queue?name=mail&spec=" + q("{"));
  assert.match(await text(), /invalid input syntax for type json/);
});

test("running tasks are taken back from their worker", async () => {
  sql("console_pages", `select from scylla.submit_bulk('held', array_fill('1'::jsonb, array[3])); select from scylla.lease('held', 'gone', 3, '1 h');`);
  await visit(page, console_.address + "queue?name=held&status=running&worker=gone");
  await page.click("text=Take all of these back");
  await page.waitForSelector("dialog >> text=3 tasks, for example");
  await page.click("dialog button >> text=Take");
  await told("3 tasks taken back.");
  assert.equal(sql("console_pages", "select count(*) from scylla.task where queue = 'held' and status = 'ready'"), "3");
});

test("what could not be cancelled is said", async () => {
  sql("console_pages", `select from scylla.submit_bulk('busy', array_fill('1'::jsonb, array[2]));`);
  const [, one] = sql("console_pages", "select rn from scylla.task where queue = 'busy'").split("\n");
  const { spawn } = require("node:child_process");
  const other = spawn("psql", ["-XqAt", "-d", "console_pages"], { stdio: ["pipe", "pipe", "ignore"] });
  const answered = new Promise((resolve) => other.stdout.once("data", resolve));
  other.stdin.write(`begin; select rn from scylla.cancel('${one}');\n`);
  await answered;
  await visit(page, console_.address + "queue?name=busy&status=ready");
  await page.click("text=Cancel all of these");
  await page.click("dialog button >> text=Cancel all");
  await told(`1 task cancelled. Not cancelled: 1 task, ${one}: Somebody else is changing it.`);
  other.stdin.end("rollback;\n");
  await new Promise((resolve) => other.on("exit", resolve));
});

test("the overview follows, without loading the page again", async () => {
  await visit(page, console_.address);
  await page.waitForSelector("text=mail");
  sql("console_pages", "select from scylla.submit('arrives', '1')");
  await page.waitForSelector("main th a >> text=arrives");
  sql("console_pages", "select from scylla.submit_bulk('arrives', array_fill('1'::jsonb, array[41]))");
  await page.waitForFunction(() => [...document.querySelectorAll("main tr")].some((row) => /arrives\s+0\s+42/.test(row.innerText)));
});

test("a plan follows its tasks", async () => {
  await visit(page, console_.address + "plan?name=release");
  assert.equal(await page.locator("svg a.completed").count(), 1);
  assert.equal(await page.locator("svg a").count(), 5);
  assert.equal(await page.locator("svg.graph > path").count(), 5, "an arrow for each dependency");
  assert.equal(await page.locator("svg.gantt g").count(), 2, "a bar for each attempt");
  sql("console_pages", "select from scylla.complete('compile', 'builder-1')");
  await page.waitForFunction(() => document.querySelectorAll("svg a.completed").length === 2);
  await page.click("svg a.completed >> nth=0");
  await page.waitForSelector("h1 >> text=/^Task (fetch|compile)$/");
});

test("a run of a workflow: its graph, its steps, what has failed first", async () => {
  await visit(page, console_.address + "workflows");
  await page.click("main th >> text=nightly");
  await page.waitForSelector("h1 >> text=Workflow nightly");
  await page.click("main tbody th a >> text=1");
  await page.waitForSelector("h1 >> text=Workflow nightly, instance 1");
  await page.waitForSelector("svg.graph");
  assert.equal(await page.locator("svg.graph a").count(), 3);
  assert.equal(await page.locator("svg.graph > path").count(), 2, "an arrow for each transition");
  assert.equal(await page.locator("svg.graph a.completed").count(), 1);
  assert.equal(await page.locator("svg.gantt g").count(), 2);
  const failed = await page.$$eval("main ul.plain li", (found) => found.map((line) => line.innerText));
  assert.equal(failed.length, 1);
  assert.match(failed[0], /^FATALLY_FAILED load [1-4] <svg onload=alert\(1\)> log$/);
  // A loop is loaded when it is unfolded, failed iterations first.
  assert.equal(await page.locator("main details[open]").count(), 0);
  await page.click("main .tree summary");
  await page.waitForSelector("main details[open] li >> nth=3");
  const lines = await page.$$eval("main .tree details li", (found) => found.map((line) => line.innerText));
  assert.equal(lines.length, 4);
  assert.match(lines[0], /FATALLY_FAILED/);
  assert.match(lines[3], /SUCCEEDED/);
  assert.ok((await page.locator("svg.gantt g").count()) >= 5, "steps of what is unfolded have times, too");
  assert.deepEqual(await barriers(page), []);
  await page.click("main details button >> text=/^SUCCEEDED 1$/");
  await page.waitForFunction(() => document.querySelectorAll("main .tree details li").length === 1);
  assert.equal(await page.getAttribute("main details button >> text=/^SUCCEEDED 1$/", "aria-pressed"), "true");
  // What is unfolded is kept over a reload, and is folded by the keyboard.
  await page.reload();
  await page.waitForFunction(() => document.querySelectorAll("main .tree details li").length === 1);
  await page.click("main details button >> text=all");
  await page.waitForFunction(() => document.querySelectorAll("main .tree details li").length === 4);
  await page.focus("main .tree summary");
  await page.keyboard.press("Enter");
  await page.waitForURL((url) => !url.search.includes("open="));
  await page.waitForTimeout(700);
  assert.equal(await page.locator("main .tree details[open]").count(), 0, "what is folded stays so when the page is drawn again");
  await page.keyboard.press("Enter");
  await page.click("main .tree details li >> nth=0 >> a");
  await page.waitForSelector("h1 >> text=/^Step load [1-4]$/");
  await page.waitForSelector("text=bad-data");
  assert.equal(await page.getAttribute("main table a >> text=/^log$/", "href"), "https://logs.example.org/load?part=1&x=<b>", "the log of an attempt is a link");
  await visit(page, console_.address + "task?rn=mail-aborted");
  await page.click("main li summary >> text=details");
  await page.waitForSelector("main li pre >> text=Traceback of <i>mail</i>");
  assert.equal(await page.locator("main a[href^=javascript]").count(), 0, "what is no address of the web is no link");
  await page.goBack();
  await page.waitForSelector("main dd a >> text=workflow nightly");
  assert.deepEqual(await barriers(page), []);
  await page.click("main dd a >> text=workflow nightly");
  await page.waitForSelector("svg.graph");
  await page.click("main summary >> text=Timeline");
  await page.waitForSelector("main details tbody tr >> text=extract");
  assert.match(page.url(), /show=timeline/);
  assert.deepEqual(await barriers(page), []);
});

test("a loop with many iterations is shown in portions", async () => {
  sql("console_pages", `select scylla.create_workflow('{"properties": {"owner": "ann"}, "workflow": {"id": "wide", "steps": [
      {"foreach": {"id": "each", "concurrency": 500, "params": {"loop_params": {"type": "MAP", "value": {"i": {"type": "LONG_ARRAY", "expression": "Util.intsBetween(0, 120, 1)"}}}},
        "steps": [{"step": {"id": "first", "type": "NoOp", "transition": {"successors": {"inner": "true"}}}},
                  {"foreach": {"id": "inner", "params": {"loop_params": {"type": "MAP", "value": {"j": {"type": "LONG_ARRAY", "value": [1, 2]}}}},
                    "steps": [{"step": {"id": "deep", "type": "NoOp"}}]}}]}}]}}');
    select from scylla.start_workflow('wide');
    call reach($$exists (select from scylla.workflow_run where workflow = 'wide' and status = 'SUCCEEDED')$$);`);
  await visit(page, console_.address + "run?workflow=wide&instance=1&run=1");
  await page.waitForSelector("dd >> text=360 steps: SUCCEEDED 360");
  await page.click("main .tree summary");
  const numbers = () => page.$$eval("main .tree > li > details > ul > li > span.faint", (found) => found.map((line) => Number(line.innerText.match(/\d+/)[0])));
  await page.waitForFunction(() => document.querySelectorAll("main .tree > li > details > ul > li").length === 50);
  const seen = await numbers();
  assert.deepEqual(seen, Array.from({ length: 50 }, (_, i) => i + 1));
  await page.click("text=Next iterations");
  await page.waitForFunction(() => document.querySelector("main .tree > li > details > ul > li").innerText.startsWith("iteration 51:"));
  await page.click("text=Next iterations");
  await page.waitForFunction(() => document.querySelectorAll("main .tree > li > details > ul > li").length === 20);
  assert.equal(await page.locator("text=Next iterations").count(), 0);
  // A loop in an iteration of a loop.
  await page.click("main .tree > li > details > ul > li >> nth=0 >> summary");
  await page.waitForSelector("main .tree details details li >> nth=1");
  assert.deepEqual(await page.$$eval("main .tree details details li", (found) => found.map((line) => line.innerText.replace(/, .*/, ""))), ["SUCCEEDED deep 101.1", "SUCCEEDED deep 101.2"]);
  await page.click("main .tree details details li >> nth=1 >> a");
  await page.waitForSelector("h1 >> text=Step deep 101.2");
  await page.goBack();
  await page.waitForSelector("main .tree details details li >> nth=1");
  assert.deepEqual(await barriers(page), []);
});

test("a subworkflow leads to its run, and back; a failed step in it is named first", async () => {
  sql("console_pages", `select scylla.create_workflow('{"properties": {"owner": "ann"}, "workflow": {"id": "child", "steps": [{"step": {"id": "c", "type": "wf_child"}}]}}');
    select scylla.create_workflow('{"properties": {"owner": "ann"}, "workflow": {"id": "parent", "steps": [
      {"subworkflow": {"id": "sub", "params": {"subworkflow_id": {"type": "STRING", "value": "child"}}}}]}}');
    select from scylla.start_workflow('parent');
    call reach($$exists (select from scylla.task where queue = 'wf_child' and status = 'ready')$$);
    select from scylla.lease('wf_child', 'w') t, scylla.abort(t.rn, 'w', '{"code": "deep", "message": "it went wrong"}');
    call reach($$exists (select from scylla.workflow_run where workflow = 'parent' and status = 'FAILED')$$);`);
  await visit(page, console_.address + "run?workflow=parent&instance=1&run=1");
  await page.waitForSelector("main ul.plain li >> text=/it went wrong in child.1/");
  await page.click("main .tree a >> text=child/1");
  await page.waitForSelector("h1 >> text=Workflow child, instance 1");
  // It can be restarted by itself, or with the path down to it.
  await page.click("main button >> text=/^Restart$/");
  await page.check("dialog input[type=checkbox]");
  assert.deepEqual(await barriers(page), []);
  await page.click("dialog button >> text=Restart");
  await told("Run 2: ");
  assert.equal(sql("console_pages", "select string_agg(workflow || run, ' ' order by workflow, run) from scylla.workflow_run where workflow in ('child', 'parent')"), "child1 child2 parent1");
  await page.click("main dd a >> text=parent/1");
  await page.waitForSelector("h1 >> text=Workflow parent, instance 1");
});

test("signals lead from run to run", async () => {
  sql("console_pages", `select scylla.create_workflow('{"properties": {"owner": "ann"}, "workflow": {"id": "sender", "steps": [
      {"step": {"id": "send", "type": "NoOp", "signal_outputs": [{"name": "sent <b>it</b>"}]}}]}}');
    select scylla.create_workflow('{"properties": {"owner": "ann"}, "workflow": {"id": "taker", "steps": [{"step": {"id": "take", "type": "NoOp"}}],
      "signal_triggers": [{"definitions": {"sent <b>it</b>": {}}}]}}');
    select from scylla.start_workflow('sender');
    call reach($$exists (select from scylla.workflow_run where workflow = 'taker' and status = 'SUCCEEDED')$$);`);
  await visit(page, console_.address + "run?workflow=sender&instance=1&run=1");
  await page.click("main summary >> text=Signals");
  await page.waitForSelector("main details td >> text=taker/1");
  assert.match(await text(), /sent <b>it<\/b> \d+/);
  assert.deepEqual(await barriers(page), []);
  await page.click("main details td a >> text=taker/1");
  await page.waitForSelector("h1 >> text=Workflow taker, instance 1");
  await page.click("main summary >> text=Signals");
  await page.click("main details td a >> text=sender/1 send");
  await page.waitForSelector("h1 >> text=Step send");
});

test("a workflow is paused and resumed; steps stop at breakpoints, are paused, resumed and restarted", async () => {
  sql("console_pages", `select scylla.create_workflow('{"properties": {"owner": "ann", "run_strategy": "parallel"}, "workflow": {"id": "held", "steps": [
      {"step": {"id": "one", "type": "wf_one", "transition": {"successors": {"two": "true"}}}}, {"step": {"id": "two", "type": "wf_two"}}]}}')`);
  const status = (step) => sql("console_pages", `select string_agg(status, ' ' order by instance) from scylla.workflow_step where workflow = 'held' and step = '${step}'`);
  const press = async (name, sure = name) => {
    await page.click(`main button >> text=/^${name}$/`);
    if (sure) await page.click(`dialog button >> text=/^${sure}$/`);
  };
  await visit(page, console_.address + "workflow?id=held");
  await press("Pause");
  await told("Workflow paused.");
  await page.waitForSelector("dt >> text=paused");
  await press("Resume", null);
  await told("Workflow resumed.");
  await page.selectOption("#break-at", "two");
  await press("Set breakpoint");
  await told("Breakpoint set.");
  assert.equal(sql("console_pages", "select step || coalesce(instance::text, '') from scylla.workflow_breakpoint where workflow = 'held'"), "two");
  await press("Start");
  await told("Instance 1: CREATED.");
  sql("console_pages", "call reach($$exists (select from scylla.task where queue = 'wf_one' and status = 'ready')$$)");
  // Before it begins.
  await visit(page, console_.address + "step?workflow=held&instance=1&step=two");
  await page.waitForSelector("text=This step has not begun");
  await press("Pause");
  await told("Pause: asked for.");
  await page.waitForSelector("main td >> text=/^pause$/");
  await press("Break in this instance");
  await told("Breakpoint set.");
  sql("console_pages", "select from scylla.lease('wf_one', 'w') t, scylla.complete(t.rn, 'w')");
  await page.waitForSelector("dd >> text=PAUSED");
  await page.click("main .row button >> text=/^Resume$/");
  await told("Resume: asked for.");
  await page.waitForSelector("dd >> text=RUNNING");
  assert.equal(await page.locator("main td >> text=/^pause$/").count(), 0);
  sql("console_pages", "call reach($$exists (select from scylla.task where queue = 'wf_two' and status = 'ready')$$); select from scylla.lease('wf_two', 'w') t, scylla.abort(t.rn, 'w', '{\"code\": \"no\"}')");
  await page.waitForSelector("dd >> text=FATALLY_FAILED");
  sql("console_pages", "call reach($$exists (select from scylla.workflow_run where workflow = 'held' and status = 'FAILED')$$)");
  // Another run from the step, which stops again.
  await press("Restart");
  await told("Restart: asked for.");
  await page.waitForSelector("dd >> text=PAUSED");
  assert.equal(sql("console_pages", "select max(run) from scylla.workflow_run where workflow = 'held'"), "2");
  await page.click("main tr >> text=all instances >> xpath=ancestor::tr >> button >> text=/^Drop$/");
  await page.click("dialog button >> text=/^Drop$/");
  await told("Breakpoint dropped.");
  assert.equal(status("two"), "PAUSED");
  await press("Drop and resume");
  await told("Breakpoint dropped. The steps that it stopped continue.");
  await page.waitForSelector("dd >> text=RUNNING");
  assert.equal(sql("console_pages", "select count(*) from scylla.workflow_breakpoint where workflow = 'held'"), "0");
  // The page of the first run shows what that run did.
  await visit(page, console_.address + "run?workflow=held&instance=1&run=1");
  await page.waitForSelector("main .tree >> text=FATALLY_FAILED");
  assert.equal(await page.locator("main button >> text=/^(Stop|Kill|Restart)$/").count(), 0);
  // A step of a run that has ended is skipped.
  sql("console_pages", "call reach($$exists (select from scylla.task where queue = 'wf_two' and status = 'ready')$$); select from scylla.lease('wf_two', 'w') t, scylla.abort(t.rn, 'w', '{\"code\": \"no\"}')");
  sql("console_pages", "call reach($$exists (select from scylla.workflow_run where workflow = 'held' and run = 2 and status = 'FAILED')$$)");
  await visit(page, console_.address + "step?workflow=held&instance=1&step=two");
  await press("Skip");
  await told("Skip: asked for.");
  await page.waitForSelector("dd >> text=SKIPPED");
  sql("console_pages", "call reach($$exists (select from scylla.workflow_run where workflow = 'held' and run = 3 and status = 'SUCCEEDED')$$)");
});

test("a workflow is started with parameters", async () => {
  sql("console_pages", `select scylla.create_workflow('{"properties": {"owner": "ann"}, "workflow": {"id": "given", "params": {"day": {"type": "STRING", "value": "none"}},
      "steps": [{"step": {"id": "only", "type": "NoOp"}}]}}')`);
  await visit(page, console_.address + "workflow?id=given");
  await page.click("main button >> text=/^Start$/");
  assert.match(await text("dialog"), /Its parameters: day \(STRING\)\./);
  assert.deepEqual(await barriers(page), []);
  await page.fill("dialog textarea", "[1]");
  await page.click("dialog button >> text=Start");
  assert.match(await text("dialog"), /This is not a JSON object\./);
  assert.equal(await page.evaluate(() => document.activeElement.id), "given", "it can be corrected");
  await page.fill("dialog textarea", '{"day": "<b>monday</b>"}');
  await page.click("dialog button >> text=Start");
  await told("Instance 1: CREATED.");
  sql("console_pages", "call reach($$exists (select from scylla.workflow_run where workflow = 'given' and status = 'SUCCEEDED')$$)");
  assert.equal(sql("console_pages", "select params ->> 'day' from scylla.workflow_run where workflow = 'given'"), "<b>monday</b>");
  await page.click("main button >> text=/^Start$/");
  await page.fill("dialog textarea", '{"day": 5, "unknown": {"type": "NOTHING", "value": 1}}');
  await page.click("dialog button >> text=Start");
  await page.waitForSelector("#told .bad");
});

test("schedules of tasks, plans, jobs and workflows run now", async () => {
  sql("console_pages", `select scylla.create_queue('daily');
    select scylla.schedule('each day', '0 0 1 1 *', 'daily', '{"kind": "x"}', planned_key => 'planned', options => '{"priority": 7}');
    select scylla.schedule_plan('as plan', '0 0 1 1 *', '[{"queue": "daily", "rn": "first", "spec": {}}, {"queue": "daily", "spec": {"n": 2}, "depends_on": ["first"]}]', planned_key => 'planned');
    select scylla.define_job('plain', 'daily'); select scylla.schedule_job('as job', '0 0 1 1 *', 'plain', '{[1,5)}');
    select scylla.create_workflow('{"properties": {"owner": "ann"}, "workflow": {"id": "timed", "steps": [{"step": {"id": "only", "type": "NoOp"}}], "time_triggers": [{"type": "CRON", "cron": "0 0 1 1 *"}]}}');`);
  await visit(page, console_.address + "schedules");
  const run = async (name) => {
    await page.click(`main tr:has(th:has-text("${name}")) >> button >> text=Run now`);
    assert.match(await text("dialog"), /Run schedule ".*" now\?/);
    await page.click("dialog button >> text=Run now");
  };
  await run("each day");
  await told("Task each day/");
  assert.equal(sql("console_pages", "select count(*) from scylla.task where queue = 'daily' and priority = 7 and rn ~ '^each day/\\d{4}-.*\\.\\d{3}Z$' and spec ->> 'kind' = 'x' and spec ->> 'planned' ~ 'Z$'"), "1");
  await run("as plan");
  await told("Plan as plan/");
  assert.equal(sql("console_pages", "select string_agg(regexp_replace(t.rn, '/.*/', '/') || ' ' || t.status || ' ' || (t.spec ->> 'planned' is not null)::text, ', ' order by t.rn desc) from scylla.task t where t.plan like 'as plan/%'"),
    "as plan/first ready true, as plan/2 waiting true");
  await run("as job");
  await told("Plan as job/");
  assert.equal(sql("console_pages", "select count(*) from scylla.job_plan where job = 'plain' and plan like 'as job/%'"), "1");
  await run("workflow:timed/");
  await told("Instance 1 of workflow timed was started.");
  assert.equal(sql("console_pages", "select count(*) from scylla.task where queue = 'daily'"), "4");
});

test("a workflow is started, its runs are stopped, killed and restarted, and a step is skipped", async () => {
  await visit(page, console_.address + "workflow?id=nightly");
  await page.click("main button >> text=/^Start$/");
  await page.click("dialog button >> text=Start");
  await told("Instance 2: CREATED.");
  await page.click("main tr >> text=2 >> nth=0 >> xpath=ancestor::tr >> button >> text=Stop");
  await page.click("dialog button >> text=Stop");
  await told("Run stopped.");
  await visit(page, console_.address + "workflow?id=nightly&status=STOPPED");
  await page.waitForSelector("main tbody th >> text=2");
  assert.equal(await page.locator("main tbody td >> text=IN_PROGRESS").count(), 0);
  await visit(page, console_.address + "run?workflow=nightly&instance=1&run=1");
  await page.click("main button >> text=Kill");
  await page.click("dialog button >> text=Kill");
  await told("Run killed.");
  await page.waitForSelector("main button >> text=Kill", { state: "detached" }); // it has ended
  await page.waitForSelector("dd >> text=/^FAILED$/");
  await page.click("main button >> text=/^Restart$/");
  await page.click("dialog button >> text=Restart");
  await told("Run 2: CREATED.");
  await visit(page, console_.address + "run?workflow=nightly&instance=1&run=1");
  await page.waitForSelector("main button >> text=Start another");
  assert.equal(await page.locator("main button >> text=/^Restart/").count(), 0, "it is not the last run any more");
  sql("console_pages", "call reach($$exists (select from scylla.workflow_step where run = 2 and step = 'each' and status = 'RUNNING')$$)");
  await visit(page, console_.address + "step?workflow=nightly&instance=1&run=2&step=each");
  await page.click("main button >> text=Skip");
  await page.click("dialog button >> text=Skip");
  await told("Skip: asked for.");
  await page.waitForSelector("dd >> text=SKIPPED");
  await page.waitForSelector("dd >> text=/^skip, by /");
  assert.equal(await page.locator("main button >> text=Skip").count(), 0, "it is skipped");
  sql("console_pages", "call reach($$(select status = 'STOPPED' from scylla.workflow_step where workflow = 'nightly' and instance = 1 and step = 'load' order by iterations desc limit 1)$$)");
  await visit(page, console_.address + "run?workflow=nightly&instance=1&run=1");
  await page.click("main button >> text=Start another");
  await page.click("dialog button >> text=Start another");
  await told("Instance 3:");
  await visit(page, console_.address + "workflow?id=nightly");
  await page.click("main button >> text=Activate");
  await page.click("dialog button >> text=Activate");
  await told("Version 2 is active.");
  assert.equal(sql("console_pages", "select active_version from scylla.workflow where id = 'nightly'"), "2");
});

test("cancelling asks, and is done", async () => {
  await visit(page, console_.address + "task?rn=mail-to-cancel");
  await page.click("main button >> text=Cancel");
  assert.match(await text("dialog"), /Cancel task "mail-to-cancel"\?/);
  assert.deepEqual(await barriers(page), []);
  await page.click("dialog >> text=Back");
  assert.equal(sql("console_pages", "select status from scylla.get_task('mail-to-cancel')"), "ready");
  await page.click("main button >> text=Cancel");
  await page.click("dialog button >> text=Cancel");
  await told("Task cancelled.");
  assert.equal(sql("console_pages", "select status from scylla.get_task('mail-to-cancel')"), "cancelled");
  await console_.logs(/role "postgres" from 127\.0\.0\.1: cancel "\{\\"rn\\":\\"mail-to-cancel\\"\}": done/);
  await page.click("main button >> text=Retry as a copy");
  await page.click("dialog button >> text=Retry");
  await told("Resubmitted as");
  assert.equal(sql("console_pages", "select count(*) from scylla.resubmissions where rn = 'mail-to-cancel'"), "1");
  await page.waitForSelector("dt >> text=resubmitted as");
  assert.equal(await page.locator("main button").count(), 0, "it is resubmitted once");
});

test("an action that fails tells why", async () => {
  sql("console_pages", "select from scylla.submit('mail', '1', rn => 'gone')");
  await visit(page, console_.address + "task?rn=gone");
  await page.click("main button >> text=Cancel");
  // Meanwhile somebody else has done it. What the page shows does not matter.
  sql("console_pages", "select from scylla.cancel('gone')");
  await page.click("dialog button >> text=Cancel");
  await page.waitForSelector("#told .bad");
  assert.match(await text("#told"), /task "gone" has already ended/);
  await console_.logs(/cancel "\{\\"rn\\":\\"gone\\"\}": "task/);
});

test("the priority of a task is changed, by the keyboard", async () => {
  sql("console_pages", "select from scylla.submit('mail', '1', rn => 'sooner', priority => 3)");
  await visit(page, console_.address + "task?rn=sooner");
  await page.focus("main button >> text=Change priority");
  await page.keyboard.press("Enter");
  await page.focus("dialog input");
  assert.equal(await page.inputValue("dialog input"), "3");
  assert.deepEqual(await barriers(page), []);
  await page.fill("dialog input", "high");
  await page.keyboard.press("Enter");
  await page.waitForSelector("dialog >> text=This is not a whole number.");
  await page.fill("dialog input", "17");
  await page.keyboard.press("Enter");
  await told("Its priority is 17.");
  assert.equal(sql("console_pages", "select priority from scylla.get_task('sooner')"), "17");
  await page.click("main button >> text=Change priority");
  await page.fill("dialog input", "40000");
  await page.click("dialog button >> text=Change priority");
  await page.waitForSelector("#told .bad");
});

test("pausing a queue, and resuming it", async () => {
  await visit(page, console_.address + "queue?name=mail");
  await page.click("main button >> text=Pause");
  await page.click("dialog button >> text=Pause");
  await told("Queue paused.");
  assert.equal(sql("console_pages", "select paused from scylla.queue_settings where queue = 'mail'"), "t");
  await page.click("main button >> text=Resume");
  await told("Queue resumed.");
  assert.equal(sql("console_pages", "select paused from scylla.queue_settings where queue = 'mail'"), "f");
});

test("all aborted tasks with one error again", async () => {
  sql("console_pages", `select from generate_series(1, 3) i, scylla.submit('mail', '1', rn => 'bad-' || i);
    select from generate_series(1, 3) i, scylla.lease_task('bad-' || i, 'w');
    select from generate_series(1, 3) i, scylla.abort('bad-' || i, 'w', '{"code": "full"}');`);
  await visit(page, console_.address + "queue?name=mail&status=aborted&code=full");
  await page.click("text=Retry all as copies");
  await page.waitForSelector("dialog >> text=3 tasks, for example bad-1, bad-2, bad-3.");
  assert.equal(sql("console_pages", "select count(*) from scylla.resubmissions where rn like 'bad-%'"), "0", "a preview changes nothing");
  await page.click("dialog button >> text=Retry");
  await told("3 tasks resubmitted.");
  assert.equal(sql("console_pages", "select count(*) from scylla.resubmissions where rn like 'bad-%'"), "3");
});

test("copies of all tasks that the filters match, in portions", async () => {
  sql("console_pages", `select from scylla.submit_many((select jsonb_agg(jsonb_build_object('queue', 'again', 'spec', i, 'key', 'k' || i % 2)) from generate_series(1, 1200) i));
    select from scylla.cancel_many('{"queue": "again"}', 2000, max_looks => 100000);`);
  await visit(page, console_.address + "queue?name=again&status=cancelled&key=k1");
  await page.click("text=Retry all as copies");
  await page.waitForSelector("dialog >> text=600 tasks, for example");
  assert.equal(sql("console_pages", "select count(*) from scylla.resubmissions where queue = 'again'"), "0", "a preview changes nothing");
  await page.click("dialog button >> text=Retry all as copies");
  await told("600 tasks resubmitted.");
  assert.equal(sql("console_pages", "select string_agg(distinct key || status, ' ' order by key || status) from scylla.task where queue = 'again'"), "k0cancelled k1cancelled k1ready");
  await console_.logs(/(: resubmit_all .*again.*: done\n[^]*){3}/); // each portion
  await page.click("text=Retry all as copies");
  await told("There is nothing to resubmit.");
});

test("all tasks that the filters match are cancelled, in portions", async () => {
  sql("console_pages", `select from scylla.submit_many((select jsonb_agg(jsonb_build_object('queue', 'crowd', 'spec', i, 'key', 'k' || i % 2)) from generate_series(1, 1200) i));`);
  await visit(page, console_.address + "queue?name=crowd&status=ready&key=k1");
  await page.click("text=Cancel all of these");
  await page.waitForSelector("dialog >> text=600 tasks, for example");
  assert.equal(sql("console_pages", "select count(*) from scylla.task where queue = 'crowd' and status = 'cancelled'"), "0", "a preview changes nothing");
  await page.click("dialog button >> text=Cancel all");
  await told("600 tasks cancelled.");
  assert.equal(sql("console_pages", "select string_agg(distinct key || status, ' ' order by key || status) from scylla.task where queue = 'crowd'"), "k0ready k1cancelled");
  await console_.logs(/(: cancel_all .*crowd.*: done\n[^]*){3}/); // each portion
  await page.click("text=Cancel all of these");
  await told("There is nothing to cancel.");
  await visit(page, console_.address + "queue?name=crowd&status=cancelled");
  assert.equal(await page.locator("text=Cancel all of these").count(), 0);
});

test("pools and triggers are stopped and resumed", async () => {
  sql("console_pages", `select scylla.create_workflow('{"properties": {"owner": "ada", "step_concurrency": 1}, "workflow": {"id": "bounded", "steps": [{"step": {"id": "s", "type": "NoOp"}}]}}')`);
  await visit(page, console_.address + "pools");
  assert.equal(await page.locator("tr", { hasText: "workflow:bounded" }).locator("button").count(), 0, "the pool of a workflow");
  await page.click("main button >> text=Drain");
  await page.click("dialog button >> text=Drain");
  await told("Pool drained.");
  await page.click("main button >> text=Resume");
  await told("Pool resumed.");
  await visit(page, console_.address + "conditions");
  await page.click("main button >> text=Pause");
  await page.click("dialog button >> text=Pause");
  await told("Trigger paused.");
  await page.click("main button >> text=Resume");
  await told("Trigger resumed.");
});

test("plans are opened, cancelled and run again", async () => {
  sql("console_pages", `select scylla.create_plan('small'); select from scylla.submit('build', '1', rn => 'small-1', plan => 'small');`);
  await visit(page, console_.address + "plan?name=small");
  await page.click("main button >> text=Open");
  await page.click("dialog button >> text=Open");
  await told("Plan opened.");
  await page.click("main button >> text=Cancel");
  await page.click("dialog button >> text=Cancel");
  await told("1 task cancelled.");
  await page.click("main button >> text=Run the failed part again");
  await page.click("dialog button >> text=Run");
  await told("runs it.");
  assert.equal(sql("console_pages", "select count(*) from scylla.task where queue = 'build' and status = 'ready' and plan like '%-%-%'"), "1");
});

test("a large plan shows fifty tasks, those that failed first, and all when it is asked to", async () => {
  sql("console_pages", `select scylla.create_plan('large');
    select from scylla.submit_many((select jsonb_agg(jsonb_build_object('plan', 'large', 'queue', 'many', 'rn', 'large-' || i, 'spec', i)) from generate_series(1, 130) i));
    select scylla.open_plan('large');
    select from scylla.lease_task('large-130', 'w'), scylla.abort('large-130', 'w', '{"code": "full"}');`);
  const rows = () => page.$$eval("main table:first-of-type tbody th", (found) => found.map((name) => name.innerText).filter((name) => name.startsWith("large-")));
  await visit(page, console_.address + "plan?name=large");
  await page.waitForSelector("main >> text=The first 50 of 130.");
  assert.equal((await rows())[0], "large-130");
  await page.click("main a >> text=Show all");
  await page.waitForFunction(() => document.querySelectorAll("main tbody th").length > 130);
  assert.equal(new Set(await rows()).size, 130);
  assert.deepEqual(await barriers(page), []);
});

test("the keyboard is enough", async () => {
  await visit(page, console_.address);
  await page.keyboard.press("g");
  await page.keyboard.press("p");
  await page.waitForSelector("h1 >> text=Plans");
  await page.keyboard.press("/");
  await page.keyboard.type("slow/1?a=b&c=d#e%20f");
  await page.keyboard.press("Enter");
  await page.waitForSelector("h1 >> text=Task slow/1?a=b&c=d#e%20f");
  await page.waitForSelector("main button >> text=Cancel");
  for (let i = 0; i < 30 && (await page.evaluate(() => document.activeElement.innerText)) !== "Cancel"; i++) await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await page.waitForSelector("dialog[open]");
  await page.keyboard.press("Escape");
  await page.waitForSelector("dialog[open]", { state: "detached" });
  assert.equal(await page.evaluate(() => document.activeElement.innerText), "Cancel", "the focus is where it was");
  await page.keyboard.press("?");
  assert.match(await text("dialog"), /find a task by its name/);
  assert.deepEqual(await barriers(page), []);
  await page.keyboard.press("Escape");
});

test("focus and text that is typed survive what comes live", async () => {
  await visit(page, console_.address + "queue?name=mail");
  await page.focus("input[name=worker]");
  await page.keyboard.type("work");
  const seen = await page.evaluateHandle(() => document.querySelector("main tbody tr"));
  sql("console_pages", "select from scylla.submit('mail', '1', rn => 'new-one')");
  await page.waitForSelector("main th >> text=new-one");
  assert.equal(await page.evaluate(() => document.activeElement.name + " " + document.activeElement.value), "worker work");
  assert.ok(await seen.evaluate((row) => row.isConnected), "rows that were there are not made anew");
});

test("a page that nobody sees does not ask", async () => {
  await visit(page, console_.address);
  await page.waitForSelector("text=mail");
  await page.evaluate(() => {
    Object.defineProperty(document, "hidden", { value: true, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
  });
  const calls = () => sql("postgres", `select coalesce(max(extract(epoch from clock_timestamp() - state_change)), 99) from pg_stat_activity
    where datname = 'console_pages' and application_name = 'scylla console' and query like '%scylla.stat_queue%'
    having max(extract(epoch from clock_timestamp() - state_change)) is not null`);
  for (let i = 0; i < 200 && Number(calls()) < 1.2; i++) await new Promise((resolve) => setTimeout(resolve, 100));
  assert.ok(Number(calls()) >= 1.2, "no query for six intervals");
});

test("lists go on with further pages", async () => {
  sql("console_pages", `
    select count(scylla.create_plan('paged ' || i)) from generate_series(1, 110) i;
    select count(scylla.create_callback('paged ' || i)) from generate_series(1, 110) i;
    select count(scylla.send_signal('paged', jsonb_build_object('n', i))) from generate_series(1, 110) i;
    select count(scylla.run_job('aggregate', int8multirange(int8range(i, i, '[]')))) from generate_series(1, 60) i;
    select count(scylla.create_workflow(jsonb_build_object('properties', '{"owner": "ann"}'::jsonb, 'workflow', jsonb_build_object('id', 'paged-' || i,
      'steps', '[{"step": {"id": "only", "type": "NoOp"}}]'::jsonb)))) from generate_series(1, 110) i;
    select count(scylla.start_workflow('paged-1')) from generate_series(1, 40);
    call reach($$(select count(*) = 40 from scylla.workflow_run where workflow = 'paged-1' and status = 'SUCCEEDED')$$);
    select count(scylla.restart_run('paged-1', i, 'RESTART_FROM_BEGINNING')) from generate_series(1, 30) i;`);
  const [size, last] = [100, 50];
  for (const [where, label, parameter, most, all] of [
    ["plans", "Plans", "before", size, "select count(*) from scylla.plan"],
    ["plans?status=building", "Plans", "before", size, "select count(*) from scylla.plan where status = 'building'"],
    ["conditions", "Conditions", "before", size, "select count(*) from scylla.condition"],
    ["conditions", "Signals", "signals_before", size, "select count(*) from scylla.signal"],
    ["jobs", "Runs", "before", last, "select count(*) from scylla.job_plan"],
    ["workflows", "Workflows", "before", size, "select count(*) from scylla.workflow"],
    ["workflow?id=paged-1", "Runs", "before", last, "select count(*) from scylla.workflow_run where workflow = 'paged-1'"]]) {
    const keys = () => page.$$eval(`main [aria-label="${label}"] tbody tr`, (rows) => rows.map((row) => row.dataset.key));
    const follow = async (text, from) => {
      await page.locator(`[aria-label="${label}"] + p >> text=${text}`).click();
      await page.waitForFunction(([of, key]) => document.querySelector(`main [aria-label="${of}"] tbody tr`)?.dataset.key !== key, [label, from]);
    };
    await visit(page, console_.address + where);
    const pages = [await keys()];
    while (pages.at(-1).length === most && pages.length < 10) {
      await follow("Next", pages.at(-1)[0]);
      assert.match(page.url(), new RegExp(`[?&]${parameter}=`));
      pages.push(await keys());
    }
    const total = Number(sql("console_pages", all));
    assert.ok(total > most);
    assert.equal(pages.flat().length, total, where);
    assert.equal(new Set(pages.flat()).size, total, `${where}: each once`);
    await follow("Newest", pages.at(-1)[0]);
    assert.deepEqual(await keys(), pages[0]);
  }
});

test("the attempts of a plan are those that plan_timeline has", async () => {
  sql("console_pages", `select scylla.create_plan('ran');
    select count(scylla.submit('ran', '1', rn => 'ran-' || i, plan => 'ran')) from generate_series(1, 3) i;
    select scylla.open_plan('ran');
    select from scylla.lease_task('ran-1', 'w1'); select from scylla.fail('ran-1', 'w1', '{"code": "busy"}', '0');
    select from scylla.lease_task('ran-1', 'w2'); select from scylla.yield('ran-1', 'w2');
    select from scylla.lease_task('ran-1', 'w3'); select from scylla.complete('ran-1', 'w3', '"done"');
    select from scylla.lease_task('ran-2', 'w4', '1 h')`);
  await visit(page, console_.address + "plan?name=ran");
  const shown = await page.$$eval('main [aria-label="Attempts"] tbody tr', (rows) => rows.map((row) => [0, 1, 2, 5].map((i) => row.cells[i].innerText.trim()).join(" ")).join(", "));
  assert.equal(shown, "ran-1 w1 1 failed, ran-1 w2 2 yielded, ran-1 w3 3 completed, ran-2 w4 1 running");
  assert.equal(shown, sql("console_pages", "select string_agg(concat_ws(' ', rn, owner, attempt, status), ', ' order by started, rn) from scylla.plan_timeline('ran')"));
  assert.deepEqual(await page.$$eval("main svg.gantt g", (bars) => bars.map((bar) => bar.getAttribute("class"))), ["failed", "yielded", "completed", "running"]);
});

test("the result of a plan with many tasks is shown when it is asked for", async () => {
  sql("console_pages", `select scylla.create_plan('many');
    select count(*) from scylla.submit_many((select jsonb_agg(jsonb_build_object('queue', 'many', 'spec', i, 'rn', 'many-' || i, 'plan', 'many')) from generate_series(1, 1001) i));
    select scylla.open_plan('many');
    select from scylla.lease_task('many-1001', 'w'); select from scylla.complete('many-1001', 'w', '"the last"')`);
  await visit(page, console_.address + "plan?name=many");
  assert.doesNotMatch(await text(), /the last/);
  await page.click("main a >> text=Show the results of more than 1,000 tasks");
  await page.waitForSelector("main >> text=the last");
  assert.match(page.url(), /show=all/);
  const { result } = await (await console_.get("api/plan?name=many&whole=all")).json();
  assert.deepEqual(result, { "many-1001": "the last" });
  assert.deepEqual((await (await console_.get("api/plan?name=ran")).json()).result, { "ran-1": "done" });
});

test("tasks that are older than many others are found without being asked twice", async () => {
  createDatabase("console_old");
  sql("console_old", `
    select count(scylla.submit_bulk('old', array_fill('1'::jsonb, array[60])));
    select count(scylla.submit('new', '1', key => 'rare')) from generate_series(1, 60);
    select count(scylla.submit_bulk('new', array_fill('1'::jsonb, array[1000]))) from generate_series(1, 25);`);
  const one = await Console.start("console_old");
  let release;
  const held = new Promise((resolve) => (release = resolve));
  const asked = [];
  try {
    const later = /api\/(tasks\?.*after=|queue\?)/; // also what the page knows of the queue
    await page.route(later, async (route) => { await held; await route.continue(); });
    page.on("request", (request) => asked.push(request.url()));
    await page.goto(one.address + "queue?name=new&key=rare");
    await page.waitForSelector("main >> text=Looking on: at least 10,000 tasks so far.");
    assert.equal(await page.locator("main a >> text=Next").count(), 0);
    release();
    await settled(page);
    await page.unroute(later);
    assert.equal(await page.locator("main tbody tr").count(), 50);
    assert.equal(await page.locator("main >> text=Looking on").count(), 0);
    await page.click("main a >> text=Next");
    await page.waitForFunction(() => document.querySelectorAll("main tbody tr").length === 10);
    assert.equal(await page.locator("main a >> text=Next").count(), 0);
    await visit(page, one.address + "queue?name=old&key=nobody");
    assert.match(await page.innerText("main"), /No task matches/);
    assert.equal(await page.locator("main >> text=Looking on").count(), 0);
    // Newer tasks of another queue cost little: they need no second look.
    asked.length = 0;
    await visit(page, one.address + "queue?name=old");
    assert.equal(await page.locator("main tbody tr").count(), 50);
    assert.deepEqual(asked.filter((address) => /api\/tasks\?.*after=/.test(address)), []);
  } finally {
    page.removeAllListeners("request");
    await one.stop();
  }
});

test("nothing was wrong with the page", () => assert.deepEqual(page.wrong, []));
