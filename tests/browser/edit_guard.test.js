// Every state of EditGuard, without a browser, against a real server.

import assert from 'node:assert/strict';
import { EditGuard, Locks } from '../../web/client/leasehold.js';
import { startServer } from './support/server.js';
import { sideBySide } from './support/side_by_side.js';
import { startSite } from './support/site.js';
import { become, eventually, next } from './support/waiting.js';

const test = sideBySide(8);

const key = { type: 'Order', id: '1' };
const path = '/v1/locks/Order/1';

// A server, a site in front of it with a rule that a test can set, and guards.
async function begin(t, serverOptions) {
  const server = await startServer(t, serverOptions);
  const site = await startSite(t, server);
  const hold = async (owner, options = {}) => {
    const guard = await EditGuard.hold({
      ...key, owner, session: 's', tab: 't', server: site.url, checkEvery: 50, ...options,
    });
    t.after(() => guard.close());
    return guard;
  };
  const holders = async () => (await server.ask('GET', path)).holders.map(({ owner }) => owner);
  const breakIt = async (reason) => {
    const { fence } = (await server.ask('GET', path)).holders[0];
    return server.ask('POST', path + '/break', { fence, by: 'admin', reason });
  };
  return { server, site, hold, holders, breakIt, locks: new Locks({ server: server.url }) };
}

test('takes and releases the lock', async (t) => {
  const { hold, holders } = await begin(t);
  const alice = await hold('alice');
  assert.equal(alice.state, 'held');
  assert.equal(alice.owner, 'alice/s/t');
  assert.ok(alice.isHeld);
  assert.match(alice.lockId, /^[0-9a-f-]{36}$/);
  assert.ok(alice.left > 290_000 && alice.left <= 300_000);
  assert.equal(alice.detail.stale, false);
  await alice.release();
  assert.equal(alice.state, 'released');
  assert.equal(alice.lockId, '');
  assert.deepEqual(await holders(), []);
});

test('is refused with the holder, and learns when the lock is free', async (t) => {
  const { hold } = await begin(t);
  const alice = await hold('alice', { note: 'prices' });
  const bob = await hold('bob');
  assert.equal(bob.state, 'refused');
  assert.equal(bob.detail.holders[0].owner, 'alice/s/t');
  assert.equal(bob.detail.holders[0].note, 'prices');
  assert.ok(!('lock_id' in bob.detail.holders[0]));
  const free = next(bob, 'free');
  await alice.release();
  await free;
  assert.equal(await bob.take(), true);
  assert.equal(bob.detail.stale, true, 'what bob sees is older than what alice did');
});

test('waits in line, first come first served, and knows its place', async (t) => {
  const { hold, holders } = await begin(t);
  const alice = await hold('alice');
  const [bob, carol] = [await hold('bob'), await hold('carol')];
  const bobGot = bob.wait();
  await eventually(() => bob.detail.ahead === 0, 'the first place');
  const carolGot = carol.wait();
  await eventually(() => carol.detail.ahead === 1, 'the second place');
  await alice.release();
  assert.equal(await bobGot, true);
  assert.equal(bob.detail.stale, true);
  await eventually(() => carol.detail.ahead === 0, 'the first place');
  await bob.release();
  assert.equal(await carolGot, true);
  assert.deepEqual(await holders(), ['carol/s/t']);
});

test('keeps its place in line from one request to the next', async (t) => {
  const { server, hold, site } = await begin(t);
  const alice = await hold('alice');
  const bob = await hold('bob', { longestWait: 5000 });
  const tries = () => site.requests.filter(({ method }) => method === 'POST').length;
  const bobGot = bob.wait();
  await eventually(() => bob.detail.ahead === 0);
  const carol = await hold('carol');
  const carolGot = carol.wait();
  await eventually(() => carol.detail.ahead === 1);
  const before = tries();
  await eventually(() => tries() >= before + 2, 'two more requests of bob');
  const line = async () => (await server.ask('GET', path)).waiting.join();
  await eventually(async () => (await line()) === 'bob/s/t,carol/s/t', 'bob before carol');
  await alice.release();
  assert.equal(await bobGot, true);
  await bob.release();
  assert.equal(await carolGot, true);
});

