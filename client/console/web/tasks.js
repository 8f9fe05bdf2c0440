// The page of a queue with its tasks, and that of one task.
import { change, sees } from "./api.js";
import { h } from "./dom.js";
import { a, duration, facts, json, link, logLink, number, percent, plan, plural, queue, rate, short, status, table, task, time } from "./format.js";
import { latest, rateOf } from "./live.js";
import { either } from "./overview.js";

const statuses = ["waiting", "ready", "running", "completed", "aborted", "cancelled"];

export const tasksTable = (rows, withQueue = false) =>
  table("Tasks", [
    { name: "task", of: (t) => task(t.rn) },
    withQueue && { name: "queue", of: (t) => queue(t.queue) },
    { name: "status", of: (t) => status(t.status) },
    { name: "priority", number: true, of: (t) => t.priority },
    { name: "key", of: (t) => t.key },
    { name: "attempt", number: true, of: (t) => t.attempt },
    { name: "failures", number: true, of: (t) => t.failures },
    { name: "error", of: (t) => t.code },
    { name: "worker", of: (t) => t.owner },
    { name: "progress", of: (t) => (t.status === "running" ? percent(t.progress) : null) },
    { name: "changed", of: (t) => time(t.updated) },
    { name: "submitted", of: (t) => time(t.created) },
  ].filter(Boolean), rows, { key: (t) => t.rn, empty: "No task matches." });

const settingNames = ["paused", "default_timeout", "max_running", "max_running_per_key", "rate", "rate_per_key", "max_depth", "on_full", "max_attempts",
  "retry", "retention", "retention_completed", "retention_aborted", "retention_cancelled", "aging", "key_weights", "events", "notify", "handler",
  "run_timeout", "pending"];

const settings = ({ settings, grants }) => [
  settings && facts([["created", time(settings.created)],
    ...settingNames.filter((name) => settings[name] !== null && settings[name] !== false).map((name) => [name, short(settings[name]) ?? String(settings[name])])]),
  grants.length > 0 && facts(grants.map((grant) => [grant.privilege, grant.role])),
];

// The filter in the address, in the form that the server expects.
const filterOf = (p) => ({
  queue: p.name, status: p.status || null, worker: p.worker || null, key: p.key || null, code: p.code || null,
  created_after: p.created_after || null, created_before: p.created_before || null, ...(p.spec ? { spec: JSON.parse(p.spec) } : {}),
});

// A time in the form of a datetime-local field, in the reader's time zone.
const forField = (text) => {
  const when = new Date(text);
  return Number.isNaN(when.getTime()) ? "" : new Date(when - when.getTimezoneOffset() * 60000).toISOString().slice(0, 16);
};

function filters(p, act) {
  const times = ["created_after", "created_before"];
  const submit = (event) => {
    event.preventDefault();
    const given = Object.fromEntries(new FormData(event.target));
    for (const name of times) given[name] = given[name] && new Date(given[name]).toISOString();
    act.go(link("queue", { ...p, ...given, after: "", before: "" }));
  };
  const field = (name, label, more) => h("label", {}, label, h("input", { name, value: p[name] ?? "", autocomplete: "off", ...more }));
  const moment = (name, label) => field(name, label, { type: "datetime-local", value: p[name] ? forField(p[name]) : "" });
  return h("form", { class: "row", onsubmit: submit, "aria-label": "Filter the tasks", "data-key": "filter " + JSON.stringify(p) },
    field("key", "key"), field("worker", p.status ? "worker" : "worker (running tasks)"), field("code", "error code"),
    field("spec", "spec contains (JSON)", { placeholder: '{"to": "ada@example.org"}' }),
    moment("created_after", "submitted after"), moment("created_before", "submitted before"), h("button", {}, "Filter"));
}

