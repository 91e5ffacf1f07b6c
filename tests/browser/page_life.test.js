// What happens to the lease when a page is reloaded, closed, frozen or offline.

import assert from 'node:assert/strict';
import { at, startEditor } from './support/editor.js';
import { openBrowser } from './support/people.js';
import { sideBySide } from './support/side_by_side.js';
import { openWindow } from './support/tabs.js';
import { eventually } from './support/waiting.js';

const test = sideBySide(3);

test('a reload finds its own lease again', async (t) => {
  const editor = await startEditor(t, { attributes: { closing: '60s' } });
  const alice = await editor.open('alice');
  await alice.is('held');
  const fence = await alice.guard('lease.fence');
  for (let i = 0; i < 3; ++i) {
    await alice.page.reload();
    await alice.is('held');
    assert.equal(await alice.guard('lease.fence'), fence);
  }
});

test('a reload finds its own lease again in a browser whose locks are slow', async (t) => {
  const editor = await startEditor(t, { attributes: { closing: '60s' } });
  const alice = await editor.open('alice');
  await alice.is('held');
  const fence = await alice.guard('lease.fence');
  await alice.page.addInitScript(() => {
    const { request } = LockManager.prototype;
    LockManager.prototype.request = async function (...asked) {
      await new Promise((resolve) => setTimeout(resolve, 1000));
      return request.apply(this, asked);
    };
  });
  await alice.page.reload();
  await alice.is('held');
  assert.equal(await alice.guard('lease.fence'), fence);
});

test('a reload keeps its lease while others wait for it', async (t) => {
  const editor = await startEditor(t, { attributes: { closing: '8s' } });
  const alice = await editor.open('alice');
  await alice.is('held');
  const bob = await editor.open('bob');
  await bob.button('Wait in line').click();
  await bob.reads('You are next.');
  await alice.page.reload();
  await alice.is('held');
  // Longer than the lease of a closed tab lives on.
  const loaded = Date.now();
  await eventually(() => Date.now() > loaded + 9000);
  assert.deepEqual(await editor.holders(), ['alice']);
  await bob.is('waiting');
});

test('a duplicate of the tab is another owner', async (t) => {
  const editor = await startEditor(t);
  const alice = await editor.open('alice');
  await alice.is('held');
  const [popup] = await Promise.all([
    alice.context.waitForEvent('page'),
    alice.page.evaluate(() => void window.open(location.href)),
  ]);
  const second = at(popup);
  await second.reads('You have been editing this in another tab or window');
  assert.notEqual(await second.guard('owner'), await alice.guard('owner'));
  await popup.reload();
  await second.reads('You have been editing this in another tab or window');
  assert.equal(await alice.guard('isHeld'), true);
});

test('the lease of a closed tab ends within seconds', async (t) => {
  const editor = await startEditor(t, { attributes: { closing: '1s' } });
  const alice = await editor.open('alice');
  await alice.is('held');
  const bob = await editor.open('bob');
  await bob.button('Wait in line').click();
  await bob.reads('You are next.');
  await alice.page.close({ runBeforeUnload: true });
  await bob.is('held');
  const past = await editor.server.ask('GET', '/v1/history?type=Customer&id=7');
  assert.equal(past.history[0].how, 'released');
});

test('leaving the page ends the lease as well', async (t) => {
  const editor = await startEditor(t, { attributes: { closing: '500ms' } });
  const alice = await editor.open('alice');
  await alice.is('held');
  await alice.page.goto(editor.site.url + '/elsewhere');
  await eventually(async () => (await editor.holders()).length === 0);
});

async function openWithCache(t) {
  return openBrowser(t, { ignoreDefaultArgs: ['--disable-back-forward-cache'] });
}

