// The package as it is published: typed, and it installs.
'use strict';
const assert = require('node:assert');
const { execFileSync } = require('node:child_process');
const { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { dirname, join } = require('node:path');
const { test } = require('node:test');

const root = join(__dirname, '..');
const read = (...path) => readFileSync(join(root, ...path), 'utf8');
const node = (...args) => execFileSync(process.execPath, args, { encoding: 'utf8' });

// A folder in which an application has installed the package.
function applicationTest(name, body) {
  test(name, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'scylla-'));
    try {
      const packed = execFileSync('npm', ['pack', '--silent', '--pack-destination', folder], { cwd: root, encoding: 'utf8' }).trim();
      const installed = join(folder, 'node_modules/pgscylla');
      mkdirSync(installed, { recursive: true });
      execFileSync('tar', ['-xzf', join(folder, packed), '-C', installed, '--strip-components=1']);
      symlinkSync(join(dirname(require.resolve('pg')), '..'), join(folder, 'node_modules/pg'));
      await body({ folder, installed, packed });
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
}

applicationTest('npm pack makes a package that can be required and imported', ({ folder, installed, packed }) => {
  assert.equal(packed, `pgscylla-${require('../package.json').version}.tgz`);
  const files = execFileSync('find', ['.', '-type', 'f'], { cwd: installed, encoding: 'utf8' }).trim().split('\n').sort();
  const lib = ['calls.js', 'coordinator.js', 'heart.js', 'index.d.ts', 'index.js', 'job.js', 'link.js', 'options.js', 'refusal.js', 'waiter.js', 'worker.js'];
  assert.deepEqual(files, ['./LICENSE', './README.md', ...lib.map((file) => `./lib/${file}`), './package.json']);
  writeFileSync(join(folder, 'cjs.cjs'), "console.log(Object.keys(require('pgscylla')).join())");
  writeFileSync(join(folder, 'esm.mjs'), "import { Worker, AbortTask } from 'pgscylla'; console.log(Worker.name, AbortTask.name)");
  const names = node(join(folder, 'cjs.cjs')).trim().split(',');
  assert.equal(node(join(folder, 'esm.mjs')).trim(), 'Worker AbortTask');
  const declared = [...read('lib/index.d.ts').matchAll(/^export class (\w+)/gm)].map(([, name]) => name);
  assert.deepEqual(names.sort(), declared.sort());
});

// Without the option npm makes a link to the folder, and installs no pg.
test('the command of README.md installs the package with its dependency', () => {
  const [, options] = read('README.md').match(/^npm install (--\S+) \.\/client\/node /m);
  const folder = mkdtempSync(join(tmpdir(), 'scylla-'));
  try {
    writeFileSync(join(folder, 'package.json'), '{"private": true}');
    execFileSync('npm', ['install', '--silent', '--no-audit', '--no-fund', '--prefer-offline', options, root], { cwd: folder });
    writeFileSync(join(folder, 'app.js'), "console.log(require('pgscylla').Worker.name, typeof require('pg').Client)");
    assert.equal(node(join(folder, 'app.js')), 'Worker function\n');
  } finally {
    rmSync(folder, { recursive: true });
  }
});

applicationTest('the declarations are sound', ({ folder }) => {
  writeFileSync(join(folder, 'types.ts'), read('test/types.ts'));
  // DOM for AbortSignal, which @types/node would bring.
  const compilerOptions = {
    strict: true, noEmit: true, target: 'es2022', lib: ['es2022', 'dom'], module: 'node16', moduleResolution: 'node16', types: [],
  };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['types.ts'] }));
  let said = '';
  try {
    node(require.resolve('typescript/lib/tsc.js'), '-p', folder);
  } catch (error) {
    said = error.stdout;
  }
  assert.equal(said, '');
});

test('the example in README.md is JavaScript', () => {
  const [, block] = read('README.md').match(/^```js\n([^]*?)^```/m);
  new Function('require', 'process', block);
});

test('licence and version are those of the project', () => {
  const project = join(root, '../..');
  assert.equal(read('LICENSE'), readFileSync(join(project, 'LICENSE'), 'utf8'));
  assert.equal(require('../package.json').version, JSON.parse(readFileSync(join(project, 'META.json'), 'utf8')).version);
});

test('every option is declared, and no other', () => {
  const declared = read('lib/index.d.ts').match(/export interface WorkerOptions \{([^]*?)\n\}/)[1];
  const names = [...declared.matchAll(/^ {2}(\w+)\??:/gm)].map(([, name]) => name);
  const [, defaults] = read('lib/options.js').match(/const defaults = \{([^]*?)\n\};/);
  assert.deepEqual(names.sort(), [...[...defaults.matchAll(/^ {2}(\w+):/gm)].map(([, name]) => name), 'queues'].sort());
});
