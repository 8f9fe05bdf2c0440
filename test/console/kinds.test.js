// The console as each kind of role (scylla.grant_role), and as a role that may only connect: it shows what the role may do, and nothing
// else. No answer is an error of the server, and no button fails because the role may not do it.
"use strict";
const assert = require("node:assert/strict");
const { after, before, test } = require("node:test");
const { Console, createDatabase, openBrowser, openPage, settled, sql, visit } = require("./lib.js");

const database = "console_kinds";
const kinds = ["reader", "worker", "client", "scheduler", "author", "operator", "queue_owner", "event_reader", "monitoring", "console_reader", "console_operator"];
const roleOf = (kind) => "console_kind_" + kind;

let browser;
before(async () => {
  createDatabase(database, { data: true });
  // All belongs to one role, of which those of each kind are members.
  sql(database, `drop role if exists ${[...kinds, "none", "keeper"].map(roleOf).join(", ")};
    create role console_kind_keeper;
    select from scylla.create_queue('reports');
    select scylla.set_queue_owner(queue, 'console_kind_keeper') from scylla.queue_settings;
    ${["schedule", "task_plan", "task_callback", "signal_name", "signal_trigger", "job_definition", "workflow_head", "job_template_text", "resource_pool"]
      .map((table) => `update scylla.${table} set owner = 'console_kind_keeper';`).join("")}
    create role console_kind_none login in role console_kind_keeper;
    ${kinds.map((kind) => `create role ${roleOf(kind)} login in role console_kind_keeper; select scylla.grant_role('${kind}', '${roleOf(kind)}');`).join("")}`);
  browser = await openBrowser();
});
after(async () => {
  await browser?.close();
  sql(database, [...kinds, "none", "keeper"].map((kind) => `drop owned by ${roleOf(kind)}; drop role ${roleOf(kind)};`).join(""));
});

const step = "step?workflow=nightly&instance=1&step=";
const pages = ["", "queue?name=mail", "queue?name=slow", "queue?name=mail&status=ready", "queue?name=mail&status=running", "queue?name=mail&status=aborted",
  "task?rn=mail-later", "task?rn=mail-running", "task?rn=mail-aborted", "plans", "plan?name=release", "plan?name=" + encodeURIComponent(`"><img src=x onerror=alert(1)>`),
  "workflows", "workflow?id=nightly", "workflow?id=odd", "template?type=base&version=default", "run?workflow=nightly&instance=1", "run?workflow=odd&instance=1&show=why,timeline,lineage",
  step + "extract", step + "load&iterations=2", "step?workflow=odd&instance=1&step=stopped", "schedules", "pools", "jobs", "conditions", "errors"];
// Parameters with which each look finds something.
const asked = { workflow: "nightly", instance: "1", step: "extract", loop: "each", rn: "mail-later", name: "mail", id: "nightly", type: "base", version: "default", queue: "mail" };

async function as(kind, work) {
  const one = await Console.start(database, ["-U", roleOf(kind)]);
  try {
    await work(one, await (await one.get("api/session")).json());
  } finally {
    assert.equal(await one.stop(), 0);
  }
}

let everything; // what a superuser sees and may do
test("a superuser sees and may do everything", async () => {
  const one = await Console.start(database);
  everything = (await (await one.get("api/session")).json()).powers;
  await one.stop();
  assert.ok(everything.sees.length > 20 && everything.may.length > 30);
  const readOnly = await Console.start(database, ["--read-only"]);
  assert.equal((await (await readOnly.get("api/session")).json()).read_only, true);
  await readOnly.stop();
});

for (const kind of ["none", ...kinds])
  test(`what the console tells a role of the kind ${kind} that it may do is what it may do`, () => as(kind, async (one, { powers }) => {
    for (const look of everything.sees) {
      const { status } = await one.get(`api/${look}?${new URLSearchParams(look === "iterations" ? { ...asked, run: "" } : asked)}`);
      assert.equal(status, powers.sees.includes(look) ? 200 : 403, look);
    }
    for (const change of everything.may) { // of nothing
      const { status } = await one.post("api/do/" + change, {});
      assert.equal(status === 403, !powers.may.includes(change), `${change}: ${status}`);
      assert.ok(status !== 500, change);
    }
    assert.equal((await one.get("api/doctor")).status, 200);
    assert.equal((await one.get("health")).status, 200);
    assert.ok([200, 403].includes((await one.get("metrics")).status));
    if (kind === "none") assert.deepEqual(powers, { sees: [], may: [] });
    if (kind === "reader" || kind === "console_reader") assert.deepEqual(powers.may, []);
    if (kind === "console_reader") assert.deepEqual(everything.sees.filter((look) => !powers.sees.includes(look)), ["server_workers"]);
    if (kind === "console_operator") assert.deepEqual(everything.may.filter((change) => !powers.may.includes(change)), []);
  }));

// Whose buttons are pressed: those of an author and an operator are among those of a console_operator, and take as long.
const presses = (kind) => process.env.SCYLLA_TEST_STRIDE === "1" || !["author", "operator"].includes(kind);

