// Graphs of tasks, drawn from left to right: a task is to the right of all tasks that it depends on.
import { h } from "./dom.js";
import { duration, link } from "./format.js";

const width = 170, height = 30, gapX = 60, gapY = 14, margin = 10;

export function layers(tasks) {
  const byName = new Map(tasks.map((task) => [task.rn, { ...task, from: [], to: [], layer: 0 }]));
  for (const node of byName.values())
    for (const rn of new Set(node.depends_on ?? [])) {
      const provider = byName.get(rn);
      if (!provider) continue;
      node.from.push(provider);
      provider.to.push(node);
    }
  const missing = new Map([...byName.values()].map((node) => [node, node.from.length]));
  const pending = [...missing.keys()].filter((node) => missing.get(node) === 0);
  for (const node of pending)
    for (const next of node.to) {
      next.layer = Math.max(next.layer, node.layer + 1);
      missing.set(next, missing.get(next) - 1);
      if (missing.get(next) === 0) pending.push(next);
    }
  const columns = [];
  for (const node of byName.values()) (columns[node.layer] ??= []).push(node);
  columns.forEach((column) => column.forEach((node, i) => (node.place = i)));
  // Sorts each column by the mean place of the providers, then by that of the dependants.
  const sort = (column, side) => {
    const wish = (node) => (node[side].length ? node[side].reduce((sum, other) => sum + other.place, 0) / node[side].length : node.place);
    const wishes = new Map(column.map((node) => [node, wish(node)]));
    column.sort((a, b) => wishes.get(a) - wishes.get(b));
    column.forEach((node, i) => (node.place = i));
  };
  for (let round = 0; round < 4; round++) {
    columns.forEach((column) => sort(column, "from"));
    [...columns].reverse().forEach((column) => sort(column, "to"));
  }
  return columns;
}

// The task never ran, because a task that it depends on has failed.
export const isFallen = (task) => task.status === "aborted" && task.attempt === 0;

const signs = { waiting: "…", ready: "○", running: "▶", completed: "✓", aborted: "✕", cancelled: "⊘" };
const cut = (text) => (text.length > 21 ? text.slice(0, 20) + "…" : text);

const ofTasks = { href: (node) => link("task", { rn: node.rn }), title: (node) => `${node.rn}: ${node.status}, queue ${node.queue}`, label: "Graph of the tasks" };

// href, title and text are functions of a node.
export function graph(tasks, { href, title, label, text = (node) => node.rn } = ofTasks) {
  const columns = layers(tasks);
  const tallest = Math.max(...columns.map((column) => column.length));
  const x = (node) => margin + node.layer * (width + gapX);
  const y = (node) => margin + (node.place + (tallest - columns[node.layer].length) / 2) * (height + gapY);
  const nodes = columns.flat();
  const arrow = (from, to) => {
    const x1 = x(from) + width, y1 = y(from) + height / 2, x2 = x(to) - 6, y2 = y(to) + height / 2;
    return h("path", { d: `M${x1},${y1} C${x1 + gapX / 2},${y1} ${x2 - gapX / 2},${y2} ${x2},${y2}`, "marker-end": "url(#arrow)" });
  };
  return h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": label },
    h("svg", { class: "graph", width: margin * 2 + columns.length * (width + gapX) - gapX, height: margin * 2 + tallest * (height + gapY) - gapY },
      h("defs", {}, h("marker", { id: "arrow", viewBox: "0 0 8 8", refX: 1, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" },
        h("path", { class: "head", d: "M0,0 L8,4 L0,8 z" }))),
      nodes.flatMap((node) => node.to.map((to) => arrow(node, to))),
      nodes.map((node) =>
        h("a", { xmlns: true, class: node.status + (isFallen(node) ? " fallen" : ""), href: href(node), "data-key": node.rn },
          h("title", {}, title(node)),
          h("rect", { x: x(node), y: y(node), width, height, rx: 6 }),
          h("text", { x: x(node) + 9, y: y(node) + 20 }, signs[node.status] + " " + cut(text(node)))))));
}

// A Gantt chart of the first fifty rows {name, kind, status, started, ended}, from the start of the whole to its end or now.
export function gantt(whole, rows, { label, also }) {
  const ran = rows.filter((s) => s.started).sort((x, y) => new Date(x.started) - new Date(y.started)).slice(0, 50);
  if (!ran.length) return h("p", { class: "faint" }, "Nothing has run yet.");
  const from = new Date(whole.started && whole.started < ran[0].started ? whole.started : ran[0].started).getTime(), until = whole.ended ? new Date(whole.ended).getTime() : Date.now();
  const width = 700, left = 200, line = 24, scale = width / Math.max(until - from, 1);
  const x = (moment) => left + Math.max(0, new Date(moment).getTime() - from) * scale;
  const cut = (text) => (text.length > 26 ? text.slice(0, 25) + "…" : text);
  const took = (s) => duration((new Date(s.ended ?? Date.now()) - new Date(s.started)) / 1000);
  return h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": label },
    h("svg", { class: "gantt", width: left + width + 80, height: ran.length * line + 8, role: "img", "aria-label": also(ran.length) },
      ran.map((s, i) => h("g", { class: s.kind, "data-key": s.key ?? s.name },
        h("title", {}, `${s.name}: ${s.status}, ${took(s)}`),
        h("text", { x: 4, y: i * line + 20 }, cut(s.name)),
        h("rect", { x: x(s.started), y: i * line + 6, width: Math.max(2, x(s.ended ?? new Date()) - x(s.started)), height: line - 8, rx: 3 }),
        h("text", { x: x(s.ended ?? new Date()) + 5, y: i * line + 20 }, took(s))))));
}

export function spark(values) {
  if (values.length < 2) return null;
  const most = Math.max(...values, 1e-9);
  const points = values.map((value, i) => `${(i * 90) / (values.length - 1)},${19 - (value / most) * 18}`).join(" ");
  return h("svg", { class: "spark", viewBox: "0 0 90 20", role: "img", "aria-label": "lately up to " + most.toFixed(1) + " per second" },
    h("polyline", { points }));
}
