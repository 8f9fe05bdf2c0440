// Workflows, their runs, and the steps of a run: graph, times, and a tree with the iterations of loops folded.
import { h } from "./dom.js";
import { a, duration, facts, json, link, number, plan, plural, short, table, task, time } from "./format.js";
import { graph } from "./graph.js";
import { either } from "./overview.js";

const runStatuses = ["CREATED", "IN_PROGRESS", "SUCCEEDED", "FAILED", "STOPPED", "TIMED_OUT"];

// What colour a status has: that of a task with such a fate.
const kinds = [[/SUCCEEDED|COMPLETED_WITH_ERROR|SKIPPED/, "completed"], [/FAILED|TIMED_OUT/, "aborted"], [/STOPPED|UNSATISFIED|DISABLED/, "cancelled"],
  [/RUNNING|IN_PROGRESS|STARTING|FINISHING|EVALUATING/, "running"]];
export const kindOf = (name) => kinds.find(([pattern]) => pattern.test(name))?.[1] ?? "waiting";
const state = (name) => (name ? h("span", { class: "status " + kindOf(name) }, name) : h("span", { class: "faint" }, "not begun"));

const workflow = (id) => a("workflow", { id }, id);
const runName = (r) => `${r.instance}${r.run > 1 ? " run " + r.run : ""}`;
const run = (r, text) => a("run", { workflow: r.workflow, instance: r.instance, run: r.run }, text ?? runName(r));
const seconds = (row) => (row.started ? ((row.ended ? new Date(row.ended) : new Date()) - new Date(row.started)) / 1000 : null);
const initiator = (by) => (by ? [by.type, ...Object.entries(by).filter(([name]) => name !== "type").map(([, value]) => short(value))].filter(Boolean).join(" ") : null);

export const workflowsPage = {
  title: () => "Workflows",
  looks: () => ({ workflows: ["workflows"] }),
  json: () => ["workflows"],
  beats: 3,
  draw: ({ workflows }) => either(workflows, (rows) => table("Workflows", [
    { name: "workflow", of: (w) => workflow(w.id) },
    { name: "active version", number: true, of: (w) => w.active_version ?? h("span", { class: "note" }, "none") },
    { name: "versions", number: true, of: (w) => number(w.latest_version) },
    { name: "last run", of: (w) => w.last && [run({ ...w.last, workflow: w.id }), " ", state(w.last.status)] },
    { name: "began", of: (w) => w.last && time(w.last.started) },
    { name: "runs at once", of: (w) => [w.strategy, " ", w.strategy === "PARALLEL" && number(w.concurrency)] },
    { name: "next start", of: (w) => time(w.next_start) },
    { name: "changed", of: (w) => time(w.modified) },
    { name: "owner", of: (w) => w.owner },
  ], rows, { key: (w) => w.id, empty: "There is no workflow, or none of this role." })),
};

const runs = (rows, act) => table("Runs", [
  { name: "instance", of: (r) => run(r) },
  { name: "status", of: (r) => state(r.status) },
  { name: "version", number: true, of: (r) => r.version },
  { name: "started by", of: (r) => initiator(r.initiator) },
  { name: "asked for", of: (r) => time(r.created) },
  { name: "began", of: (r) => time(r.started) },
  { name: "took", number: true, of: (r) => duration(seconds(r)) },
  act.may && { name: "change", of: (r) => !r.ended && stopButton(r, act) },
].filter(Boolean), rows, { key: (r) => r.instance + "/" + r.run, empty: "No run is like that." });

const stopButton = (r, act) => act.button("Stop", "stop_run", { workflow: r.workflow, instance: r.instance }, () => "Run stopped.",
  { question: `Stop instance ${r.instance} of workflow "${r.workflow}"?`, text: "Its steps that run are stopped, and their tasks cancelled.", grave: true });
const killButton = (r, act) => act.button("Kill", "kill_run", { workflow: r.workflow, instance: r.instance }, () => "Run killed.",
  { question: `Kill instance ${r.instance} of workflow "${r.workflow}"?`, text: "It fails, and its tasks are cancelled.", grave: true });

