import assert from 'node:assert/strict';
import { test } from 'node:test';
import { person } from './support/people.js';
import { startServer } from './support/server.js';
import { startSite } from './support/site.js';

const page = `<!doctype html><html lang="en"><title>First</title><p>nothing yet</p>
<script type="module" src="/first.js"></script>`;

const script = `
  import { EditGuard } from '/client/leasehold.js';
  const owner = new URLSearchParams(location.search).get('owner');
  const guard = await EditGuard.hold({ type: 'Order', id: '1', owner });
  document.querySelector('p').textContent = guard.state;
`;

test('one person holds, the other is refused', async (t) => {
  const server = await startServer(t);
  const site = await startSite(t, server, { '/first': page, '/first.js': script });

  const alice = await person(t);
  await alice.page.goto(site.url + '/first?owner=alice');
  await alice.page.getByText('held').waitFor();

  const bob = await person(t);
  await bob.page.goto(site.url + '/first?owner=bob');
  await bob.page.getByText('refused').waitFor();

  const { holders } = await server.ask('GET', '/v1/locks/Order/1');
  assert.equal(holders.length, 1);
  assert.match(holders[0].owner, /^alice\//);
});
