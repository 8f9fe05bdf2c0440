// A database with nothing in it, a role with few rights, and a database that goes and comes back.
"use strict";
const assert = require("node:assert/strict");
const { execSync } = require("node:child_process");
const { after, before, test } = require("node:test");
const { Console, barriers, createDatabase, openBrowser, openPage, sql, visit } = require("./lib.js");

let browser, page;
before(async () => {
  createDatabase("console_empty");
  browser = await openBrowser();
  page = await openPage(browser);
});
after(() => browser?.close());

test("pages without data", async () => {
  const one = await Console.start("console_empty");
  for (const [where, says] of [["", "There is no queue yet"], ["queue?name=none", "There is no such queue"], ["plans", "There is no plan"], ["workflows", "There is no workflow"], ["schedules", "There is no schedule"],
    ["pools", "There is no pool"], ["jobs", "There is no job type"], ["conditions", "There is no trigger"], ["errors", "No task was aborted"]]) {
    await visit(page, one.address + where);
    await page.waitForSelector(`main >> text=${says}`);
    assert.deepEqual(await barriers(page), [], where);
  }
  assert.deepEqual(page.wrong, []);
  assert.equal(await one.stop(), 0);
});

test("a role sees what it may, and nothing else", async () => {
  sql("console_empty", `drop role if exists console_reader; create role console_reader login;
    grant usage on schema scylla to console_reader; grant select on scylla.queue_settings to console_reader;
    grant select on scylla.workflow, scylla.workflow_version, scylla.workflow_run, scylla.workflow_step, scylla.workflow_step_attempt, scylla.workflow_rollup,
      scylla.workflow_breakpoint, scylla.workflow_action to console_reader;
    grant execute on function scylla.failed_steps, scylla.run_tree, scylla.pause_workflow to console_reader;
    select scylla.create_workflow('{"properties": {"owner": "ann"}, "workflow": {"id": "seen", "steps": [{"step": {"id": "only", "type": "wf_seen"}}]}}');
    select scylla.grant_workflow('seen', 'console_reader', 'view'); select from scylla.start_workflow('seen');
    select from scylla.create_queue('its'); select scylla.grant_queue('its', 'console_reader', 'view');
    select from scylla.create_queue('secret');`);
  const one = await Console.start("console_empty", ["-U", "console_reader"]);
  await visit(page, one.address);
  await page.waitForSelector("main th >> text=its");
  await page.waitForSelector("main >> text=What doctor finds");
  const shown = await page.innerText("main");
  assert.ok(!shown.includes("secret"));
  assert.ok(!shown.includes("Workers") && !shown.includes("permission denied"));
  assert.deepEqual(await page.$$eval("#nav a", (links) => links.map((link) => link.innerText)), ["Overview", "Workflows"]);
  assert.match(await page.innerText("#where"), /console_reader @ console_empty/);
  assert.equal((await one.post("api/do/pause_queue", { queue: "its" })).status, 403);
  // What it may only see has no buttons.
  await visit(page, one.address + "workflow?id=seen");
  await page.waitForSelector("main td >> text=IN_PROGRESS");
  assert.equal(await page.locator("main button").count(), 0);
  for (const where of ["run?workflow=seen&instance=1&run=1", "step?workflow=seen&instance=1&step=only"]) {
    await visit(page, one.address + where);
    await page.waitForSelector("main dd >> text=seen");
    assert.equal(await page.locator("main button").count(), 0, where);
  }
  assert.equal((await one.post("api/do/pause_workflow", { workflow: "seen" })).status, 403);
  sql("console_empty", "select scylla.grant_workflow('seen', 'console_reader', 'run')");
  await visit(page, one.address + "workflow?id=seen");
  await page.waitForSelector("main button >> text=Pause");
  assert.equal((await one.post("api/do/pause_workflow", { workflow: "seen" })).status, 200);
  assert.deepEqual(page.wrong, []);
  await one.stop();
  sql("console_empty", "select scylla.stop_workflow('seen')");
  for (let i = 0; i < 200 && sql("console_empty", "select count(*) from scylla.workflow_run where ended is null") !== "0"; i++) await new Promise((resolve) => setTimeout(resolve, 50));
  sql("console_empty", "select scylla.drop_workflow('seen'); drop owned by console_reader; drop role console_reader;");
});

test("a lost database shows as such, and mends itself", async () => {
  const one = await Console.start("console_empty");
  await visit(page, one.address);
  await page.waitForSelector("main th >> text=its");
  execSync(process.env.SCYLLA_TEST_STOP, { shell: "/bin/bash" });
  try {
    await page.waitForSelector("#trouble:not([hidden])");
    assert.match(await page.innerText("#trouble"), /Not up to date/);
    assert.match(await page.innerText("main"), /its/, "what was there stays");
    assert.equal((await one.get("health")).status, 503);
    assert.equal((await one.get("api/plans")).status, 503);
    assert.equal((await one.post("api/do/pause_queue", { queue: "its" })).status, 503);
    await visit(page, one.address + "pools").catch(() => {});
    await page.waitForSelector("#trouble:not([hidden])");
  } finally {
    execSync(process.env.SCYLLA_TEST_START, { shell: "/bin/bash" });
  }
  await page.waitForSelector("#trouble[hidden]", { state: "attached" });
  await page.waitForSelector("main >> text=There is no pool");
  assert.equal((await one.get("health")).status, 200);
  assert.equal((await one.post("api/do/pause_queue", { queue: "its" })).status, 200);
  assert.deepEqual(page.wrong, []);
  await one.stop();
});
