// The worker. Its parts run side by side on the event loop, each with a connection of its own:
//
//   coordinator  leases and finishes; it alone decides what is sent
//   heart        extends leases
//   waiter       sleeps by scylla.wait_any while there is nothing to lease
'use strict';
const { Coordinator } = require('./coordinator');
const { Heart } = require('./heart');
const { Job, YIELDED, outcomeOf, outcomeOfError, stackOf, textOf } = require('./job');
const { Link, Quitting, now } = require('./link');
const { checked } = require('./options');
const { WAIT, Waiter } = require('./waiter');

const QUIET = 'set client_min_messages = warning';
const READ_COMMITTED = "set default_transaction_isolation = 'read committed'";

// Lets one part of a worker wait for another. A notification before the wait is not lost.
class Bell {
  #ring = null;
  #rung = false;
  notify() {
    this.#rung = true;
    this.#ring?.();
  }
  // Up to that time; without limit if it is Infinity.
  async wait(milliseconds = Infinity) {
    if (!this.#rung && milliseconds > 0) {
      let timer;
      await new Promise((resolve) => {
        this.#ring = resolve;
        if (milliseconds < 2 ** 31) timer = setTimeout(resolve, milliseconds);
        else timer = setInterval(() => {}, 2 ** 30); // keeps the process alive
      });
      clearTimeout(timer);
      this.#ring = null;
    }
    this.#rung = false;
  }
}

// The state that the parts share.
class Core {
  constructor(options, handler) {
    this.options = options;
    this.handler = handler;
    this.forRun = new Bell();
    this.forCoordinator = new Bell();
    this.forHeart = new Bell();
    this.forWaiter = new Bell();
    this.sleepers = new Set();
    this.stopping = false;
    this.graceEnd = Infinity;
    this.quitting = false; // everything ends now
    this.coordinatorDone = false;
    this.failure = null;
    this.name = options.name;
    this.namedByServer = false;
    this.counters = {
      leased: 0, completed: 0, failed: 0, aborted: 0, yielded: 0, lost: 0, cancelled: 0, heartbeats: 0, waits: 0, polls: 0,
      connections: 0, running: 0,
    };
    this.held = new Set(); // every lease that may be ours, and every handler that runs
    this.queued = [];
    // Reports: { job, outcome, doubts: times that it was sent and the connection broke, settled, notBefore, attempts: that the server
    // refused, spoilt: the handler's outcome was refused for good, and has been replaced }
    this.finished = [];
    this.looking = true; // there may be tasks to lease
    this.waitWanted = false; // there is nothing to lease: the waiter must wait
    this.waiterWorks = false; // so there is no need to poll
    this.notices = new Set();
    this.control = this.#link('control', [READ_COMMITTED, "set lock_timeout = '1s'"]);
    this.heart = this.#link('heart', [QUIET, READ_COMMITTED, "set lock_timeout = '500ms'"]);
    this.waiter = this.#link('waiter', [QUIET]);
  }

  async run() {
    const parts = [this.#part(this.control, new Coordinator(this)), this.#part(this.heart, new Heart(this))];
    if (this.options.useWait) parts.push(this.#part(this.waiter, new Waiter(this)));
    await this.#supervise();
    this.#quit();
    // A connection that is cut at the wrong moment may never answer.
    let timer;
    await Promise.race([Promise.all(parts), new Promise((resolve) => { timer = setTimeout(resolve, 1000); })]);
    clearTimeout(timer);
    if (this.failure !== null) throw this.failure;
    const { running } = this.counters;
    for (const job of this.held) if (job.phase === 'abandoned') job.abort();
    if (running > 0) this.log('warning', 'abandoned', `${running} handlers are still running`);
    this.log('info', 'stopped', 'the worker has stopped');
    return running;
  }

  stop() {
    if (this.stopping) return;
    this.stopping = true;
    this.graceEnd = now() + this.options.stopGrace;
    for (const bell of [this.forRun, this.forCoordinator, this.forWaiter]) bell.notify();
    this.waiter.close();
  }

  // The running tasks are yielded now.
  endGrace() {
    this.graceEnd = Math.min(this.graceEnd, now());
    this.forRun.notify();
    this.forCoordinator.notify();
  }

  // Until the coordinator has ended, or the time to stop is over.
  async #supervise() {
    let told = false;
    for (;;) {
      const time = now();
      if (this.coordinatorDone || (this.stopping && time >= this.graceEnd + 1000)) return;
      const stopped = this.stopping && !told ? [...this.held] : [];
      told = this.stopping;
      let shortest = this.options.callTimeout * 3;
      for (const job of this.held) {
        shortest = Math.min(shortest, job.lasts);
        if (!job.gone && !job.overdue && job.phase !== 'finished' && time >= job.expires) this.#overdue(job);
      }
      for (const job of stopped) job.requestStop('stopping');
      this.control.cutIfOlder(time - this.options.callTimeout);
      this.heart.cutIfOlder(time - Math.min(shortest / 3, this.options.callTimeout));
      this.waiter.cutIfOlder(time - WAIT - this.options.callTimeout);
      await this.forRun.wait(this.held.size > 0 || this.stopping ? 100 : 1000);
    }
  }

  #overdue(job) {
    job.overdue = true;
    if (job.phase === 'queued') this.giveBackQueued(job); // not worth starting: it is yielded, if it is still ours
    this.log('warning', 'overdue', 'the lease could not be extended in time', job);
    job.requestStop('lease-lost');
  }

