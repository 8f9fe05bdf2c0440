// Builds elements. A text always becomes a text node, so no name can become an element.

const drawing = new Set(["svg", "g", "rect", "path", "polyline", "text", "title", "marker", "defs"]);

// h("td", {class: "name", onclick: f}, "text", element, [more]). null, undefined and false are left out.
export function h(tag, attributes, ...children) {
  const inside = attributes?.xmlns || drawing.has(tag);
  const element = inside ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false || name === "xmlns") continue;
    if (name.startsWith("on")) element[name] = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  append(element, children);
  return element;
}

function append(element, children) {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    if (Array.isArray(child)) append(element, child);
    else element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
}

const handlers = ["onclick", "onsubmit", "ontoggle"];

// Replaces the children of an element. Children that are alike are changed in place, and keep focus, selection and what is unfolded.
export function update(element, wanted) {
  if (!element.firstChild) return element.append(...wanted);
  const byKey = new Map();
  for (const child of element.children) if (child.dataset?.key) byKey.set(child.dataset.key, child);
  let at = element.firstChild;
  for (const next of [...wanted]) {
    const key = next.dataset?.key;
    const same = key ? byKey.get(key) : at;
    if (same && alike(same, next) && (key || !same.dataset?.key)) {
      if (same === at) at = at.nextSibling;
      else element.insertBefore(same, at);
      become(same, next);
      if (key) byKey.delete(key);
    } else {
      element.insertBefore(next, at);
    }
  }
  while (at) {
    const rest = at.nextSibling;
    at.remove();
    at = rest;
  }
}

function alike(a, b) {
  return a.nodeType === b.nodeType && a.nodeName === b.nodeName;
}

function become(old, next) {
  if (old.nodeType === Node.TEXT_NODE) {
    if (old.data !== next.data) old.data = next.data;
    return;
  }
  for (const { name } of [...old.attributes])
    if (!next.hasAttribute(name) && !(name === "open" && old.nodeName === "DETAILS")) old.removeAttribute(name);
  // `open` of <details> belongs to the reader.
  for (const { name, value } of next.attributes)
    if (old.getAttribute(name) !== value && !(name === "open" && old.nodeName === "DETAILS")) old.setAttribute(name, value);
  for (const name of handlers) old[name] = next[name];
  if (old.nodeName !== "SELECT") update(old, next.childNodes);
}
