// A task that a worker holds, how its handler is asked to stop, and how it ends.
'use strict';

class Complete {
  constructor(result, metrics) {
    this.result = result;
    this.metrics = metrics;
  }
}

class TaskError extends Error {
  constructor(code, description = '', args = {}) {
    super(description ? `${code}: ${description}` : code);
    this.name = new.target.name;
    this.code = code;
    this.description = description;
    this.args = args;
  }
}

class AbortTask extends TaskError {}

class FailTask extends TaskError {
  constructor(code, description, args, { retryAfter = null } = {}) {
    super(code, description, args);
    this.retryAfter = retryAfter;
  }
}

class YieldTask extends Error {
  constructor() {
    super('another worker shall do the task');
    this.name = 'YieldTask';
  }
}

// The reason of an AbortSignal.
class StopError extends Error {
  constructor(reason) {
    super(`the handler is to stop: ${reason}`);
    this.name = 'AbortError';
    this.code = 'ABORT_ERR';
    this.reason = reason;
  }
}

// ---- outcomes: how a task ends, in the form for the server. JSON is text ----------------------------------------------

const YIELDED = Object.freeze({ kind: 'yielded', note: '' });

// A text that PostgreSQL can store.
const printable = (text) => Buffer.from(String(text)).toString().replaceAll('\0', '\ufffd');

function toJson(value) {
  if (value === undefined || value === null) return null;
  const text = JSON.stringify(value);
  if (text === undefined) throw new TypeError(`a ${typeof value} is no JSON`);
  return text;
}

function failed(code, description) {
  return { kind: 'failed', error: JSON.stringify({ code, description: printable(description) }), retryAfter: null, note: code };
}

// The outcome for a handler's return value.
function outcomeOf(value) {
  const done = value instanceof Complete ? value : new Complete(value);
  try {
    return { kind: 'completed', result: toJson(done.result), metrics: toJson(done.metrics), note: '' };
  } catch (error) {
    return failed('invalid-outcome', error.message);
  }
}

// The outcome for an exception of a handler.
function outcomeOfError(error, askedToStop) {
  if (error instanceof YieldTask) return YIELDED;
  if (error instanceof TaskError) {
    try {
      const text = toJson({ code: printable(error.code), description: printable(error.description), args: error.args });
      if (error instanceof FailTask) return { kind: 'failed', error: text, retryAfter: error.retryAfter, note: error.code };
      return { kind: 'aborted', error: text, note: error.code };
    } catch (wrong) {
      return failed('invalid-outcome', wrong.message);
    }
  }
  if (askedToStop) return YIELDED;
  return failed('exception', error instanceof Error ? String(error) : `an exception that is no Error: ${String(error)}`);
}

// ---- leases ---------------------------------------------------------------------------------------------------------

// A lease of a worker. phase: queued, running, finished, abandoned.
class Held {
  constructor(task, worker, lasts, renewed) {
    this.task = task;
    this.worker = worker;
    this.lasts = lasts; // for how long the server extends it
    this.renewed = renewed; // before the call that leased or extended it was sent
    this.phase = 'queued';
    this.gone = false; // the server reported that the lease is lost
    this.overdue = false; // expired by our own clock
    this.progress = null; // last value from the handler
    this.sentProgress = null;
    this.reason = null;
    this.controller = new AbortController();
    this.functions = new Set();
  }

  get renewAt() { return this.renewed + this.lasts / 3; }
  get expires() { return this.renewed + this.lasts; }

  // The first reason stays, except that `stopping` gives way to one of the others.
  requestStop(reason) {
    if (this.reason === reason || (this.reason !== null && this.reason !== 'stopping')) return;
    this.reason = reason;
    for (const wake of [...this.functions]) wake(reason);
    if (reason !== 'stopping') this.abort();
  }

  // The result is not needed any more.
  abort() {
    if (!this.controller.signal.aborted) this.controller.abort(new StopError(this.reason ?? 'stopping'));
  }
}

// The argument of a handler.
class Job {
  #held;
  constructor(held) { this.#held = held; }

  get task() { return this.#held.task; }
  get rn() { return this.#held.task.rn; }
  get spec() { return this.#held.task.spec; }
  get attempt() { return this.#held.task.attempt; }
  get worker() { return this.#held.worker; }
  get signal() { return this.#held.controller.signal; }
  get stopRequested() { return this.#held.reason !== null; }
  get stopReason() { return this.#held.reason; }

  progress(value) {
    const number = Number(value);
    this.#held.progress = Number.isNaN(number) ? 0 : Math.min(Math.max(number, 0), 1);
  }

  sleep(milliseconds) {
    const held = this.#held;
    if (held.reason !== null) return Promise.resolve(true);
    return new Promise((resolve) => {
      const end = (stopped) => {
        clearTimeout(timer);
        held.functions.delete(wake);
        resolve(stopped);
      };
      const wake = () => end(true);
      const timer = setTimeout(() => end(false), milliseconds);
      held.functions.add(wake);
    });
  }
}

module.exports = { AbortTask, Complete, FailTask, Held, Job, StopError, TaskError, YIELDED, YieldTask, failed, outcomeOf, outcomeOfError };
