import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';

const source = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Fails where axe-core finds a problem that is serious, or worse. */
export async function isAccessible(page) {
  await page.evaluate(source);
  const { violations } = await page.evaluate(() => axe.run({ resultTypes: ['violations'] }));
  const grave = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical');
  assert.deepEqual(grave.map(({ id, nodes }) => [id, nodes.map(({ html, failureSummary }) => [html, failureSummary])]), []);
}