test('stops waiting without a lease left behind', async (t) => {
  const { server, hold, holders } = await begin(t);
  const alice = await hold('alice');
  const bob = await hold('bob');
  const got = bob.wait();
  await eventually(() => bob.detail.ahead === 0);
  await bob.stopWaiting();
  assert.equal(await got, false);
  assert.equal(bob.state, 'refused');
  await eventually(async () => (await server.ask('GET', path)).waiting.length === 0);
  await alice.release();
  await become(bob, 'free');
  assert.deepEqual(await holders(), []);
});

test('renews after a third of the ttl by default', async (t) => {
  const { site, hold } = await begin(t);
  const alice = await hold('alice', { ttl: 4500, checkEvery: 60_000 });
  const renewals = () => site.requests.filter(({ method }) => method === 'PATCH').length;
  await eventually(() => renewals() >= 3);
  assert.equal(alice.state, 'held');
});

test('loses the lock to a break, with who and why', async (t) => {
  const { hold, breakIt } = await begin(t);
  const alice = await hold('alice');
  await breakIt('gone home');
  const { reason, by, why } = await become(alice, 'lost');
  assert.deepEqual({ reason, by, why }, { reason: 'broken', by: 'admin', why: 'gone home' });
  assert.equal(alice.lockId, '');
});

test('warns and then loses the lock while the server is down', async (t) => {
  const { server, hold } = await begin(t);
  const alice = await hold('alice', { ttl: 6000 });
  const expiring = next(alice, 'expiring');
  const asking = next(alice, 'asking');
  await server.kill();
  assert.equal((await expiring).why, 'unconfirmed');
  await asking;
  assert.equal(alice.isHeld, false);
  assert.equal((await become(alice, 'lost')).reason, 'unconfirmed');
  await server.start();
  await eventually(() => alice.detail.reason === 'expired', 'the truth');
});

test('keeps the lock if the server is back in time', async (t) => {
  const { server, hold } = await begin(t);
  const alice = await hold('alice', { ttl: 20_000, renewEvery: 100 });
  const { fence } = alice.lease;
  const events = [];
  for (const type of ['asking', 'lost', 'refused', 'failed']) alice.addEventListener(type, () => events.push(type));
  await server.kill();
  await eventually(() => alice.left < 19_000);
  const { left } = alice;
  await server.start();
  await eventually(() => alice.left > left, 'a renewal');
  assert.deepEqual(events, []);
  assert.equal(alice.lease.fence, fence);
});

test('finds a lease again that could not be confirmed', async (t) => {
  const { site, hold, locks } = await begin(t);
  const alice = await hold('alice', { ttl: 4000 });
  const { lock_id: lockId, fence } = alice.lease;
  site.rule = () => 'cut';
  await locks.renew(key, lockId, 60_000);  // a renewal whose answer was lost
  assert.equal((await become(alice, 'lost')).reason, 'unconfirmed');
  site.rule = () => undefined;
  await become(alice, 'held');
  assert.equal(alice.lease.fence, fence);
});

test('learns who took the lock after it expired', async (t) => {
  const { server, site, hold } = await begin(t);
  site.rule = (request) => (request.method === 'POST' ? undefined : 'cut');
  const alice = await hold('alice', { ttl: 400 });
  await eventually(async () => (await server.ask('POST', path, { owner: 'bob' })).status === 201);
  site.rule = () => undefined;
  await eventually(() => alice.state === 'lost' && alice.detail.reason === 'taken');
  assert.equal(alice.detail.by, 'bob');
  await eventually(() => alice.detail.holders[0]?.owner === 'bob');
});

test('counts the time from before the request', async (t) => {
  const { site, hold } = await begin(t);
  site.rule = () => new Promise((resolve) => setTimeout(resolve, 200));  // slow
  const alice = await hold('alice', { ttl: 60_000 });
  assert.equal(alice.lease.remaining_ms, 60_000);
  assert.ok(alice.left < 59_810, `${alice.left} ms left`);
});