for (const [closing, what] of [['30s', 'finds its lease'], ['200ms', 'takes the lock again if nobody held it']]) {
  test(`a page from the back/forward cache ${what}`, async (t) => {
    const editor = await startEditor(t, { browser: await openWithCache(t), attributes: { closing } });
    const alice = await editor.open('alice');
    await alice.is('held');
    await alice.notes.fill('half a sentence');
    const fence = await alice.guard('lease.fence');
    await alice.page.evaluate(() => {
      window.addEventListener('pageshow', (event) => (document.title = event.persisted ? 'from the cache' : 'anew'));
    });
    await alice.page.evaluate(() => (location.href = '/elsewhere'));
    await alice.page.waitForURL('**/elsewhere');
    if (closing === '200ms') await eventually(async () => (await editor.holders()).length === 0);
    await alice.page.evaluate(() => history.back());
    await alice.page.waitForFunction(() => document.title === 'from the cache');
    await alice.is('held');
    assert.equal(await alice.notes.inputValue(), 'half a sentence');
    assert.equal((await alice.guard('lease.fence')) === fence, closing === '30s');
    assert.deepEqual(await editor.holders(), ['alice']);
  });
}

test('offline and back in time: nothing is lost', async (t) => {
  const editor = await startEditor(t, { attributes: { ttl: '20s' } });
  const alice = await editor.open('alice');
  await alice.is('held');
  const fence = await alice.guard('lease.fence');
  await alice.context.setOffline(true);
  await alice.reads('The server does not answer. Your lock is valid for another');
  assert.equal(await alice.name.isEditable(), true);
  await alice.context.setOffline(false);
  await alice.is('held');
  assert.equal(await alice.guard('lease.fence'), fence);
});

test('offline for too long: read-only, the draft kept, no save, and the lock taken again', async (t) => {
  const editor = await startEditor(t, { attributes: { ttl: '10s' } });
  const alice = await editor.open('alice');
  await alice.is('held');
  await alice.notes.fill('a long thought');
  await alice.context.setOffline(true);
  await alice.reads('The server cannot be reached, and your lock has expired.');
  assert.equal(await alice.notes.isEditable(), false);
  assert.equal(await alice.notes.inputValue(), 'a long thought');
  await eventually(async () => (await editor.holders()).length === 0);
  await alice.context.setOffline(false);
  await alice.reads('Your lock has expired.');
  await alice.reads('What you typed is still here');
  await alice.save({ force: true });
  await alice.notes.press('Enter');
  assert.equal(await alice.notes.inputValue(), 'a long thought');
  await alice.button('Take the lock again').click();
  await alice.is('held');
  await alice.save();
  await alice.page.getByText('saved by alice').waitFor();
  assert.equal(editor.record.notes, 'a long thought');
  assert.deepEqual(editor.saved, ['alice'], 'saved once, and only with the lock');
});

// The processes of all pages of a browser. Stopping them has the effect of a sleeping laptop.
async function renderersOf(browser) {
  const devtools = await browser.newBrowserCDPSession();
  const { processInfo } = await devtools.send('SystemInfo.getProcessInfo');
  return processInfo.filter(({ type }) => type === 'renderer').map(({ id }) => id);
}

function wake(id) {
  try {
    process.kill(id, 'SIGCONT');
  } catch {
    // It has ended.
  }
}

test('a page that slept asks the server before it shows the lock as held', async (t) => {
  const browser = await openBrowser(t);
  const editor = await startEditor(t, { browser, attributes: { ttl: '5s' } });
  const alice = await editor.open('alice');
  await alice.is('held');
  await alice.notes.fill('before the lid was closed');
  await alice.page.evaluate(() => {
    const guard = document.querySelector('leasehold-guard').guard;
    window.seen = [];
    for (const type of ['held', 'expiring', 'asking', 'lost']) {
      guard.addEventListener(type, ({ detail }) => window.seen.push(`${type} ${detail.reason ?? ''}`.trim()));
    }
    let last = Date.now();
    setInterval(() => {
      if (Date.now() - last > 5500) window.seen.push(`awake, held: ${guard.isHeld}`);
      last = Date.now();
    }, 20);
  });
  const renderers = await renderersOf(browser);
  for (const id of renderers) process.kill(id, 'SIGSTOP');
  const stopped = Date.now();
  t.after(() => renderers.forEach(wake));
  await eventually(() => Date.now() > stopped + 6000);
  await eventually(async () => (await editor.server.ask('POST', editor.path, { owner: 'bob' })).status === 201);
  renderers.forEach(wake);
  await alice.reads('Your lock ended, and bob took it.');
  await alice.reads('bob is editing it now.');
  const seen = await alice.page.evaluate(() => window.seen);
  assert.deepEqual(seen.filter((what) => what.startsWith('awake')), ['awake, held: false']);
  assert.deepEqual(seen.filter((what) => !what.startsWith('awake')).slice(0, 2), ['asking', 'lost taken']);
  assert.equal(await alice.notes.inputValue(), 'before the lid was closed');
  assert.equal(await alice.notes.isEditable(), false);
});

