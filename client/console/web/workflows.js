// The page of workflows, and that of one workflow with its runs and breakpoints.
import { sees } from "./api.js";
import { h } from "./dom.js";
import { a, duration, facts, further, json, link, number, short, table, time } from "./format.js";
import { either } from "./overview.js";

const runStatuses = ["CREATED", "IN_PROGRESS", "SUCCEEDED", "FAILED", "STOPPED", "TIMED_OUT"];

// The status of tasks that has the same colour.
const kinds = [[/SUCCEEDED|COMPLETED_WITH_ERROR|SKIPPED/, "completed"], [/FAILED|TIMED_OUT/, "aborted"], [/STOPPED|UNSATISFIED|DISABLED/, "cancelled"],
  [/RUNNING|IN_PROGRESS|STARTING|FINISHING|EVALUATING/, "running"]];
export const kindOf = (name) => kinds.find(([pattern]) => pattern.test(name))?.[1] ?? "waiting";
export const state = (name) => (name ? h("span", { class: "status " + kindOf(name) }, name) : h("span", { class: "faint" }, "not begun"));

export const workflow = (id) => a("workflow", { id }, id);
const runName = (r) => `${r.instance}${r.run > 1 ? " run " + r.run : ""}`;
export const run = (r, text) => a("run", { workflow: r.workflow, instance: r.instance, run: r.run }, text ?? runName(r));
export const seconds = (row) => (row.started ? ((row.ended ? new Date(row.ended) : new Date()) - new Date(row.started)) / 1000 : null);
export const initiator = (by) => by?.type === "SUBWORKFLOW" ? h("span", { class: "refs" }, "SUBWORKFLOW, step ", by.step, " of ", run(by, `${by.workflow}/${by.instance}`))
  : (by ? [by.type, ...Object.entries(by).filter(([name]) => name !== "type").map(([, value]) => short(value))].filter(Boolean).join(" ") : null);

export const workflowsPage = {
  title: () => "Workflows",
  looks: ({ before }) => ({ workflows: ["workflows", { before }], ...(sees("templates") && { templates: ["templates"] }) }),
  json: ({ before }) => ["workflows", { before }],
  beats: 3,
  draw: ({ workflows, templates: given }, p) => [either(workflows, (rows) => [table("Workflows", [
    { name: "workflow", of: (w) => [workflow(w.id), w.paused && h("span", { class: "note" }, " paused")] },
    { name: "active version", number: true, of: (w) => w.active_version ?? h("span", { class: "note" }, "none") },
    { name: "versions", number: true, of: (w) => number(w.latest_version) },
    { name: "last run", of: (w) => w.last && [run({ ...w.last, workflow: w.id }), " ", state(w.last.status)] },
    { name: "began", of: (w) => w.last && time(w.last.started) },
    { name: "runs at once", of: (w) => [w.strategy, " ", w.strategy === "PARALLEL" && number(w.concurrency)] },
    { name: "next start", of: (w) => time(w.next_start) },
    { name: "changed", of: (w) => time(w.modified) },
    { name: "owner", of: (w) => w.owner },
  ], rows, { key: (w) => w.id, empty: "There is no workflow, or none of this role." }),
  further("workflows", p, rows, 100, { of: (w) => w.modified + " " + w.id })]),
  sees("templates") && [h("h2", {}, "Job templates"), either(given, templates)]],
};

// ---- job templates ------------------------------------------------------------------------------------------------------------

const template = (type, version) => a("template", { type, version }, `${type} ${version}`);
const parents = (of) => Object.entries(of ?? {}).map(([type, version]) => h("div", {}, template(type, version)));

const templates = (rows) => table("Job templates", [
  { name: "template", of: (t) => template(t.job_type, t.version) },
  { name: "step type", of: (t) => t.type },
  { name: "inherits from", of: (t) => parents(t.inherit_from) },
  { name: "description", of: (t) => short(t.description) },
  { name: "status", of: (t) => t.status },
  { name: "changed", of: (t) => time(t.modified) },
  { name: "owner", of: (t) => t.owner },
], rows, { key: (t) => t.job_type + "\n" + t.version, empty: "There is no job template." });

