// The application of docs/web-kit.md, as it is printed there, with two people.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { person, picture } from './support/people.js';
import { eventually } from './support/waiting.js';

const executable =
  process.env.NOTE_COMMAND ?? new URL('../../build/release/tests/web/web_kit_note', import.meta.url).pathname;

async function startNote(t) {
  const folder = mkdtempSync(join(tmpdir(), 'leasehold-note.'));
  const program = spawn(executable, { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(program, 'exit');
  t.after(async () => {
    program.kill('SIGTERM');
    await ended;
    rmSync(folder, { recursive: true });
  });
  const [url] = await once(createInterface({ input: program.stdout }), 'line');
  return url;
}

async function signIn(t, url, name) {
  const { page } = await person(t);
  await page.goto(url);
  await page.getByLabel('Name').fill(name);
  await page.getByLabel('Name').press('Enter');
  await page.locator('leasehold-guard').waitFor();
  return {
    page,
    note: page.locator('textarea'),
    reads: (text) => page.getByText(text).first().waitFor(),
    press: (label) => page.getByRole('button', { name: label, exact: true }).click(),
  };
}

test('two people and one note: locked, waited for, saved, handed over', async (t) => {
  const url = await startNote(t);
  const kim = await signIn(t, url, 'Kim');
  await kim.reads('You are editing this.');
  const lee = await signIn(t, url, 'Lee');
  await lee.reads('Kim has been editing this since');
  await lee.page.locator('leasehold-guard[read-only]').waitFor();
  await picture(lee.page, 'web-kit-refused');

  // A reloaded page finds its lock again.
  await kim.page.reload();
  await kim.reads('You are editing this.');

  await lee.press('Wait in line');
  await lee.reads('You are next.');
  await kim.note.fill('Kim was here.');
  await kim.press('Save');
  await kim.reads('Saved.');
  // Lee's page gets the lock and shows what Kim has saved.
  await lee.reads('You are editing this.');
  await eventually(async () => (await lee.note.inputValue()) === 'Kim was here.');
  await lee.note.fill('Kim was here. So was Lee.');
  await lee.press('Save');
  await lee.page.getByText('Edit it again').click();
  await eventually(async () => (await lee.note.inputValue()) === 'Kim was here. So was Lee.');
});

test('a closed tab frees the note, and a save without the lock writes nothing', async (t) => {
  const url = await startNote(t);
  const kim = await signIn(t, url, 'Kim');
  await kim.reads('You are editing this.');
  const lee = await signIn(t, url, 'Lee');
  await lee.reads('Kim has been editing this since');
  await lee.press('Wait in line');
  await lee.reads('You are next.');
  const forged = await kim.page.context().request.post(url + '/save', { form: { text: 'forged', lock_id: 'none' } });
  assert.match(await forged.text(), /Not saved\. You no longer have the lock\./);
  await kim.page.close();
  await lee.reads('You are editing this.');
  assert.equal(await lee.note.inputValue(), '');
});
