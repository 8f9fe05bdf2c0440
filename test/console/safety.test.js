// Who may ask the console, and for what; what machines ask.
"use strict";
const assert = require("node:assert/strict");
const { spawn, spawnSync } = require("node:child_process");
const fs = require("node:fs");
const http = require("node:http");
const net = require("node:net");
const path = require("node:path");
const { after, before, test } = require("node:test");
const zlib = require("node:zlib");
const { Console, createDatabase, openBrowser, openPage, sql, visit } = require("./lib.js");

let one;
before(async () => {
  createDatabase("console_safety");
  sql("console_safety", "select from scylla.submit('mail', '1', rn => 'a'); select from scylla.create_queue('<b>q</b>')");
  one = await Console.start("console_safety", ["--allow-host", "Console.Example.org"]);
});
after(() => one?.stop());

// fetch() does not send the headers that a browser decides about.
function ask(address, { method = "GET", where = "", headers = {}, body } = {}) {
  return new Promise((resolve, reject) => {
    const request = http.request(new URL(where, address), { method, headers }, (response) => {
      let text = "";
      response.on("data", (part) => (text += part));
      response.on("end", () => resolve({ status: response.statusCode, headers: response.headers, text }));
    });
    request.on("error", reject);
    request.end(body);
  });
}
const status = () => sql("console_safety", "select status from scylla.get_task('a')");

