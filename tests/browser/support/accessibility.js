// What axe-core finds in a page.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** The serious problems of the page, once it is loaded and at rest, in words; empty where there are none. */
export async function accessibilityProblems(page) {
  await page.waitForLoadState(); // without its style sheets nothing can be said about colours
  await page.emulateMedia({ reducedMotion: 'reduce' }); // nor while one colour turns into another
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => window.axe.run());
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, help, nodes }) => `${id}: ${help}: ${nodes.map(({ html }) => html).join(' | ')}`);
}
