// Schedules, pools, job types, conditions with signals and triggers, errors.
import { sees } from "./api.js";
import { h } from "./dom.js";
import { a, duration, further, number, otherPages, plan, plural, queue, searchFor, short, status, table, task, time } from "./format.js";
import { graph } from "./graph.js";
import { either } from "./overview.js";

const runsNow = (made) => made.missing ? "There is no such schedule any more."
  : made.rn ? `Task ${made.rn} was submitted.` : made.plan ? `Plan ${made.plan} runs it.` : `Instance ${made.instance} of workflow ${made.workflow} was started.`;

export const schedulesPage = {
  title: () => "Schedules",
  looks: ({ search, page }) => ({ schedules: ["schedules", { search, page }] }),
  json: ({ search, page }) => ["schedules", { search, page }],
  beats: 5,
  draw: ({ schedules }, p, act) => either(schedules, ({ rows, total }) => [(total > rows.length || p.search) && searchFor("schedules", "schedules", p, act), table("Schedules", [
    { name: "schedule", of: (s) => s.name },
    { name: "planned times", of: (s) => [s.cron, s.timezone !== "UTC" && " " + s.timezone] },
    { name: "submits to", of: (s) => (s.workflow ? ["workflow ", a("workflow", { id: s.workflow }, s.workflow)] : s.job ? "job " + s.job : s.is_plan ? "a plan" : queue(s.queue)) },
    { name: "next", of: (s) => (s.armed ? time(s.next_run) : h("span", { class: "bad" }, "not armed in this database")) },
    { name: "and then", of: (s) => time(s.next_but_one) },
    { name: "last", of: (s) => time(s.last_run) },
    { name: "last task", of: (s) => (s.is_plan || s.job ? plan(s.last_task) : task(s.last_task)) },
    { name: "runs", number: true, of: (s) => number(s.runs) },
    { name: "skipped", number: true, of: (s) => h("span", { title: s.skip_reason }, number(s.skipped)) },
    { name: "missed", number: true, of: (s) => number(s.missed) },
    { name: "error", of: (s) => s.last_error && h("span", { class: "bad" }, s.last_error) },
    { name: "owner", of: (s) => s.owner },
    act.may("run_schedule") && { name: "change", of: (s) => act.button("Run now", "run_schedule", { schedule: s.name }, runsNow,
      { question: `Run schedule "${s.name}" now?`, text: "What it does at a planned time is done now, as the role of this console. Its planned times stay as they are." }) },
  ].filter(Boolean), rows, { key: (s) => s.name, empty: p.search ? "No schedule matches." : "There is no schedule, or none of this role." }), otherPages("schedules", p, { rows, total }, "schedules")]),
};

const amounts = (of) => (of ? Object.entries(of).map(([name, n]) => `${name} ${n}`).join(", ") : null);

export const poolsPage = {
  title: () => "Pools",
  looks: () => ({ all: ["pools"], ...(sees("line") && { line: ["line"] }) }),
  parts: true,
  json: () => ["pools"],
  beats: ({ all }) => 2 + Math.floor((all?.pools ?? []).reduce((sum, pool) => sum + pool.waiting, 0) / 10000), // the server sorts the line
  draw: ({ all, line }, _, act) => either(all, ({ pools, held }) => [
    table("Pools", [
      { name: "pool", of: (p) => [p.pool, p.drained && h("span", { class: "note" }, " drained"), p.stale && h("span", { class: "bad" }, " its report is too old")] },
      { name: "capacity", of: (p) => amounts(p.capacity) },
      { name: "held", of: (p) => amounts(p.reserved) },
      { name: "reported", of: (p) => [amounts(p.reported), " ", time(p.reported_at)] },
      { name: "free", of: (p) => amounts(p.free) },
      { name: "in line", number: true, of: (p) => number(p.waiting) },
      { name: "placed", number: true, of: (p) => number(p.placed) },
      { name: "policy", of: (p) => p.policy },
      act.may("drain_pool", "resume_pool") && { name: "change", of: (p) => p.may_change && !p.pool.startsWith("workflow:") && (p.drained
        ? act.button("Resume", "resume_pool", { pool: p.pool }, () => "Pool resumed.")
        : act.button("Drain", "drain_pool", { pool: p.pool }, () => "Pool drained.", { question: `Drain pool "${p.pool}"?`, text: "Nothing is placed in it until it is resumed." })) },
    ].filter(Boolean), pools, { key: (p) => p.pool, empty: "There is no pool, or none of this role." }),
    sees("line") && [h("h2", {}, "In line"), either(line, (tasks) => table("Tasks in line", Object.keys(tasks[0] ?? {}).map((name) => ({ name: name.replaceAll("_", " "), of: (l) => cell(name, l[name]) })), tasks, { empty: "No task waits for a pool." }))],
    h("h2", {}, "Held"),
    table("What tasks hold", [
      { name: "task", of: (r) => task(r.rn) }, { name: "pool", of: (r) => r.pool }, { name: "queue", of: (r) => queue(r.queue) },
      { name: "amounts", of: (r) => amounts(r.amounts) }, { name: "since", of: (r) => time(r.since) }, { name: "ends", of: (r) => time(r.ends) },
    ], held, { empty: "No task holds anything." }),
  ]),
};

