// Changes of everything that a filter matches, where it is much.
"use strict";
const assert = require("node:assert/strict");
const { after, before, test } = require("node:test");
const { Console, createDatabase, openBrowser, openPage, sql, visit } = require("./lib.js");

let console_, browser, page;

before(async () => {
  createDatabase("console_bulk");
  console_ = await Console.start("console_bulk");
  browser = await openBrowser();
  page = await openPage(browser, { plain: true });
});
after(async () => {
  await browser?.close();
  await console_?.stop();
});

test("a change in bulk ends with its page, and goes on when it is done again", async () => {
  sql("console_bulk", `select from scylla.submit_many((select jsonb_agg(jsonb_build_object('queue', 'parade', 'spec', i)) from generate_series(1, 20000) i));`);
  const cancelled = () => Number(sql("console_bulk", "select count(*) from scylla.task where queue = 'parade' and status = 'cancelled'"));
  const told = (what) => page.waitForFunction((what) => document.getElementById("told").innerText.includes(what), what);
  const cancelAll = async () => {
    await visit(page, console_.address + "queue?name=parade&status=ready");
    await page.click("text=Cancel all of these");
    await page.click("dialog button >> text=Cancel all");
  };
  await cancelAll();
  await told("so far.");
  await visit(page, console_.address + "plans");
  let before = -1, now;
  while ((now = cancelled()) !== before) {
    before = now;
    await new Promise((resolve) => setTimeout(resolve, 2000)); // longer than a portion and its pause
  }
  assert.ok(now >= 250 && now < 20000 && now % 250 === 0, `${now} of 20000`);
  await cancelAll();
  await told(`${new Intl.NumberFormat("en").format(20000 - now)} tasks cancelled.`);
  assert.equal(cancelled(), 20000);
});

test("changes in bulk take a fifth of the time", async () => {
  sql("console_bulk", `select from scylla.submit_many((select jsonb_agg(jsonb_build_object('queue', 'bulk', 'spec', i)) from generate_series(1, 10000) i));`);
  const bulk = await Console.start("console_bulk", [], { PGOPTIONS: "-c track_functions=all" });
  const taken = {};
  for (const [name, status] of [["cancel", "ready"], ["resubmit", "cancelled"]]) {
    const begin = performance.now();
    let answer = {};
    do {
      answer = await (await bulk.post(`api/do/${name}_all`, { filter: { queue: "bulk", status }, after: answer.next })).json();
      assert.equal(answer.error, undefined);
    } while (answer.next);
    taken[name] = performance.now() - begin;
  }
  await bulk.stop(); // its session reports what its functions took
  for (const [name, all] of Object.entries(taken))
    assert.equal(sql("console_bulk", `select format('%s %s', calls >= 40, 5 * total_time <= ${all}) from pg_stat_user_functions where funcname = '${{ cancel: "cancel_many", resubmit: "resubmit_matching" }[name]}'`), "t t", name);
});