// The address has the cursors of the pages before this one, so that a shared link also leads back.
function pages(p, next) {
  const before = p.before ? p.before.split("~") : [];
  const back = { ...p, after: before.at(-1) === "-" ? "" : before.at(-1), before: before.slice(0, -1).join("~") };
  const on = { ...p, after: next, before: [...before, p.after || "-"].slice(-30).join("~") };
  return h("p", { class: "row" }, before.length > 0 && a("queue", back, "Previous"), next && a("queue", on, "Next"));
}

// Whether the privileges on a queue include this one.
const includes = (privileges, one) => [one, "admin", "owner"].some((name) => privileges?.includes(name));

const pauseButton = (q, act) =>
  q.paused
    ? act.button("Resume", "resume_queue", { queue: q.queue }, () => "Queue resumed.")
    : act.button("Pause", "pause_queue", { queue: q.queue }, () => "Queue paused.", { question: `Pause queue "${q.queue}"?`, text: "None of its tasks can be leased until it is resumed. Running tasks continue." });

// A button that acts on all tasks that match the filter, in portions.
function actOnAll(p, act, { label, verb, name, done, question, grave }) {
  const preview = async () => {
    const { count, first, more } = await change("preview_" + name, { filter: filterOf(p) });
    if (!count && !more) throw new Error(`There is nothing to ${verb}.`);
    return `${more ? number(count) + " or more tasks" : plural(count, "task")}${first.length ? ", for example " + first.join(", ") : ""}. Leaving the page stops it; what is ${done} by then stays so.`;
  };
  let count = 0;
  const problems = [];
  const portions = async (answer) => {
    const page = location.href;
    for (count = answer.done, problems.splice(0, Infinity, ...answer.problems); answer.next && location.href === page; ) {
      act.tell(`${plural(count, "task")} ${done} so far.`);
      answer = await change(name + "_all", { filter: filterOf(p), after: answer.next });
      count += answer.done;
      problems.push(...answer.problems);
    }
    return `${plural(count, "task")} ${done}.` + (answer.next ? " More are left." : "") +
      (problems.length ? ` Not ${done}: ${plural(problems.length, "task")}, ${problems.slice(0, 3).map((t) => `${t.rn}: ${t.problem}`).join(" ")}` : "");
  };
  return act.button(label, name + "_all", () => ({ filter: filterOf(p) }), portions, { question, text: preview, grave });
}

const cancelAll = (p, act) => actOnAll(p, act, { label: "Cancel all of these", verb: "cancel", name: "cancel", done: "cancelled",
  question: `Cancel all ${p.status} tasks like these?`, grave: true });
const yieldAll = (p, act) => actOnAll(p, act, { label: "Take all of these back", verb: "take back", name: "yield", done: "taken back",
  question: "Take all running tasks like these from their workers?" });

const resubmitAll = (p, act) => actOnAll(p, act, { label: "Retry all as copies", verb: "resubmit", name: "resubmit", done: "resubmitted",
  question: `Submit copies of all ${p.status} tasks like these?` });

const tasksOf = ({ name, status, worker, key, code, spec, created_after, created_before, after }) =>
  ({ queue: name, status, worker, key, code, spec, created_after, created_before, after });

const size = 50; // of a page
const [first, further] = [10000, 50000]; // rows that a look reads at most, whether they match or not; ten of other queues count as one

// A look may find less than a page has, though there is more: the queue's tasks, or those that match, may be older than many others.
const lookOn = (p) => (answer) => answer.next && answer.tasks.length < size && {
  of: { ...tasksOf(p), after: answer.next, limit: size - answer.tasks.length, max_looks: further },
  join: ({ tasks, next }) => ({ tasks: [...answer.tasks, ...tasks], next, looked: lookedAt(answer) + further }),
};
const lookedAt = (answer) => answer?.looked ?? first;

const liveNumbers = (p) => latest()?.queues.find((q) => q.queue === p.name);

