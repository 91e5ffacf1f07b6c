// The examples of web/client/README.md work as printed.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { at } from './support/editor.js';
import { person, picture } from './support/people.js';
import { startServer } from './support/server.js';
import { startSite } from './support/site.js';

const readme = readFileSync(new URL('../../web/client/README.md', import.meta.url), 'utf8');
const block = (language) => readme.match(new RegExp('```' + language + '\\n([^]*?)```'))[1];

test('the example page works', async (t) => {
  const server = await startServer(t);
  const html = block('html');
  const site = await startSite(t, server, { '/alice': html, '/bob': html.replace('owner="alice"', 'owner="bob"') });
  const alice = await person(t);
  await alice.page.goto(site.url + '/alice');
  await at(alice.page).reads('You are editing this.');
  const bob = await person(t);
  await bob.page.goto(site.url + '/bob');
  await at(bob.page).reads('alice has been editing this since');
});

test('the example of the guard works', async (t) => {
  const server = await startServer(t);
  await server.ask('POST', '/v1/locks/Customer/7', { owner: 'bob' });
  const site = await startSite(t, server, {
    '/page': '<!doctype html><title>x</title><script type="module" src="/page.js"></script>', '/page.js': block('js'),
  });
  const alice = await person(t);
  const said = alice.page.waitForEvent('console', (message) => message.type() === 'log');
  await alice.page.goto(site.url + '/page');
  assert.equal((await said).text(), 'taken by bob');
});

test('the demo page of the server works', async (t) => {
  const server = await startServer(t);
  const ama = await person(t);
  const bongani = await person(t);
  await ama.page.goto(server.url + '/client/demo.html');
  await at(ama.page).reads('You are editing this.');
  await bongani.page.goto(server.url + '/client/demo.html?owner=Bongani');
  await at(bongani.page).reads('Ama has been editing this since');
  await picture(bongani.page, 'demo');
  await at(bongani.page).button('Wait in line').click();
  await at(bongani.page).reads('You are next.');
  await at(ama.page).save();
  await ama.page.getByText('Saved.').waitFor();
  await at(bongani.page).reads('You are editing this.');
});
