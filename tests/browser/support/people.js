// People with browsers: one Chromium per test file, one context per person.

import { join } from 'node:path';
import { after } from 'node:test';
import { chromium } from 'playwright-core';
import { patience } from './waiting.js';

const arguments_ = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
  '--disable-background-networking', '--disable-component-update', '--disable-sync'];

/** A Chromium with options of Playwright; the caller closes it. */
export function launch(options) {
  return chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: arguments_,
    ...options,
  });
}

/** A Chromium of its own for the test `t`, with options of Playwright. */
export async function openBrowser(t, options) {
  const browser = await launch(options);
  t.after(() => browser.close());
  return browser;
}

let shared;
after(async () => (await shared)?.close());

/**
 * A person with a browser profile of their own: a context with `page`, its first tab. An exception in a
 * page fails the test `t`, and so does a violated content security policy unless `mayViolatePolicy`.
 */
export async function person(t, { browser, mayViolatePolicy = false, ...options } = {}) {
  shared ??= launch();
  const context = await (browser ?? (await shared)).newContext(options);
  context.setDefaultTimeout(patience);
  const problems = [];
  context.on('page', (page) => {
    page.on('pageerror', (error) => problems.push(error.stack ?? String(error)));
    page.on('console', (message) => {
      if (!mayViolatePolicy && /Content Security Policy/.test(message.text())) problems.push(message.text());
    });
  });
  context.page = await context.newPage();
  t.after(async () => {
    await context.close();
    if (problems.length > 0) throw new Error('in the page: ' + problems.join('\n'));
  });
  return context;
}

/** Takes a picture of the page into the folder $SCREENSHOTS, if that is set. */
export async function picture(page, name) {
  const folder = process.env.SCREENSHOTS;
  if (folder) await page.screenshot({ path: join(folder, name + '.png'), fullPage: true });
}
