import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startEditor } from './support/editor.js';
import { picture } from './support/people.js';

test('two people and one record: the second is refused, waits, gets the lock and saves', async (t) => {
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
  // The page is loaded again with what alice saved, and keeps its lease.
  await bob.reads('You are editing this.');
  assert.equal(await bob.name.inputValue(), 'Ama Mensah');
  await bob.notes.fill('Moved to Kumasi.');
  await bob.save();
  await bob.page.getByText('saved by bob').waitFor();
  assert.deepEqual(editor.record, { name: 'Ama Mensah', notes: 'Moved to Kumasi.' });
  assert.deepEqual(await editor.holders(), []);
});

test('a person asks for the lock; the holder needs five more minutes, then hands it over', async (t) => {
  const editor = await startEditor(t, { attributes: { 'five-more': '2s' } });
  const alice = await editor.open('alice');
  await alice.is('held');
  await alice.notes.fill('Called twice.');
  const bob = await editor.open('bob');
  await bob.button('Ask for the lock').click();
  await bob.page.getByLabel('Message to alice').fill('She is on the phone: <b>now</b>');
  await bob.page.keyboard.press('Enter');
  await bob.reads('Your request was sent to alice.');

  await alice.reads('bob would like to edit this: “She is on the phone: <b>now</b>”');
  assert.match(await alice.panel.getByRole('status').textContent(), /bob would like to edit this/);
  assert.equal(await alice.notes.evaluate((area) => area === document.activeElement), true, 'no focus is taken');
  await picture(alice.page, 'knocked');
  await alice.button('Five more minutes').click();
  await bob.reads('needs five more minutes, until');
  await bob.button('Wait in line').click();
  await bob.reads('You are next.');

  await alice.reads('bob would like to edit this');
  await alice.button('Finish and hand over').click();
  await alice.page.getByText('saved by alice').waitFor();
  await bob.is('held');
  await bob.reads('You are editing this.');
  assert.equal(await bob.notes.inputValue(), 'Called twice.');
});
