// What capture.js and runner.js share.
'use strict';

exports.batchSize = 50;
exports.spec = { cmd: 'convert', from: '/data/in/000042.tiff', to: '/data/out/000042.png', dpi: 96 };

// Each peer has the database of its name.
exports.connection = (database) => ({
  database,
  host: process.env.PGHOST,
  port: Number(process.env.PGPORT),
  user: process.env.PGUSER,
  max: 10,
});

// Without its maintenance, which would come in between.
exports.pgBoss = () => {
  const module = require('pg-boss');
  const PgBoss = module.PgBoss ?? module;
  const boss = new PgBoss({ ...exports.connection('pg-boss'), supervise: false, schedule: false });
  boss.on('error', (error) => { console.error(error); process.exit(1); });
  return boss;
};
