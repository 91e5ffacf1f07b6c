// The TypeScript declarations: they hold for programs that use them, and name what the modules have.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import * as leasehold from '../../web/client/leasehold.js';

const client = fileURLToPath(new URL('../../web/client/', import.meta.url));

function problemsOf(program) {
  const folder = mkdtempSync(join(tmpdir(), 'leasehold-types.'));
  try {
    const file = join(folder, 'program.ts');
    writeFileSync(file, program);
    const checked = ts.createProgram([file], {
      strict: true, noEmit: true, target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext,
      moduleResolution: ts.ModuleResolutionKind.Bundler, lib: ['lib.es2022.d.ts', 'lib.dom.d.ts'], types: [],
      paths: { leasehold: [client + 'leasehold.d.ts'], 'leasehold/*': [client + '*'] },
    });
    return ts.getPreEmitDiagnostics(checked).map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

test('a program that uses them rightly compiles', () => {
  const problems = problemsOf(`
    import { EditGuard, Locks, NoAnswer, tabName } from 'leasehold';
    import { LeaseholdGuard } from 'leasehold/leasehold-guard.js';
    const guard = await EditGuard.hold({ type: 'Order', id: '1', owner: 'alice', ttl: 60_000 });
    guard.addEventListener('lost', ({ detail }) => console.log(detail.reason, detail.by, detail.holders[0]?.owner));
    guard.addEventListener('knocked', ({ detail: { knocks } }) => knocks.map(({ by, message }) => by + message));
    if (guard.isHeld) { const secret: string = guard.lockId; }
    const answer = await new Locks({ token: async () => 't' }).tryLock(guard.key, { owner: 'bob', wait: 1000 });
    if ('refused' in answer) {
      if (answer.refused.code === 'held') answer.refused.holders; else answer.refused.reason;
    } else {
      const left: number = answer.validFor.left;
    }
    try { await guard.knock('please'); } catch (error) { if (error instanceof NoAnswer) error.passing; }
    document.querySelector('leasehold-guard')!.texts = { held: 'yours' };
    LeaseholdGuard.texts.de = { held: 'Ihres' };
    const tab: string = await tabName();
    export {};
  `);
  assert.deepEqual(problems, []);
});

test('a program that uses them wrongly does not', () => {
  for (const wrong of [
    "EditGuard.hold({ type: 'Order' })",
    "EditGuard.hold({ type: 'Order', id: '1', mode: 'exclusiv' })",
    "new EditGuard({ type: 'Order', id: '1' }).addEventListener('lost', ({ detail }) => detail.cause)",
    "new EditGuard({ type: 'Order', id: '1' }).lockId = ''",
  ]) {
    assert.equal(problemsOf(`import { EditGuard } from 'leasehold'; ${wrong};`).length, 1, wrong);
  }
});

test('they name what there is', () => {
  const program = ts.createProgram([client + 'leasehold.d.ts'], { target: ts.ScriptTarget.ES2022 });
  const checker = program.getTypeChecker();
  const file = program.getSourceFile(client + 'leasehold.d.ts');
  const values = checker.getExportsOfModule(checker.getSymbolAtLocation(file)).filter(({ flags }) => flags & ts.SymbolFlags.Value);
  assert.deepEqual(values.map(({ name }) => name).sort(), Object.keys(leasehold).sort());
  for (const { name, members } of values) {
    if (!members) continue;
    const declared = [...members.keys()].filter((member) => !member.startsWith('__') && !/Listener$/.test(member));
    const there = Object.getOwnPropertyNames(leasehold[name].prototype).filter((member) => member !== 'constructor');
    for (const member of there) assert.ok(declared.includes(member), `${name}.${member} is declared`);
  }
});

test('the package holds the modules and their declarations, and depends on nothing', () => {
  const about = createRequire(import.meta.url)('../../web/client/package.json');
  assert.equal(about.dependencies, undefined);
  assert.equal(about.license, 'Apache-2.0');
  for (const { types, default: file } of Object.values(about.exports).filter((entry) => entry.types)) {
    assert.ok(ts.sys.fileExists(join(client, types)) && ts.sys.fileExists(join(client, file)));
  }
});
