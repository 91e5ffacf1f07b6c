// What the console costs: requests and bytes to load it, movement while it loads, work while it is idle.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { person } from './support/people.js';
import { startServer } from './support/server.js';
import { eventually } from './support/waiting.js';

const pages = {
  '#/': (page) => page.getByRole('link', { name: 'Order/1' }).waitFor(),
  '#/activity': (page) => page.locator('.hot li').first().waitFor(),
  '#/lock/Order/1': (page) => page.getByText('Held by alice', { exact: true }).waitFor(),
  '#/owner/alice': (page) => page.getByRole('link', { name: 'Order/1' }).waitFor(),
  '#/server': (page) => page.getByText('in step').waitFor(),
};

async function startBusyServer(t) {
  const server = await startServer(t);
  for (let i = 1; i <= 6; ++i) {
    await server.ask('POST', `/v1/locks/Order/${i}`, { owner: 'alice', ttl_ms: 3_600_000 });
    await server.ask('POST', `/v1/locks/Order/${i}`, { owner: `bob/${i}` });
  }
  return server;
}

test('the console loads compressed, with one style sheet, and each module once', async (t) => {
  const server = await startBusyServer(t);
  const { page } = await person(t, { locale: 'en-GB' });
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('Network.enable');
  const asked = [];
  let bytes = 0;
  devtools.on('Network.requestWillBeSent', ({ request }) => asked.push(new URL(request.url).pathname));
  devtools.on('Network.loadingFinished', ({ encodedDataLength }) => (bytes += encodedDataLength));
  await page.goto(server.url);
  await pages['#/'](page);
  const modules = asked.filter((path) => path.endsWith('.js'));
  assert.equal(new Set(modules).size, modules.length);
  assert.deepEqual(asked.filter((path) => path.endsWith('.css')), ['/console/console.css']);
  assert.ok(asked.length <= 34, `${asked.length} requests: ${asked.join(' ')}`);
  assert.ok(bytes < 80_000, `${bytes} bytes`);
});

for (const viewport of [{ width: 1280, height: 800 }, { width: 390, height: 844 }]) {
  test(`nothing moves while a page loads, at a width of ${viewport.width}`, async (t) => {
    const server = await startBusyServer(t);
    for (const [hash, isLoaded] of Object.entries(pages)) {
      const { page } = await person(t, { locale: 'en-GB', viewport });
      await page.addInitScript(() => {
        window.shifts = [];
        new PerformanceObserver((list) => {
          for (const { value, sources } of list.getEntries()) {
            window.shifts.push({ value, moved: sources.map(({ node }) => node?.className || node?.nodeName) });
          }
        }).observe({ type: 'layout-shift', buffered: true });
      });
      await page.goto(`${server.url}/${hash}`);
      await isLoaded(page);
      await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve, 100))));
      const shifts = await page.evaluate(() => window.shifts);
      const total = shifts.reduce((sum, { value }) => sum + value, 0);
      assert.ok(total < 0.01, `${hash}: ${JSON.stringify(shifts)}`);
    }
  });
}

test('an idle page runs no animation', async (t) => {
  const server = await startBusyServer(t);
  const { page } = await person(t, { locale: 'en-GB' });
  for (const [hash, isLoaded] of Object.entries(pages)) {
    await page.goto(`${server.url}/${hash}`);
    await isLoaded(page);
    await page.getByText('Live', { exact: true }).waitFor();
    const running = () => page.evaluate(() => document.getAnimations().map((animation) => animation.animationName ?? animation.transitionProperty));
    const endless = await page.evaluate(() =>
      document.getAnimations().filter((animation) => animation.effect.getTiming().iterations === Infinity).length);
    assert.equal(endless, 0, hash);
    await eventually(async () => (await running()).length === 0, `${hash}: rest`);
  }
});
