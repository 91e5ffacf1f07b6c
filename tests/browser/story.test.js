import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startEditor } from './support/editor.js';
import { picture } from './support/people.js';

test('two people and one record: refused, waits, is next, gets it, saves', async (t) => {
  const editor = await startEditor(t);
  const alice = await editor.open('alice');
  await alice.reads('You are editing this.');
  await picture(alice.page, 'held');
  await alice.name.fill('Ama Mensah');

  const bob = await editor.open('bob');
  await bob.reads('alice has been editing this since');
  await picture(bob.page, 'refused');
  assert.equal(await bob.name.isEditable(), false);
  assert.equal(await bob.name.inputValue(), 'Ama Boateng');

  await bob.button('Wait in line').click();
  await bob.reads('You are next.');
  await picture(bob.page, 'waiting');

  await alice.save();
  await alice.page.getByText('saved by alice').waitFor();
  // The page is loaded again with what alice has saved, and holds on to the lease it got.
  await bob.reads('You are editing this.');
  assert.equal(await bob.name.inputValue(), 'Ama Mensah');
  await bob.notes.fill('Moved to Kumasi.');
  await bob.save();
  await bob.page.getByText('saved by bob').waitFor();
  assert.deepEqual(editor.record, { name: 'Ama Mensah', notes: 'Moved to Kumasi.' });
  assert.deepEqual(await editor.holders(), []);
});