function cell(name, value) {
  if (name === "rn") return task(value);
  if (name === "queue") return queue(value);
  if (typeof value === "string" && /^\d{4}-\d\d-\d\dT/.test(value)) return time(value);
  return typeof value === "object" ? short(value) : String(value);
}

// A graph of job types: a job is to the right of the jobs that it needs. Its colour shows whether it was ever brought up to date.
function jobGraph(jobs, fresh) {
  const newest = (name) => fresh.filter((f) => f.job === name).map((f) => f.newest).sort().at(-1);
  const nodes = jobs.map(({ name, needs }) => ({ rn: name, status: newest(name) ? "completed" : "waiting", attempt: 1, age: ageOf(newest(name)),
    depends_on: (Array.isArray(needs) ? needs : []).map((need) => need.job) }));
  return graph(nodes, { href: (node) => "#job " + node.rn, title: (node) => `${node.rn}: ${node.age}`, text: (node) => `${node.rn}, ${node.age}`, label: "Graph of the jobs" });
}
const ageOf = (text) => (text ? duration((Date.now() - new Date(text).getTime()) / 1000) + " old" : "never");

export const jobsPage = {
  title: () => "Job types",
  looks: ({ before }) => ({ all: ["jobs", { before }] }),
  json: ({ before }) => ["jobs", { before }],
  beats: 4,
  draw: ({ all }, p) => either(all, ({ jobs, fresh, runs }) => [
    table("Job types", [
      { name: "job", of: (j) => h("span", { id: "job " + j.name }, j.name) },
      { name: "queue", of: (j) => queue(j.queue) },
      { name: "needs", of: (j) => (Array.isArray(j.needs) ? j.needs.map((need) => need.job ?? short(need)).join(", ") : short(j.needs)) },
      { name: "oldest success", of: (j) => fresh.filter((f) => f.job === j.name).map((f) => h("div", {}, f.variant && f.variant + ": ", time(f.oldest))) },
      { name: "newest success", of: (j) => fresh.filter((f) => f.job === j.name).map((f) => h("div", {}, time(f.newest))) },
      { name: "owner", of: (j) => j.owner },
      { name: "defined", of: (j) => time(j.changed) },
    ], jobs, { key: (j) => j.name, empty: "There is no job type, or none of this role." }),
    jobs.length > 0 && jobs.length <= 300 && [h("h2", {}, "Needs"), jobGraph(jobs, fresh)],
    h("h2", {}, "Runs"),
    table("Runs", [
      { name: "plan", of: (r) => plan(r.plan) }, { name: "job", of: (r) => r.job }, { name: "variant", of: (r) => r.variant }, { name: "ids", of: (r) => short(r.ids) },
      { name: "status", of: (r) => status(r.status) }, { name: "tasks", number: true, of: (r) => number(r.tasks) }, { name: "asked for", of: (r) => time(r.resolved) },
      { name: "ended", of: (r) => time(r.finished) }, { name: "waits for", of: (r) => [...(r.overdue ? [h("div", { class: "bad" }, "for too long")] : []), ...(r.waits_for ?? []).map((name) => h("div", {}, plan(name)))] },
    ], runs, { key: (r) => r.plan, empty: "No job has run." }),
    further("jobs", p, runs, 50),
  ]),
};