export const queuePage = {
  title: ({ name }) => "Queue " + name,
  looks: (p) => ({ queue: ["queue", { name: p.name }], tasks: ["tasks", tasksOf(p), lookOn(p)],
    ...(latest() && !liveNumbers(p) && sees("queues") && { numbers: ["queues", { name: p.name }] }) }), // the most urgent are live
  json: (p) => ["tasks", { ...tasksOf(p), limit: 1000 }],
  beats: ({ tasks }) => 2 * Math.ceil(lookedAt(tasks) / first),
  draw: (data, p, act) => {
    const numbers = liveNumbers(p) ?? data.numbers?.rows?.[0];
    const known = data.queue?.settings; // neither in an error nor in an answer that is not there yet
    const tab = (name, text) =>
      h("li", {}, h("a", { href: link("queue", { ...p, status: name, after: "", before: "" }), "aria-current": (p.status ?? "") === name && "true" }, text));
    return [
      data.queue && !known && !(data.queue instanceof Error) && h("p", { class: "note" }, "There is no such queue, or this role may not view it."),
      numbers && facts([["ready", [number(numbers.ready), numbers.oldest !== null && ", the oldest for " + duration(numbers.oldest)]],
        ["completed/s", rate(rateOf(p.name, "completed"))], ["p95 wait, run", [duration(numbers.wait_p95), ", ", duration(numbers.run_p95)]]]),
      known && includes(data.queue.may, "admin") && h("div", { class: "row" }, pauseButton(known, act)),
      h("h2", {}, "Tasks"),
      h("ul", { class: "tabs" }, tab("", "all"), statuses.map((name) => tab(name, name + (numbers && numbers[name] !== undefined && ["waiting", "ready", "running"].includes(name) ? " " + number(numbers[name]) : "")))),
      filters(p, act),
      ["completed", "aborted", "cancelled"].includes(p.status) && h("div", { class: "row" }, includes(data.queue?.may, "submit") && resubmitAll(p, act)),
      ["waiting", "ready", "running"].includes(p.status) && h("div", { class: "row" },
        includes(data.queue?.may, "submit") && cancelAll(p, act), p.status === "running" && includes(data.queue?.may, "work") && yieldAll(p, act)),
      either(data.tasks, ({ tasks, next }) => [tasksTable(tasks),
        lookOn(p)(data.tasks) ? h("p", { class: "note" }, `Looking on: at least ${number(lookedAt(data.tasks))} tasks so far.`) : pages(p, next)]),
      known && h("h2", {}, "Settings"),
      either(data.queue, settings),
    ];
  },
};

// ---- one task ---------------------------------------------------------------------------------------------------------------

const events = { TaskAssignment: "leased by", TaskTimeout: "lease expired of", TaskYield: "given back by", TaskRetry: "failed at", TaskDefer: "deferred by" };

// The errors of failed attempts, by their place in the history, and that of the end: from the last one backwards, up to what was left out.
function errorsOfHistory(t) {
  const errors = t.errors.filter((e) => e.code !== "elided");
  const failed = t.history.flatMap((e, at) => (e._typ === "TaskRetry" || e._typ === "HistoryElided" ? [at] : []));
  const isWhole = errors.length === t.errors.length && !t.history.some((e) => e._typ === "HistoryElided");
  const end = t.status === "aborted" || (isWhole && errors.length > failed.length) ? errors.pop() : undefined;
  const of = new Map();
  for (const at of failed.reverse()) {
    if (t.history[at]._typ === "HistoryElided") break;
    of.set(at, errors.pop());
  }
  return { of, end };
}
const inShort = (error) => error && [": ", h("strong", {}, error.code), error.message && " " + error.message];

function timeline(t) {
  const { of, end } = errorsOfHistory(t);
  const lines = [[t.created, "submitted"]];
  t.history.forEach((e, at) => {
    if (e._typ === "HistoryElided") lines.push([null, plural(e.count, "entry", "entries") + " left out"]);
    else lines.push([e.time, [`${events[e._typ] ?? e._typ} ${e.worker ?? ""}${e.attempt ? ", attempt " + e.attempt : ""}`, inShort(of.get(at))]]);
  });
  if (["completed", "aborted", "cancelled"].includes(t.status)) lines.push([t.updated, [t.status, inShort(end)]]);
  return h("ol", { class: "times" }, lines.map(([when, what]) => h("li", {}, time(when), " ", what)));
}

