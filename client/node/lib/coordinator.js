// Leasing and finishing: the only part that decides what to request from the server next.
'use strict';
const calls = require('./calls');
const { Held, YIELDED, failed } = require('./job');
const { Lost, Quitting, backoff, now } = require('./link');
const { MAX_DOUBTS, MAX_REPEATS, fateOf } = require('./refusal');

const MAX_BYTES = 1 << 24; // of the results that one call reports, unless one alone has more
const length = ({ outcome: { result, metrics, error } }) => (result?.length ?? 0) + (metrics?.length ?? 0) + (error?.length ?? 0);
// No extension, no privilege, a bad argument: not a temporary error.
const noExtension = ['42883', '42P01', '3F000'];
const cannotPass = (error) => ['0A000', '42501', '3D000', ...noExtension].includes(error.code) || error.code?.startsWith('22');
function withHint(error) {
  if (noExtension.includes(error.code)) error.hint = 'Run CREATE EXTENSION scylla in this database, or ALTER EXTENSION scylla UPDATE.';
  return error;
}
// Whether it is an error of the server, and not of this program.
const isServers = (error) => error.severity !== undefined;
// Whether the worker has to connect again, or to end.
const isEnd = (error) => error instanceof Lost || error instanceof Quitting;

class Coordinator {
  constructor(core) {
    this.core = core;
    this.options = core.options;
    this.link = core.control;
    this.capacityAt = 0;
    this.lastPass = 0;
    this.fruitless = 0; // passes in a row that leased nothing
    this.nextQueue = 0;
    this.adopt = false; // a lease is in doubt
    this.started = false;
  }

  async run() {
    const { core } = this;
    await this.#nameOneself();
    while (!core.stopping) {
      try {
        await this.#step();
      } catch (error) {
        if (error instanceof Lost) continue; // logged; the next call connects again
        if (!isServers(error) || (!this.started && cannotPass(error))) throw withHint(error);
        core.log('error', 'call-failed', error.message, null, error);
        if (!(await core.sleep(this.options.reconnectMax))) return;
      }
    }
    await this.#shutDown();
    core.coordinatorDone = true;
    core.forRun.notify();
  }