const restartButtons = (r, act) => [["Restart", "RESTART_FROM_INCOMPLETE", "What is complete stays; all else runs again, with the same parameters."],
  ["Restart from the beginning", "RESTART_FROM_BEGINNING", "All steps run again, with the same parameters."]].map(([name, policy, text]) =>
  act.button(name, "restart_run", { workflow: r.workflow, instance: r.instance, policy }, (made) => `Run ${made.run}: ${made.status}.`,
    { question: `${name} instance ${r.instance} of workflow "${r.workflow}"?`, text }));

export const workflowPage = {
  title: ({ id }) => "Workflow " + id,
  looks: ({ id, status: wanted, before }) => ({ all: ["workflow", { id, status: wanted, before }] }),
  json: ({ id, status: wanted, before }) => ["workflow", { id, status: wanted, before }],
  beats: 2,
  draw: ({ all }, p, act) => either(all, ({ workflow: w, versions, runs: rows }) => !w
    ? h("p", { class: "note" }, "There is no such workflow, or this role may not see it.")
    : [
      h("div", { class: "row" }, w.active_version && act.button("Start", "start_workflow", { workflow: w.id }, (r) => `Instance ${r.instance}: ${r.status}.`,
        { question: `Start workflow "${w.id}"?`, text: `Version ${w.active_version}, with its own parameters.` })),
      facts([["active version", w.active_version ?? "none"], ["runs at once", `${w.strategy} ${w.concurrency}`], ["next start", time(w.next_start)],
        ["answers for it", w.properties?.owner], ["tags", w.properties?.tags?.join?.(", ")], ["description", w.properties?.description], ["owner", w.owner]]),
      h("h2", {}, "Runs"),
      h("ul", { class: "tabs" }, ["", ...runStatuses].map((name) =>
        h("li", {}, h("a", { href: link("workflow", { id: p.id, status: name }), "aria-current": (p.status ?? "") === name && "true" }, name || "all")))),
      runs(rows, act),
      h("p", { class: "row" }, p.before && a("workflow", { id: p.id, status: p.status }, "Newest"),
        rows.length === 50 && a("workflow", { ...p, before: rows.at(-1).instance }, "Next")),
      h("h2", {}, "Versions"),
      table("Versions", [
        { name: "version", of: (v) => String(v.version) }, { name: "", of: (v) => v.is_active && "active" },
        { name: "created", of: (v) => time(v.created) }, { name: "by", of: (v) => v.author },
        act.may && { name: "change", of: (v) => !v.is_active && act.button("Activate", "activate_workflow", { workflow: w.id, version: v.version },
          () => `Version ${v.version} is active.`, { question: `Run version ${v.version} of "${w.id}" from now on?` }) },
      ].filter(Boolean), versions, { key: (v) => String(v.version) }),
    ]),
};

// ---- one run ----------------------------------------------------------------------------------------------------------------

// The steps of a definition: [{id, kind, type, steps, successors}].
function stepsOf(definition) {
  return (definition?.steps ?? []).map((step) => {
    const [kind, content] = Object.entries(step)[0];
    return { id: content.id, kind, type: content.type ?? kind, steps: stepsOf(content), successors: Object.keys(content.transition?.successors ?? {}) };
  });
}

const urgencies = ["aborted", "running", "waiting", "cancelled", "completed"];
const byUrgency = (x, y) => urgencies.indexOf(kindOf(x.status)) - urgencies.indexOf(kindOf(y.status));
const stepLink = (r, s, text) => a("step", { workflow: r.workflow, instance: r.instance, run: r.run, step: s.step, iterations: s.iterations?.join(",") }, text ?? s.step);

function runGraph(r, steps, states) {
  const nodes = steps.map(({ id, type }) => ({ rn: id, queue: type, status: kindOf(states.get(id)?.status ?? ""), attempt: 1, says: states.get(id)?.status ?? "not begun",
    depends_on: steps.filter((one) => one.successors.includes(id)).map((one) => one.id) }));
  return graph(nodes, { href: (node) => link("step", { workflow: r.workflow, instance: r.instance, run: r.run, step: node.rn }),
    title: (node) => `${node.rn}: ${node.says}, ${node.queue}`, label: "Graph of the steps" });
}

