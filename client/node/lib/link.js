// A connection of a worker, which is made again when it breaks, and may be cut during a call.
'use strict';
const { Client } = require('pg');

// Ends a part of a worker when its time is over.
class Quitting extends Error {}
// The connection is gone, and it is not known what the call did.
class Lost extends Error {}

const now = () => performance.now();

// The pause after a number of failures in a row: first, doubled each time, up to last.
const backoff = (failures, first, last) => Math.min(first * 2 ** Math.min(failures - 1, 40), last);

// An error of the server has a severity; any other comes from the connection. A server that accepts no writes is useless, too.
// What cannot be put into a message leaves the connection as it was.
function isLost(error) {
  if (error instanceof TypeError || error instanceof RangeError || error.code === 'ERR_STRING_TOO_LONG') return false;
  if (error.severity === undefined) return true;
  return error.code.startsWith('08') || error.code.startsWith('57P') || error.code === '25006';
}

// Values stay text, independent of the parsers of pg that the application has set.
const types = { getTypeParser: () => (value) => value };

class Link {
  // around: connections, pauses, sleep(ms) → false: the worker quits, connected(), failed(error, wasConnected),
  // noticed(message)
  constructor(around, setup) {
    this.around = around;
    this.setup = setup;
    this.failures = 0;
    this.attempts = 0;
    this.client = null;
    this.wasConnected = false;
    this.made = null; // the connection, or the attempt to make it
    this.started = null; // when the call that is running began
    this.closed = false;
  }

  // Runs an async function on a connection. Throws Lost, Quitting, or an error of the server.
  async call(work) {
    const client = await this.#ensure();
    try {
      const result = await this.#busy(() => work(client));
      this.failures = 0;
      return result;
    } catch (error) {
      if (error instanceof Quitting) throw error;
      if (!isLost(error) && !client.connection.stream.destroyed) throw error;
      this.#drop(error, true);
      throw new Lost(error.message);
    }
  }

  // Breaks the connection if a call on it has been running since before that time.
  cutIfOlder(moment) {
    if (this.started !== null && this.started < moment) destroy(this.made);
  }

  // Breaks the connection, also one that is being made, and refuses any call from now on.
  close() {
    this.closed = true;
    if (this.started !== null || this.client === null) destroy(this.made);
  }

  // Tells the server that the connection ends.
  async end() {
    this.closed = true;
    const client = this.client;
    this.client = null;
    if (client === null) return;
    let timer;
    await Promise.race([client.end().catch(() => {}), new Promise((resolve) => { timer = setTimeout(resolve, 500); })]);
    clearTimeout(timer);
    destroy(client);
  }

  async #busy(work) {
    if (this.closed) throw new Quitting();
    this.started = now();
    try {
      return await work();
    } finally {
      this.started = null;
    }
  }

  async #ensure() {
    while (this.client === null) {
      // The first attempt after a loss is made at once. A connection counts as good only after a successful call.
      const pause = this.failures > 1 ? backoff(this.failures - 1, ...this.around.pauses) : 0;
      if (this.closed || !(await this.around.sleep(pause * (1 - Math.random() / 2)))) throw new Quitting();
      try {
        this.client = await this.#connect();
        this.wasConnected = true;
        this.around.connected();
      } catch (error) {
        if (error instanceof Quitting) throw error;
        this.#drop(error, false);
        if (error.code === '3D000' && !this.wasConnected) { // trying again would not help
          error.hint ??= 'Create the database, or name another one in the option "connection".';
          throw error;
        }
      }
    }
    return this.client;
  }

  async #connect() {
    const config = this.around.connections[this.attempts++ % this.around.connections.length];
    const client = new Client({
      fallback_application_name: 'scylla worker',
      connectionTimeoutMillis: 5000,
      keepAlive: true,
      ...config,
      types,
    });
    client.on('error', (error) => { // of a connection that is idle, or about to be dropped
      if (this.client === client && this.started === null) this.#drop(error, true);
    });
    client.on('notice', ({ message }) => this.around.noticed(message));
    this.made = client;
    await client.connect();
    await this.#busy(async () => {
      for (const command of this.setup) await client.query(command);
      const { rows } = await client.query('show transaction_read_only');
      if (rows[0].transaction_read_only === 'on') throw new Error('the server accepts no writes');
    });
    return client;
  }

  #drop(error, wasConnected) {
    this.client = null;
    destroy(this.made);
    this.failures++;
    this.around.failed(error, wasConnected);
  }
}

// pg rejects the calls of a connection whose stream ends.
function destroy(client) {
  client?.connection?.stream?.destroy();
}

module.exports = { Link, Lost, Quitting, backoff, now };