  async #nameOneself() {
    const { core } = this;
    while (core.name === null && !core.stopping) {
      try {
        core.name = await this.link.call(calls.registerWorker);
        core.namedByServer = true;
        core.log('info', 'named', `the server calls this worker ${core.name}`);
      } catch (error) {
        if (!(error instanceof Lost)) throw withHint(error);
      }
    }
  }

  // ---- one exchange with the server, when there is something to report or lease -----------------------------------------

  async #step() {
    const { core } = this;
    await this.#waitForWork();
    if (core.quitting) throw new Quitting();
    if (core.stopping) return;
    const time = now();
    const batch = this.#takeDue(time);
    let want = core.looking && (batch.length > 0 || this.#mayLease(time)) ? this.#room(batch.length) : 0;
    let refused = null;
    try {
      if (want > 0) {
        const allowed = core.allowed(want);
        if (allowed < want) this.capacityAt = now() + this.options.capacityInterval;
        want = allowed;
      }
      if (this.adopt) await this.#adoptLeases();
      if (want > 0) {
        try {
          await this.#leasePass(batch, want);
        } catch (error) {
          if (!isServers(error)) throw error;
          refused = error;
        }
      }
      await this.#finish(batch); // the reports need no right to lease
    } catch (error) {
      this.#putBack(batch, true);
      this.adopt ||= want > 0 && core.namedByServer;
      throw error;
    }
    this.#putBack(batch, false);
    if (refused !== null) throw refused;
    this.started ||= want > 0 || batch.length > 0;
  }

  // Returns when a report is due, the worker stops, or there may be tasks to lease.
  async #waitForWork() {
    const { core } = this;
    while (!core.quitting && !core.stopping) {
      const time = now();
      if (core.finished.some((report) => report.notBefore <= time) || this.#mayLease(time)) return;
      let next = Math.min(Infinity, ...core.finished.map((report) => report.notBefore));
      if (!core.looking) {
        core.waitWanted = true;
        core.forWaiter.notify();
        if (!core.waiterWorks) {
          const pollAt = this.lastPass + backoff(this.fruitless, this.options.pollMin, this.options.pollMax);
          if (time >= pollAt) {
            core.looking = true;
            core.counters.polls++;
            continue;
          }
          next = Math.min(next, pollAt);
        }
      } else if (this.#room(0) > 0) next = Math.min(next, this.capacityAt);
      await core.forCoordinator.wait(next - time);
    }
  }

  #mayLease(time) { return this.core.looking && time >= this.capacityAt && this.#room(0) > 0; }

  // How many more leases there is room for, without those that are about to end.
  #room(aboutToLeave) {
    return Math.max(0, this.options.concurrency + this.options.prefetch - (this.core.held.size - aboutToLeave));
  }

  // The reports that are due now, up to the maximum for one call.
  #takeDue(time) {
    const due = [];
    const later = [];
    let bytes = 0;
    for (const report of this.core.finished) {
      const fits = due.length === 0 || (due.length < this.options.maxBatch && bytes + length(report) <= MAX_BYTES);
      const taken = report.notBefore <= time && fits;
      (taken ? due : later).push(report);
      if (taken) bytes += length(report);
    }
    this.core.finished = later;
    return due;
  }

  // Puts unsettled reports back, to be sent again.
  #putBack(batch, inDoubt) {
    for (const report of batch) {
      if (report.settled) continue;
      if (inDoubt) report.doubts++;
      this.core.finished.push(report);
    }
  }

  // ---- leasing --------------------------------------------------------------------------------------------------------

  // Leases from the queues in turn, until there is no more room or all have been tried. The completions of the batch are sent with
  // the first lease, if possible.
  async #leasePass(batch, room) {
    const { core } = this;
    const { queues } = this.options;
    core.looking = false; // another part that learns of tasks meanwhile sets it again
    this.lastPass = now();
    let completions = batch.filter(({ outcome, doubts }) => outcome.kind === 'completed' && outcome.metrics === null && doubts === 0);
    const first = this.nextQueue++ % queues.length;
    let want = room;
    let exhausted = true;
    try {
      for (const queue of [...queues.slice(first), ...queues.slice(0, first)]) {
        if (want <= 0) {
          exhausted = false;
          break;
        }
        const ask = Math.min(want, this.options.maxBatch);
        const got = await this.#leaseFrom(queue, ask, completions);
        completions = [];
        want -= got;
        exhausted &&= got < ask;
      }
    } catch (error) {
      core.looking = true;
      throw error;
    }
    this.fruitless = want < room ? 0 : this.fruitless + 1;
    core.looking ||= !exhausted;
  }

  async #leaseFrom(queue, ask, completions) {
    const { core } = this;
    const { leaseTimeout } = this.options;
    if (completions.length > 0) {
      const jobs = completions.map(({ job }) => job);
      const results = completions.map(({ outcome }) => outcome.result);
      const sent = now();
      try {
        const tasks = await this.link.call((on) => calls.completeAndLease(on, jobs, results, core.name, queue, ask, leaseTimeout));
        this.#settle(completions);
        return this.#accept(tasks, sent, false);
      } catch (error) {
        if (isEnd(error)) throw error; // else one of them is lost, or malformed: #finish() finds out which
      }
    }
    const sent = now();
    return this.#accept(await this.link.call((on) => calls.lease(on, queue, core.name, ask, leaseTimeout)), sent, false);
  }

  // Takes over new leases. An adopted lease may have nearly expired.
  #accept(tasks, sent, adopted) {
    const { core } = this;
    for (const { task, lasts } of tasks) {
      const job = new Held(task, core.name, lasts, adopted ? sent - lasts / 3 : sent);
      core.log('debug', adopted ? 'adopted' : 'leased', `attempt ${task.attempt}`, job);
      core.held.add(job);
      core.queued.push(job);
      core.counters.leased++;
    }
    if (tasks.length > 0) core.forHeart.notify();
    core.fill();
    return tasks.length;
  }

  // A lease call whose answer was lost may have given us tasks. Only a name from the server is certainly unique to us.
  async #adoptLeases() {
    const { core } = this;
    const sent = now();
    let found = [];
    try {
      found = await this.link.call((on) => calls.heldTasks(on, core.name));
    } catch (error) {
      if (error.code !== '42501') throw error; // else the tasks become ready when their leases expire
    }
    const known = new Set([...core.held].map(({ task }) => `${task.attempt} ${task.rn}`));
    this.#accept(found.filter(({ task }) => !known.has(`${task.attempt} ${task.rn}`)), sent, true);
    this.adopt = false;
  }

  // ---- finishing ------------------------------------------------------------------------------------------------------

  // Sends the reports that are not settled yet. Those that cannot be sent now stay unsettled.
  async #finish(batch) {
    const waiting = batch.filter(({ settled }) => !settled);
    // What has broken the connection twice is sent alone: it may have been the reason.
    const completions = waiting.filter(({ outcome, doubts }) => outcome.kind === 'completed' && outcome.metrics === null && doubts < 2);
    const yields = waiting.filter(({ outcome, doubts }) => outcome.kind === 'yielded' && doubts === 0);
    await this.#completeTogether(completions);
    await this.#yieldTogether(yields);
    for (const report of waiting)
      if (!completions.includes(report) && !yields.includes(report)) await this.#finishAlone(report);
  }

  async #completeTogether(reports) {
    if (reports.length === 0) return;
    const jobs = reports.map(({ job }) => job);
    const results = reports.map(({ outcome }) => outcome.result);
    let states;
    try {
      states = await this.link.call((on) => calls.completeMany(on, jobs, results, this.core.name));
    } catch (error) {
      if (isEnd(error)) throw error; // else one is malformed, or its task is locked: this must not affect the others
      for (const report of reports) await this.#finishAlone(report);
      return;
    }
    this.#settle(reports.filter((_, i) => states[i].completed));
    for (const [i, report] of reports.entries()) if (!states[i].completed) await this.#settleRefused(report, states[i].status);
  }

  async #yieldTogether(reports) {
    if (reports.length === 0) return;
    try {
      await this.link.call((on) => calls.yieldEach(on, reports.map(({ job }) => job), this.core.name));
      this.#settle(reports);
    } catch (error) {
      if (isEnd(error)) throw error; // else one of them is lost, which fails the statement
      for (const report of reports) await this.#finishAlone(report);
    }
  }

  async #finishAlone(report) {
    const { job, outcome } = report;
    const send = { completed: calls.complete, failed: calls.fail, aborted: calls.abort, yielded: calls.yieldTask }[outcome.kind];
    try {
      await this.link.call((on) => send(on, job, outcome));
      this.#settle([report]);
    } catch (error) {
      if (error instanceof Lost && report.doubts >= MAX_DOUBTS)
        this.#replace(report, new Lost(`the connection broke ${report.doubts} times while it was sent`));
      if (isEnd(error)) throw error;
      await this.#refused(report, error);
    }
  }

  async #refused(report, error) {
    const { core } = this;
    if (error.code === '55000' && error.schema === 'scylla' && error.constraint === 'held') {
      await this.#settleRefused(report, (await this.#stateOf(report.job.task.rn))?.status);
    } else if (error.code === 'P0002') {
      await this.#settleRefused(report, null);
    } else {
      report.attempts++;
      const fate = fateOf(isServers(error) ? error.code : null);
      if (fate === 'permanent' || (fate === 'unknown' && report.attempts > (core.stopping ? 1 : MAX_REPEATS))) {
        this.#replace(report, error);
        return;
      }
      report.notBefore = now() + backoff(report.attempts, 100, this.options.reconnectMax);
      core.log('warning', 'finish-failed', error.message, report.job, error);
    }
  }

  // The same report would fail again: the task fails, or is yielded, or its lease expires, whichever the server accepts.
  #replace(report, error) {
    const { core } = this;
    core.log('error', 'invalid-outcome', error.message, report.job, error);
    if (report.outcome.kind === 'yielded') {
      report.settled = true;
      core.held.delete(report.job);
      core.lost(report.job, 'running, and its lease expires: the server refuses every report');
      return;
    }
    report.outcome = report.spoilt ? YIELDED : failed('invalid-outcome', `the server refuses the outcome: ${error.message}`);
    Object.assign(report, { spoilt: true, attempts: 0, doubts: Math.min(report.doubts, 1), notBefore: 0 });
  }

  async #stateOf(rn) {
    try {
      return await this.link.call((on) => calls.stateOf(on, rn));
    } catch (error) {
      if (isEnd(error)) throw error;
      return undefined; // purged, or we may not look
    }
  }

  // The server has the reports. Results of handlers that still run are not needed.
  #settle(reports) {
    const { core } = this;
    for (const report of reports) {
      const { kind, note } = report.outcome;
      report.settled = true;
      if (report.job.phase === 'abandoned') report.job.abort();
      core.held.delete(report.job);
      core.counters[kind]++;
      core.log(kind === 'completed' || kind === 'yielded' ? 'debug' : 'info', kind, note, report.job);
    }
  }

  // The lease is not ours any more. If a connection broke during the report, our own report may have ended it.
  async #settleRefused(report, status) {
    if (report.doubts > 0 && (await this.#wasOurs(report))) {
      this.#settle([report]);
      return;
    }
    report.settled = true;
    this.core.held.delete(report.job);
    this.core.lost(report.job, status);
  }

  async #wasOurs({ job: { task }, outcome: { kind } }) {
    const state = await this.#stateOf(task.rn);
    if (state?.attempt !== task.attempt) return false;
    if (kind === 'failed') return state.failures > task.failures;
    return state.status === (kind === 'yielded' ? 'ready' : kind);
  }

  // ---- the end --------------------------------------------------------------------------------------------------------

  // No more leases; tasks that have not been started are yielded at once, running ones after the grace.
  async #shutDown() {
    const { core } = this;
    core.log('info', 'stopping', 'stopping');
    const runs = (job) => job.phase === 'running' && !job.gone;
    for (;;) {
      if (core.quitting) throw new Quitting();
      for (const job of [...core.queued]) core.giveBackQueued(job);
      const time = now();
      if (time >= core.graceEnd)
        for (const job of [...core.held].filter(runs)) {
          job.phase = 'abandoned';
          core.report(job, YIELDED);
        }
      const batch = this.#takeDue(time);
      if (batch.length > 0 || this.adopt) {
        await this.#sayAtTheEnd(batch);
        continue;
      }
      if (core.finished.length === 0 && ![...core.held].some(runs)) return;
      const next = Math.min(time < core.graceEnd ? core.graceEnd : Infinity, ...core.finished.map((report) => report.notBefore));
      await core.forCoordinator.wait(next - time);
    }
  }

  async #sayAtTheEnd(batch) {
    let inDoubt = true;
    try {
      if (this.adopt) await this.#adoptLeases();
      await this.#finish(batch);
      inDoubt = false;
    } catch (error) {
      if (isServers(error)) {
        this.core.log('error', 'call-failed', error.message, null, error);
        this.adopt = inDoubt = false;
      } else if (!(error instanceof Lost)) throw error;
    } finally {
      this.#putBack(batch, inDoubt);
    }
  }
}

module.exports = { Coordinator };
