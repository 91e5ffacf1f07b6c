// The TypeScript declarations compile in every kind of program, and declare what the modules export.

import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import * as leasehold from '../../web/client/leasehold.js';

const client = fileURLToPath(new URL('../../web/client/', import.meta.url));
const browser = { lib: ['lib.es2022.d.ts', 'lib.dom.d.ts'], types: [] };
const node = { lib: ['lib.es2022.d.ts'], types: ['node'], typeRoots: [fileURLToPath(new URL('node_modules/@types', import.meta.url))] };
const neither = { lib: ['lib.es2022.d.ts'], types: [] };

// Compiles each program on its own; returns the problems of each, and of the declarations it uses.
function problemsOf(programs, platform = browser) {
  const folder = mkdtempSync(join(tmpdir(), 'leasehold-types.'));
  try {
    const files = programs.map((_, index) => join(folder, `program${index}.ts`));
    files.forEach((file, index) => writeFileSync(file, programs[index] + '\nexport {};\n'));
    const checked = ts.createProgram(files, {
      strict: true, noUncheckedIndexedAccess: true, noEmit: true,
      target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext, moduleResolution: ts.ModuleResolutionKind.Bundler,
      paths: { leasehold: [client + 'leasehold.d.ts'], 'leasehold/*': [client + '*'] },
      ...platform,
    });
    const problemsIn = (file) => [...checked.getSyntacticDiagnostics(file), ...checked.getSemanticDiagnostics(file)]
      .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'));
    const declarations = checked.getSourceFiles().filter(({ fileName }) => fileName.startsWith(client));
    const common = declarations.flatMap(problemsIn);
    return files.map((name) => [...common, ...problemsIn(checked.getSourceFile(name))]);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const [, example] = readFileSync(client + 'README.md', 'utf8').match(/```js\n([^]*?)```/);
const everyPart = `
  import { EditGuard, Locks, NoAnswer, tabName, type GuardStatus } from 'leasehold';
  import { LeaseholdGuard } from 'leasehold/leasehold-guard.js';
  const server = new URL('http://locks.example');
  const guard = await EditGuard.hold({ type: 'Order', id: '1', owner: 'alice', ttl: 60_000, server, fetch });
  guard.addEventListener('lost', ({ detail }) => console.log(detail.reason, detail.by, detail.holders[0]?.owner));
  guard.addEventListener('knocked', ({ detail: { knocks } }) => knocks.map(({ by, message }) => by + message), { once: true });
  guard.addEventListener('held', { handleEvent: ({ detail }) => console.log(detail.stale) });
  guard.dispatchEvent(new Event('other'));
  if (guard.isHeld) { const secret: string = guard.lockId; }
  const describe = ({ state, detail }: GuardStatus) =>
    state === 'refused' ? detail.holders.length : state === 'lost' ? detail.reason : state;
  describe(guard);
  const locks = new Locks({ token: async () => 't' });
  const answer = await locks.tryLock(guard.key, { owner: 'bob', wait: 1000, signal: AbortSignal.timeout(5000) });
  if ('refused' in answer) {
    if (answer.refused.code === 'held') answer.refused.holders; else answer.refused.reason;
  } else {
    const left: number = answer.validFor.left;
  }
  try { await guard.knock('please'); } catch (error) { if (error instanceof NoAnswer) error.passing; }
  const element = document.querySelector('leasehold-guard')!;
  element.texts = { held: 'yours' };
  if (element.guard?.state === 'waiting') element.guard.detail.ahead;
  LeaseholdGuard.texts.de = { held: 'Ihres' };
  const tab: string = await tabName();
`;
const wrong = [
  "EditGuard.hold({ type: 'Order' })",
  "EditGuard.hold({ type: 'Order', id: '1', mode: 'exclusiv' })",
  "new EditGuard({ type: 'Order', id: '1' }).addEventListener('lost', ({ detail }) => detail.cause)",
  "new EditGuard({ type: 'Order', id: '1' }).lockId = ''",
  "new EditGuard({ type: 'Order', id: '1' }).detail.holders",
];

test('the example of the README and a program that uses every part compile, wrong programs do not', () => {
  const programs = wrong.map((line) => `import { EditGuard } from 'leasehold'; ${line};`);
  const [ofExample, ofEveryPart, ...ofWrong] = problemsOf([example.replace('/client/leasehold.js', 'leasehold'), everyPart, ...programs]);
  assert.deepEqual(ofExample, []);
  assert.deepEqual(ofEveryPart, []);
  ofWrong.forEach((problems, index) => assert.equal(problems.length, 1, wrong[index]));
});

for (const [where, platform] of Object.entries({ 'in Node': node, 'without the DOM library and without Node': neither })) {
  test(`a program ${where} compiles`, () => {
    const [problems] = problemsOf([`
      import { EditGuard, GuardEvent, Locks } from 'leasehold';
      const locks = new Locks({ server: 'http://127.0.0.1:7470', fetch: async (url, { method }) => ({
        ok: true, status: 200, statusText: method, headers: { get: () => null }, text: async () => url }) });
      const guard = new EditGuard({ type: 'Order', id: '1', owner: 'alice', locks });
      guard.addEventListener('held', ({ type, detail }) => [type, detail.lease.fence]);
      guard.dispatchEvent(new GuardEvent('knocked', { knocks: [], again: false }));
      await guard.start();
      if (guard.state === 'refused') guard.detail.holders;
    `], platform);
    assert.deepEqual(problems, []);
  });
}

test('they declare every export and every member', () => {
  const program = ts.createProgram([client + 'leasehold.d.ts'], { target: ts.ScriptTarget.ES2022, ...neither });
  const checker = program.getTypeChecker();
  const file = program.getSourceFile(client + 'leasehold.d.ts');
  const values = checker.getExportsOfModule(checker.getSymbolAtLocation(file)).filter(({ flags }) => flags & ts.SymbolFlags.Value);
  assert.deepEqual(values.map(({ name }) => name).sort(), Object.keys(leasehold).sort());
  for (const symbol of values) {
    const there = Object.getOwnPropertyNames(leasehold[symbol.name].prototype ?? {}).filter((member) => member !== 'constructor');
    const declared = checker.getPropertiesOfType(checker.getDeclaredTypeOfSymbol(symbol)).map(({ name }) => name);
    for (const member of there) assert.ok(declared.includes(member), `${symbol.name}.${member} is declared`);
  }
});
