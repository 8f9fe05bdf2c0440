// Formats values for people.
import { h } from "./dom.js";

// The address of a page with its parameters. Relative, so that a proxy can serve the console in a folder.
export function link(page, parameters = {}) {
  const given = Object.entries(parameters).filter(([, value]) => value !== null && value !== undefined && value !== "");
  const query = new URLSearchParams(given).toString();
  return (page === "" ? "./" : page) + (query ? "?" + query : "");
}

export const a = (page, parameters, ...text) => h("a", { href: link(page, parameters) }, ...text);
export const task = (rn) => (rn ? a("task", { rn }, rn) : null);
export const queue = (name) => (name ? a("queue", { name }, name) : null);
export const plan = (name) => (name ? a("plan", { name }, name) : null);
// To the log of an attempt, if its error or its parameters say where it is. Only an address of the web becomes a link.
export function logLink(...of) {
  const url = of.map((one) => one?.log_url).find((one) => typeof one === "string" && /^https?:\/\//i.test(one));
  return url ? [" ", h("a", { href: url, target: "_blank", rel: "noreferrer" }, "log")] : null;
}
export const status = (name) => (name ? h("span", { class: "status " + name }, name) : null);

// As PostgreSQL writes it, in the reader's time zone: 2026-11-28 09:30:00.125+01:00. To make a formatter of Intl takes a browser longer
// than all else that the script does before the page shows something.
function exact(when) {
  const ahead = -when.getTimezoneOffset(); // minutes
  const two = (n) => String(n).padStart(2, "0");
  const local = new Date(when.getTime() + ahead * 60000).toISOString().replace("T", " ").replace("Z", "");
  return `${local}${ahead < 0 ? "-" : "+"}${two(Math.trunc(Math.abs(ahead) / 60))}:${two(Math.abs(ahead) % 60)}`;
}

export function duration(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  const s = Math.abs(seconds);
  if (s < 0.0995) return Math.round(s * 1000) + " ms";
  if (s < 9.95) return s.toFixed(1) + " s";
  if (s < 99.5) return Math.round(s) + " s";
  if (s < 5970) return Math.round(s / 60) + " min";
  if (s < 172800) return Math.round(s / 3600) + " h";
  return Math.round(s / 86400) + " d";
}

// A time as a distance from now; its title is the exact time in the reader's time zone.
export function time(text) {
  if (!text) return null;
  const when = new Date(text);
  if (Number.isNaN(when.getTime())) return String(text); // infinity
  const seconds = (Date.now() - when.getTime()) / 1000;
  const words = seconds >= 0 ? duration(seconds) + " ago" : "in " + duration(seconds);
  return h("time", { datetime: text, title: exact(when) }, words);
}

// In groups of three digits, as English is written: fractions have a point, too.
const grouped = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, ",");
export const number = (n) => (n === null || n === undefined ? "–" : grouped(n));
export const rate = (n) => (n === null || n === undefined ? "–" : n >= 100 ? grouped(Math.round(n)) : n.toFixed(1));
export const percent = (p) =>
  p ? h("progress", { max: 1, value: p, "aria-label": "progress", title: Math.round(p * 100) + " %" }, Math.round(p * 100) + " %") : null;
export const plural = (n, one, many = one + "s") => number(n) + " " + (n === 1 ? one : many);

const isEmpty = (value) =>
  value === null || value === undefined || (typeof value === "object" && Object.keys(value).length === 0);

export function json(value, what) {
  if (isEmpty(value)) return h("p", { class: "faint" }, "none");
  return h("pre", { tabindex: 0, role: "region", "aria-label": what }, typeof value === "string" ? JSON.stringify(value) : JSON.stringify(value, null, 2));
}
export const short = (value) => {
  if (isEmpty(value)) return null;
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length > 200 ? text.slice(0, 200) + "…" : text;
};

// Columns: {name, of: row → content, number}. The first is the name of the row.
export function table(label, columns, rows, { key, empty = "None." } = {}) {
  if (!rows.length) return h("p", { class: "faint" }, empty);
  return h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": label },
    h("table", {},
      h("thead", {}, h("tr", {}, columns.map((column) => h("th", { scope: "col", class: column.number && "number" }, column.name)))),
      h("tbody", {}, rows.map((row) =>
        h("tr", { "data-key": key && key(row) }, columns.map((column, i) =>
          i === 0 ? h("th", { scope: "row" }, column.of(row)) : h("td", { class: column.number && "number" }, column.of(row))))))));
}

// Links to the first rows, and to those after the last one. name: the parameter of the page that says after which.
export const further = (page, p, rows, most, { name = "before", of = (row) => row.seq } = {}) =>
  h("p", { class: "row" }, p[name] && a(page, { ...p, [name]: null }, "Newest"), rows.length === most && a(page, { ...p, [name]: of(rows.at(-1)) }, "Next"));

// A form that looks for names that contain a text.
export const searchFor = (page, what, p, act) =>
  h("form", { class: "row", "aria-label": "Find " + what, "data-key": "search " + JSON.stringify(p), onsubmit: (event) => {
    event.preventDefault();
    act.go(link(page, { search: new FormData(event.target).get("search") }));
  } }, h("label", {}, "name contains", h("input", { name: "search", value: p.search ?? "", autocomplete: "off" })), h("button", {}, "Find"));

const pageSize = 100;
// How many there are in all, and links to the other pages.
export function otherPages(page, p, { rows, total }, what) {
  const at = Number(p.page ?? 0);
  if (total <= pageSize && at === 0) return null;
  const to = (n, text) => a(page, { ...p, page: String(n) }, text);
  return h("p", { class: "row" }, rows.length ? `${number(at * pageSize + 1)} to ${number(at * pageSize + rows.length)} of ${number(total)} ${what}` : `No more than ${number(total)} ${what}`,
    at > 0 && to(at - 1, "Previous"), (at + 1) * pageSize < total && to(at + 1, "Next"));
}

export const facts = (pairs) =>
  h("dl", { class: "facts" }, pairs.filter(([, value]) => value !== null && value !== undefined && value !== "" && value !== false)
    .map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