const errorList = (errors) =>
  h("ol", {}, errors.map((e) => h("li", {}, h("strong", {}, e.code), e.message && ": ", e.message, e.args && Object.keys(e.args).length > 0 && json(e.args, "arguments of the error"),
    logLink(e), e.details && h("details", {}, h("summary", {}, "details"), h("pre", {}, typeof e.details === "string" ? e.details : JSON.stringify(e.details, null, 2))))));

const waits = (rows) => table("What it waits for", [
  { name: "waits for", of: (w) => w.waits_for }, { name: "why", of: (w) => w.detail }, { name: "since", of: (w) => time(w.since) }, { name: "until", of: (w) => time(w.until) },
], rows);

function buttons({ task: t, copy }, act) {
  const ended = ["completed", "aborted", "cancelled"].includes(t.status);
  return h("div", { class: "row" },
    !ended && act.button("Cancel", "cancel", { rn: t.rn }, () => "Task cancelled.", { question: `Cancel task "${t.rn}"?`, grave: true, text: t.status === "running" ? "Its worker notices at its next heartbeat." : null }),
    ["waiting"].includes(t.status) && t.not_before && act.button("Run now", "run_now", { rn: t.rn }, () => "Task is ready.", { question: `Make task "${t.rn}" ready now?` }),
    !ended && act.button("Change priority", "priority", (given) => ({ rn: t.rn, priority: given }), (answer) => `Its priority is ${answer.priority}.`,
      { question: `Change the priority of task "${t.rn}"?`, text: "Higher ones are leased first.",
        field: { label: "Priority", value: String(t.priority), read: (text) => (/^\s*[-+]?\d+\s*$/.test(text) ? Number(text) : null), wrong: "This is not a whole number." } }),
    ended && !copy && act.button("Retry as a copy", "resubmit", { rn: t.rn }, (answer) => `Resubmitted as ${answer.rn}.`, { question: `Submit a copy of task "${t.rn}"?` }));
}

export const taskPage = {
  title: ({ rn }) => "Task " + rn,
  looks: ({ rn }) => ({ all: ["task", { rn }] }),
  json: ({ rn }) => ["task", { rn }],
  beats: 1,
  draw: ({ all }, p, act) => either(all, ({ task: t, waits: rows, copy, copy_of }) => [
    includes(all.may, "submit") && buttons(all, act),
    facts([["status", status(t.status)], ["queue", queue(t.queue)], ["plan", plan(t.plan)], ["key", t.key], ["priority", String(t.priority)],
      ["worker", t.owner], ["progress", t.status === "running" && percent(t.progress)], ["deadline", time(t.deadline)],
      ["not before", time(t.not_before)], ["attempt", String(t.attempt)], ["failures", t.failures + (t.max_attempts ? " of " + t.max_attempts : "")],
      ["pool", t.pool], ["answers", t.answers ? [number(t.answers), ", ", time(t.answered)] : null], ["resubmitted as", task(copy)], ["copy of", task(copy_of)]]),
    rows.length > 0 && [h("h2", {}, "Why it does not run"), waits(rows)],
    t.errors.length > 0 && [h("h2", {}, "Errors"), errorList(t.errors)],
    h("h2", {}, "History"), timeline(t),
    h("h2", {}, "Spec"), json(t.spec, "Spec"),
    t.args?.length > 0 && [h("h2", {}, "Args"), json(t.args, "Args")],
    t.state && [h("h2", {}, "State"), json(t.state, "State")],
    h("h2", {}, "Result"), json(t.result, "Result"),
    t.metrics && [h("h2", {}, "Metrics"), json(t.metrics, "Metrics")],
  ]),
};