// When each step ran, from the beginning of the run to its end or now.
function gantt(r, rows) {
  const ran = rows.filter((s) => s.started).sort((x, y) => new Date(x.started) - new Date(y.started)).slice(0, 100);
  if (!ran.length) return h("p", { class: "faint" }, "Nothing has run yet.");
  const from = new Date(r.started ?? ran[0].started).getTime(), until = r.ended ? new Date(r.ended).getTime() : Date.now();
  const width = 700, left = 200, line = 24, scale = width / Math.max(until - from, 1);
  const x = (moment) => left + Math.max(0, new Date(moment).getTime() - from) * scale;
  const name = (s) => s.step + (s.iterations ? " " + s.iterations.join(".") : "");
  const cut = (text) => (text.length > 26 ? text.slice(0, 25) + "…" : text);
  return h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Times of the steps" },
    h("svg", { class: "gantt", width: left + width + 80, height: ran.length * line + 8, role: "img", "aria-label": `Times of ${plural(ran.length, "step")}, also in the tree of steps` },
      ran.map((s, i) => h("g", { class: kindOf(s.status), "data-key": name(s) },
        h("title", {}, `${name(s)}: ${s.status}, ${duration(seconds(s))}`),
        h("text", { x: 4, y: i * line + 20 }, cut(name(s))),
        h("rect", { x: x(s.started), y: i * line + 6, width: Math.max(2, x(s.ended ?? new Date()) - x(s.started)), height: line - 8, rx: 3 }),
        h("text", { x: x(s.ended ?? new Date()) + 5, y: i * line + 20 }, duration(seconds(s)))))));
}

const stepLine = (r, s, type) => [state(s?.status), " ", s ? stepLink(r, s, s.step + (s.iterations ? " " + s.iterations.join(".") : "")) : null,
  type && h("span", { class: "faint" }, " " + type), s?.attempt > 1 && ` attempt ${s.attempt}`, s?.started && [", ", duration(seconds(s))],
  s?.error && h("span", { class: "bad" }, " " + (s.error.description || s.error.code || short(s.error)))];

// What is in a loop, folded: how many of each status, then some of them, failed ones first.
function loopSteps(r, step, data) {
  return step.steps.map((inner) => {
    const counts = data.loops.filter((one) => one.step === inner.id);
    const some = data.inner.filter((s) => s.step === inner.id).sort(byUrgency);
    const total = counts.reduce((sum, one) => sum + one.count, 0);
    return h("li", { "data-key": inner.id }, h("details", { open: counts.some((one) => kindOf(one.status) === "aborted") },
      h("summary", {}, inner.id, h("span", { class: "faint" }, ` ${inner.type}, ${plural(total, "iteration")}: `),
        counts.sort(byUrgency).map((one) => [state(one.status), " " + number(one.count) + " "])),
      h("ul", { class: "plain" }, some.map((s) => h("li", { "data-key": s.iterations.join(".") }, stepLine(r, s)))),
      some.length < total && h("p", { class: "faint" }, `${number(total - some.length)} more are not shown; failed ones come first.`),
      inner.steps.length > 0 && h("ul", {}, loopSteps(r, inner, data))));
  });
}

const tree = (r, steps, states, data) => h("ul", { class: "tree" }, steps.map((step) => h("li", { "data-key": step.id },
  states.get(step.id) ? stepLine(r, states.get(step.id), step.type) : [state(null), " ", step.id, h("span", { class: "faint" }, " " + step.type)],
  step.steps.length > 0 && h("ul", {}, loopSteps(r, step, data)))));

const nameOfRun = (p) => ({ workflow: p.workflow, instance: p.instance, run: p.run });