test("a change without its token is refused", async () => {
  const send = (headers, body = '{"rn": "a"}') => ask(one.address, { method: "POST", where: "api/do/cancel", headers: { "Content-Type": "application/json", ...headers }, body });
  const token = await one.token();
  assert.match(token, /^[0-9a-f]{32}$/);
  assert.equal((await send({})).status, 403);
  assert.equal((await send({ "X-Scylla-Token": "" })).status, 403);
  assert.equal((await send({ "X-Scylla-Token": token.slice(1) })).status, 403);
  assert.equal((await send({ "X-Scylla-Token": token.replace(/^./, (c) => (c === "0" ? "1" : "0")) })).status, 403);
  assert.equal((await send({ "X-Scylla-Token": token, Origin: "http://evil.example" })).status, 403);
  assert.equal((await send({ "X-Scylla-Token": token, Origin: "http://127.0.0.1:1" })).status, 403);
  assert.equal((await send({ "X-Scylla-Token": token, "Sec-Fetch-Site": "cross-site" })).status, 403);
  assert.equal((await send({ "X-Scylla-Token": token, "Content-Type": "text/plain" })).status, 400);
  assert.equal((await send({ "X-Scylla-Token": token }, "{")).status, 400);
  assert.equal((await send({ "X-Scylla-Token": token }, '"' + "x".repeat(100000) + '"')).status, 413);
  assert.equal((await ask(one.address, { where: "api/do/cancel?rn=a", headers: { "X-Scylla-Token": token } })).status, 404, "and a GET changes nothing");
  // It is the same for every change that there is.
  const changes = [...fs.readFileSync(path.join(__dirname, "../../client/console/looks.cpp"), "utf8").split("change k_changes[]")[1].matchAll(/\{"(\w+)"/g)].map(([, name]) => name);
  assert.ok(changes.length > 30 && changes.includes("cancel_all") && changes.includes("restart_run"));
  for (const name of changes)
    assert.equal((await ask(one.address, { method: "POST", where: "api/do/" + name, headers: { "Content-Type": "application/json" }, body: "{}" })).status, 403, name);
  assert.equal(status(), "ready");
  await one.logs(/cancel refused/);
  assert.equal((await send({ "X-Scylla-Token": token, Origin: new URL(one.address).origin, "Sec-Fetch-Site": "same-origin" })).status, 200);
  assert.equal(status(), "cancelled");
});

// What a client that is slow on purpose sends. It takes no thread, and all others are answered meanwhile.
const beginnings = [
  "", "G", "GET / HTTP/1.1\r\n", "GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n", "GET / HTTP/1.1\nHost: x\n\n", "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + "y".repeat(4000),
  "POST /api/do/cancel HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 20\r\n\r\n{",
];
// Sockets that say the beginning of a request and nothing more; `ended` counts those that the console has given up.
async function slowClients(address, count) {
  const slow = { sockets: [], ended: 0, said: "" };
  for (let i = 0; i < count; i++) {
    const socket = net.connect(new URL(address).port, "127.0.0.1");
    slow.sockets.push(socket);
    socket.on("data", (text) => (slow.said += text));
    socket.on("error", () => {});
    socket.on("close", () => slow.ended++);
    await new Promise((resolve) => socket.once("connect", resolve).once("error", resolve));
    socket.write(beginnings[i % beginnings.length]);
  }
  return slow;
}

test("slow clients keep nobody waiting", async () => {
  for (const password of [null, "secret"]) {
    const two = await Console.start("console_safety", [], password ? { SCYLLA_CONSOLE_PASSWORD: password } : {});
    const headers = password ? { Authorization: "Basic " + btoa("x:" + password) } : {};
    const slow = await slowClients(two.address, 600);
    try {
      const answers = await Promise.all(["", "api/session", "api/queues", "health", "metrics", "health"].map((where) => ask(two.address, { where, headers })));
      // An answer that came after them would find all 600 ended.
      assert.ok(slow.ended < 300, `${slow.ended} of the slow clients were served first`);
      assert.deepEqual(answers.map(({ status }) => status), [200, 200, 200, 200, 200, 200]);
      if (password) continue;
      // They are given up in the end, and say why.
      while (slow.ended < 600) await new Promise((resolve) => setTimeout(resolve, 50));
      assert.equal(slow.said.match(/HTTP\/1.1 408 /g).length, 600);
    } finally {
      for (const socket of slow.sockets) socket.destroy();
      assert.equal(await two.stop(), 0);
    }
  }
});

test("of too many slow clients the oldest are given up", async () => {
  const slow = await slowClients(one.address, 1100);
  try {
    assert.equal((await ask(one.address)).status, 200);
    while (slow.ended < 100) await new Promise((resolve) => setTimeout(resolve, 20));
    assert.equal((await ask(one.address, { where: "health" })).status, 200);
  } finally {
    for (const socket of slow.sockets) socket.destroy();
  }
});

// No thread waits for what the head promises.
test("requests that cannot be served keep nobody waiting", async () => {
  const head = "POST /api/do/cancel HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n";
  const refused = [
    ["Content-Length: 999999999999\r\n\r\n{", "413"], ["Content-Length: 99999999999999999999\r\n\r\n", "400"], ["Content-Length: -5\r\n\r\n{", "400"],
    ["Content-Length: 5x\r\n\r\n{", "400"], ["Expect: 100-continue\r\nContent-Length: 100\r\n\r\n", "417"], ["X: y\r\n".repeat(20000), "431"],
    ["Transfer-Encoding: chunked\r\n\r\n5\r\nab", "411"],
  ];
  for (const [rest, status] of refused) {
    const said = await Promise.all(Array.from({ length: 100 }, () => new Promise((resolve) => {
      const socket = net.connect(new URL(one.address).port, "127.0.0.1", () => socket.write(head + rest));
      let answer = "";
      socket.on("data", (text) => { answer += text; if (answer.includes("\r\n\r\n")) socket.destroy(); });
      socket.on("error", () => {});
      socket.on("close", () => resolve(answer.slice(9, 12)));
    })));
    assert.deepEqual(new Set(said), new Set([status]), rest.slice(0, 40));
    assert.equal((await ask(one.address)).status, 200);
  }
});

test("wrong passwords keep nobody waiting", async () => {
  const two = await Console.start("console_safety", [], { SCYLLA_CONSOLE_PASSWORD: "secret" });
  try {
    const wrong = Array.from({ length: 300 }, () => ask(two.address, { headers: { Authorization: "Basic " + btoa("x:wrong") } }));
    const answers = await Promise.all(Array.from({ length: 20 }, () => ask(two.address, { headers: { Authorization: "Basic " + btoa("x:secret") } })));
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]));
    const refused = (await Promise.all(wrong)).map(({ status }) => status);
    assert.ok(refused.every((status) => status === 401 || status === 429), String(refused));
    assert.ok(refused.includes(401) && refused.includes(429));
  } finally {
    await two.stop();
  }
});

test("requests may come in parts, and several in a row", async () => {
  const socket = net.connect(new URL(one.address).port, "127.0.0.1");
  let said = "";
  socket.on("data", (text) => (said += text));
  for (const c of "GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n") {
    socket.write(c);
    await new Promise((resolve) => setImmediate(resolve));
  }
  await new Promise((resolve) => socket.once("close", resolve));
  assert.match(said, /^HTTP\/1.1 200 OK[^]*Connection: close[^]*ok\n$/);
  assert.equal((await ask(one.address, { method: "POST", where: "api/do/cancel", headers: { "Transfer-Encoding": "chunked" }, body: "{}" })).status, 411);
});

