// The page of a run of a workflow: its graph, its failures, its timeline, its signals, and its steps as a tree. A loop is loaded when the
// reader unfolds it. And the page of one step.
import { sees } from "./api.js";
import { h } from "./dom.js";
import { a, duration, facts, json, link, logLink, number, plan, plural, short, table, task, time } from "./format.js";
import { gantt, graph } from "./graph.js";
import { either } from "./overview.js";
import { breakButton, breakpoints, initiator, isStarted, killButton, kindOf, onlyThis, restartButtons, run, seconds, startButton, state, stopButton, workflow } from "./workflows.js";

// The steps of a definition: [{id, kind, type, steps, successors}].
function stepsOf(definition) {
  return (definition?.steps ?? []).map((step) => {
    const [kind, content] = Object.entries(step)[0];
    return { id: content.id, kind, type: content.type ?? kind, steps: stepsOf(content), successors: Object.keys(content.transition?.successors ?? {}) };
  });
}

const isLoop = (step) => step.kind === "foreach" || step.kind === "while";
const urgencies = ["aborted", "running", "waiting", "cancelled", "completed"];
const byUrgency = ([x], [y]) => urgencies.indexOf(kindOf(x)) - urgencies.indexOf(kindOf(y));
const nameOf = (s) => s.step + (s.iterations ? " " + s.iterations.join(".") : "");
// The last run also shows steps of earlier runs, so links from it name no run.
const stepLink = (r, s, text) =>
  a("step", { workflow: r.workflow, instance: r.instance, run: r.isLast ? "" : r.run, step: s.step, iterations: s.iterations?.join(",") }, text ?? nameOf(s));
const errorOf = (error) => error.message || error.code || short(error);

function runGraph(r, steps, states) {
  const nodes = steps.map(({ id, type }) => ({ rn: id, queue: type, status: kindOf(states.get(id)?.status ?? ""), attempt: 1, says: states.get(id)?.status ?? "not begun",
    depends_on: steps.filter((one) => one.successors.includes(id)).map((one) => one.id) }));
  return graph(nodes, { href: (node) => link("step", { workflow: r.workflow, instance: r.instance, run: r.isLast ? "" : r.run, step: node.rn }),
    title: (node) => `${node.rn}: ${node.says}, ${node.queue}`, label: "Graph of the steps" });
}

// A chart of the steps, from the start of the run to its end or now.
const times = (r, rows) => gantt(r, rows.map((s) => ({ name: nameOf(s), kind: kindOf(s.status), status: s.status, started: s.started, ended: s.ended })),
  { label: "Times of the steps", also: (n) => `Times of ${plural(n, "step")}, also in the tree of steps` });

const stepLine = (r, s, type, name = stepLink(r, s)) => [state(s.status), " ", name, type && h("span", { class: "faint" }, " " + type),
  s.attempt > 1 && ` attempt ${s.attempt}`, s.started && [", ", duration(seconds(s))], s.error && h("span", { class: "bad" }, " " + errorOf(s.error)), logLink(s.error)];

// ---- the tree of steps --------------------------------------------------------------------------------------------------------
//
// The address says which loops are unfolded: "open" has a level for each, {path, status, after}. A path consists of ids of loops and,
// between them, numbers of iterations: ["outer", 3, "inner"].

function levelsOf(p) {
  try {
    const levels = JSON.parse(p.open ?? "[]");
    return Array.isArray(levels) ? levels.filter((level) => Array.isArray(level?.path)).slice(0, 20) : [];
  } catch {
    return [];
  }
}

const keyOf = (path) => "level " + JSON.stringify(path);
const isBelow = (path, top) => path.length > top.length && top.every((part, i) => path[i] === part);
const addressOf = (p, levels) => link("run", { ...p, open: levels.length ? JSON.stringify(levels) : "" });
const unfolded = (p, level) => addressOf(p, [...levelsOf(p).filter(({ path }) => keyOf(path) !== keyOf(level.path)), level]);
const folded = (p, top) => addressOf(p, levelsOf(p).filter(({ path }) => keyOf(path) !== keyOf(top) && !isBelow(path, top)));

