// Shows a page, and decides when to load and draw it again.
import { begin, change, get, path, sees, session } from "./api.js";
import { h, update } from "./dom.js";
import { link } from "./format.js";
import { listen } from "./live.js";
import { overview } from "./overview.js";
import { queuePage, taskPage } from "./tasks.js";
import { planPage, plansPage } from "./plans.js";
import { runPage, stepPage } from "./runs.js";
import { templatePage, workflowPage, workflowsPage } from "./workflows.js";
import { conditionsPage, errorsPage, jobsPage, poolsPage, schedulesPage } from "./others.js";

const pages = {
  "": overview, queue: queuePage, task: taskPage, plans: plansPage, plan: planPage, workflows: workflowsPage, workflow: workflowPage, run: runPage, step: stepPage, schedules: schedulesPage, pools: poolsPage,
  template: templatePage, jobs: jobsPage, conditions: conditionsPage, errors: errorsPage,
};
const menu = [["", "Overview", "o"], ["plans", "Plans", "p"], ["workflows", "Workflows", "w"], ["schedules", "Schedules", "s"], ["pools", "Pools", "l"],
  ["jobs", "Jobs", "j"], ["conditions", "Conditions", "c"], ["errors", "Errors", "e"]];

// The pages of which the role may see the first part. Overview shows what it may.
const isSeen = ([to]) => to === "" || session.powers?.sees.includes(Object.values(pages[to].looks({}))[0][0]);
const seenMenu = () => menu.filter(isSeen);

const $ = (id) => document.getElementById(id);
const place = () => location.pathname.slice(location.pathname.lastIndexOf("/") + 1);

let shown = null; // {name, page, parameters}
let drawing = 0; // number of the latest load
let loading = 0; // number of loads in progress
let drawn = 0; // beats since the page was loaded
let lost = false;
let begun = null; // a promise for the session: null, or the error for which there is none

function visit() {
  const name = place();
  const page = pages[name];
  shown = { name, page, parameters: Object.fromEntries(new URLSearchParams(location.search)) };
  drawMenu();
  document.title = page.title(shown.parameters) + " · Scylla";
  $("main").setAttribute("aria-busy", "true");
  return load();
}

const drawMenu = () => update($("nav"), seenMenu().map(([to, text]) => h("a", { href: link(to), "aria-current": to === shown.name && "page" }, text)));

const isLost = (answer) => answer instanceof Error && (answer.status === 503 || answer.status === 0);

// Loads the data of the page and draws it. A query that is refused shows its error in its place. A new page with `parts` is drawn
// after each answer. A look is [name, parameters, further]: further(answer) returns {of, join} if the answer is not all yet: the
// parameters of the next question, and the function that joins its answer to this one. Meanwhile the page tells four times a second how
// far it is.
async function load() {
  const mine = ++drawing;
  const { page, parameters } = shown;
  drawn = 0;
  const asked = Object.entries(page.looks(parameters));
  const isNew = $("main").dataset.page !== location.href;
  const data = {};
  loading++;
  const answers = await Promise.all(asked.map(async ([name, [look, of, further]]) => {
    let answer = await get(look, of).catch((error) => error);
    for (let told = -Infinity; ; ) {
      const failed = await begun;
      const goesOn = !(answer instanceof Error) && mine === drawing && !failed && further?.(answer);
      const next = goesOn && get(look, goesOn.of).then(goesOn.join).catch((error) => error); // while this one is drawn
      data[name] = answer;
      const tells = goesOn ? performance.now() - told > 250 : page.parts && Object.keys(data).length < asked.length;
      if (isNew && tells && mine === drawing && !failed && !isLost(answer)) {
        shown.data = data;
        draw();
        told = performance.now();
      }
      if (!goesOn) return answer;
      answer = await next;
    }
  }));
  loading--;
  if (mine !== drawing || (await begun)) return;
  const unreachable = answers.find(isLost);
  if (unreachable) {
    trouble(unreachable);
    if ($("main").dataset.page === location.href) return; // keep the old content
  }
  shown.data = data;
  shown.complete = true;
  draw();
}

function draw() {
  const { page, parameters, data } = shown;
  if (!data) return;
  const content = page.draw(data, parameters, actions);
  const json = page.json?.(parameters);
  update($("main"), [h("h1", {}, page.title(parameters)), ...[content].flat(Infinity).filter((node) => node instanceof Node),
    json && h("p", {}, h("a", { href: path(...json), target: "_blank", rel: "noopener" }, "As JSON"))].filter(Boolean));
  if (!shown.complete) return;
  const isNew = $("main").dataset.page !== location.href;
  $("main").dataset.page = location.href;
  $("main").removeAttribute("aria-busy");
  if (isNew && document.activeElement === document.body) $("main").focus({ preventScroll: true });
}

export function go(to) {
  history.pushState(null, "", to);
  document.activeElement?.blur();
  scrollTo(0, 0);
  return visit();
}

// Changes what the page shows, for example which loops are unfolded, without a new entry in the history.
function replace(to) {
  history.replaceState(null, "", to);
  shown.parameters = Object.fromEntries(new URLSearchParams(location.search));
  return load();
}

// ---- messages -------------------------------------------------------------------------------------------------------------

function trouble(error) {
  lost = true;
  $("trouble").hidden = false;
  update($("trouble"), [document.createTextNode("Not up to date: " + (error.message ?? error.error) + ". Trying again.")]);
}

function beat() {
  if (lost) {
    lost = false;
    $("trouble").hidden = true;
    update($("trouble"), []);
    drawn = Infinity;
  }
  drawn++;
  // A load that takes longer than a beat delays the next one.
  if (drawn >= beatsOf(shown) && !loading) load();
  else if (shown.page.live) draw();
}

