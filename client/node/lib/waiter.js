// Waits on the server while there is nothing to lease.
'use strict';
const calls = require('./calls');
const { Lost, backoff, now } = require('./link');

const WAIT = 10000; // maximum time of one wait of an idle worker on the server
const QUICK = 5; // a wait that returned sooner did not wait
const TRY_AGAIN = 60000; // after the server has refused the wait

class Waiter {
  constructor(core) {
    this.core = core;
    this.quick = 0; // times in a row that a wait returned at once, and nothing could be leased
    this.leased = 0;
  }

  async run() {
    const { core } = this;
    while (await this.#untilWanted()) {
      const start = now();
      let found = false;
      let works = true;
      let pause = 0;
      try {
        found = await core.waiter.call((on) => this.#ask(on));
      } catch (error) {
        if (error instanceof Lost) works = false;
        else if (error.severity === undefined) throw error;
        else if (error.code !== '57014') { // statement_timeout
          core.log('warning', 'wait-refused', `polling instead: ${error.message}`, null, error);
          works = false;
          pause = TRY_AGAIN;
        }
      }
      this.quick = found && now() - start < QUICK ? this.quick + 1 : 0;
      core.counters.waits++;
      core.waiterWorks = works;
      if (found) {
        core.looking = true;
        core.waitWanted = false;
      }
      if (found || !works) core.forCoordinator.notify();
      if (pause > 0 && !(await core.sleep(pause))) return;
    }
  }

  async #ask(on) {
    this.core.waiterWorks = true; // as far as we know
    return (await calls.waitAny(on, this.core.options.queues, WAIT)) !== null;
  }

  // False: the worker stops.
  async #untilWanted() {
    const { core } = this;
    while (!core.waitWanted && !core.stopping && !core.quitting) await core.forWaiter.wait();
    if (core.stopping || core.quitting) return false;
    // A long transaction may be leasing the tasks that the server sees.
    if (core.counters.leased !== this.leased) this.quick = 0;
    this.leased = core.counters.leased;
    return this.quick === 0 || (await core.sleep(backoff(this.quick, 1, core.options.pollMax)));
  }
}

module.exports = { WAIT, Waiter };