const nameOfRun = (p) => ({ workflow: p.workflow, instance: p.instance, run: p.run });
const looksOf = (p) => Object.fromEntries(levelsOf(p).map(({ path, status, after }) => [keyOf(path), ["iterations",
  { ...nameOfRun(p), inside: path.filter((part) => typeof part === "number").join(","), loop: path.at(-1), status, after }]]));

const countsOf = (rollup) => Object.entries(rollup ?? {}).map(([status, { cnt }]) => [status, cnt]).sort(byUrgency);

// A loop: the number of leaves for each status, and if it is unfolded, 50 of its iterations, failed ones first.
function loop(page, path, step, s) {
  const { r, p, act, data } = page;
  const level = levelsOf(p).find((one) => keyOf(one.path) === keyOf(path));
  const toggle = (event) => event.target.open !== Boolean(level) && act.replace(event.target.open ? unfolded(p, { path }) : folded(p, path));
  const only = (status, text) => h("button", { type: "button", "aria-pressed": String((level.status ?? "") === status), onclick: () => act.replace(unfolded(p, { path, ...(status && { status }) })) }, text);
  const body = ({ iterations }) => [
    h("p", { class: "row" }, stepLink(r, s, "The loop itself"), only("", "all"), countsOf(s.rollup).map(([status, count]) => only(status, `${status} ${number(count)}`))),
    iterations.length
      ? h("ul", {}, iterations.map((one) => iteration(page, [...path, one.iterations.at(-1)], step, one.steps)))
      : h("p", { class: "faint" }, level.status || level.after ? "No iteration is like that." : "No iteration has begun."),
    h("p", { class: "row" }, level.after && h("button", { type: "button", onclick: () => act.replace(unfolded(p, { ...level, after: undefined })) }, "First iterations"),
      iterations.length === 50 && h("button", { type: "button", onclick: () => act.replace(unfolded(p, { ...level, after: `${iterations.at(-1).rank}:${iterations.at(-1).iterations.join(",")}` })) }, "Next iterations")),
  ];
  return h("details", { "data-key": keyOf([r.workflow, r.instance, r.run, ...path]), open: Boolean(level), ontoggle: toggle },
    h("summary", {}, stepLine(r, s, step.type, nameOf(s)), " ", countsOf(s.rollup).map(([status, count]) => [state(status), " " + number(count) + " "])),
    level && (data[keyOf(path)] ? either(data[keyOf(path)], body) : h("p", { class: "faint" }, "Loading.")));
}

const iteration = (page, path, step, rows) => h("li", { "data-key": keyOf(path) },
  step.steps.length > 1 && h("span", { class: "faint" }, `iteration ${path.at(-1)}: `),
  step.steps.map((inner) => [inner, rows.find((row) => row.step === inner.id)]).filter(([, row]) => row)
    .map(([inner, row]) => isLoop(inner) ? loop(page, [...path, inner.id], inner, row) : h("span", { class: "step" }, stepLine(page.r, row))));

const tree = (page, steps, states) => h("ul", { class: "tree" }, steps.map((step) => {
  const s = states.get(step.id);
  const child = page.children.find((one) => one.step === step.id);
  return h("li", { "data-key": step.id }, s && isLoop(step) ? loop(page, [step.id], step, s)
    : s ? [stepLine(page.r, s, step.type), child && [" → ", run(child, `${child.workflow}/${child.instance}`)]]
      : [state(null), " ", stepLink(page.r, { step: step.id }), h("span", { class: "faint" }, " " + step.type)]);
}));

// ---- failures, leaves, events ---------------------------------------------------------------------------------------------------

const failures = (r, rows) => h("ul", { class: "plain" }, rows.map((f) => h("li", { "data-key": f.workflow_id + f.instance_id + nameOf(f) },
  stepLine({ workflow: f.workflow_id, instance: f.instance_id, isLast: true }, f),
  (f.workflow_id !== r.workflow || f.instance_id !== r.instance) && h("span", { class: "faint" }, ` in ${f.workflow_id}/${f.instance_id}`))));

// of: "workflow:run". ref: "instance:step[iterations]:attempt".
function leafLink(of, ref) {
  const [, instance, step, iterations] = ref.match(/^(\d+):(.*?)(?:\[([\d,]+)\])?:\d+$/s) ?? [];
  if (!step) return ref;
  return a("step", { workflow: of.slice(0, of.lastIndexOf(":")), instance, step, iterations }, nameOf({ step, iterations: iterations?.split(",") }));
}

