// A task that a worker holds, how its handler is asked to stop, and how it ends.
'use strict';

class Complete {
  constructor(result, metrics) {
    this.result = result;
    this.metrics = metrics;
  }
}

class TaskError extends Error {
  constructor(code, message = '', args = {}) {
    super(textOf(message));
    this.name = new.target.name;
    this.code = code;
    this.message = message;
    this.args = args;
  }
}

class AbortTask extends TaskError {}

class FailTask extends TaskError {
  constructor(code, message, args, { retryAfter = null } = {}) {
    super(code, message, args);
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

// What a handler returns or throws is the application's: any of its getters and methods may throw.

const MAX_ERROR = 1 << 20; // bytes of an error's JSON that the server stores
const MAX_STACK = 4000; // characters of a stack trace that are sent
const MAX_VALUE = 1 << 28; // bytes of JSON: jsonb holds no more, and several at once would exceed a message of the protocol

// A text that PostgreSQL can store.
const printable = (text) => Buffer.from(text).toString().replaceAll('\0', '\ufffd');
const size = (value) => Buffer.byteLength(JSON.stringify(value));

function typeName(value) {
  try {
    const name = Object.getPrototypeOf(value).constructor.name;
    if (typeof name === 'string' && name !== '') return name;
  } catch {} // eslint-disable-line no-empty
  return value === null ? 'null' : typeof value;
}

// String(value), or which type it has if that throws.
function textOf(value) {
  try {
    return printable(String(value));
  } catch (error) {
    return `a value of type ${typeName(value)} whose text cannot be read (${typeName(error)})`;
  }
}

// With the stack, for the log.
function stackOf(error) {
  try {
    if (typeof error.stack === 'string') return printable(error.stack);
  } catch {} // eslint-disable-line no-empty
  return textOf(error);
}

// The text, or its beginning, such that its JSON has at most so many bytes.
function cut(text, room) {
  let bytes = size(text);
  if (bytes <= room) return text;
  const note = `… (cut: ${text.length} characters)`;
  const most = room - Buffer.byteLength(note);
  let kept = text;
  for (; bytes > most; bytes = size(kept)) kept = kept.slice(0, Math.min(kept.length - 1, Math.floor((kept.length * most) / bytes)));
  return kept.replace(/[\ud800-\udbff]$/, '') + note; // no half of a character
}

function toJson(value) {
  if (value === undefined || value === null) return null;
  const text = JSON.stringify(value);
  if (text === undefined) throw new TypeError('it is no JSON');
  if (text.length > MAX_VALUE) throw new RangeError(`its JSON has ${text.length} characters, more than ${MAX_VALUE}`);
  return text;
}

// Of a long message the beginning is sent.
function errorJson(code, message, args = {}, details = undefined) {
  const said = { code: printable(code), args: args ?? {}, details };
  const room = MAX_ERROR - size(said) - 100;
  return JSON.stringify({ ...said, message: cut(printable(message), Math.max(room, 1000)) });
}

function failed(code, message, details) {
  return { kind: 'failed', error: errorJson(code, message, {}, details), retryAfter: null, note: code };
}

const invalid = (what, value, why) =>
  failed('invalid-outcome', `${what} a value of type ${typeName(value)} that cannot be stored: ${textOf(why)}`);

// The outcome for a handler's return value.
function outcomeOf(value) {
  let result = value;
  try {
    if (!(value instanceof Complete)) return { kind: 'completed', result: toJson(value), metrics: null, note: '' };
    result = value.result;
    return { kind: 'completed', result: toJson(result), metrics: toJson(value.metrics), note: '' };
  } catch (error) {
    return invalid('the handler returned', result, error);
  }
}

// The outcome for an exception of a handler.
function outcomeOfError(error, askedToStop) {
  try {
    if (error instanceof YieldTask) return YIELDED;
    if (error instanceof TaskError) return outcomeOfTaskError(error);
    if (askedToStop) return YIELDED;
    if (!(error instanceof Error)) return failed('exception', `an exception that is no Error: ${String(error)}`);
    return failed('exception', String(error), [...stackOf(error)].slice(0, MAX_STACK).join(''));
  } catch (why) {
    return askedToStop ? YIELDED : invalid('the handler threw', error, why);
  }
}

function outcomeOfTaskError(error) {
  const { code, message, args, retryAfter = null } = error;
  for (const [name, value] of [['code', code], ['message', message]])
    if (typeof value !== 'string') throw new TypeError(`its ${name} is no string but a ${typeName(value)}`);
  const outcome = { error: errorJson(code, message, args), note: printable(code) };
  if (!(error instanceof FailTask)) return { kind: 'aborted', ...outcome };
  if (retryAfter !== null && !(typeof retryAfter === 'number' && retryAfter >= 0 && retryAfter <= 365 * 86400000))
    throw new RangeError(`its retryAfter is ${textOf(retryAfter)} (${typeName(retryAfter)}), not 0 to 365 days in milliseconds`);
  return { kind: 'failed', ...outcome, retryAfter };
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

module.exports = {
  AbortTask, Complete, FailTask, Held, Job, StopError, TaskError, YIELDED, YieldTask, failed, outcomeOf, outcomeOfError, stackOf, textOf,
};
