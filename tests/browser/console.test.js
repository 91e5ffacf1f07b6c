// The console of a real server, as people use it.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { accessibilityProblems, problemsInLightAndDark } from './support/accessibility.js';
import { person, picture } from './support/people.js';
import { startServer } from './support/server.js';
import { sideBySide } from './support/side_by_side.js';
import { startSite } from './support/site.js';

const test = sideBySide(3);

const phone = { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true };

async function openConsole(t, server, { hash = '#/', ...options } = {}) {
  const { page } = await person(t, { locale: 'en-GB', ...options });
  await page.goto(`${server.url}/${hash}`);
  return page;
}

const take = async (server, key, fields = {}) => {
  const lease = await server.ask('POST', `/v1/locks/${key}`, { ttl_ms: 3_600_000, ...fields });
  assert.equal(lease.status, 201);
  return lease;
};
const release = (server, key, lease) =>
  server.ask('DELETE', `/v1/locks/${key}`, undefined, { 'Lock-Token': lease.lock_id });

const row = (page, text) => page.getByRole('row').filter({ hasText: text });

test('the table follows leases that are taken, extended and released', async (t) => {
  const server = await startServer(t);
  const page = await openConsole(t, server);
  await page.getByText('Nothing is locked.').waitFor();

  const about = { owner: 'alice/web/tab-1', note: 'adds a discount', ttl_ms: 1_200_000 };
  const lease = await take(server, 'Order/7', about);
  await row(page, 'Order/7').waitFor();
  assert.match(
    await row(page, 'Order/7').innerText(),
    /alice\/web\/tab-1[^]*(19|20):\d\d[^]*exclusive[^]*adds a discount/,
  );

  await server.ask('PATCH', '/v1/locks/Order/7', { ttl_ms: 3_000_000 }, { 'Lock-Token': lease.lock_id });
  await row(page, '49:').or(row(page, '50:00')).waitFor();

  // A new lease appears at once, without the delay of an ended row.
  await take(server, 'Order/8', { owner: 'bob' });
  await row(page, 'Order/8').waitFor();
  await release(server, 'Order/7', lease);
  await row(page, 'Order/7').waitFor({ state: 'detached' });
  assert.equal(await row(page, 'Order/8').count(), 1);
});

test('an unknown address shows a message and no connection status', async (t) => {
  const page = await openConsole(t, await startServer(t), { hash: '#/nonsense' });
  await page.getByRole('heading', { name: 'No such page' }).waitFor();
  assert.equal(await page.locator('.status').isVisible(), false);
  await page.getByRole('link', { name: 'Go to the locks' }).click();
  await page.getByText('Live', { exact: true }).waitFor();
});

test('the time left decreases', async (t) => {
  const server = await startServer(t);
  await take(server, 'Order/1', { ttl_ms: 110_000 });
  const page = await openConsole(t, server);
  await page.locator('.time-text').waitFor();
  const before = await page.evaluate(() => {
    window.timeLeft = () => {
      const [minutes, seconds] = document.querySelector('.time-text').innerText.split(':').map(Number);
      return { seconds: 60 * minutes + seconds, width: document.querySelector('.bar-fill').getBoundingClientRect().width };
    };
    return window.timeLeft();
  });
  await page.waitForFunction(({ seconds, width }) => {
    const now = window.timeLeft();
    return now.seconds < seconds - 1 && now.width < width;
  }, before);
});

test('the owners who wait for a key are shown', async (t) => {
  const server = await startServer(t);
  const lease = await take(server, 'Order/1', { owner: 'alice' });
  const waiting = server.ask('POST', '/v1/locks/Order/1', { owner: 'bob', wait_ms: 60_000 });
  const page = await openConsole(t, server);
  await page.locator('.waiters', { hasText: '1' }).waitFor();
  await page.getByRole('link', { name: 'Order/1' }).click();
  await page.getByText('Waiting on this server: bob').waitFor();
  await release(server, 'Order/1', lease);
  assert.equal((await waiting).status, 201);
  await page.getByText('Held by bob', { exact: true }).waitFor();
});