const leaves = ({ total, overview }) => total === 0 ? null : [plural(total, "step"), ": ", Object.entries(overview).sort(byUrgency).map(([status, { cnt, ref, more }], i) => [
  i > 0 && ", ", state(status), " " + number(cnt),
  ref && [" (", h("span", { class: "refs" }, Object.entries(ref).flatMap(([of, refs]) => refs.slice(0, 5).map((one) => leafLink(of, one))).flatMap((one, n) => (n ? [", ", one] : [one]))), more && ", …", ")"]])];

const events = (r) => ({ events: rows, without_loops: isPart }) => [isPart && h("p", { class: "faint" }, "Without steps in loops: there are too many."), table("Timeline", [
  { name: "when", of: (e) => time(e.at) },
  { name: "run", number: true, of: (e) => e.run },
  { name: "step", of: (e) => (e.step ? stepLink(r, e) : "the run") },
  { name: "attempt", number: true, of: (e) => e.attempt },
  { name: "what", of: (e) => (e.type === "STATUS" ? state(e.message.split(" ")[0]) : e.type) },
  { name: "", of: (e) => h("span", { class: e.level === "ERROR" && "bad" }, e.type === "STATUS" ? e.message.split(" ").slice(1).join(" ") : e.message) },
], rows, { key: (e) => [e.at, e.step, e.iterations, e.attempt, e.type, e.message].join("\n"), empty: "Nothing has happened." })];

const signals = ({ started_by: by, sent }) => [
  h("h3", {}, "Started by"),
  table("Signals that started it", [
    { name: "signal", of: (s) => `${s.signal} ${s.seq}` }, { name: "params", of: (s) => short(s.params) }, { name: "sent", of: (s) => time(s.sent) },
    { name: "by", of: (s) => s.source_workflow && a("step", { workflow: s.source_workflow, instance: s.source_instance, step: s.source_step, iterations: s.source_iterations?.join(",") },
      `${s.source_workflow}/${s.source_instance} ${s.source_step}`) },
  ], by, { key: (s) => String(s.seq), empty: "No signal has started it." }),
  h("h3", {}, "Sent"),
  table("Signals that it has sent", [
    { name: "signal", of: (s) => `${s.signal} ${s.seq}` }, { name: "params", of: (s) => short(s.params) }, { name: "step", of: (s) => s.source_step + (s.source_iterations ? " " + s.source_iterations.join(".") : "") },
    { name: "sent", of: (s) => time(s.sent) }, { name: "has started", of: (s) => s.target_workflow && run({ workflow: s.target_workflow, instance: s.target_instance }, `${s.target_workflow}/${s.target_instance}`) },
  ], sent, { key: (s) => s.seq + "\n" + s.target_workflow + "\n" + s.target_instance, empty: "None." }),
];

const whyNot = (rows) => table("What it waits for", [
  { name: "step", of: (w) => w.step && a("step", { workflow: w.workflow, instance: w.instance, step: w.step, iterations: w.iterations?.join(",") }, nameOf(w)) },
  { name: "run", of: (w) => run(w, `${w.workflow}/${w.instance}`) }, { name: "waits for", of: (w) => w.waits_for }, { name: "why", of: (w) => w.detail },
  { name: "since", of: (w) => time(w.since) }, { name: "until", of: (w) => time(w.until) },
], rows, { empty: "Nothing: it has succeeded." });

// Sections that are loaded when the reader unfolds them.
const parts = { why: "Why it does not go on", timeline: "Timeline", lineage: "Signals" };
const shownParts = (p) => Object.keys(parts).filter((name) => sees(name) && (p.show ?? "").split(",").includes(name));
function part(name, { r, p, act, data }, draw) {
  if (!sees(name)) return null;
  const shown = shownParts(p);
  const others = shown.filter((one) => one !== name);
  const toggle = (event) => event.target.open !== shown.includes(name) && act.replace(link("run", { ...p, show: (event.target.open ? [...others, name] : others).join(",") }));
  return h("details", { "data-key": keyOf([r.workflow, r.instance, r.run, name]), open: shown.includes(name), ontoggle: toggle }, h("summary", {}, h("h2", {}, parts[name])),
    shown.includes(name) && (data[name] ? either(data[name], draw) : h("p", { class: "faint" }, "Loading.")));
}

