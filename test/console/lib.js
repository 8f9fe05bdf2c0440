// What the tests of the console share: databases, consoles, a browser.
"use strict";
const assert = require("node:assert/strict");
const { execFileSync, spawn } = require("node:child_process");
const fs = require("node:fs");
const path = require("node:path");
const { chromium } = require("playwright-core");

const axe = fs.readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

function sql(database, text) {
  return execFileSync("psql", ["-XqAt", "-v", "ON_ERROR_STOP=1", "-d", database], { input: text, encoding: "utf8" }).trim();
}

function createDatabase(name, { data } = {}) {
  sql("postgres", `set client_min_messages = error; drop database if exists ${name}; create database ${name};`);
  sql(name, "create extension scylla");
  if (data) sql(name, fs.readFileSync(path.join(__dirname, "data.sql"), "utf8"));
}

// `scylla console` as a process of its own.
class Console {
  static async start(database, options = [], environment = {}) {
    const one = new Console();
    // However this process ends, also when it is killed, the console ends with it.
    one.process = spawn("setpriv", ["--pdeathsig", "KILL", "scylla", "-d", database, "console", "--listen", "127.0.0.1:0", ...(options.includes("--interval") ? [] : ["--interval", "200ms"]), ...options],
      { stdio: ["ignore", "pipe", "pipe"], env: { ...process.env, ...environment } });
    one.log = "";
    one.process.stderr.on("data", (text) => (one.log += text));
    one.ended = new Promise((resolve) => one.process.on("exit", (code) => resolve(code)));
    one.address = await new Promise((resolve, reject) => {
      let said = "";
      one.process.stdout.on("data", (text) => {
        said += text;
        const found = said.match(/http:\S+/);
        if (found) resolve(found[0]);
      });
      one.ended.then((code) => reject(new Error(`the console ended with ${code}: ${one.log}`)));
    });
    // After a test that failed before it has stopped the console, nothing waits for it.
    for (const each of [one.process, one.process.stdout, one.process.stderr]) each.unref();
    return one;
  }
  async stop() {
    this.process.ref();
    this.process.kill("SIGTERM");
    return this.ended;
  }
  // What it writes arrives a little after what it answers.
  async logs(pattern) {
    const until = Date.now() + 30000;
    while (!pattern.test(this.log) && Date.now() < until) await new Promise((resolve) => setTimeout(resolve, 20));
    assert.match(this.log, pattern);
  }
  get(where, headers = {}) {
    return fetch(this.address + where, { headers });
  }
  async token() {
    return (await (await this.get("api/session")).json()).token;
  }
  async post(where, body, headers = {}) {
    return fetch(this.address + where, {
      method: "POST", body: JSON.stringify(body),
      headers: { "Content-Type": "application/json", "X-Scylla-Token": await this.token(), ...headers },
    });
  }
}

const openBrowser = () =>
  chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"] });

// A page, and what was wrong with it: errors of scripts, what its security policy stopped, scripts that ran. A plain one has no checker
// of accessibility.
async function openPage(browser, { plain, ...options } = {}) {
  const context = await browser.newContext({ viewport: { width: 1200, height: 800 }, reducedMotion: "reduce", ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(30000);
  page.wrong = [];
  page.on("pageerror", (error) => page.wrong.push(error.message));
  page.on("console", (message) => {
    if (message.type() === "error" && !/Failed to load resource/.test(message.text())) page.wrong.push(message.text());
  });
  page.on("dialog", async (dialog) => {
    page.wrong.push("a script ran: " + dialog.message());
    await dialog.dismiss();
  });
  if (!plain) await page.addInitScript(axe); // it takes longer than the console
  return page;
}

async function visit(page, address) {
  await page.goto(address);
  await settled(page);
}
const settled = (page) => page.waitForSelector("main:not([aria-busy]) h1");

// What an accessibility checker finds, if it is serious.
async function barriers(page) {
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
  return violations.filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).slice(0, 3).join(" ")}`);
}

module.exports = { Console, barriers, createDatabase, openBrowser, openPage, settled, sql, visit };