test('focus stays on a row while the table changes around it', async (t) => {
  const server = await startServer(t);
  await take(server, 'Order/5', { owner: 'alice' });
  const page = await openConsole(t, server);
  await page.getByRole('link', { name: 'Order/5' }).focus();
  await take(server, 'Order/1', { owner: 'bob' });
  await take(server, 'Order/9', { owner: 'carol' });
  await row(page, 'Order/9').waitFor();
  assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Order/5');
  await page.keyboard.press('/');
  assert.equal(await page.evaluate(() => document.activeElement.id), 'search');
});

for (const [answer, goesBefore] of [
  ['comes at once', null],
  ['comes after the news', 'tr:not(.ended)'],
  ['comes when the row is gone', 'tr'],
]) {
  test(`focus moves to the next row after a break by keyboard, if the answer ${answer}`, async (t) => {
    const server = await startServer(t);
    await take(server, 'Order/1', { owner: 'alice' });
    await take(server, 'Order/2', { owner: 'bob' });
    const page = await openConsole(t, server);
    await page.route('**/break', async (route) => {
      const response = await route.fetch();
      if (goesBefore) await page.locator(goesBefore, { hasText: 'Order/1' }).waitFor({ state: 'detached' });
      await route.fulfill({ response });
    });
    await row(page, 'Order/1').getByRole('button').focus();
    await page.keyboard.press('Enter');
    await page.keyboard.type('on leave');
    await page.keyboard.press('Tab');
    await page.keyboard.type('olivia');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await row(page, 'Order/1').waitFor({ state: 'detached' });
    assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Order/2');
  });
}

test('the total is never smaller than the number of rows', async (t) => {
  const server = await startServer(t);
  const page = await openConsole(t, server);
  await page.getByText('Nothing is locked').first().waitFor();
  const lease = await take(server, 'Order/1', { owner: 'alice' });
  await page.getByText('1–1 of 1').waitFor();
  assert.equal(await page.locator('.tile-value').first().innerText(), '1');
  await release(server, 'Order/1', lease);
  await page.waitForFunction(() => document.querySelector('.tile-value').innerText === '0');
});

test('focus stays in lists that are read again', async (t) => {
  const server = await startServer(t);
  await take(server, 'Order/1', { owner: 'alice' });
  await server.ask('POST', '/v1/locks/Order/1', { owner: 'bob' });
  const page = await openConsole(t, server, { hash: '#/activity' });
  const share = page.locator('.hot .hint');
  for (const link of [page.locator('.hot a'), page.locator('.tries a').first()]) {
    await link.focus();
    const before = await share.innerText();
    await server.ask('POST', '/v1/locks/Order/1', { owner: 'bob' });
    await page.waitForFunction((text) => document.querySelector('.hot .hint').innerText !== text, before);
    assert.equal(await link.evaluate((one) => one === document.activeElement), true);
  }
});

test('the page of a key shows holders, refused tries and breaks', async (t) => {
  const server = await startServer(t);
  const first = await take(server, 'Order/1', { owner: 'alice' });
  await server.ask('POST', '/v1/locks/Order/1', { owner: 'bob' });
  await release(server, 'Order/1', first);
  const second = await take(server, 'Order/1', { owner: 'carol' });
  await server.ask('POST', '/v1/locks/Order/1/break', {
    fence: second.fence,
    by: 'admin',
    reason: 'went home',
  });
  const page = await openConsole(t, server, { hash: '#/lock/Order/1' });
  await page.getByText('Nobody holds this key.').waitFor();
  const past = page.getByRole('table', { name: 'History' });
  await past.getByText('admin: went home').waitFor();
  assert.equal(await past.getByRole('row').count(), 3);
  assert.equal(await page.locator('.refused-mark').count(), 1);
  assert.equal(await page.locator('.lease').count(), 2);
  assert.match(
    await page.locator('.timeline svg').getAttribute('aria-label'),
    /2 leases by 2 owners, 1 refused/,
  );
  await take(server, 'Order/1', { owner: 'dana' });
  await page.getByText('Held by dana', { exact: true }).waitFor();
});

test('the page of a key shows each expired lease', async (t) => {
  const server = await startServer(t);
  const page = await openConsole(t, server, { hash: '#/lock/Order/1' });
  const past = page.getByRole('table', { name: 'History' });
  for (const owner of ['alice', 'bob']) {
    await take(server, 'Order/1', { owner, ttl_ms: 200 });
    await row(past, owner).filter({ hasText: 'expired' }).waitFor();
  }
  await row(past, 'alice').filter({ hasText: 'taken' }).waitFor();
});