export const templatePage = {
  title: ({ type, version }) => `Job template ${type} ${version ?? ""}`,
  looks: ({ type, version }) => ({ all: ["template", { type, version }] }),
  json: ({ type, version }) => ["template", { type, version }],
  beats: 5,
  draw: ({ all }) => either(all, (t) => !t.job_type
    ? h("p", { class: "note" }, "There is no such job template.")
    : [
      facts([["step type", t.type], ["inherits from", t.inherit_from && parents(t.inherit_from)], ["tags", t.tags && short(t.tags)], ["description", t.description], ["status", t.status],
        ["owner", t.owner], ["made by", t.author], ["created", time(t.created)], ["changed", time(t.modified)]]),
      h("h2", {}, "Parameters"), json(t.params, "Parameters"),
      h("h2", {}, "Definition"), json(t.definition, "Definition"),
    ]),
};

const runs = (rows, act, mine) => table("Runs", [
  { name: "instance", of: (r) => run(r) },
  { name: "status", of: (r) => state(r.status) },
  { name: "version", number: true, of: (r) => r.version },
  { name: "started by", of: (r) => initiator(r.initiator) },
  { name: "asked for", of: (r) => time(r.created) },
  { name: "began", of: (r) => time(r.started) },
  { name: "took", number: true, of: (r) => duration(seconds(r)) },
  act.may("stop_run") && mine && { name: "change", of: (r) => !r.ended && stopButton(r, act) },
].filter(Boolean), rows, { key: (r) => r.instance + "/" + r.run, empty: "No run matches." });

export const stopButton = (r, act) => act.button("Stop", "stop_run", { workflow: r.workflow, instance: r.instance }, () => "Run stopped.",
  { question: `Stop instance ${r.instance} of workflow "${r.workflow}"?`, text: "Its running steps are stopped, and their tasks are cancelled.", grave: true });
export const killButton = (r, act) => act.button("Kill", "kill_run", { workflow: r.workflow, instance: r.instance }, () => "Run killed.",
  { question: `Kill instance ${r.instance} of workflow "${r.workflow}"?`, text: "It fails, and its tasks are cancelled.", grave: true });

// Starts an instance with parameters that the reader types. params: those of the definition.
export const startButton = (label, id, params, act) => {
  const names = Object.entries(params ?? {}).map(([name, { type }]) => (type ? `${name} (${type})` : name));
  return act.button(label, "start_workflow", (given) => ({ workflow: id, params: given }), (made) => `Instance ${made.instance}: ${made.status}.`,
    { question: `Start workflow "${id}"?`, text: ["A new instance of the active version.", names.length > 0 && "Its parameters: " + names.join(", ") + "."],
      field: { label: "Parameters that differ from its own, as a JSON object", value: "{}" } });
};

const pauseButton = (w, act) => w.paused
  ? act.button("Resume", "resume_workflow", { workflow: w.id }, () => "Workflow resumed.")
  : act.button("Pause", "pause_workflow", { workflow: w.id }, () => "Workflow paused.",
    { question: `Pause workflow "${w.id}"?`, text: "No run or step of it begins until it is resumed. Running steps continue.", grave: true });

// ---- breakpoints --------------------------------------------------------------------------------------------------------------

const where = (b) => [b.instance ? `instance ${b.instance}` : "all instances", b.run && `run ${b.run}`, b.version && `version ${b.version}`,
  b.iterations && `iteration ${b.iterations.join(".")}`].filter(Boolean).join(", ");
const nameOfBreakpoint = ({ workflow: id, step, version, instance, run: number_ }) => ({ workflow: id, step, version, instance, run: number_ });

export const breakButton = (label, place, act, text) => act.button(label, "set_breakpoint", place, () => "Breakpoint set.",
  { question: `${label}: step ${place.step}?`, text });

// A pause by pause_step() is removed when the step is resumed.
export const breakpoints = (rows, act) => table("Breakpoints", [
  { name: "step", of: (b) => b.step }, { name: "kind", of: (b) => b.kind }, { name: "stops", of: where }, { name: "set by", of: (b) => b.author }, { name: "since", of: (b) => time(b.created) },
  act && act.may("resume_step", "drop_breakpoint") && { name: "change", of: (b) => b.kind === "pause"
    ? act.button("Resume", "resume_step", { workflow: b.workflow, instance: b.instance, step: b.step, iterations: b.iterations?.join(",") }, () => "Step resumed.")
    : [act.button("Drop", "drop_breakpoint", nameOfBreakpoint(b), () => "Breakpoint dropped.", { question: `Drop the breakpoint on step ${b.step}?`, text: "Steps that it has stopped stay PAUSED." }),
      act.button("Drop and resume", "drop_breakpoint", { ...nameOfBreakpoint(b), resume: true }, () => "Breakpoint dropped. The steps that it stopped continue.",
        { question: `Drop the breakpoint on step ${b.step}?`, text: "Steps that it has stopped continue." })] },
].filter(Boolean), rows, { key: (b) => [b.kind, b.step, where(b)].join("\n"), empty: "There is no breakpoint." });

