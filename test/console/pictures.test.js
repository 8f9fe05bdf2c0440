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
    select from scylla.fail('invoice-4711', 'mailer-2', '{"code": "smtp-timeout", "description": "no answer from mx.example.org in 30 s"}', '10 min');
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
    select from scylla.abort('document', 'builder-2', '{"code": "exit-1", "description": "guide.md:12: unknown reference"}');`);
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
  } finally {
    for (const worker of workers) worker.kill("SIGTERM");
    await browser.close();
    await one.stop();
  }
});