test('a break needs a reason and a name, shows a preview, and is seen by the holder', async (t) => {
  const server = await startServer(t);
  const site = await startSite(t, server, {
    '/': '<!doctype html><title>Edit</title><script type="module" src="/page.js"></script><p id="state"></p>',
    '/page.js': `
      import { EditGuard } from '/client/leasehold.js';
      const guard = await EditGuard.hold({ type: 'Order', id: '1', owner: 'alice', checkEvery: 300 });
      const show = () => { document.querySelector('#state').textContent = guard.state + ' ' + JSON.stringify(guard.detail); };
      for (const name of ['asking', 'held', 'expiring', 'lost', 'refused']) guard.addEventListener(name, show);
      show();`,
  });
  const alice = (await person(t)).page;
  await alice.goto(site.url);
  await alice.getByText(/^held/).waitFor();

  const admin = await openConsole(t, server);
  await admin.getByRole('button', { name: /^Break the lease of alice/ }).click();
  const dialog = admin.getByRole('dialog', { name: 'Break a lease' });
  await dialog.waitFor();
  const { holders } = await server.ask('GET', '/v1/locks/Order/1');
  await dialog.getByText(`#${holders[0].fence}`).waitFor();
  await picture(admin, 'break');
  const confirm = dialog.getByRole('button', { name: 'Break this lease' });
  await confirm.click();
  await dialog.getByText('Enter a reason.').waitFor();
  await dialog.getByLabel('Reason').fill('blocks the month end');
  await confirm.click();
  await dialog.getByText('Enter your name.').waitFor();
  await dialog.getByLabel('Your name').fill('olivia');
  await confirm.click();
  await dialog.waitFor({ state: 'detached' });
  await alice.getByText(/^lost .*"reason":"broken","by":"olivia","why":"blocks the month end"/).waitFor();
  await row(admin, 'Order/1').waitFor({ state: 'detached' });
});

test('the length of a reason is limited in bytes, as on the server', async (t) => {
  const server = await startServer(t);
  await take(server, 'Order/1', { owner: 'alice' });
  const page = await openConsole(t, server, { locale: 'ko-KR' });
  await page.getByRole('button', { name: '강제 해제', exact: false }).first().click();
  const dialog = page.getByRole('dialog', { name: '잠금 강제 해제' });
  const reason = dialog.getByLabel('사유');
  const confirm = dialog.getByRole('button', { name: '이 잠금 강제 해제' });
  await dialog.getByText('1,024바이트 남음').waitFor();
  await dialog.getByLabel('이름').fill('지민');

  await reason.fill('가'.repeat(400));
  await dialog.getByText('176바이트 초과').waitFor();
  await confirm.click();
  await dialog.getByRole('alert').getByText('176바이트를 초과했습니다. 내용을 줄여 주세요.').waitFor();
  assert.equal(await reason.getAttribute('aria-invalid'), 'true');
  assert.equal((await server.ask('GET', '/v1/locks')).locks.length, 1);

  const longest = '가'.repeat(341) + 'a';
  await reason.fill(longest);
  await dialog.getByText('0바이트 남음').waitFor();
  await confirm.click();
  await dialog.waitFor({ state: 'detached' });
  assert.equal((await server.ask('GET', '/v1/history')).history[0].why, longest);
});

