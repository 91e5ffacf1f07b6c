// The npm package: what is in it, and that it works in a program that was bundled with esbuild.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { workerCode } from '../../web/client/timer.js';
import { at } from './support/editor.js';
import { person } from './support/people.js';
import { startServer } from './support/server.js';
import { startSite, strictPolicy } from './support/site.js';
import { eventually } from './support/waiting.js';

const root = fileURLToPath(new URL('../../', import.meta.url));
const client = root + 'web/client/';
const bin = fileURLToPath(new URL('node_modules/.bin/', import.meta.url));
const read = (file) => readFileSync(file, 'utf8');

// Packs it, and unpacks it where a program in that folder finds it as `leasehold`.
const installed = mkdtempSync(join(tmpdir(), 'leasehold-npm.'));
after(() => rmSync(installed, { recursive: true }));
const run = (command, ...args) => execFileSync(command, args, { cwd: installed, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
run('npm', 'pack', '--silent', '--pack-destination', installed, client);
const tarball = join(installed, readdirSync(installed).find((name) => name.endsWith('.tgz')));
mkdirSync(join(installed, 'node_modules'));
run('tar', '-xzf', tarball, '-C', 'node_modules', '--transform', 's,^package,leasehold,');

const packages = JSON.parse(execFileSync('npm', ['pack', '--dry-run', '--json'], { cwd: client, stdio: ['ignore', 'pipe', 'ignore'] }));
const files = Object.values(packages)[0].files.map(({ path }) => path).sort();

test('the tarball has the modules, their types, the README and the licence, and nothing else', () => {
  const modules = readdirSync(client).filter((name) => /\.(js|d\.ts)$/.test(name) && name !== 'demo.js');
  assert.deepEqual(files, [...modules, 'LICENSE', 'README.md', 'package.json'].sort());
  assert.equal(read(client + 'LICENSE'), read(root + 'LICENSE'));
});

test('its files are those of the sources, byte by byte', () => {
  for (const file of files) assert.deepEqual(readFileSync(join(installed, 'node_modules/leasehold', file)), readFileSync(client + file), file);
});

test('two packs give the same tarball', () => {
  const again = mkdtempSync(join(installed, 'again.'));
  run('npm', 'pack', '--silent', '--pack-destination', again, client);
  assert.deepEqual(readFileSync(join(again, basename(tarball))), readFileSync(tarball));
});

test('publint finds nothing', () => {
  run(bin + 'publint', '--strict', tarball);
});

test('every kind of resolution finds the types that belong to the code', () => {
  // The modules are ES modules alone; a CommonJS program imports them dynamically.
  run(bin + 'attw', '--profile', 'esm-only', tarball);
});

test('a program in Node imports it by its name, without a bundler', () => {
  const code = "import('leasehold').then((all) => console.log(Object.keys(all).sort().join()))";
  assert.match(run('node', '--input-type=module', '--eval', code), /EditGuard/);
  assert.match(run('node', '--input-type=commonjs', '--eval', code), /EditGuard/);
});

test('a bundler finds it by its name', async () => {
  const { outputFiles: [bundle] } = await build({
    stdin: { contents: "import 'leasehold/leasehold-guard.js'; export * from 'leasehold';", resolveDir: installed },
    bundle: true, write: false, format: 'esm', logLevel: 'silent',
  });
  assert.match(bundle.text, /customElements/);
});

test('package.json names files that are in the tarball, and no dependency', () => {
  const about = JSON.parse(read(client + 'package.json'));
  assert.equal(about.dependencies, undefined);
  assert.equal(about.license, 'Apache-2.0');
  const named = [about.main, about.types, ...Object.values(about.exports).flatMap((entry) => Object.values(Object(entry)))];
  for (const path of named.filter((path) => path.startsWith('./'))) assert.ok(files.includes(path.slice(2)), path);
});

test('the links of its README lead to files of the tarball', () => {
  const targets = [...read(client + 'README.md').matchAll(/\]\(([^)]*)\)/g)].map(([, target]) => target);
  const relative = targets.filter((target) => !/^(https?:|#)/.test(target));
  assert.deepEqual(relative.filter((target) => !files.includes(target.replace(/#.*/, ''))), []);
});

test('the worker has the same code as a file and as text', () => {
  assert.equal(read(client + 'ticks.js').replace(/^\/\/.*\n/, ''), workerCode);
});

// Serves a page whose only script is the element in one file. Returns a person who has the page open and
// holds the lock, the addresses of the page's workers, and the requests that were answered with 404.
async function openBundle(t, options, { policy, ...how } = {}) {
  const bundle = await build({
    entryPoints: [client + 'leasehold-guard.js'], bundle: true, write: false, minify: true, format: 'esm', logLevel: 'silent', ...options,
  });
  const server = await startServer(t);
  const site = await startSite(t, server, {
    '/app.js': bundle.outputFiles[0].text,
    '/': `<!doctype html><html lang="en"><title>Bundle</title><script type="module" src="/app.js"></script>
      <leasehold-guard key-type="Order" key-id="1" owner="alice" renew-every="1s" check-every="never">
      <form><input aria-label="Name" name="name"></form></leasehold-guard>`,
  });
  site.policy = policy;
  const { page } = await person(t, how);
  const workers = [];
  const missing = [];
  page.on('worker', (worker) => workers.push(worker.url()));
  page.on('response', (response) => response.status() === 404 && missing.push(response.url()));
  await page.goto(site.url);
  await at(page).is('held');
  const renewed = () => site.requests.some(({ method }) => method === 'PATCH');
  return { workers, missing, renewed };
}

const withBlob = strictPolicy + '; worker-src blob:';

for (const format of ['esm', 'iife']) {
  test(`bundled as ${format}, the timers run in a worker`, async (t) => {
    const { workers, missing, renewed } = await openBundle(t, { format }, { policy: withBlob });
    await eventually(renewed, 'a renewal');
    assert.match(workers.join(), /^blob:[^,]*$/);
    assert.deepEqual(missing, []);
  });
}

test('bundled under a policy without blob:, the guard works with the timers of the page', async (t) => {
  const { workers, renewed } = await openBundle(t, {}, { policy: strictPolicy, mayViolatePolicy: true });
  await eventually(renewed, 'a renewal');
  assert.deepEqual(workers.filter((url) => url.startsWith('blob:')), []);
});