test('sends the same lock id again after a lost answer', async (t) => {
  const { site, hold, holders } = await begin(t);
  site.rule = () => {
    site.rule = () => undefined;
    return 'cut answer';
  };
  const alice = await hold('', { owner: 'alice', note: 'once' });
  assert.equal(alice.state, 'asking');
  assert.ok(alice.detail.error.passing);
  await become(alice, 'held');
  const tokens = site.requests.filter(({ method }) => method === 'POST').map(({ headers }) => headers['lock-token']);
  assert.equal(tokens.length, 2);
  assert.equal(tokens[0], tokens[1]);
  assert.equal(alice.lease.lock_id, tokens[0]);
  assert.deepEqual(await holders(), ['alice/s/t']);
});

test('a wrong request fails and is not repeated', async (t) => {
  const { hold } = await begin(t);
  const alice = await hold('alice', { ttl: 1 });
  assert.equal(alice.state, 'failed');
  assert.equal(alice.detail.error.status, 400);
  await assert.rejects(EditGuard.hold({ type: 'Order', owner: 'alice' }), TypeError);
  await assert.rejects(EditGuard.hold(key), TypeError);
});

for (const [status, reason] of [[401, 'unauthorized'], [403, 'forbidden']]) {
  test(`reacts to the answer ${status} at once, and asks again`, async (t) => {
    const { site, hold } = await begin(t);
    const alice = await hold('alice');
    const { fence } = alice.lease;
    const told = [];
    for (const type of ['expiring', 'failed']) alice.addEventListener(type, () => told.push(type));
    site.rule = () => ({ status, body: { code: reason, detail: 'who are you?' } });
    const { why, ...loss } = await become(alice, 'lost');
    assert.deepEqual({ why, reason: loss.reason }, { why: 'who are you?', reason });
    assert.equal(alice.isHeld, false);
    assert.equal(await alice.retake(), false);
    assert.equal(alice.detail.reason, reason);
    site.rule = () => undefined;
    await become(alice, 'held');
    assert.equal(alice.lease.fence, fence, 'it was ours all the time');
    assert.deepEqual(told, []);
  });
}

test('releases the lock of an idle person after a warning', async (t) => {
  const { hold, holders } = await begin(t);
  const alice = await hold('alice', { idleAfter: 5000, idleWarning: 4500 });
  assert.equal((await become(alice, 'expiring')).why, 'idle');
  alice.touch();
  assert.equal(alice.state, 'held');
  assert.equal((await next(alice, 'expiring')).why, 'idle');
  assert.equal((await become(alice, 'lost')).reason, 'idle');
  await eventually(async () => (await holders()).length === 0);
});

test('releases the lock at the cap, even with activity', async (t) => {
  const { server, hold } = await begin(t);
  const alice = await hold('alice', { cap: 5000, idleWarning: 4500, ttl: 10_000 });
  const busy = setInterval(() => alice.touch(), 20);
  t.after(() => clearInterval(busy));
  const { holders: [{ granted_at, expires_at }] } = await server.ask('GET', path);
  assert.ok(Date.parse(expires_at) - Date.parse(granted_at) <= 5000, 'the store knows of it, too');
  assert.equal((await become(alice, 'expiring')).why, 'cap');
  assert.match((await become(alice, 'lost')).reason, /^(cap|expired)$/);
});

test("the server's own bound is heeded without a flood of renewals", async (t) => {
  const { site, hold } = await begin(t, { maxHold: '5s' });
  const alice = await hold('alice', { ttl: 4000, renewEvery: 800, idleWarning: 2000, checkEvery: 60_000 });
  assert.equal((await become(alice, 'expiring')).why, 'cap');
  await become(alice, 'lost');
  assert.ok(site.requests.length < 15, `${site.requests.length} requests`);
});

test('takes the lock again if nobody held it in between', async (t) => {
  const { hold, breakIt } = await begin(t);
  const alice = await hold('alice');
  const { fence } = alice.lease;
  await breakIt('');
  await become(alice, 'lost');
  assert.equal(await alice.retake(), true);
  assert.ok(alice.lease.fence > fence);
  assert.equal(alice.detail.stale, false);
});

