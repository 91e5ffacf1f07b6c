// The console of a server with thousands of leases.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { person } from './support/people.js';
import { startServer } from './support/server.js';

const many = Number(process.env.LEASES ?? 5_000);

async function takeMany(server, count) {
  const kinds = ['Customer', 'Invoice', 'Order'];
  for (let from = 0; from < count; from += 1_000) {
    const requests = Array.from({ length: Math.min(1_000, count - from) }, (_, i) => ({
      op: 'try',
      type: kinds[(from + i) % 3],
      id: String(from + i).padStart(6, '0'),
      ttl_ms: 3_600_000,
      owner: `person-${(from + i) % 50}/web`,
      note: (from + i) % 1000 === 999 ? 'the last of a thousand' : '',
    }));
    const { answers } = await server.ask('POST', '/v1/batch', { requests });
    assert.ok(answers.every(({ lease }) => lease));
  }
}

test('thousands of leases are paged, searched and filtered; the page holds only those it shows', async (t) => {
  const server = await startServer(t);
  await takeMany(server, many);
  const { page } = await person(t, { locale: 'en-GB' });
  await page.goto(server.url);
  const rows = page.locator('tbody tr:not(.ended)');
  await rows.first().waitFor();
  assert.equal(await rows.count(), 50);
  await page.getByText(`1–50 of ${many.toLocaleString('en-GB')}`).waitFor();

  const firstKey = () => rows.first().getByRole('link').first().innerText();
  const first = await firstKey();
  await page.getByRole('button', { name: 'Next' }).click();
  await page.getByText('51–100 of').waitFor();
  const second = await firstKey();
  assert.notEqual(second, first);
  await page.reload();
  await page.waitForFunction((key) => document.querySelector('tbody tr a')?.innerText === key, second);
  await page.getByRole('button', { name: 'Previous' }).click();
  await page.waitForFunction((key) => document.querySelector('tbody tr a')?.innerText === key, first);

  await page.getByLabel('Type', { exact: true }).fill('Order');
  await page.waitForFunction(() =>
    [...document.querySelectorAll('tbody tr:not(.ended) .key-type')].every(
      (one) => one.innerText === 'Order',
    ),
  );
  await page.getByLabel('Owner', { exact: true }).fill('person-7');
  await page.waitForFunction(() =>
    [...document.querySelectorAll('tbody tr:not(.ended) .owner')].every(
      (one) => one.innerText === 'person-7/web',
    ),
  );
  assert.ok((await rows.count()) > 10);
  await page.waitForURL(/type=Order&owner=person-7/);

  await page.getByRole('button', { name: 'Clear' }).click();
  await page.getByLabel('Search', { exact: true }).fill('LAST of a thousand');
  await page.waitForFunction(
    (count) => document.querySelectorAll('tbody tr:not(.ended)').length === count,
    Math.min(50, Math.floor(many / 1000)),
  );
  await page.getByLabel('Search', { exact: true }).fill('nowhere to be found');
  await page.getByText('No live lease matches.').or(page.getByText('Searched a part')).waitFor();

  await page.getByLabel('Search', { exact: true }).fill('Order/000002');
  await page.getByRole('link', { name: 'Open Order/000002' }).click();
  await page.getByText('Held by person-2/web', { exact: true }).waitFor();
});
