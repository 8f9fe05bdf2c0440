// The options of a worker, checked.
'use strict';

const YEAR = 365 * 86400 * 1000;
const defaults = {
  connection: {},
  name: null,
  concurrency: 1,
  prefetch: 0,
  maxBatch: 200,
  leaseTimeout: null,
  stopGrace: 5000,
  capacity: null,
  capacityInterval: 1000,
  useWait: true,
  pollMin: 50,
  pollMax: 1000,
  callTimeout: 30000,
  reconnectMin: 100,
  reconnectMax: 5000,
  log: null,
};

const refuse = (option, value, rule) => {
  throw new RangeError(`invalid value for worker option "${option}": ${String(value)} is not ${rule}`);
};
const isName = (name) => typeof name === 'string' && name.length >= 1 && [...name].length <= 200 && !name.includes('\0');

function between(options, option, lowest, highest) {
  const value = options[option];
  if (!Number.isInteger(value) || value < lowest || value > highest) refuse(option, value, `an integer, ${lowest} to ${highest}`);
}

function time(options, option, zero = false) {
  const value = options[option];
  if (typeof value !== 'number' || !(value > 0 || (zero && value === 0)) || value > YEAR)
    refuse(option, value, `a time in milliseconds, ${zero ? 'from' : 'more than'} 0 to 365 days`);
}

function checked(given) {
  for (const option of Object.keys(given))
    if (option !== 'queues' && !(option in defaults)) refuse(option, given[option], 'an option that exists');
  const said = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  const options = { ...defaults, ...said, queues: [given.queues ?? []].flat() };
  if (options.queues.length < 1 || options.queues.length > 64) refuse('queues', options.queues.length, '1 to 64 queues');
  for (const queue of options.queues) if (!isName(queue)) refuse('queues', queue, 'a name of 1 to 200 characters');
  if (options.name !== null && !isName(options.name)) refuse('name', options.name, 'a name of 1 to 200 characters');
  between(options, 'concurrency', 1, 10000);
  between(options, 'prefetch', 0, 90000);
  between(options, 'maxBatch', 1, 100000);
  if (options.leaseTimeout !== null) time(options, 'leaseTimeout');
  time(options, 'stopGrace', true);
  for (const option of ['capacityInterval', 'pollMin', 'pollMax', 'callTimeout', 'reconnectMin', 'reconnectMax']) time(options, option);
  for (const option of ['capacity', 'log'])
    if (options[option] !== null && typeof options[option] !== 'function') refuse(option, options[option], 'a function');
  const connections = [options.connection].flat().map((one) => (typeof one === 'string' ? { connectionString: one } : one));
  if (connections.length === 0) refuse('connection', '[]', 'at least one server');
  return { ...options, connections };
}

module.exports = { checked };
