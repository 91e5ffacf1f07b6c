// A page that uses a server of another origin, with a token.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { at } from './support/editor.js';
import { person } from './support/people.js';
import { startServer } from './support/server.js';
import { startSite, strictPolicy } from './support/site.js';
import { eventually } from './support/waiting.js';

const page = (server, token, owner) => `<!doctype html><html lang="en"><title>Far</title>
  <script type="module" src="/client/leasehold-guard.js"></script>
  <leasehold-guard server="${server}" token="${token}" key-type="Order" key-id="1" owner="${owner}" closing="500ms">
  <form><input aria-label="Name" name="name"></form></leasehold-guard>`;

test('a page of an allowed origin works with a valid token only', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'leasehold-tokens.'));
  t.after(() => rmSync(folder, { recursive: true }));
  const token = 'a'.repeat(43);
  const sha256 = createHash('sha256').update(token).digest('hex');
  const tokens = join(folder, 'tokens.toml');
  writeFileSync(tokens, `[[token]]\nname = "shop"\nsha256 = "${sha256}"\nroles = ["use", "see"]\nowner = "shop"\n`, { mode: 0o600 });
  const site = await startSite(t, { url: 'http://127.0.0.1:1' });
  const server = await startServer(t, { corsOrigin: site.url, tokens });
  const as = (headers) => server.ask('GET', '/v1/locks/Order/1', undefined, headers);
  const holders = async () => (await as({ Authorization: 'Bearer ' + token })).holders.map(({ owner }) => owner);
  site.policy = strictPolicy.replace("connect-src 'self'", 'connect-src ' + server.url);
  site.pages = {
    '/alice': page(server.url, token, 'shop/alice'),
    '/bob': page(server.url, token, 'shop/bob'),
    '/carol': page(server.url, token, 'carol'),
    '/elsewhere': '<!doctype html><title>Elsewhere</title>',
    '/wrong': page(server.url, 'b'.repeat(43), 'shop/dave'),
  };

  const alice = await person(t);
  await alice.page.goto(site.url + '/alice');
  await at(alice.page).is('held');
  assert.match((await holders())[0], /^shop\/alice\//);
  const bob = await person(t);
  await bob.page.goto(site.url + '/bob');
  await at(bob.page).reads('alice has been editing this since');
  for (const [path, status] of [['/wrong', 401], ['/carol', 403]]) {
    const stranger = await person(t);
    await stranger.page.goto(site.url + path);
    await at(stranger.page).is('failed');
    assert.equal(await at(stranger.page).guard('detail.error.status'), status);
  }

  // The last request of a closed page reaches the other origin as well.
  await alice.page.goto(site.url + '/elsewhere');
  await eventually(async () => (await holders()).length === 0);
});
