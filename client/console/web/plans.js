// The page of plans, and that of one plan: its graph with live status, and a chart of its tasks.
import { h } from "./dom.js";
import { a, duration, facts, further, json, link, number, percent, plan, plural, queue, status, table, task, time } from "./format.js";
import { gantt, graph, isFallen } from "./graph.js";
import { either } from "./overview.js";

const most = 300; // maximum number of tasks in a graph
const first = 50; // number of rows that a table has until the reader asks for all
const shown = 1000; // number of tasks that are shown of a larger plan
const counts = ["waiting", "ready", "running", "completed", "aborted", "cancelled"];

const list = (rows) => table("Plans", [
  { name: "plan", of: (p) => plan(p.name) },
  { name: "status", of: (p) => status(p.status) },
  { name: "progress", of: (p) => percent(p.progress) },
  ...counts.map((name) => ({ name, number: true, of: (p) => number(p[name]) })),
  { name: "created", of: (p) => time(p.created) },
  { name: "ended", of: (p) => time(p.finished) },
  { name: "owner", of: (p) => p.owner },
], rows, { key: (p) => p.name, empty: "There is no plan, or none of this role." });

export const plansPage = {
  title: () => "Plans",
  looks: ({ before, status: wanted }) => ({ plans: ["plans", { before, status: wanted }] }),
  json: ({ before, status: wanted }) => ["plans", { before, status: wanted }],
  beats: 3,
  draw: ({ plans }, p) => [
    h("ul", { class: "tabs" }, ["", "building", "running", "completed", "failed", "cancelled"].map((name) =>
      h("li", {}, h("a", { href: link("plans", { status: name }), "aria-current": (p.status ?? "") === name && "true" }, name || "all")))),
    either(plans, (rows) => [list(rows), further("plans", p, rows, 100)])],
};

function buttons(p, act) {
  const ended = p.finished !== null;
  return h("div", { class: "row" },
    p.status === "building" && act.button("Open", "open_plan", { plan: p.name }, () => "Plan opened.", { question: `Open plan "${p.name}"?`, text: "Its tasks can then be leased." }),
    !ended && act.button("Cancel", "cancel_plan", { plan: p.name }, ({ count }) => plural(count, "task") + " cancelled.", { question: `Cancel plan "${p.name}"?`, text: "All of its tasks that have not ended are cancelled.", grave: true }),
    ended && p.status !== "completed" && act.button("Run the failed part again", "rerun_plan", { plan: p.name, only_failed: true }, (answer) => `Plan ${answer.plan} runs it.`, { question: `Run the failed part of plan "${p.name}" again?`, text: "It becomes a plan of its own." }),
    ended && act.button("Run all of it again", "rerun_plan", { plan: p.name }, (answer) => `Plan ${answer.plan} runs it.`, { question: `Run plan "${p.name}" again?`, text: "Copies of all its tasks become a plan of its own." }));
}

// Order: failed tasks, tasks that never ran because of them, running tasks, and the others.
const urgencies = { aborted: 0, running: 1, ready: 2, waiting: 3, cancelled: 4, completed: 5 };
const urgency = (t) => urgencies[t.status] + (isFallen(t) ? 0.5 : 0);

const tasks = (rows) => table("Tasks", [
  { name: "task", of: (t) => task(t.rn) },
  { name: "queue", of: (t) => queue(t.queue) },
  { name: "status", of: (t) => status(t.status) },
  { name: "progress", of: (t) => (t.status === "running" ? percent(t.progress) : null) },
  { name: "worker", of: (t) => t.owner },
  { name: "attempt", number: true, of: (t) => t.attempt },
  { name: "changed", of: (t) => time(t.updated) },
], rows, { key: (t) => t.rn, empty: "It has no task that this role may view." });

// What has run, from the histories of the tasks, as scylla.plan_timeline() has it.
const endings = { TaskTimeout: "expired", TaskYield: "yielded", TaskRetry: "failed" };
const attemptsOf = (rows) => rows.flatMap((t) => t.history.flatMap((run, at) => {
  if (run._typ !== "TaskAssignment") return [];
  const next = t.history[at + 1], early = endings[next?._typ], last = ["completed", "aborted", "cancelled"].includes(t.status) ? t.updated : null;
  return { rn: t.rn, owner: run.worker, attempt: run.attempt, started: run.time, ended: early ? next.time : last, status: early ?? t.status };
})).sort((x, y) => new Date(x.started) - new Date(y.started));

const attempts = (rows) => table("Attempts", [
  { name: "task", of: (t) => task(t.rn) },
  { name: "worker", of: (t) => t.owner },
  { name: "attempt", number: true, of: (t) => t.attempt },
  { name: "began", of: (t) => time(t.started) },
  { name: "took", number: true, of: (t) => duration(((t.ended ? new Date(t.ended) : new Date()) - new Date(t.started)) / 1000) },
  { name: "ended", of: (t) => t.status },
], rows, { key: (t) => t.rn + "\n" + t.attempt, empty: "Nothing has run yet." });

const byUrgency = (rows) => [...rows].sort((x, y) => urgency(x) - urgency(y));

// The first rows, and a link to the page with all.
const some = (p, rows, draw) => (p.show === "all" || rows.length <= first ? draw(rows)
  : [draw(rows.slice(0, first)), h("p", {}, `The first ${first} of ${number(rows.length)}. `, a("plan", { ...p, show: "all" }, "Show all"))]);

const times = (p, rows) => gantt({ started: p.opened, ended: p.finished }, rows.map((t) => ({ ...t, name: t.rn + (t.attempt > 1 ? " " + t.attempt : ""), kind: t.status })),
  { label: "Times of the attempts", also: (n) => `Times of ${plural(n, "attempt")}, also in the list of attempts` });

export const planPage = {
  title: ({ name }) => "Plan " + name,
  looks: ({ name, show }) => ({ all: ["plan", { name, whole: show }] }),
  json: ({ name }) => ["plan", { name, whole: "all" }],
  beats: ({ all }) => 1 + Math.floor((all?.tasks?.length ?? 0) / 100), // a large one is asked for less often
  draw: ({ all }, asked, act) => either(all, ({ plan: p, tasks: rows, result }) => !p ? h("p", { class: "note" }, "There is no such plan, or none of this role.") : [
    buttons(p, act),
    facts([["status", status(p.status)], ["progress", percent(p.progress)], ["tasks", counts.filter((name) => p[name]).map((name) => `${name} ${p[name]}`).join(", ")],
      ["created", time(p.created)], ["opened", time(p.opened)], ["ended", time(p.finished)], ["owner", p.owner]]),
    h("h2", {}, "Graph"),
    rows.length === 0 ? h("p", { class: "faint" }, "It has no task that this role may view.")
      : rows.length <= most ? graph(rows) : h("p", { class: "note" }, `The plan has more than ${most} tasks: too many for a graph.`),
    h("h2", {}, "Tasks"), some(asked, byUrgency(rows), tasks),
    h("h2", {}, "Times"), times(p, attemptsOf(rows)),
    h("h2", {}, "Attempts"), some(asked, attemptsOf(rows), attempts),
    p.spec && [h("h2", {}, "Spec"), json(p.spec, "Spec")],
    result ? [h("h2", {}, "Result"), json(result, "Result")]
      : rows.length === shown && p.completed > 0 && asked.show !== "all" && [h("h2", {}, "Result"), h("p", {}, a("plan", { ...asked, show: "all" }, `Show the results of more than ${number(shown)} tasks`))],
  ]),
};