export const runPage = {
  title: (p) => `Workflow ${p.workflow}, instance ${p.instance}${Number(p.run) > 1 ? ", run " + p.run : ""}`,
  looks: (p) => ({ all: ["run", nameOfRun(p)] }),
  json: (p) => ["run", nameOfRun(p)],
  beats: 1,
  draw: ({ all }, p, act) => either(all, (data) => {
    const r = data.run;
    if (!r) return h("p", { class: "note" }, "There is no such run, or this role may not see it.");
    const steps = stepsOf(data.definition);
    const states = new Map(data.steps.map((s) => [s.step, s]));
    return [
      h("div", { class: "row" }, !r.ended && [stopButton(r, act), killButton(r, act)],
        r.ended && data.last && restartButtons(r, act),
        r.ended && data.active && act.button("Start another", "start_workflow", { workflow: r.workflow }, (made) => `Instance ${made.instance}: ${made.status}.`,
          { question: `Start workflow "${r.workflow}"?`, text: "A new instance of the active version, with its own parameters." })),
      facts([["status", state(r.status)], ["workflow", workflow(r.workflow)], ["version", String(r.version)], ["started by", initiator(r.initiator)], ["asked for", time(r.created)],
        ["began", time(r.started)], ["ended", time(r.ended)], ["took", r.started && duration(seconds(r))], ["times out", !r.ended && time(r.times_out)], ["plan", plan(r.plan)],
        ["error", r.error && h("span", { class: "bad" }, r.error.description || r.error.code || short(r.error))]]),
      h("h2", {}, "Graph"), runGraph(r, steps, states),
      h("h2", {}, "Steps"), tree(r, steps, states, data),
      h("h2", {}, "Times"), gantt(r, [...data.steps, ...data.inner]),
      h("h2", {}, "Parameters"), json(r.params, "Parameters"),
    ];
  }),
};

// ---- one step ---------------------------------------------------------------------------------------------------------------

const stepActions = [
  ["Stop", "stop_step", "It ends as STOPPED, and so does the run when nothing else of it goes on."],
  ["Kill", "kill_step", "It ends as FATALLY_FAILED, and its failure mode applies."],
  ["Skip", "skip_step", "It ends as SKIPPED, and the run goes on as if it had succeeded."],
];

const stepButtons = (p, act) => stepActions.map(([name, call, text]) =>
  act.button(name, call, { workflow: p.workflow, instance: p.instance, step: p.step, iterations: p.iterations }, () => `${name}: asked for.`,
    { question: `${name} step ${p.step}${p.iterations ? " " + p.iterations.replaceAll(",", ".") : ""}?`, text, grave: true }));

export const stepPage = {
  title: (p) => `Step ${p.step}${p.iterations ? " " + p.iterations.replaceAll(",", ".") : ""}`,
  looks: (p) => ({ all: ["step", { ...nameOfRun(p), step: p.step, iterations: p.iterations }] }),
  json: (p) => ["step", { ...nameOfRun(p), step: p.step, iterations: p.iterations }],
  beats: 1,
  draw: ({ all }, p, act) => either(all, ({ step: s, attempts, action }) => !s
    ? [h("p", {}, "Of ", run(p, `workflow ${p.workflow}, instance ${p.instance}`), "."), h("p", { class: "note" }, "This step has not begun, or this role may not see it.")]
    : [
      !s.ended && h("div", { class: "row" }, stepButtons(p, act)),
      facts([["status", state(s.status)], ["asked for", action && `${action.action}, by ${action.role}${action.done ? "" : ", not yet done"}`], ["run", run(p, `workflow ${p.workflow}, instance ${p.instance}`)], ["attempt", String(s.attempt)], ["task", task(s.task)], ["created", time(s.created)],
        ["began", time(s.started)], ["ended", time(s.ended)], ["took", s.started && duration(seconds(s))], ["waits until", !s.ended && time(s.due)],
        ["tried again for", [["errors", s.error_retries], ["platform", s.platform_retries], ["time", s.timeout_retries]].filter(([, n]) => n).map(([name, n]) => `${name} ${n}`).join(", ")]]),
      h("h2", {}, "Attempts"),
      table("Attempts", [
        { name: "attempt", of: (t) => String(t.attempt) }, { name: "status", of: (t) => state(t.status) }, { name: "task", of: (t) => task(t.task) },
        { name: "began", of: (t) => time(t.started) }, { name: "took", number: true, of: (t) => duration(seconds(t)) },
        { name: "error", of: (t) => t.error && [h("strong", {}, t.error.code), t.error.description && ": ", t.error.description] },
      ], attempts, { key: (t) => String(t.attempt) }),
      s.error && [h("h2", {}, "Error"), json(s.error, "Error")],
      h("h2", {}, "Parameters"), json(s.params, "Parameters"),
    ]),
};