test("a page of somebody else cannot act, and not read the token", async () => {
  const elsewhere = http.createServer((_, response) => response.setHeader("Content-Type", "text/html").end("<!doctype html><p>elsewhere"));
  await new Promise((resolve) => elsewhere.listen(0, "127.0.0.1", resolve));
  const browser = await openBrowser();
  try {
    const page = await openPage(browser);
    await page.goto(`http://127.0.0.1:${elsewhere.address().port}/`);
    const tried = await page.evaluate(async (address) => {
      const attempt = (where, options) => fetch(address + where, options).then(() => "answered", () => "stopped");
      return {
        read: await attempt("api/session"),
        act: await attempt("api/do/pause_queue", { method: "POST", headers: { "Content-Type": "application/json" }, body: '{"queue": "mail"}' }),
        blind: await attempt("api/do/pause_queue", { method: "POST", mode: "no-cors", body: '{"queue": "mail"}' }),
      };
    }, one.address);
    assert.deepEqual([tried.read, tried.act], ["stopped", "stopped"]);
    assert.equal(sql("console_safety", "select paused from scylla.queue_settings where queue = 'mail'"), "f");
    // The policy of our own pages: what a name could smuggle in would not run.
    await visit(page, one.address);
    const stopped = await page.evaluate(() => {
      const script = document.createElement("script");
      let why = "ran";
      try { script.textContent = "document.title = 'ran'"; } catch { why = "no text becomes a script"; }
      try { document.body.innerHTML = "<p>"; why += ", elements"; } catch { why += ", nor elements"; }
      return why;
    });
    assert.equal(stopped, "no text becomes a script, nor elements");
  } finally {
    await browser.close();
    elsewhere.close();
  }
});

test("names that are not the console's are refused", async () => {
  const under = async (host, where = "") => (await ask(one.address, { where, headers: { Host: host } })).status;
  assert.equal(await under("evil.example"), 421);
  assert.equal(await under("evil.example", "api/session"), 421);
  assert.equal(await under("127.0.0.1.evil.example"), 421);
  assert.equal(await under("localhost:8450"), 200);
  assert.equal(await under("console.example.ORG"), 200);
  assert.equal(await under("[::1]:8450"), 200);
});