// Presses every button of the page, answers its question, and returns what it would have asked the server to do.
async function press(page) {
  const wanted = [];
  await page.route("**/api/do/*", async (route) => {
    const name = new URL(route.request().url()).pathname.split("/").at(-1);
    if (name.startsWith("preview_")) return route.continue();
    wanted.push([name, route.request().postDataJSON()]);
    return route.fulfill({ json: { done: 0, problems: [] } });
  });
  const buttons = page.locator("main button:not([type=submit]):not(form button)");
  for (let i = 0; i < await buttons.count(); i++) {
    const before = wanted.length;
    await buttons.nth(i).click();
    const yes = page.locator("#ask[open] button").first();
    await page.waitForFunction(() => document.getElementById("ask").open || document.getElementById("told").innerText !== "");
    if (await yes.count()) {
      if (await page.locator("#ask[open] input#given").count()) await page.fill("#given", "3");
      await yes.click();
    }
    await page.waitForFunction(() => !document.getElementById("ask").open && document.getElementById("told").innerText !== "");
    assert.ok(wanted.length > before || /nothing to/i.test(await page.innerText("#told")), await page.innerText("#told"));
    await page.evaluate(() => document.getElementById("told").replaceChildren());
  }
  await page.unroute("**/api/do/*");
  return wanted;
}

// Those with most buttons first: what they press is done.
for (const kind of [...kinds, "none"].reverse())
  test(`the pages of a role of the kind ${kind} have what it may see and do`, () => as(kind, async (one, { powers }) => {
    const page = await openPage(browser, { plain: true });
    const failed = [];
    page.on("response", (response) => response.status() >= 500 && failed.push(response.url()));
    await visit(page, one.address);
    const menu = await page.$$eval("#nav a", (links) => links.map((link) => link.getAttribute("href")));
    const wanted = new Map();
    let buttons = 0;
    for (const where of pages) {
      await visit(page, one.address + where);
      await page.waitForSelector("#nav a");
      const isInMenu = menu.includes(where === "" ? "./" : where);
      if (isInMenu) assert.ok(!/permission denied/.test(await page.innerText("main")), `${where}: ${await page.innerText("main")}`);
      for (const [name, body] of presses(kind) ? await press(page) : []) {
        buttons++;
        wanted.set(JSON.stringify([name, body]), [name, body]);
      }
    }
    // What is not in the menu cannot be seen.
    for (const [where, look] of [["plans", "plans"], ["workflows", "workflows"], ["schedules", "schedules"], ["pools", "pools"], ["jobs", "jobs"], ["conditions", "conditions"], ["errors", "errors"]])
      assert.equal(menu.includes(where), powers.sees.includes(look), where);
    assert.equal(await page.isVisible("#find"), powers.sees.includes("task"));
    if (kind === "none") assert.deepEqual(menu, ["./"]);
    for (const [name, body] of wanted.values()) {
      const answer = await one.post("api/do/" + name, body);
      assert.ok(answer.status !== 403 && answer.status !== 500, `${name} ${JSON.stringify(body)}: ${answer.status} ${await answer.text()}`);
    }
    if (kind === "console_operator") assert.ok(new Set([...wanted.values()].map(([name]) => name)).size > 20, [...wanted.keys()].join("\n"));
    if (powers.may.length === 0) assert.equal(buttons, 0);
    assert.deepEqual(failed, []);
    assert.deepEqual(page.wrong, []);
    await page.context().close();
  }));

test("without a privilege on what it sees, an operator has no buttons", async () => {
  sql(database, `create role console_kind_guest login; select scylla.grant_role('console_operator', 'console_kind_guest');
    select scylla.grant_queue('mail', 'console_kind_guest', 'view'); select scylla.grant_workflow('nightly', 'console_kind_guest', 'view');
    select scylla.grant_workflow('odd', 'console_kind_guest', 'view'); select scylla.grant_pool('cluster', 'console_kind_guest', 'use');
    select from scylla.submit('mail', '{}', rn => 'mail-for-guest')`);
  const one = await Console.start(database, ["-U", "console_kind_guest"]);
  const page = await openPage(browser, { plain: true });
  for (const where of pages) {
    await visit(page, one.address + where);
    assert.equal(await page.locator("main button:not([type=submit]):not(form button)").count(), 0, where);
  }
  await visit(page, one.address + "pools");
  await page.waitForSelector("main th >> text=cluster");
  // With one privilege it has the buttons of this one.
  sql(database, "select scylla.grant_queue('mail', 'console_kind_guest', 'submit'); select scylla.grant_workflow('odd', 'console_kind_guest', 'run')");
  await visit(page, one.address + "task?rn=mail-for-guest");
  await page.waitForSelector("main button >> text=Cancel");
  await visit(page, one.address + "queue?name=mail&status=running");
  await settled(page);
  assert.deepEqual(await page.locator("main button:not(form button)").allInnerTexts(), ["Cancel all of these"]);
  await visit(page, one.address + "workflow?id=odd");
  await page.waitForSelector("main button >> text=Set breakpoint");
  assert.equal(await page.locator("main button >> text=Activate").count(), 0);
  assert.deepEqual(page.wrong, []);
  await page.context().close();
  await one.stop();
  sql(database, `select scylla.revoke_queue('mail', 'console_kind_guest', p) from unnest('{view,submit}'::text[]) p;
    select scylla.revoke_workflow(w, 'console_kind_guest', p) from unnest('{nightly,odd}'::text[]) w, unnest('{view,run}'::text[]) p;
    select scylla.revoke_pool('cluster', 'console_kind_guest', 'use'); drop owned by console_kind_guest; drop role console_kind_guest`);
});
