'use strict';
const { AbortTask, Complete, FailTask, StopError, YieldTask } = require('./job');
const { Worker } = require('./worker');

module.exports = { AbortTask, Complete, FailTask, StopError, Worker, YieldTask };