test('a lease that ends while the break dialog is open is not confused with the next one', async (t) => {
  const server = await startServer(t);
  const lease = await take(server, 'Order/1', { owner: 'alice' });
  const page = await openConsole(t, server);
  await page.getByRole('button', { name: /^Break the lease/ }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Reason').fill('r');
  await dialog.getByLabel('Your name').fill('n');
  await release(server, 'Order/1', lease);
  await take(server, 'Order/1', { owner: 'bob' });
  const confirm = dialog.getByRole('button', { name: 'Break this lease' });
  await confirm.evaluate((button) => button.click()); // the page may know already, and have disabled the button
  await dialog.getByText(/This lease has already ended \(.*\)\. Nothing was broken\./).waitFor();
  assert.equal((await server.ask('GET', '/v1/locks/Order/1')).holders[0].owner, 'bob');
});

test('a knock reaches the holder', async (t) => {
  const server = await startServer(t);
  const lease = await take(server, 'Order/1', { owner: 'alice' });
  const page = await openConsole(t, server, { hash: '#/lock/Order/1' });
  await page.getByRole('button', { name: 'Knock…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Ask for this lock' });
  await dialog.getByLabel('Your name').fill('olivia');
  await dialog.getByLabel('Message').fill('the customer is on the phone');
  await dialog.getByRole('button', { name: 'Send' }).click();
  await page.getByText('Holders asked: 1.').first().waitFor();
  const { knocks } = await server.ask('GET', '/v1/locks/Order/1', undefined, { 'Lock-Token': lease.lock_id });
  assert.equal(knocks[0].by, 'olivia');
  assert.equal(knocks[0].message, 'the customer is on the phone');
  await page.getByRole('button', { name: 'Knock…' }).click();
  await release(server, 'Order/1', lease);
  await page.getByText('Nobody holds this key.').waitFor();
  await dialog.getByRole('button', { name: 'Send' }).click();
  await page.getByText('Nobody holds the lock any more.').first().waitFor();
  await page.getByRole('button', { name: 'Knock…' }).waitFor({ state: 'hidden' });
  await dialog.waitFor({ state: 'detached' });
  assert.equal(await page.evaluate(() => document.activeElement.tagName), 'H1', 'focus is not lost');
});

test('all leases of an owner are released after the owner is typed', async (t) => {
  const server = await startServer(t);
  await take(server, 'Order/1', { owner: 'alice/web' });
  await take(server, 'Order/2', { owner: 'alice' });
  await take(server, 'Order/3', { owner: 'alicia' });
  const page = await openConsole(t, server, { hash: '#/owner/alice' });
  await row(page, 'Order/2').waitFor();
  assert.equal(await row(page, 'alicia').count(), 0);
  await page.getByRole('button', { name: 'Release all…' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('2 leases now:').waitFor();
  await dialog.getByRole('button', { name: 'Release 2 leases' }).click();
  await dialog.getByRole('alert').waitFor();
  assert.equal((await server.ask('GET', '/v1/locks')).locks.length, 3);
  await dialog.getByLabel(/Type the owner/).fill('alice');
  await dialog.getByRole('button', { name: 'Release 2 leases' }).click();
  await page.getByText('2 leases released.').first().waitFor();
  await page.getByText('This owner holds no lease now.').waitFor();
  assert.deepEqual(
    (await server.ask('GET', '/v1/locks')).locks.map(({ owner }) => owner),
    ['alicia'],
  );
});

test('a server that stops and starts again is noticed, and old data is marked', async (t) => {
  const server = await startServer(t);
  await take(server, 'Order/1', { owner: 'alice' });
  const page = await openConsole(t, server);
  await row(page, 'Order/1').waitFor();
  await server.stop();
  await page.getByText(/The server does not answer\./).waitFor();
  assert.ok(await page.locator('body.stale').count());
  assert.equal(await row(page, 'Order/1').count(), 1);
  await page.getByRole('button', { name: 'Try now' }).waitFor();
  await server.start();
  await take(server, 'Order/2', { owner: 'bob' });
  await page.locator('.banner button').evaluate((button) => button.click()); // the page may have reconnected already
  await row(page, 'Order/2').waitFor();
  await page.locator('body:not(.stale)').waitFor();
  assert.equal(await page.locator('.banner').isVisible(), false);
});

test('texts of people are shown and never run', async (t) => {
  const server = await startServer(t);
  const evil = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>';
  const path = `${encodeURIComponent('"><svg onload=window.hacked=1>')}/${encodeURIComponent(evil)}`;
  const lease = await take(server, path, { owner: `${evil}/javascript:window.hacked=1`, note: evil });
  await server.ask('POST', `/v1/locks/${path}`, { owner: evil });
  await server.ask('POST', `/v1/locks/${path}/break`, { fence: lease.fence, by: evil, reason: evil });
  await take(server, path, { owner: evil, note: evil });
  const page = await openConsole(t, server);
  await row(page, evil).waitFor();
  await page.getByRole('link', { name: evil }).first().click();
  await page.getByRole('table', { name: 'History' }).getByText(evil).first().waitFor();
  await page.getByRole('button', { name: /^Break the lease/ }).click();
  await page.getByRole('dialog').getByText(evil).first().waitFor();
  await page.keyboard.press('Escape');
  for (const [hash, title, shown] of [
    [`#/owner/${encodeURIComponent(evil)}`, evil, row(page, evil)],
    ['#/activity', 'Activity', page.locator('.tries').getByText(evil)],
    ['#/server', 'Server', page.getByText('strong')],
    ['#/lock/%FF/1', 'No such page', page.getByRole('heading')],
    [`#/?q=${encodeURIComponent(evil)}`, 'Locks', row(page, evil)],
  ]) {
    await page.goto(`${server.url}/${hash}`);
    await page.waitForFunction((text) => document.title.startsWith(text), title);
    await shown.first().waitFor();
  }
  assert.equal(await page.evaluate(() => window.hacked), undefined);
});

test('every page is accessible in light and dark, and fits a phone', async (t) => {
  const server = await startServer(t);
  for (let i = 0; i < 5; ++i) {
    await take(server, `Order/${i}`, {
      owner: 'alice/a-rather-long-session-name/tab-2',
      note: 'a note '.repeat(20),
      mode: i > 3 ? 'shared' : 'exclusive',
    });
    await server.ask('POST', `/v1/locks/Order/${i}`, { owner: 'bob' });
  }
  await server.ask('POST', '/v1/locks/Order/0/break', {
    by: 'admin',
    reason: 'test',
    fence: (await server.ask('GET', '/v1/locks/Order/0')).holders[0].fence,
  });
  for (const size of [{ viewport: { width: 1280, height: 800 } }, phone]) {
    const page = await openConsole(t, server, { reducedMotion: 'reduce', ...size });
    const look = async (what) => {
      const name = `console-${what}-${size.viewport.width}`;
      assert.deepEqual(await problemsInLightAndDark(page, name), []);
      const [wide, room] = await page.evaluate(() => [
        document.documentElement.scrollWidth,
        window.innerWidth,
      ]);
      assert.ok(wide <= room, `${name} scrolls sideways: ${wide} > ${room}`);
    };
    await row(page, 'Order/1').waitFor();
    await look('locks');
    await page
      .getByRole('button', { name: /^Break the lease/ })
      .first()
      .click();
    await look('break');
    await page.keyboard.press('Escape');
    await page.goto(`${server.url}/#/lock/Order/0`);
    await page.getByText('admin: test').first().waitFor();
    await look('key');
    await page.goto(`${server.url}/#/owner/alice`);
    await row(page, 'Order/1').waitFor();
    await look('owner');
    await page.goto(`${server.url}/#/activity`);
    await page.getByText('Busiest keys').waitFor();
    await page.locator('.chart svg').first().waitFor();
    await look('activity');
    await page.goto(`${server.url}/#/server`);
    await page.getByText('strong').waitFor();
    await look('server');
  }
});

async function startServerWithTokens(t, tokens) {
  const folder = mkdtempSync(join(tmpdir(), 'leasehold-tokens.'));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'tokens.toml');
  const entries = tokens.map(({ name, roles, owner, more = '' }) =>
    [
      '[[token]]',
      `name = "${name}"`,
      `sha256 = "${createHash('sha256').update(secretOf(name)).digest('hex')}"`,
      `roles = ${JSON.stringify(roles)}`,
      `owner = "${owner ?? '*'}"`,
      more,
    ].join('\n'),
  );
  writeFileSync(file, entries.join('\n'), { mode: 0o600 });
  return startServer(t, { tokens: file });
}
const secretOf = (name) => `${name}-`.padEnd(43, 'x');
const bearer = (name) => ({ Authorization: `Bearer ${secretOf(name)}` });

test('the server page shows how much of its quotas the token uses', async (t) => {
  const server = await startServerWithTokens(t, [
    { name: 'shop', roles: ['see', 'use'], owner: 'shop', more: 'leases = 4\nwaiters = 0' },
  ]);
  for (const id of [1, 2, 3]) {
    await server.ask('POST', `/v1/locks/Order/${id}`, { owner: `shop/${id}` }, bearer('shop'));
  }
  const page = await openConsole(t, server, { hash: '#/server' });
  await page.getByLabel('Token').fill(secretOf('shop'));
  await page.getByRole('button', { name: 'Sign in' }).click();
  const quotas = page.locator('.card', { hasText: 'Quotas' });
  await quotas.getByText('3 of 4').waitFor();
  await quotas.getByText('0, no limit').waitFor();
  assert.equal(await quotas.locator('.chip').count(), 0);
  await server.ask('POST', '/v1/locks/Order/4', { owner: 'shop/4' }, bearer('shop'));
  await quotas.locator('.chip', { hasText: '4 of 4' }).waitFor();
  await picture(page, 'quotas');
  assert.deepEqual(await accessibilityProblems(page), []);
});

test('the console allows what the token allows, and explains the rest', async (t) => {
  const server = await startServerWithTokens(t, [
    { name: 'looker', roles: ['see'] },
    { name: 'shop', roles: ['see', 'use'], owner: 'shop' },
    { name: 'user', roles: ['use'] },
    { name: 'admin', roles: ['see', 'use', 'break'] },
  ]);
  await server.ask('POST', '/v1/locks/Order/1', { owner: 'shop/alice' }, bearer('admin'));
  const page = await openConsole(t, server);
  const signIn = async (token) => {
    await page.getByLabel('Token').fill(token);
    await page.getByRole('button', { name: 'Sign in' }).click();
  };
  const signOut = () => page.getByRole('button', { name: 'Sign out' }).first().click();

  await signIn('nonsense');
  await page.getByText('The server does not accept this token.').waitFor();
  await picture(page, 'sign in');
  assert.deepEqual(await accessibilityProblems(page), []);
  assert.equal(await page.getByRole('button', { name: 'Sign out' }).count(), 0);

  await signIn(secretOf('user'));
  await page.getByText('This token does not have the role “see”').waitFor();
  assert.equal(await page.locator('.status').isVisible(), false, 'signed in, and shown nothing');
  await signOut();

  await signIn(secretOf('looker'));
  await row(page, 'Order/1').waitFor();
  const breaking = page.getByRole('button', { name: /^Break the lease/ });
  assert.equal(await breaking.getAttribute('aria-disabled'), 'true');
  await breaking.click({ force: true });
  await page.getByText('Your token does not have the role “break”.').first().waitFor();
  assert.equal(await page.getByRole('dialog').count(), 0);
  await page.getByText('Live', { exact: true }).waitFor();
  await page.reload();
  await row(page, 'Order/1').waitFor();
  await signOut();

  await signIn(secretOf('shop'));
  await row(page, 'Order/1').waitFor();
  await page.goto(`${server.url}/#/owner/carol`);
  const releasing = page.getByRole('button', { name: 'Release all…' });
  assert.equal(await releasing.getAttribute('title'), 'Your token can act only for shop.');
  await page.goto(`${server.url}/#/owner/shop`);
  await row(page, 'Order/1').waitFor();
  assert.equal(await releasing.getAttribute('aria-disabled'), null);
  await page.goto(`${server.url}/#/`);
  await row(page, 'Order/1').waitFor();
  await signOut();

  await signIn(secretOf('admin'));
  await breaking.click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('Signed in as admin').waitFor();
  await dialog.getByLabel('Reason').fill('test');
  await dialog.getByRole('button', { name: 'Break this lease' }).click();
  await page.getByText('Nothing is locked.').waitFor();
  const { history } = await server.ask('GET', '/v1/history', undefined, bearer('admin'));
  assert.equal(history[0].by, 'admin');
  // The token is kept in this tab only.
  assert.ok(!page.url().includes('admin'));
  assert.equal(await page.evaluate(() => JSON.stringify(localStorage).includes('admin-')), false);
});

test('the console is available in Korean', async (t) => {
  const server = await startServer(t);
  const page = await openConsole(t, server, { locale: 'ko-KR' });
  await page.getByText('잠금이 없습니다.').waitFor();
  assert.equal(await page.evaluate(() => document.documentElement.lang), 'ko');
  await page.getByRole('button', { name: 'English' }).click();
  await page.getByText('Nothing is locked.').waitFor();
  await page.reload();
  await page.getByText('Nothing is locked.').waitFor();
});
