// The application of docs/web-kit.md, as it is printed there, with two people.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer } from 'node:net';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { person, picture } from './support/people.js';
import { eventually } from './support/waiting.js';

const executable =
  process.env.NOTE_COMMAND ?? new URL('../../build/release/tests/web/web_kit_note', import.meta.url).pathname;

async function freePort() {
  const listener = createServer().listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const { port } = listener.address();
  listener.close();
  await once(listener, 'close');
  return port;
}

/** Ends with the test `t`. `stop(signal)` returns the exit code; `start()` starts it again, on the same port. */
async function startNote(t) {
  const folder = mkdtempSync(join(tmpdir(), 'leasehold-note.'));
  const port = await freePort();
  let program;
  const note = {
    url: `http://127.0.0.1:${port}`,
    start: async () => {
      program = spawn(executable, [port], { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] });
      const [url] = await once(createInterface({ input: program.stdout }), 'line');
      assert.equal(url, note.url);
    },
    stop: async (signal = 'SIGTERM') => {
      if (program.exitCode === null && program.signalCode === null) {
        program.kill(signal);
        await once(program, 'exit');
      }
      return program.exitCode;
    },
  };
  t.after(async () => {
    await note.stop('SIGKILL');
    rmSync(folder, { recursive: true });
  });
  await note.start();
  return note;
}

async function signInAt(page, url, name) {
  await page.goto(url);
  await page.getByLabel('Name').fill(name);
  await page.getByLabel('Name').press('Enter');
}

async function signIn(t, url, name) {
  const { page } = await person(t);
  await signInAt(page, url, name);
  await page.locator('leasehold-guard').waitFor();
  return {
    page,
    note: page.locator('textarea'),
    reads: (text) => page.getByText(text).first().waitFor(),
    press: (label) => page.getByRole('button', { name: label, exact: true }).click(),
  };
}

test('two people and one note: locked, waited for, saved, handed over', async (t) => {
  const { url } = await startNote(t);
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
  const { url } = await startNote(t);
  const kim = await signIn(t, url, 'Kim');
  await kim.reads('You are editing this.');
  const lee = await signIn(t, url, 'Lee');
  await lee.reads('Kim has been editing this since');
  await lee.press('Wait in line');
  await lee.reads('You are next.');
  const forged = await kim.page.context().request.post(url + '/save', { form: { text: 'forged', lock_id: 'none' } });
  assert.equal(forged.status(), 409);
  assert.match(await forged.text(), /Not saved\. You no longer have the lock\..*<pre>forged<\/pre>/);
  await kim.page.close();
  await lee.reads('You are editing this.');
  assert.equal(await lee.note.inputValue(), '');
});

test('a stop and a restart lose neither what was typed nor the lock', async (t) => {
  const note = await startNote(t);
  const kim = await signIn(t, note.url, 'Kim');
  await kim.reads('You are editing this.');
  await kim.note.fill('twenty minutes of typing');
  // A page that waits does not keep the application from ending.
  const lee = await signIn(t, note.url, 'Lee');
  await lee.press('Wait in line');
  await lee.reads('You are next.');
  await lee.page.close();
  assert.equal(await note.stop(), 0);
  await kim.press('Save');
  await kim.reads('Not sent: the server cannot be reached. What you typed is still here.');
  await picture(kim.page, 'web-kit-stopped');

  await note.start();
  await kim.press('Save');
  await kim.reads('You are signed out.');
  await picture(kim.page, 'web-kit-signed-out');
  assert.equal(await kim.note.inputValue(), 'twenty minutes of typing');
  // Like a sign-in in another tab. The application has released the lock at its end, so this tab can continue.
  await kim.page.context().request.post(note.url + '/sign-in', { form: { name: 'Kim' } });
  await kim.press('Take the lock again');
  await kim.reads('You are editing this.');
  await kim.press('Save');
  await kim.reads('Saved.');
});

test('a save without a session answers with what was typed, and a wrong name is not sent', async (t) => {
  const { url } = await startNote(t);
  const { page } = await person(t);
  const late = await page.context().request.post(url + '/save', { form: { text: '<b>typed</b>', lock_id: 'x' } });
  assert.equal(late.status(), 409);
  assert.match(await late.text(), /Not saved\. You are signed out\..*<pre>&lt;b&gt;typed&lt;\/b&gt;<\/pre>/);
  for (const name of ['', 'Kim/Lee']) {
    await signInAt(page, url, name);
    assert.equal(await page.getByLabel('Name').evaluate((input) => input.validity.valid), false);
  }
});

test('after a crash, the page says to a person who signs in again that the lock is their own', async (t) => {
  const note = await startNote(t);
  const kim = await signIn(t, note.url, 'Kim');
  await kim.reads('You are editing this.');
  await note.stop('SIGKILL');
  await note.start();
  await signInAt(kim.page, note.url, 'Kim');
  await kim.reads(/You have held the lock since .*: from another browser, or from before you signed in again\./);
});
