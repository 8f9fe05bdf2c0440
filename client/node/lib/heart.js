// Extends leases: all of a worker's in batches, when a third of their time has passed.
'use strict';
const calls = require('./calls');
const { Lost, now } = require('./link');

const PROGRESS_INTERVAL = 1000; // minimum time between two reports of progress

class Heart {
  constructor(core) {
    this.core = core;
    this.lastProgress = now();
  }

  async run() {
    const { core } = this;
    for (let next; (next = await this.#waitForBeat()) !== null; ) {
      try {
        const due = next.due;
        for (const batch of this.#batches(next.told)) due.push(...(await this.#sendProgress(batch)));
        for (const batch of this.#batches(due)) await this.#extend(batch);
      } catch (error) {
        if (error instanceof Lost) continue; // logged; the next call connects again
        if (error.severity === undefined) throw error;
        core.log('error', 'heartbeat-failed', error.message, null, error);
        if (!(await core.sleep(core.options.reconnectMax))) return;
      }
    }
  }

  #batches(jobs) {
    const size = this.core.options.maxBatch;
    return Array.from({ length: Math.ceil(jobs.length / size) }, (_, i) => jobs.slice(i * size, (i + 1) * size));
  }

  // Waits until there is something to send: progress, and leases that must be extended. Null: no more.
  async #waitForBeat() {
    const { core } = this;
    for (;;) {
      if (core.quitting) return null;
      const time = now();
      const live = [...core.held].filter((job) => !job.gone);
      const beatAt = live.reduce((least, job) => Math.min(least, job.renewAt), Infinity);
      const until = live.length > 0 ? Math.min(beatAt, this.lastProgress + PROGRESS_INTERVAL) : Infinity;
      if (until > time) {
        await core.forHeart.wait(until - time);
        continue;
      }
      this.lastProgress = time;
      const tells = (job) => job.progress !== job.sentProgress && job.phase === 'running';
      // If one is due, those that will be due soon are included.
      const isDue = (job) => beatAt <= time && !tells(job) && job.renewed + job.lasts / 6 <= time;
      return { told: live.filter(tells), due: live.filter(isDue) };
    }
  }

  // One statement for all. If one of them is lost, it fails: then all are extended without progress. Returns those.
  async #sendProgress(jobs) {
    const { core } = this;
    const progress = jobs.map((job) => job.progress);
    const sent = now();
    try {
      await core.heart.call((on) => calls.heartbeatEach(on, jobs, progress, core.name, core.options.leaseTimeout));
    } catch (error) {
      if (error.severity === undefined) throw error;
      return jobs;
    }
    for (const [i, job] of jobs.entries()) {
      job.sentProgress = progress[i];
      job.renewed = sent;
    }
    core.counters.heartbeats += jobs.length;
    return [];
  }

  async #extend(jobs) {
    const { core } = this;
    const sent = now();
    let states;
    try {
      states = await core.heart.call((on) => calls.heartbeatMany(on, jobs, core.name, core.options.leaseTimeout));
    } catch (error) {
      if (error.severity === undefined || !(error.code === '55P03' || error.code.startsWith('40'))) throw error;
      if (jobs.length > 1) { // another transaction holds one of the tasks for long
        for (const job of jobs) await this.#extend([job]);
        return;
      }
      core.log('warning', 'heartbeat-failed', error.message, jobs[0], error);
      jobs[0].renewed += jobs[0].lasts / 12; // not again at once
      return;
    }
    for (const [i, job] of jobs.entries()) this.#extended(job, states[i], sent);
  }

  #extended(job, { held, status }, sent) {
    const { core } = this;
    if (held || !['queued', 'running'].includes(job.phase)) {
      job.renewed = sent; // if not, it has just been finished, or the coordinator will notice
      if (held) core.counters.heartbeats++;
      return;
    }
    job.gone = true;
    if (job.phase === 'queued') {
      core.queued.splice(core.queued.indexOf(job), 1);
      core.held.delete(job);
      core.forCoordinator.notify(); // there is room again
    }
    core.lost(job, status);
    job.requestStop(status === 'cancelled' ? 'cancelled' : 'lease-lost');
  }
}

module.exports = { Heart };