export const conditionsPage = {
  title: () => "Conditions",
  looks: ({ before, signals_before }) => ({ all: ["conditions", { before, signals_before }] }),
  json: ({ before, signals_before }) => ["conditions", { before, signals_before }],
  beats: 2,
  draw: ({ all }, p, act) => either(all, ({ conditions, signals, triggers, failures }) => [
    table("Conditions", [
      { name: "condition", of: (c) => c.name }, { name: "kind", of: (c) => c.kind }, { name: "status", of: (c) => status(c.status) }, { name: "match", of: (c) => short(c.match) },
      { name: "waiting tasks", number: true, of: (c) => number(c.waiters) }, { name: "created", of: (c) => time(c.created) }, { name: "expires", of: (c) => time(c.expires) }, { name: "ended", of: (c) => time(c.ended) },
    ], conditions, { key: (c) => "condition " + c.seq, empty: "Nothing waits for a callback, a signal or a check." }),
    further("conditions", p, conditions, 100),
    h("h2", {}, "Triggers"),
    table("Triggers", [
      { name: "trigger", of: (t) => [t.name, t.paused && h("span", { class: "note" }, " paused")] }, { name: "signals", of: (t) => short(t.signals) }, { name: "action", of: (t) => short(t.action) },
      { name: "waiting signals", number: true, of: (t) => number(t.waiting) }, { name: "failing sets", number: true, of: (t) => number(t.failing) }, { name: "fired", number: true, of: (t) => number(t.fired) },
      { name: "last fired", of: (t) => time(t.last_fired) }, { name: "error", of: (t) => t.last_error && h("span", { class: "bad" }, t.last_error) },
      act.may("pause_trigger", "resume_trigger") && { name: "change", of: (t) => t.paused
        ? act.button("Resume", "resume_trigger", { trigger: t.name }, () => "Trigger resumed.")
        : act.button("Pause", "pause_trigger", { trigger: t.name }, () => "Trigger paused.", { question: `Pause trigger "${t.name}"?`, text: "It collects signals and carries out no action." }) },
    ].filter(Boolean), triggers, { key: (t) => t.name, empty: "There is no trigger, or none of this role." }),
    failures.length > 0 && [h("h2", {}, "Actions that failed"), table("Actions that failed", [
      { name: "trigger", of: (f) => f.trigger }, { name: "signals", of: (f) => f.seqs.join(", ") }, { name: "attempts", number: true, of: (f) => number(f.attempts) }, { name: "error", of: (f) => f.error },
      { name: "since", of: (f) => time(f.failed) }, { name: "again", of: (f) => time(f.retry_at) },
    ], failures)],
    h("h2", {}, "Latest signals"),
    table("Signals", [
      { name: "signal", of: (s) => s.name }, { name: "number", number: true, of: (s) => s.seq }, { name: "sent", of: (s) => time(s.sent) }, { name: "by", of: (s) => s.sender },
      { name: "params", of: (s) => short(s.params) }, { name: "payload", of: (s) => short(s.payload) },
    ], signals, { key: (s) => "signal " + s.seq, empty: "There is no signal, or none that this role may wait for." }),
    further("conditions", p, signals, 100, { name: "signals_before" }),
  ]),
};

export const errorsPage = {
  title: () => "Errors",
  looks: () => ({ errors: ["errors"] }),
  json: () => ["errors"],
  beats: 5,
  draw: ({ errors }) => either(errors, (rows) => [
    h("p", { class: "faint" }, "Aborted tasks that were not resubmitted, by queue, error code and message: the newest 1,000."),
    table("Errors", [
      { name: "error", of: (e) => e.code ?? "none" },
      { name: "queue", of: (e) => queue(e.queue) },
      { name: "tasks", number: true, of: (e) => a("queue", { name: e.queue, status: "aborted", code: e.code }, plural(e.tasks, "task")) },
      { name: "message", of: (e) => short(e.message) },
      { name: "newest", of: (e) => e.newest.map((rn) => h("div", {}, task(rn))) },
      { name: "last", of: (e) => time(e.last) },
      { name: "first", of: (e) => time(e.first) },
    ], rows, { key: (e) => [e.queue, e.code, e.message].join("\n"), empty: "No task was aborted." }),
  ]),
};