test('does not take the lock again if somebody held it in between', async (t) => {
  const { server, hold, breakIt, holders } = await begin(t);
  const alice = await hold('alice');
  await breakIt('');
  await become(alice, 'lost');
  const { lock_id: lockId } = await server.ask('POST', path, { owner: 'bob' });
  assert.equal(await alice.retake(), false);
  assert.equal(alice.state, 'refused');
  await server.ask('DELETE', path, undefined, { 'Lock-Token': lockId });
  assert.equal(await alice.retake(), false);
  assert.equal(alice.state, 'lost');
  assert.equal(alice.detail.reason, 'taken');
  assert.equal(alice.detail.by, 'bob');
  assert.deepEqual(await holders(), []);
  assert.equal(await alice.take(), true);
  assert.equal(alice.detail.stale, true);
});

test('keeps the lease that the page was served with', async (t) => {
  const { server, hold } = await begin(t);
  const { lock_id: lockId, fence } = await server.ask('POST', path, { owner: 'alice/app', ttl_ms: 60_000 });
  const alice = await hold(undefined, { lockId, session: undefined, tab: undefined });
  assert.equal(alice.state, 'held');
  assert.equal(alice.lease.fence, fence);
  assert.equal(alice.owner, 'alice/app');
  assert.ok(alice.left > 200_000);
});

test('tells why the lease that the page was served with is gone', async (t) => {
  const { server, hold } = await begin(t);
  const { lock_id: lockId } = await server.ask('POST', path, { owner: 'alice' });
  await server.ask('DELETE', path, undefined, { 'Lock-Token': lockId });
  const alice = await hold(undefined, { lockId });
  assert.equal(alice.state, 'lost');
  assert.equal(alice.detail.reason, 'released');
});

test('waits for a server that has not started yet', async (t) => {
  const { server, hold } = await begin(t);
  await server.kill();
  const alice = await hold('alice');
  assert.equal(alice.state, 'asking');
  await server.start();
  await become(alice, 'held');
});

test('the same tab gets its own lease back', async (t) => {
  const { hold } = await begin(t);
  const before = await hold('alice');
  before.close();
  const after = await hold('alice');
  assert.equal(after.lease.fence, before.lease.fence);
});

test('a save that ends the lease is not a loss', async (t) => {
  const { server, hold } = await begin(t);
  const alice = await hold('alice');
  const { lock_id: lockId } = alice.lease;
  alice.handOver();
  await server.ask('DELETE', path, undefined, { 'Lock-Token': lockId });
  await become(alice, 'released');
});

test('releases a lease that was granted after release()', async (t) => {
  const { site, hold, holders } = await begin(t);
  const alice = await hold('alice');
  await alice.release();
  let pass;
  site.rule = (request) => (request.method === 'POST' ? new Promise((resolve) => (pass = resolve)) : undefined);
  const taking = alice.take();
  await eventually(() => pass);
  await alice.release();
  pass();
  assert.equal(await taking, false);
  await eventually(async () => (await holders()).length === 0);
});

test('a busy lock is not a loss', async (t) => {
  const { site, hold } = await begin(t);
  const alice = await hold('alice', { ttl: 60_000, renewEvery: 50 });
  let refused = 0;
  site.rule = () => (++refused > 2 ? undefined : { status: 409, body: { code: 'busy', detail: 'a transaction' } });
  await eventually(() => refused > 3);
  assert.equal(alice.state, 'held');
});

test('knocks, and the holder learns who and why', async (t) => {
  const { hold } = await begin(t);
  const alice = await hold('alice', { fiveMore: 300 });
  const bob = await hold('bob');
  const knocked = next(alice, 'knocked');
  assert.equal(await bob.knock('The customer is on the phone.'), true);
  const { knocks: [{ by, message }], again } = await knocked;
  assert.deepEqual({ by, message, again }, { by: 'bob/s/t', message: 'The customer is on the phone.', again: false });
  assert.equal(await bob.knock('Hello?'), true, 'asked a moment ago is asked');
  let reminded = false;
  alice.addEventListener('knocked', ({ detail: { again } }) => (reminded ||= again));
  await alice.fiveMore('until noon');
  await eventually(() => bob.detail.holders[0].note === 'until noon');
  await eventually(() => reminded, 'a reminder');
  assert.equal(alice.state, 'held');
  await alice.release();
  await become(bob, 'free');
  assert.equal(await bob.knock('Anybody?'), false);
});