test("behind a proxy, in a folder of its site", async () => {
  const proxy = http.createServer((request, response) => {
    if (!request.url.startsWith("/tasks/")) return response.writeHead(404).end();
    const on = http.request(new URL(request.url.slice("/tasks/".length), one.address), { method: request.method, headers: request.headers }, (answer) => {
      response.writeHead(answer.statusCode, answer.headers);
      answer.pipe(response);
    });
    on.on("error", () => response.destroy());
    response.on("close", () => on.destroy());
    request.pipe(on);
  });
  await new Promise((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  const browser = await openBrowser();
  try {
    const page = await openPage(browser);
    await visit(page, `http://127.0.0.1:${proxy.address().port}/tasks/`);
    await page.waitForSelector("main th >> text=mail"); // which comes live
    await page.click("main th a >> text=mail");
    await page.waitForSelector("h1 >> text=Queue mail");
    assert.match(page.url(), /\/tasks\/queue\?name=mail$/);
    await page.click("main button >> text=Pause");
    await page.click("dialog button >> text=Pause");
    await page.click("main button >> text=Resume");
    await page.waitForSelector("#told >> text=Queue resumed.");
    await page.reload();
    await page.click("nav >> text=Overview");
    await page.waitForSelector("h1 >> text=Overview");
    assert.match(page.url(), /\/tasks\/$/);
    assert.deepEqual(page.wrong, []);
  } finally {
    await browser.close();
    proxy.closeAllConnections();
    proxy.close();
  }
});

test("headers, of pages and of answers", async () => {
  for (const where of ["", "app.js", "api/session", "nothing"]) {
    const { headers } = await ask(one.address, { where });
    assert.match(headers["content-security-policy"], /^default-src 'none'; script-src 'self';.*frame-ancestors 'none'; require-trusted-types-for 'script'/, where);
    assert.equal(headers["x-content-type-options"], "nosniff");
    assert.equal(headers["access-control-allow-origin"], undefined);
  }
  assert.equal((await ask(one.address, { where: "api/session" })).headers["cache-control"], "no-store");
  const { headers } = await ask(one.address, { where: "app.js" });
  assert.equal((await ask(one.address, { where: "app.js", headers: { "If-None-Match": headers.etag } })).status, 304);
});

// fetch would decompress.
function bytes(where, accepted, method = "GET") {
  return new Promise((resolve, reject) => http.request(one.address + where, { method, headers: { "Accept-Encoding": accepted } }, (answer) => {
    const parts = [];
    answer.on("data", (part) => parts.push(part));
    answer.on("end", () => resolve({ coding: answer.headers["content-encoding"], length: Number(answer.headers["content-length"]), body: Buffer.concat(parts) }));
  }).on("error", reject).end());
}

test("answers are compressed by gzip for those who take it", async () => {
  for (const where of ["app.js", "style.css", "", "metrics"]) {
    const plain = await bytes(where, "identity");
    assert.equal(plain.coding, undefined, where);
    assert.equal(plain.length, plain.body.length, where);
    const packed = await bytes(where, "br, gzip");
    assert.equal(packed.coding, "gzip", where);
    assert.equal(packed.length, packed.body.length, where);
    assert.ok(packed.length < plain.length, where);
    if (where !== "metrics") assert.deepEqual(zlib.gunzipSync(packed.body), plain.body, where);
    assert.match(zlib.gunzipSync(packed.body).toString(), where === "metrics" ? /^pgscylla_/m : /./, where);
    for (const refusing of ["br", "gzip;q=0, br", "gzip ; q=0.00", "x-gzip", ","]) assert.equal((await bytes(where, refusing)).coding, undefined, refusing);
    for (const taking of ["gzip;q=0.5", " deflate ,gzip"]) assert.equal((await bytes(where, taking)).coding, "gzip", taking);
    assert.equal((await bytes(where, "gzip", "HEAD")).body.length, 0, where);
  }
});

test("parameters that are no text, and that say what they should not", async () => {
  const code = async (where) => (await ask(one.address, { where: "api/" + where })).status;
  assert.equal(await code("task?rn=%00"), 400);
  assert.equal(await code("task?rn=%ff"), 400);
  assert.equal(await code("task?rn=" + encodeURIComponent("'; drop schema scylla cascade; --")), 404);
  assert.equal(await code("tasks?queue=mail&limit=many"), 400);
  assert.equal(await code("tasks?queue=mail&status=odd"), 400);
  assert.equal(await code("task?rn=" + "x".repeat(201)), 400);
});

test("read-only: it shows, and changes nothing", async () => {
  const reader = await Console.start("console_safety", ["--read-only"]);
  sql("console_safety", "select from scylla.submit('mail', '1', rn => 'b')");
  assert.equal((await reader.post("api/do/cancel", { rn: "b" })).status, 403);
  assert.equal((await reader.post("api/do/cancel", { rn: "b" }, { "X-Scylla-Token": await one.token() })).status, 403);
  const browser = await openBrowser();
  try {
    const page = await openPage(browser);
    sql("console_safety", `select scylla.schedule('yearly', '0 0 1 1 *', 'mail', '1');
      select scylla.create_workflow('{"properties": {"owner": "ann"}, "workflow": {"id": "w", "steps": [{"step": {"id": "only", "type": "NoOp"}}]}}');
      select from scylla.set_breakpoint('w', 'only'), scylla.start_workflow('w');`);
    for (const where of ["task?rn=b", "schedules", "workflow?id=w", "run?workflow=w&instance=1", "step?workflow=w&instance=1&step=only"]) {
      await visit(page, reader.address + where);
      assert.equal(await page.locator("main button").count(), 0, where);
    }
    for (const [name, body] of [["run_schedule", { schedule: "yearly" }], ["start_workflow", { workflow: "w" }], ["drop_breakpoint", { workflow: "w", step: "only" }]])
      assert.equal((await reader.post("api/do/" + name, body)).status, 403, name);
    assert.match(await page.innerText("#where"), /read-only/);
  } finally {
    await browser.close();
  }
  assert.equal(sql("console_safety", "select status from scylla.get_task('b')"), "ready");
  await reader.stop();
});

test("a password", async () => {
  const asker = await Console.start("console_safety", [], { SCYLLA_CONSOLE_PASSWORD: "söm:e thing" });
  const basic = (text) => ({ Authorization: "Basic " + Buffer.from(text).toString("base64") });
  const code = async (where, headers = {}) => (await ask(asker.address, { where, headers })).status;
  const refused = await ask(asker.address, {});
  assert.equal(refused.status, 401);
  assert.match(refused.headers["www-authenticate"], /^Basic /);
  for (const where of ["app.js", "api/session", "api/live", "metrics"]) assert.equal(await code(where), 401, where);
  assert.equal(await code("", basic("any:wrong")), 401);
  assert.equal(await code("", basic("söm:e thing")), 401);
  assert.equal(await code("", basic("any:")), 401);
  assert.equal(await code("", { Authorization: "Bearer x" }), 401);
  assert.equal(await code("", basic("any:söm:e thing")), 200);
  assert.equal(await code("health"), 200, "a load balancer needs none");
  await asker.stop();
  const file = path.join(process.cwd(), "password");
  fs.writeFileSync(file, "from file\nmore");
  const other = await Console.start("console_safety", ["--password-file", file]);
  assert.equal((await ask(other.address, { headers: basic("x:from file") })).status, 200);
  await other.stop();
});

test("what is refused at the start", () => {
  const run = (...options) => {
    const { status, stderr } = spawnSync("scylla", ["-d", "console_safety", "console", ...options], { encoding: "utf8", env: { ...process.env, SCYLLA_CONSOLE_PASSWORD: undefined }, timeout: 10000 });
    return [status, stderr.split("\n")[0]];
  };
  assert.deepEqual(run("--listen", "0.0.0.0:0"), [2, "scylla: others could reach 0.0.0.0:0 and change tasks"]);
  assert.deepEqual(run("--listen", "[::]:0"), [2, "scylla: others could reach [::]:0 and change tasks"]);
  assert.deepEqual(run("--listen", "8450"), [2, 'scylla: "8450" is no address to listen on']);
  assert.deepEqual(run("--listen", "127.0.0.1:70000"), [2, 'scylla: "127.0.0.1:70000" is no address to listen on']);
  assert.deepEqual(run("--password-file", "/dev/null"), [2, "scylla: the password of the console is empty"]);
  const taken = run("--listen", new URL(one.address).host);
  assert.deepEqual(taken, [1, `scylla: cannot listen on 127.0.0.1 port ${new URL(one.address).port}: Address already in use`]);
});

test("health and metrics", async () => {
  assert.deepEqual([(await ask(one.address, { where: "health" })).status, (await ask(one.address, { where: "health" })).text], [200, "ok\n"]);
  const { headers, text } = await ask(one.address, { where: "metrics" });
  assert.match(headers["content-type"], /^application\/openmetrics-text/);
  assert.match(text, /pgscylla_tasks\{queue="mail",state="ready"\} 1/);
  assert.match(text, /# EOF\n$/);
});

test("ten listeners get what one query has found", async () => {
  const listening = new AbortController();
  const listen = async () => {
    const response = await fetch(one.address + "api/live", { signal: listening.signal });
    const times = new Set();
    let text = "";
    for await (const part of response.body) {
      text += Buffer.from(part).toString();
      for (const [, time] of text.matchAll(/"time" : ([\d.]+)/g)) times.add(time);
      if (times.size >= 6) return times;
    }
  };
  const seen = await Promise.all(Array.from({ length: 10 }, listen));
  listening.abort();
  // A listener that came later has seen one more at the end: a query for each of them would have been 60.
  const all = new Set(seen.flatMap((times) => [...times]));
  assert.ok(all.size >= 6 && all.size <= 40, `${all.size} queries for ten listeners that have got 6 answers each`);
});

test("SIGTERM ends it, also while pages listen", async () => {
  const other = await Console.start("console_safety");
  const listening = await fetch(other.address + "api/live");
  await listening.body.getReader().read();
  const began = Date.now();
  assert.equal(await other.stop(), 0);
  assert.ok(Date.now() - began < 30000);
});

test("a console ends with the test that has started it, also when that is killed", async () => {
  const starter = spawn(process.execPath, ["-e", `require(${JSON.stringify(path.join(__dirname, "lib.js"))}).Console.start("console_safety")
    .then((one) => { console.log(one.process.pid); setInterval(() => {}, 1000); })`], { stdio: ["ignore", "pipe", "inherit"] });
  const pid = Number(await new Promise((resolve) => starter.stdout.once("data", resolve)));
  assert.ok(fs.readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("console"));
  starter.kill("SIGKILL");
  // It may stay as a zombie for as long as nobody waits for it.
  const runs = () => fs.existsSync(`/proc/${pid}/stat`) && !/\) Z /.test(fs.readFileSync(`/proc/${pid}/stat`, "latin1"));
  const until = Date.now() + 10000;
  while (runs() && Date.now() < until) await new Promise((resolve) => setTimeout(resolve, 20));
  const left = runs();
  if (left) process.kill(pid, "SIGKILL");
  assert.equal(left, false);
});
