// With more queues and schedules than a page can show: what is sent is bounded, and the rest can be found.
"use strict";
const assert = require("node:assert/strict");
const { after, before, test } = require("node:test");
const { Console, barriers, createDatabase, openBrowser, openPage, sql, visit } = require("./lib.js");

const queues = 1250;
const schedules = 330;
let one, browser, page;

before(async () => {
  createDatabase("console_many");
  sql("console_many", `
    do $$ begin
      for portion in 0 .. ${queues} / 50 - 1 loop
        perform scylla.submit('queue-' || to_char(portion * 50 + i, 'FM0000'), '1', not_before => now() + interval '1 day') from generate_series(1, 50) i;
        commit;
      end loop;
    end $$;
    select count(*) from generate_series(1, ${schedules}) i, lateral scylla.schedule('schedule-' || to_char(i, 'FM0000'), '30 2 * * *', 'queue-0001', '1');
    select from scylla.submit('queue-1249', '1');
    select from generate_series(1, 3), lateral scylla.submit('queue-1100', '1');`);
  one = await Console.start("console_many", ["--interval", "2s"]);
  browser = await openBrowser();
  page = await openPage(browser);
});
after(async () => {
  await browser?.close();
  await one?.stop();
});

const look = async (where) => (await one.get("api/" + where)).json();

test("a pulse has the most urgent queues, and says how many there are", async () => {
  const listening = new AbortController();
  const response = await fetch(one.address + "api/live", { signal: listening.signal });
  let text = "";
  for await (const part of response.body) if (/\n\n/.test((text += Buffer.from(part)))) break;
  listening.abort();
  const pulse = JSON.parse(text.match(/^data: (.*)$/m)[1]);
  assert.equal(pulse.total, queues);
  assert.equal(pulse.queues.length, 100);
  assert.ok(text.length < 50000, `${text.length} bytes`);
  for (const name of ["queue-1249", "queue-1100"]) assert.ok(pulse.queues.some(({ queue, ready }) => queue === name && ready > 0), name);
});

test("every queue and every schedule is on one page", async () => {
  for (const [where, count, of] of [["queues", queues, ({ queue }) => queue], ["schedules", schedules, ({ name }) => name]]) {
    const seen = [];
    for (let n = 0; ; n++) {
      const { total, rows } = await look(`${where}?page=${n}`);
      assert.equal(total, count);
      assert.ok(rows.length <= 100);
      if (!rows.length) break;
      seen.push(...rows.map(of));
    }
    assert.equal(seen.length, count);
    assert.equal(new Set(seen).size, count);
  }
  assert.deepEqual((await look("queues")).rows.slice(0, 2).map(({ queue }) => queue).sort(), ["queue-1100", "queue-1249"]);
  assert.deepEqual((await look("queues?search=UE-100")).rows.map(({ queue }) => queue), Array.from({ length: 10 }, (_, i) => "queue-100" + i));
  assert.deepEqual((await look("queues?search=%25")).rows, [], "a search is for a text, not a pattern");
  assert.deepEqual((await look("queues?name=queue-0777")).rows.map(({ waiting }) => waiting), [1]);
  assert.equal((await look("schedules?search=-01")).total, 100);
  for (const where of ["queues?page=-1", "queues?page=x", "schedules?page=99999999999"]) assert.equal((await one.get("api/" + where)).status, 400, where);
});

test("schedules that need somebody come first", async () => {
  sql("console_many", "update scylla.schedule set last_error = 'no such role' where name = 'schedule-0300'");
  assert.equal((await look("schedules")).rows[0].name, "schedule-0300");
});

test("the pages say how many there are, page, and find", async () => {
  const shows = (pattern) => page.waitForFunction((source) => new RegExp(source, "s").test(document.querySelector("main").innerText), pattern.source);
  await visit(page, one.address);
  await shows(/The 100 most urgent of 1,250 queues/);
  assert.equal(await page.locator("table >> nth=0 >> tbody tr").count(), 100);
  await page.fill("input[name=search]", "queue-099");
  await page.press("input[name=search]", "Enter");
  await page.waitForFunction(() => document.querySelectorAll("table tbody tr[data-key^=queue-099]").length === 10);
  assert.deepEqual(await barriers(page), []);
  await visit(page, one.address);
  await page.click("a >> text=/^All$/");
  await shows(/1 to 100 of 1,250 queues/);
  await page.click("a >> text=/^Next$/");
  await shows(/101 to 200 of 1,250 queues/);
  await page.click("a >> text=/^Previous$/");
  await shows(/1 to 100 of 1,250 queues/);
  // A queue that is not among the most urgent has its numbers, too.
  await visit(page, one.address + "queue?name=queue-0900");
  await shows(/waiting 1/);
  await visit(page, one.address + "schedules");
  await shows(/1 to 100 of 330 schedules/);
  await page.fill("input[name=search]", "0222");
  await page.press("input[name=search]", "Enter");
  await page.waitForFunction(() => document.querySelectorAll("table tbody tr").length === 1);
  await shows(/schedule-0222/);
  assert.deepEqual(await barriers(page), []);
  assert.deepEqual(page.wrong, []);
});
