// Accessibility of a page, checked with axe-core.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { picture } from './people.js';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** The serious problems of a loaded page, in words; an empty array if there are none. */
export async function accessibilityProblems(page) {
  await page.waitForLoadState(); // colours need the style sheets
  await page.emulateMedia({ reducedMotion: 'reduce' }); // no colour is in transition
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(axe);
  const { violations } = await page.evaluate(() => window.axe.run());
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, help, nodes }) => `${id}: ${help}: ${nodes.map(({ html }) => html).join(' | ')}`);
}

/** The problems of a page in light and in dark, with a picture of each. */
export async function problemsInLightAndDark(page, name) {
  const problems = [];
  for (const colorScheme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    await picture(page, `${name}-${colorScheme}`);
    for (const problem of await accessibilityProblems(page)) problems.push(`${name}, ${colorScheme}: ${problem}`);
  }
  return problems;
}