const chosenStep = () => document.getElementById("break-at").value;
const breakForm = (id, steps, act) => h("div", { class: "row", "data-key": "break at" },
  h("label", {}, "step", h("select", { id: "break-at" }, steps.map((step) => h("option", { value: step }, step)))),
  act.button("Set breakpoint", "set_breakpoint", () => ({ workflow: id, step: chosenStep() }), () => "Breakpoint set.",
    { question: "Set a breakpoint in all instances?", text: async () => `Each attempt of step ${chosenStep()} that is to begin is PAUSED until it is resumed.` }));

// Whether a step of another run has started it.
export const isStarted = (by) => Boolean(by?.workflow);
export const onlyThis = "Only this instance, without the run that started it";

export const restartButtons = (r, act) => [["Restart", "RESTART_FROM_INCOMPLETE", "Complete steps stay as they are. All others run again, with the same parameters."],
  ["Restart from the beginning", "RESTART_FROM_BEGINNING", "All steps run again, with the same parameters."]].map(([name, policy, text]) =>
  act.button(name, "restart_run", (_, alone) => ({ workflow: r.workflow, instance: r.instance, policy, alone }),
    (made) => `Run ${made.run}${made.workflow === r.workflow && made.instance === r.instance ? "" : ` of instance ${made.instance} of ${made.workflow}`}: ${made.status}.`,
    { question: `${name} instance ${r.instance} of workflow "${r.workflow}"?`, text: [text, isStarted(r.initiator) && "The runs above it restart along the path to it."], choice: isStarted(r.initiator) && onlyThis }));

export const workflowPage = {
  title: ({ id }) => "Workflow " + id,
  looks: ({ id, status: wanted, before }) => ({ all: ["workflow", { id, status: wanted, before }] }),
  json: ({ id, status: wanted, before }) => ["workflow", { id, status: wanted, before }],
  beats: 2,
  draw: ({ all }, p, act) => either(all, ({ workflow: w, versions, runs: rows, params, steps, breakpoints: held, may_run: mine, may_change }) => !w
    ? h("p", { class: "note" }, "There is no such workflow, or this role may not see it.")
    : [
      mine && h("div", { class: "row" }, w.active_version && startButton("Start", w.id, params, act), pauseButton(w, act)),
      facts([["active version", w.active_version ?? "none"], ["paused", w.paused && [time(w.paused), " by ", w.paused_by]], ["runs at once", `${w.strategy} ${w.concurrency}`], ["next start", time(w.next_start)],
        ["answers for it", w.properties?.owner], ["tags", w.properties?.tags?.join?.(", ")], ["description", w.properties?.description], ["owner", w.owner]]),
      h("h2", {}, "Runs"),
      h("ul", { class: "tabs" }, ["", ...runStatuses].map((name) =>
        h("li", {}, h("a", { href: link("workflow", { id: p.id, status: name }), "aria-current": (p.status ?? "") === name && "true" }, name || "all")))),
      runs(rows, act, mine),
      further("workflow", p, rows, 50, { of: (r) => `${r.instance}.${r.run}` }),
      h("h2", {}, "Breakpoints"), breakpoints(held, mine && act),
      mine && act.may("set_breakpoint") && steps && breakForm(w.id, [...new Set(steps)], act),
      h("h2", {}, "Versions"),
      table("Versions", [
        { name: "version", of: (v) => String(v.version) }, { name: "", of: (v) => v.is_active && "active" },
        { name: "created", of: (v) => time(v.created) }, { name: "by", of: (v) => v.author },
        act.may("activate_workflow") && may_change && { name: "change", of: (v) => !v.is_active && act.button("Activate", "activate_workflow", { workflow: w.id, version: v.version },
          () => `Version ${v.version} is active.`, { question: `Run version ${v.version} of "${w.id}" from now on?` }) },
      ].filter(Boolean), versions, { key: (v) => String(v.version) }),
    ]),
};
