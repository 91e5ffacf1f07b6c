// `Locks`, without a browser: the requests it sends, and the answers it does not accept.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Locks, NoAnswer } from '../../web/client/leasehold.js';

const lease = { type: 'Order', id: '1', lock_id: 'secret', expires_at: null };

function locksWith(answer) {
  const asked = [];
  const fetch = async (url, { method }) => {
    asked.push(`${method} ${url}`);
    return { ok: true, status: 200, statusText: 'OK', headers: { get: () => null }, text: async () => JSON.stringify(answer) };
  };
  return { locks: new Locks({ fetch }), asked };
}

const requests = {
  tryLock: (locks, key) => locks.tryLock(key, { owner: 'alice' }),
  holders: (locks, key) => locks.holders(key),
  check: (locks, key) => locks.check(key, 'secret'),
  renew: (locks, key) => locks.renew(key, 'secret', 1000),
  extend: (locks, key) => locks.extend(key, 'secret', 1000),
  release: (locks, key) => locks.release(key, 'secret', { after: 5 }),
  knock: (locks, key) => locks.knock(key, { owner: 'bob', message: 'please' }),
};

for (const [name, send] of Object.entries(requests)) {
  test(`${name} asks nothing for a key that a browser would remove from the URL`, async () => {
    const { locks, asked } = locksWith(lease);
    for (const key of [{ type: '..', id: 'batch' }, { type: '.', id: '1' }, { type: 'Order', id: '..' }, { type: 'Order', id: '.' }]) {
      await assert.rejects(send(locks, key), (error) => error instanceof NoAnswer && !error.passing && /cannot be/.test(error.message));
    }
    assert.deepEqual(asked, []);
    await send(locks, { type: 'Order', id: '1' });
    assert.equal(asked.length, 1);
  });
}

test('a lease of another key is not accepted', async () => {
  for (const other of [{ type: 'Order', id: '2' }, { type: 'Invoice', id: '1' }, { type: undefined, id: undefined }]) {
    const { locks } = locksWith({ ...lease, ...other });
    for (const name of ['tryLock', 'check', 'renew', 'extend', 'release']) {
      await assert.rejects(requests[name](locks, { type: 'Order', id: '1' }), { code: 'wrong_key' });
    }
  }
  const { locks } = locksWith(lease);
  assert.equal((await locks.tryLock({ type: 'Order', id: '1' })).lock_id, 'secret');
});

test('names with dots in them are sent as they are', async () => {
  const { locks, asked } = locksWith({ ...lease, type: 'a.b', id: '...' });
  await locks.check({ type: 'a.b', id: '...' }, 'secret');
  assert.deepEqual(asked, ['GET /v1/locks/a.b/...']);
});