// Number of beats between two loads of the page: a number, or a function of its data.
const beatsOf = ({ page: { beats }, data }) => (typeof beats === "function" ? (data ? beats(data) : 1) : beats);

const tell = (text, bad = false) => update($("told"), [h("span", { class: bad && "bad" }, text)]);

// ---- changes ----------------------------------------------------------------------------------------------------------------

// Opens a dialog. Returns false if the reader goes back, else {given, chosen}. field: {label, value, read, wrong}, for a text that the
// reader types: `read` returns its value, or null if it is invalid; by default it reads a JSON object. choice: the label of a checkbox.
function ask(question, text, button, { grave, field, choice } = {}) {
  const dialog = $("ask");
  return new Promise((resolve) => {
    const end = (answer) => { dialog.close(); resolve(answer); };
    const { read = objectIn, wrong: complaint = "This is not a JSON object." } = field ?? {};
    const typed = { id: "given", "aria-describedby": "wrong" };
    const input = field && (field.read ? h("input", { ...typed, value: field.value, autocomplete: "off" }) : h("textarea", { ...typed, rows: 6, spellcheck: "false" }, field.value));
    const box = choice && h("input", { type: "checkbox", id: "chosen" });
    const wrong = h("p", { id: "wrong", class: "bad", role: "alert" });
    const yes = () => {
      const given = field ? read(input.value) : undefined;
      if (given !== null) return end({ given, chosen: Boolean(box?.checked) });
      wrong.textContent = complaint;
      input.focus();
    };
    if (input?.nodeName === "INPUT") input.onkeydown = (event) => {
      if (event.key !== "Enter") return;
      event.preventDefault(); // otherwise the key also presses the button that gets the focus
      yes();
    };
    dialog.replaceChildren(h("h2", { id: "question" }, question), ...[text].flat().filter(Boolean).map((line) => h("p", {}, line)),
      ...(field ? [h("label", { for: "given" }, field.label), input, wrong] : []),
      ...(choice ? [h("p", {}, box, " ", h("label", { for: "chosen" }, choice))] : []),
      h("p", { class: "row" }, h("button", { type: "button", class: grave && "grave", onclick: yes }, button),
        h("button", { type: "button", onclick: () => end(false) }, "Back")));
    dialog.oncancel = () => resolve(false);
    dialog.showModal();
  });
}

function objectIn(text) {
  try {
    const value = JSON.parse(text.trim() || "{}");
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}

async function carryOut(name, body, done) {
  try {
    const answer = await change(name, body);
    const said = await done(answer);
    await load();
    tell(said);
  } catch (error) {
    await load();
    tell([error.message, error.detail, error.hint].filter(Boolean).join(". "), true);
  }
}

const actions = {
  may: (...names) => !session.read_only && names.some((name) => session.powers.may.includes(name)),
  go,
  replace,
  tell,
  // A button for a change. With a question it opens a dialog first (see ask). text: also a function that returns a promise. body: also a
  // function of the typed value and of whether the checkbox is ticked.
  button(label, name, body, done, { question, text, grave, field, choice } = {}) {
    if (!actions.may(name)) return null;
    const run = async () => {
      let answer = {};
      try {
        const more = typeof text === "function" ? await text() : text;
        if (question) answer = await ask(question, more, label, { grave, field, choice });
        if (!answer) return;
      } catch (error) {
        return tell(error.message, true);
      }
      await carryOut(name, typeof body === "function" ? body(answer.given, answer.chosen) : body, done);
    };
    return h("button", { type: "button", class: grave && "grave", onclick: run }, label);
  },
};

// ---- the keyboard, and links --------------------------------------------------------------------------------------------------

document.addEventListener("click", (event) => {
  const target = event.target.closest?.("a[href]");
  if (!target || event.defaultPrevented || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  if (target.getAttribute("target") || target.classList.contains("skip")) return;
  const url = new URL(target.getAttribute("href"), document.baseURI);
  if (url.origin !== location.origin || !(url.pathname.slice(url.pathname.lastIndexOf("/") + 1) in pages)) return;
  event.preventDefault();
  go(url.href);
});
addEventListener("popstate", visit);

$("find").addEventListener("submit", (event) => {
  event.preventDefault();
  const rn = $("rn").value;
  if (rn) go(link("task", { rn }));
});

function showKeys() {
  const dialog = $("ask");
  dialog.replaceChildren(h("h2", { id: "question" }, "Keys"),
    h("ul", { class: "plain" }, [["/", "find a task by its name"], ["r", "load the page again"],
      ...seenMenu().map(([, text, key]) => ["g " + key, text]), ["?", "this list"]].map(([key, text]) => h("li", {}, h("kbd", {}, key), " ", text))),
    h("p", {}, h("button", { type: "button", onclick: () => dialog.close() }, "Close")));
  dialog.showModal();
}

let went = 0; // time at which g was pressed
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.nodeName) || $("ask").open) return;
  const to = Date.now() - went < 1500 && seenMenu().find(([, , key]) => key === event.key);
  went = event.key === "g" ? Date.now() : 0;
  if (to) go(link(to[0]));
  else if (event.key === "/") $("rn").focus();
  else if (event.key === "r") load();
  else if (event.key === "?") showKeys();
  else return;
  event.preventDefault();
});

// ---- the beginning ------------------------------------------------------------------------------------------------------------

// Loads the page and the session at the same time.
async function start() {
  begun = begin().then(() => null, (error) => error);
  listen({ pulse: beat, trouble });
  const first = visit();
  const failed = await begun;
  if (failed) {
    trouble(failed);
    return void setTimeout(start, 2000);
  }
  drawMenu();
  $("find").hidden = !sees("task");
  $("where").textContent = `${session.role} @ ${session.database}${session.read_only ? " · read-only" : ""}`;
  await first;
}
start();