// ---- the page -------------------------------------------------------------------------------------------------------------------

export const runPage = {
  title: (p) => `Workflow ${p.workflow}, instance ${p.instance}${Number(p.run) > 1 ? ", run " + p.run : ""}`,
  looks: (p) => ({ all: ["run", nameOfRun(p)], ...looksOf(p),
    ...Object.fromEntries(shownParts(p).map((name) => [name, [name, { workflow: p.workflow, instance: p.instance }]])) }),
  json: (p) => ["run", nameOfRun(p)],
  // Of a run that has ended, little changes, but looking for what has failed reads every iteration of its loops.
  beats: ({ all }) => (all?.run?.ended ? Math.min(30, 1 + Math.floor((all.rollup?.total ?? 0) / 1000)) : 1),
  draw: (data, p, act) => either(data.all, ({ run: found, definition, steps: rows, ...all }) => {
    if (!found) return h("p", { class: "note" }, "There is no such run, or this role may not see it.");
    const r = { ...found, isLast: all.last };
    const steps = stepsOf(definition);
    const states = new Map(rows.map((s) => [s.step, s]));
    const page = { r, p, act, data, children: all.children };
    const unfoldedRows = levelsOf(p).flatMap(({ path }) => data[keyOf(path)]?.iterations ?? []).flatMap((one) => one.steps);
    return [
      all.may_run && h("div", { class: "row" }, !r.ended && [stopButton(r, act), killButton(r, act)], r.ended && all.last && restartButtons(r, act),
        r.ended && all.active && startButton("Start another", r.workflow, definition.params, act)),
      facts([["status", state(r.status)], ["the instance", r.instance_status !== r.status && state(r.instance_status)], ["workflow", [workflow(r.workflow), all.paused && h("span", { class: "note" }, " paused")]],
        ["version", String(r.version)], ["started by", initiator(r.initiator)], ["asked for", time(r.created)],
        ["began", time(r.started)], ["ended", time(r.ended)], ["took", r.started && duration(seconds(r))], ["times out", !r.ended && time(r.times_out)], ["plan", plan(r.plan)],
        ["leaf steps", all.rollup && leaves(all.rollup)], ["error", r.error && h("span", { class: "bad" }, errorOf(r.error))]]),
      all.last && part("why", page, whyNot),
      all.failed.length > 0 && [h("h2", {}, "Failed"), failures(r, all.failed), all.failed.length === 20 && h("p", { class: "faint" }, "The first 20.")],
      h("h2", {}, "Graph"), runGraph(r, steps, states),
      h("h2", {}, "Steps"), tree(page, steps, states),
      all.breakpoints.length > 0 && [h("h2", {}, "Breakpoints"), breakpoints(all.breakpoints, all.may_run && act)],
      h("h2", {}, "Times"), times(r, [...rows, ...unfoldedRows]),
      part("timeline", page, events(r)), part("lineage", page, signals),
      h("h2", {}, "Parameters"), json(r.params, "Parameters"),
    ];
  }),
};

// ---- one step -------------------------------------------------------------------------------------------------------------------

const endings = /^(FATALLY_FAILED|INTERNALLY_FAILED|STOPPED|TIMED_OUT)$/;
const waits = /^(CREATED|INITIALIZED|WAITING_FOR_SIGNALS|WAITING_FOR_PERMITS|USER_FAILED|PLATFORM_FAILED|TIMEOUT_FAILED)$/;

// [name, call, when, text, grave]. when(s, ended, inLoop): s is the step, null if it has not begun; ended: the last run has ended.
const stepActions = [
  ["Resume", "resume_step", (s) => s?.status === "PAUSED", null],
  ["Pause", "pause_step", (s, ended) => !ended && (!s || waits.test(s.status)), "Its next attempt waits as PAUSED until it is resumed."],
  ["Stop", "stop_step", (s, ended) => s && !s.ended && !ended, "It ends as STOPPED, and so does the run when nothing else of it goes on.", true],
  ["Kill", "kill_step", (s, ended) => s && !s.ended && !ended, "It ends as FATALLY_FAILED, and its failure mode applies.", true],
  ["Skip", "skip_step", (s, ended, inLoop) => s && (s.ended ? endings.test(s.status) && !(ended && inLoop) : !ended),
    "It ends as SKIPPED, and the run goes on as if it had succeeded. If the run has ended, the instance runs again from here.", true],
  ["Restart", "restart_step", (s, ended) => s?.ended && (ended || endings.test(s.status)), "It gets another attempt. If the run has ended, the instance runs again from here.", true],
];

