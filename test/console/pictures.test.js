// The pictures of docs/console.md: SCYLLA_SCREENSHOTS=docs/images ./test/run console/pictures
"use strict";
const { spawn } = require("node:child_process");
const path = require("node:path");
const { test } = require("node:test");
const { Console, createDatabase, openBrowser, openPage, sql, visit } = require("./lib.js");

// A relative folder is one of the project.
const folder = process.env.SCYLLA_SCREENSHOTS && path.resolve(__dirname, "../..", process.env.SCYLLA_SCREENSHOTS);

test("pictures", { skip: !folder && "SCYLLA_SCREENSHOTS is not set" }, async () => {
  createDatabase("console_pictures");
  sql("console_pictures", `
    select scylla.create_queue('mail', max_attempts => 5, retry => '{"initial": "1 min", "factor": 2}'), scylla.create_queue('thumbnails', max_running => 8), scylla.create_queue('reports');
    select from scylla.submit_bulk('thumbnails', array(select jsonb_build_object('image', i || '.png') from generate_series(1, 4000) i));
    select from scylla.submit_bulk('mail', array(select jsonb_build_object('to', 'customer ' || i) from generate_series(1, 900) i));
    select from scylla.pause_queue('reports'), scylla.submit('reports', '{"month": "2026-10"}', rn => 'report-2026-10');
    select from scylla.submit('mail', '{"to": "joe@example.org", "subject": "Your invoice"}', rn => 'invoice-4711', priority => 50, key => 'joe');
    select from scylla.lease_task('invoice-4711', 'mailer-2');
    select from scylla.fail('invoice-4711', 'mailer-2', '{"code": "smtp-timeout", "message": "no answer from mx.example.org in 30 s"}', '10 min');
    select scylla.create_plan('release-2.0');
    select count(*) from scylla.submit_many('[{"plan": "release-2.0", "queue": "build", "rn": "fetch", "spec": {}},
      {"plan": "release-2.0", "queue": "build", "rn": "compile", "spec": {}, "depends_on": ["fetch"]},
      {"plan": "release-2.0", "queue": "build", "rn": "document", "spec": {}, "depends_on": ["fetch"]},
      {"plan": "release-2.0", "queue": "build", "rn": "unit-tests", "spec": {}, "depends_on": ["compile"]},
      {"plan": "release-2.0", "queue": "build", "rn": "benchmarks", "spec": {}, "depends_on": ["compile"]},
      {"plan": "release-2.0", "queue": "build", "rn": "package", "spec": {}, "depends_on": ["unit-tests", "document"]},
      {"plan": "release-2.0", "queue": "build", "rn": "announce", "spec": {}, "depends_on": ["package", "benchmarks"]}]');
    select scylla.open_plan('release-2.0');
    select from scylla.lease_task('fetch', 'builder-1');
    select from scylla.complete('fetch', 'builder-1');
    select from scylla.lease_task('compile', 'builder-1');
    select from scylla.complete('compile', 'builder-1');
    select from scylla.lease_task('unit-tests', 'builder-1', '1 h');
    select from scylla.heartbeat('unit-tests', 'builder-1', 0.7);
    select from scylla.lease_task('document', 'builder-2');
    select from scylla.abort('document', 'builder-2', '{"code": "exit-1", "message": "guide.md:12: unknown reference"}');`);
  sql("console_pictures", `
    select scylla.create_workflow('{"properties": {"owner": "ada"}, "workflow": {"id": "nightly", "steps": [
      {"step": {"id": "extract", "type": "NoOp", "transition": {"successors": {"load": "true", "check": "true"}}}},
      {"foreach": {"id": "load", "params": {"loop_params": {"type": "MAP", "value": {"part": {"type": "LONG_ARRAY", "expression": "Util.intsBetween(0, 12, 1)"}}}},
                   "steps": [{"step": {"id": "copy", "type": "Copy"}}], "transition": {"successors": {"report": "true"}}}},
      {"step": {"id": "check", "type": "Check", "transition": {"successors": {"report": "true"}}}},
      {"step": {"id": "report", "type": "Report"}}]}}');
    select from scylla.start_workflow('nightly');`);
  for (let i = 0; i < 200 && sql("console_pictures", "select count(*) from scylla.task where queue in ('copy', 'check') and status = 'ready'") !== "13"; i++)
    await new Promise((resolve) => setTimeout(resolve, 50));
  sql("console_pictures", `
    select from scylla.lease('copy', 'copier-1', 9, '1 h');
    select from scylla.lease('check', 'checker', 1, '1 h');
    select scylla.complete_many((array_agg(rn order by rn))[1:6], 'copier-1') from scylla.task where queue = 'copy' and status = 'running';
    select from scylla.abort((select min(rn) from scylla.task where queue = 'copy' and status = 'running'), 'copier-1', '{"code": "disk-full", "message": "no space left in /data"}');`);
  const one = await Console.start("console_pictures");
  const browser = await openBrowser();
  const workers = [["mail", "mailer-1", "0.02"], ["thumbnails", "scaler-1", "0.01"]].map(([queue, name, time]) =>
    spawn("scylla", ["-d", "console_pictures", "work", queue, "--exec", "sleep " + time, "--jobs", "4", "--worker", name, "--quiet"], { stdio: "ignore" }));
  try {
    const page = await openPage(browser, { viewport: { width: 1240, height: 620 } });
    await page.goto(one.address);
    await page.waitForTimeout(6000);
    const picture = (name) => page.screenshot({ path: path.join(folder, `console-${name}.png`) });
    await picture("overview");
    await visit(page, one.address + "task?rn=invoice-4711");
    await picture("task");
    await visit(page, one.address + "plan?name=release-2.0");
    await picture("plan");
    await page.setViewportSize({ width: 1240, height: 900 });
    await page.goto(one.address + "run?workflow=nightly&instance=1&run=1&open=" + encodeURIComponent('[{"path": ["load"]}]'));
    await page.waitForSelector("main .tree details li");
    await page.waitForSelector("text=no space left");
    await picture("run");
  } finally {
    for (const worker of workers) worker.kill("SIGTERM");
    await browser.close();
    await one.stop();
  }
});
