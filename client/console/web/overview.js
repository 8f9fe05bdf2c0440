// The first page: queues, workers, the monitor, and the findings of doctor.
import { sees } from "./api.js";
import { h } from "./dom.js";
import { a, duration, facts, number, percent, otherPages, queue, rate, searchFor, table, task, time } from "./format.js";
import { spark } from "./graph.js";
import { curveOf, latest, rateOf } from "./live.js";

export const refused = (error) => h("p", { class: "bad" }, error.message);
// Draws an answer by the function, or the error, or that the answer is not there yet.
export const either = (answer, draw) => answer instanceof Error ? refused(answer) : answer === undefined ? h("p", { class: "faint" }, "Loading.") : draw(answer);

const count = (name, what, n) => (n ? a("queue", { name, status: what }, number(n)) : number(n));

const queues = (rows) =>
  table("Queues", [
    { name: "queue", of: (q) => [queue(q.queue), q.paused && h("span", { class: "note" }, " paused")] },
    { name: "waiting", number: true, of: (q) => count(q.queue, "waiting", q.waiting) },
    { name: "ready", number: true, of: (q) => count(q.queue, "ready", q.ready) },
    { name: "running", number: true, of: (q) => count(q.queue, "running", q.running) },
    { name: "oldest ready", number: true, of: (q) => duration(q.oldest) },
    { name: "submitted/s", number: true, of: (q) => rate(rateOf(q.queue, "submitted")) },
    { name: "completed/s", number: true, of: (q) => rate(rateOf(q.queue, "completed")) },
    { name: "failed/s", number: true, of: (q) => rate(rateOf(q.queue, "failed")) },
    { name: "lately", of: (q) => spark(curveOf(q.queue, "completed")) },
    { name: "p95 wait", number: true, of: (q) => duration(q.wait_p95) },
    { name: "p95 run", number: true, of: (q) => duration(q.run_p95) },
  ], rows, { key: (q) => q.queue, empty: "There is no queue yet, or none that this role may view." });

// A search, or a page of many queues, instead of the live numbers of the most urgent.
const isPart = (p) => Boolean(p.search || p.page);
const live = ({ queues: rows, total }, act) => [
  total > rows.length && [searchFor("", "queues", {}, act), h("p", { class: "note" }, `The ${number(rows.length)} most urgent of ${number(total)} queues, those whose tasks have been ready longest. `, a("", { page: "0" }, "All"))],
  queues(rows)];

const monitor = ({ monitor, sees_processes }) => [
  monitor
    ? facts([["process", sees_processes && (monitor.pid ?? "none now: one comes when something is due")], ["last round", time(monitor.last_round)], ["rounds", number(monitor.rounds)],
        ["made ready", number(monitor.opened)], ["expired leases", number(monitor.expired)], ["purged", number(monitor.purged)],
        ["errors", monitor.errors ? h("span", { class: "bad" }, number(monitor.errors), ": ", monitor.last_error, " ", time(monitor.last_error_time)) : "0"]])
    : h("p", { class: "faint" }, "It has not run yet, or the library is not preloaded."),
];

const serverWorkers = (rows) => rows.length > 0 && table("Server workers", [
    { name: "process", of: (w) => w.pid }, { name: "database", of: (w) => w.database }, { name: "role", of: (w) => w.role },
    { name: "state", of: (w) => w.state }, { name: "queue", of: (w) => (w.here ? queue(w.queue) : w.queue) },
    { name: "task", of: (w) => (w.here ? task(w.task) : w.task) }, { name: "job", of: (w) => w.job }, { name: "schedule", of: (w) => w.schedule }, { name: "since", of: (w) => time(w.since) },
  ], rows);

const findings = (rows) => {
  const problems = rows.filter((f) => f.level !== "ok");
  return problems.length
    ? h("ul", {}, problems.map((f) => h("li", {}, h("strong", { class: f.level === "problem" ? "bad" : "note" }, f.level), " ", f.what, f.advice && [h("br"), h("span", { class: "faint" }, f.advice)])))
    : h("p", { class: "good" }, "Nothing is wrong.");
};

export const overview = {
  title: () => "Overview",
  looks: (p) => ({ ...(isPart(p) && { part: ["queues", { search: p.search, page: p.page }] }), doctor: ["doctor"],
    ...Object.fromEntries(["workers", "monitor", "server_workers"].filter(sees).map((name) => [name, [name]])) }),
  beats: 5,
  live: true,
  parts: true,
  draw: (data, p, act) => [
    h("h2", {}, "Queues"),
    isPart(p) ? [searchFor("", "queues", p, act), either(data.part, (part) => [queues(part.rows), otherPages("", p, part, "queues")])]
      : latest() ? live(latest(), act) : h("p", { class: "faint" }, "Loading."),
    h("h2", {}, "What doctor finds"),
    either(data.doctor, findings),
    sees("workers") && [h("h2", {}, "Workers"),
    either(data.workers, (rows) => table("Workers", [
      { name: "worker", of: (w) => w.worker },
      { name: "queue", of: (w) => queue(w.queue) },
      { name: "tasks", number: true, of: (w) => a("queue", { name: w.queue, status: "running", worker: w.worker }, number(w.leases)) },
      { name: "last heartbeat", of: (w) => time(w.last_heartbeat) },
      { name: "deadline", of: (w) => time(w.next_deadline) },
      { name: "progress", of: (w) => percent(w.progress) },
    ], rows, { key: (w) => w.worker + "\n" + w.queue, empty: "No worker holds a task." }))],
    sees("monitor") && [h("h2", {}, "Monitor"), either(data.monitor, monitor), sees("server_workers") && data.server_workers && either(data.server_workers, serverWorkers)],
  ],
};