const nameOfStep = (p) => `step ${p.step}${p.iterations ? " " + p.iterations.replaceAll(",", ".") : ""}`;

function stepButtons(p, act, s, of) {
  const place = { workflow: p.workflow, instance: p.instance, step: p.step, iterations: p.iterations };
  return h("div", { class: "row" }, stepActions.filter(([, , when]) => when(s, of.ended !== null, Boolean(p.iterations))).map(([name, call, , text, grave]) =>
    act.button(name, call, (_, alone) => (call === "restart_step" ? { ...place, alone } : place), () => `${name}: asked for.`,
      text ? { question: `${name} ${nameOfStep(p)}?`, text, grave, choice: call === "restart_step" && isStarted(of.initiator) && onlyThis } : {})),
  !of.ended && breakButton("Break in this instance", { workflow: p.workflow, step: p.step, instance: p.instance }, act, "Each attempt of it that is to begin is PAUSED until it is resumed."),
  breakButton("Break in all instances", { workflow: p.workflow, step: p.step }, act, "Each attempt of it that is to begin, in every instance, is PAUSED until it is resumed."));
}

const lookOfStep = (p) => ["step", { ...nameOfRun(p), step: p.step, iterations: p.iterations }];

export const stepPage = {
  title: (p) => `Step ${p.step}${p.iterations ? " " + p.iterations.replaceAll(",", ".") : ""}`,
  looks: (p) => ({ all: lookOfStep(p), ...(!p.run && sees("why") && { why: ["why", { workflow: p.workflow, instance: p.instance, step: p.step, iterations: p.iterations }] }) }),
  json: lookOfStep,
  beats: 1,
  draw: ({ all, why }, p, act) => either(all, ({ step: s, run: of, attempts, action, breakpoints: held, may_run: mine }) => {
    const runLink = run(p, `workflow ${p.workflow}, instance ${p.instance}`);
    const last = of?.last;
    return [
      last && mine && stepButtons(p, act, s, of),
      s ? facts([["status", state(s.status)], ["asked for", action && [action.action, ", by ", action.role, action.done ? action.outcome && ": " + action.outcome : ", not yet done"]], ["run", runLink],
        ["attempt", String(s.attempt)], ["task", task(s.task)], ["created", time(s.created)], ["began", time(s.started)], ["ended", time(s.ended)], ["took", s.started && duration(seconds(s))],
        ["waits until", !s.ended && time(s.due)],
        ["tried again for", [["errors", s.error_retries], ["platform", s.platform_retries], ["time", s.timeout_retries]].filter(([, n]) => n).map(([name, n]) => `${name} ${n}`).join(", ")]])
        : [h("p", {}, "Of ", runLink, "."), h("p", { class: "note" }, "This step has not begun, or this role may not see it.")],
      why && !(s?.ended && of?.ended) && either(why, (rows) => rows.length > 0 && [h("h2", {}, "Why it does not go on"), whyNot(rows)]),
      held.length > 0 && [h("h2", {}, "Breakpoints"), breakpoints(held, mine && act)],
      s && [h("h2", {}, "Attempts"),
        table("Attempts", [
          { name: "attempt", of: (t) => String(t.attempt) }, { name: "run", number: true, of: (t) => t.run }, { name: "status", of: (t) => state(t.status) }, { name: "task", of: (t) => task(t.task) },
          { name: "began", of: (t) => time(t.started) }, { name: "took", number: true, of: (t) => duration(seconds(t)) },
          { name: "error", of: (t) => t.error && [t.error.code && h("strong", {}, t.error.code), t.error.code && ": ", t.error.message] },
          { name: "log", of: (t) => logLink(t.error, t.params) },
        ], attempts, { key: (t) => String(t.attempt) }),
        s.error && [h("h2", {}, "Error"), json(s.error, "Error")],
        h("h2", {}, "Parameters"), json(s.params, "Parameters")],
    ];
  }),
};
