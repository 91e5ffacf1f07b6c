// Takes the pictures of docs/images: people work on a real server for a while, and the console shows it.
//
//     LEASEHOLD_COMMAND=../../build/release/leasehold node pictures.js [MINUTES]
//
// The timeline looks best after 8 minutes, the default.

import { setTimeout as pause } from 'node:timers/promises';
import { launch } from './support/people.js';
import { startServer } from './support/server.js';

const minutes = Number(process.argv[2] ?? 8);
const folder = new URL('../../docs/images/', import.meta.url).pathname;

const places = ['web/tab-1', 'web/tab-2', 'web/tab-3', 'import-job'];
const owners = ['alice', 'bob', 'carol', 'dana', 'erik', 'fatima', 'haruka', 'ines', 'jonas', 'kofi', 'lena', 'mateo', '서연', '지민']
  .map((name, index) => `${name}/${places[index % places.length]}`);
const notes = ['adds a discount', 'corrects the address', 'checks the totals', 'quarterly prices', ''];
const busy = 'Budget/2027';
const keys = [busy, 'Budget/2026', 'Catalogue/export', 'Catalogue/summer', 'Catalogue/winter', 'Customer/1017', 'Customer/1044',
  'Invoice/88', 'Order/1001', 'Order/1002', 'Order/1003', 'Order/1004', 'Order/1005', 'Report/january'];

const between = (least, most) => least + Math.random() * (most - least);
const oneOf = (values) => values[Math.floor(Math.random() * values.length)];

// What somebody does again and again: take a key, work, release it; now and then leave without releasing.
async function work(server, owner, until) {
  while (Date.now() < until) {
    const key = Math.random() < 0.3 ? busy : oneOf(keys);
    const path = `/v1/locks/${key}`;
    const ttl = between(30_000, 100_000);
    const lease = await server.ask('POST', path, {
      owner,
      note: oneOf(notes),
      mode: key.startsWith('Catalogue/') ? 'shared' : 'exclusive',
      ttl_ms: Math.round(ttl),
      wait_ms: Math.random() < 0.3 ? 15_000 : 0,
    });
    if (lease.status !== 201) {
      await pause(between(5_000, 20_000));
      continue;
    }
    await pause(between(8_000, Math.min(ttl, 45_000)));
    if (Math.random() < 0.9) await server.ask('DELETE', path, undefined, { 'Lock-Token': lease.lock_id });
    await pause(between(2_000, 8_000));
  }
}

async function take(browser, server, name, hash, options) {
  const context = await browser.newContext({ locale: 'en-GB', ...options });
  const page = await context.newPage();
  await page.goto(`${server.url}/${hash}`);
  await page.getByText('Live', { exact: true }).waitFor();
  await pause(3_000);  // for the charts' first figures
  await page.screenshot({ path: `${folder}${name}.png` });
  await context.close();
}

const atTheEnd = [];
const play = { after: (step) => atTheEnd.unshift(step) };
try {
  const server = await startServer(play);
  const until = Date.now() + minutes * 60_000;
  // The people go on while the pictures are taken.
  const people = owners.map((owner) => work(server, owner, until + 20_000));
  await pause(until - Date.now());
  const browser = await launch();
  play.after(() => browser.close());
  await take(browser, server, 'console-locks', '#/', { viewport: { width: 1180, height: 720 } });
  await take(browser, server, 'console-key', `#/lock/${busy}`, { viewport: { width: 1180, height: 900 }, colorScheme: 'dark' });
  await Promise.all(people);
} finally {
  for (const step of atTheEnd) await step();
}