  #quit() {
    this.quitting = true;
    for (const bell of [this.forCoordinator, this.forHeart, this.forWaiter]) bell.notify();
    for (const wake of [...this.sleepers]) wake();
    for (const link of [this.control, this.heart, this.waiter]) link.close();
  }

  // A failure that nothing has handled ends the worker.
  async #part(link, part) {
    try {
      await part.run();
    } catch (error) {
      if (!(error instanceof Quitting)) {
        this.failure ??= error;
        this.coordinatorDone = true;
        this.forRun.notify();
      }
    } finally {
      await link.end();
    }
  }

  // ---- handlers -----------------------------------------------------------------------------------------------------

  // Starts as many tasks as there is room for.
  fill() {
    while (!this.stopping && !this.quitting && this.queued.length > 0 && this.counters.running < this.options.concurrency)
      this.#handle(this.queued.shift());
  }

  async #handle(job) {
    job.phase = 'running';
    this.counters.running++;
    const outcome = await this.#outcome(job);
    this.counters.running--;
    if (job.gone || job.phase === 'abandoned') this.held.delete(job); // the result is not needed
    else {
      job.phase = 'finished';
      this.report(job, outcome);
    }
    this.forCoordinator.notify();
    this.fill();
  }

  async #outcome(job) {
    let value;
    try {
      value = await this.handler(new Job(job));
    } catch (error) {
      const outcome = outcomeOfError(error, job.reason !== null);
      if (outcome.note === 'exception') this.log('warning', 'exception', stackOf(error), job);
      return outcome;
    }
    return outcomeOf(value);
  }

  // Yields a task that has not been started.
  giveBackQueued(job) {
    this.queued.splice(this.queued.indexOf(job), 1);
    job.phase = 'finished';
    this.report(job, YIELDED);
    this.forCoordinator.notify();
  }

  report(job, outcome) {
    this.finished.push({ job, outcome, doubts: 0, settled: false, notBefore: 0, attempts: 0, spoilt: false });
  }

  // How many tasks the application lets it lease now.
  allowed(room) {
    if (this.options.capacity === null) return room;
    try {
      return Math.max(0, Math.min(room, Math.floor(this.options.capacity(room)) || 0));
    } catch (error) {
      this.log('error', 'capacity-failed', `capacity: ${textOf(error)}`);
      return 0;
    }
  }

  // ---- for the parts ------------------------------------------------------------------------------------------------

  // False: the worker quits.
  sleep(milliseconds) {
    if (this.quitting || milliseconds <= 0) return Promise.resolve(!this.quitting);
    return new Promise((resolve) => {
      const wake = () => {
        clearTimeout(timer);
        this.sleepers.delete(wake);
        resolve(!this.quitting);
      };
      const timer = setTimeout(wake, milliseconds);
      this.sleepers.add(wake);
    });
  }

  // The lease is not ours any more.
  lost(job, status) {
    const cancelled = status === 'cancelled';
    this.counters[cancelled ? 'cancelled' : 'lost']++;
    const message = status ? `the task is ${status}` : 'the task does not exist any more';
    this.log(cancelled ? 'info' : 'warning', cancelled ? 'cancelled' : 'lost', message, job);
  }

  log(level, event, message, job = null, error = null) {
    const entry = { level, event, message, rn: job?.task.rn ?? null, sqlstate: (error?.severity && error.code) ?? null, worker: this.name };
    // Whether it throws or returns a promise that is rejected, neither is anything to us.
    if (this.options.log !== null) (async () => this.options.log(entry))().catch(() => {});
    else if (level === 'warning' || level === 'error') console.error(`scylla: ${event}: ${message}${job ? ` (task ${entry.rn})` : ''}`);
  }

  #link(role, setup) {
    const { options } = this;
    return new Link({
      connections: options.connections,
      pauses: [options.reconnectMin, options.reconnectMax],
      sleep: (milliseconds) => this.sleep(milliseconds),
      connected: () => {
        this.counters.connections++;
        this.log('info', 'connected', `${role} connection made`);
      },
      failed: (error, wasConnected) => {
        if (this.quitting || (this.stopping && role === 'waiter')) return; // we cut it ourselves
        const [event, what] = wasConnected ? ['connection-lost', 'lost'] : ['connect-failed', 'failed'];
        this.log('warning', event, `${role} connection ${what}: ${error.message || error.code}`, null, error);
      },
      // For example that a queue does not exist: reported once, not for each connection.
      noticed: (message) => {
        if (this.notices.has(message) || this.notices.size >= 1000) return;
        this.notices.add(message);
        this.log('warning', 'notice', message);
      },
    }, setup);
  }
}

class Worker {
  #core;
  #ran = false;
  #signals = false;

  constructor(options, handler) {
    if (typeof handler !== 'function') throw new TypeError('a worker needs a handler');
    this.#core = new Core(checked(options), handler);
  }

  async run() {
    if (this.#ran) throw new Error('a worker runs once');
    this.#ran = true;
    try {
      return await this.#core.run();
    } finally {
      if (this.#signals) for (const signal of ['SIGTERM', 'SIGINT']) process.removeListener(signal, this.#onSignal);
    }
  }

  stop() { this.#core.stop(); }

  stopOnSignals() {
    if (this.#signals) return;
    this.#signals = true;
    for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, this.#onSignal);
  }

  #onSignal = () => {
    if (this.#core.stopping) this.#core.endGrace();
    this.#core.stop();
  };

  get name() { return this.#core.name; }
  counters() { return { ...this.#core.counters, held: this.#core.held.size }; }
}

module.exports = { Worker };