// Alice's form in the front tab of a window in which tabs hide each other.
async function openInTab(t, attributes) {
  const editor = await startEditor(t, { attributes });
  const window = await openWindow(t);
  const tab = await window.open(editor.url('alice'));
  const isHeld = () => tab.evaluate(() => document.querySelector('leasehold-guard')?.guard?.isHeld);
  await eventually(isHeld);
  const hide = async () => {
    await window.open('about:blank');
    await eventually(() => tab.evaluate(() => document.visibilityState === 'hidden'));
  };
  return { editor, tab, isHeld, hide };
}

test('a background tab keeps its lease although its timers are slow', async (t) => {
  const { editor, tab, isHeld, hide } = await openInTab(t, { ttl: '5s', 'renew-every': '500ms' });
  const fence = (await editor.lock()).holders[0].fence;
  await hide();
  await tab.evaluate(() => {
    window.began = performance.now();
    window.rung = 0;
    setInterval(() => ++window.rung, 100);
  });
  const renewals = () => editor.site.requests.filter(({ method }) => method === 'PATCH').length;
  const before = renewals();
  await eventually(() => renewals() > before + 12);
  const slow = await tab.evaluate(() => window.rung < (performance.now() - window.began) / 500);
  assert.ok(slow, 'its timers were slow indeed');
  assert.equal(await isHeld(), true);
  assert.equal((await editor.lock()).holders[0].fence, fence);
});

test('a page that the browser froze asks the server before it shows the lock as held', async (t) => {
  const { editor, tab, isHeld, hide } = await openInTab(t, { ttl: '5s' });
  await tab.evaluate(() => {
    const { guard } = document.querySelector('leasehold-guard');
    window.seen = [];
    document.addEventListener('resume', () => window.seen.push(`resumed, held: ${guard.isHeld}`));
    for (const type of ['held', 'asking', 'lost']) {
      guard.addEventListener(type, ({ detail }) => window.seen.push(`${type} ${detail.by ?? ''}`.trim()));
    }
  });
  await hide();
  await tab.freeze();
  await eventually(async () => (await editor.server.ask('POST', editor.path, { owner: 'bob' })).status === 201);
  await tab.show();
  await tab.thaw();
  await eventually(async () => !(await isHeld()) && (await tab.evaluate(() => window.seen.length >= 3)));
  assert.deepEqual(await tab.evaluate(() => window.seen.slice(0, 3).sort()), ['asking', 'lost bob', 'resumed, held: false']);
});

test('an open form survives a restart of the server', async (t) => {
  const editor = await startEditor(t, { attributes: { 'renew-every': '300ms', ttl: '20s' } });
  const alice = await editor.open('alice');
  await alice.is('held');
  const fence = await alice.guard('lease.fence');
  await editor.server.kill();
  await alice.notes.fill('typed while it was away');
  const left = await alice.guard('left');
  await editor.server.start();
  await eventually(async () => (await alice.guard('left')) > left, 'a renewal');
  assert.equal(await alice.guard('lease.fence'), fence);
  await alice.save();
  await alice.page.getByText('saved by alice').waitFor();
  assert.equal(editor.record.notes, 'typed while it was away');
});
