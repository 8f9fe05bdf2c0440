// Events that the server sends to all open pages. A hidden page does not listen.

const kept = 60; // samples, for rates and curves
const samples = [];
let source = null;
let listeners = { pulse: () => {}, trouble: () => {} };

export const latest = () => samples.at(-1) ?? null;

export function listen(functions) {
  listeners = functions;
  document.addEventListener("visibilitychange", follow);
  follow();
}

function follow() {
  if (document.hidden) {
    source?.close();
    source = null;
  } else if (!source) {
    open();
  }
}

function open() {
  source = new EventSource("api/live");
  source.addEventListener("pulse", (event) => {
    const sample = JSON.parse(event.data);
    const last = latest();
    if (last && sample.time - last.time > 60) samples.length = 0; // the page was hidden for long
    if (!last || sample.time !== last.time) samples.push(sample);
    if (samples.length > kept) samples.shift();
    listeners.pulse(sample);
  });
  source.addEventListener("trouble", (event) => listeners.trouble(JSON.parse(event.data)));
  source.onerror = () => {
    listeners.trouble({ error: "the console does not answer" });
    if (source?.readyState === EventSource.CLOSED) {
      source = null;
      setTimeout(follow, 2000);
    }
  };
}

const counter = (sample, name, what) => sample.queues.find((queue) => queue.queue === name)?.[what] ?? null;

function between(before, after, name, what) {
  const from = counter(before, name, what) ?? 0;
  const to = counter(after, name, what);
  if (to === null || to < from || after.time <= before.time) return null; // the statistics were reset
  return (to - from) / (after.time - before.time);
}

// Rate per second since the sample before.
export const rateOf = (name, what) => (samples.length < 2 ? null : between(samples.at(-2), samples.at(-1), name, what));

export const curveOf = (name, what) =>
  samples.slice(1).map((sample, i) => between(samples[i], sample, name, what) ?? 0);
