// The customers application on its own port and database, and people who use it.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { person } from './people.js';

const executable =
  process.env.CUSTOMERS_COMMAND ??
  new URL('../../../build/release/examples/customers/customers', import.meta.url).pathname;

/** Ends with the test `t`. `options` are the program's, `{ttlS: 2}` is --ttl-s 2. */
export async function startCustomers(t, options = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'leasehold-customers.'));
  const words = ['--database', `sqlite:${folder}/customers.db`, '--port', '0'];
  for (const [name, value] of Object.entries(options)) {
    words.push('--' + name.replace(/[A-Z]/g, (letter) => '-' + letter.toLowerCase()), String(value));
  }
  const program = spawn(executable, words, { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(program, 'exit');
  t.after(async () => {
    program.kill('SIGTERM');
    await ended;
    rmSync(folder, { recursive: true });
  });
  const url = await new Promise((resolve, reject) => {
    createInterface({ input: program.stdout }).on('line', (line) => {
      const found = line.match(/open +(http:[^ ]*)\//)?.[1];
      if (found) resolve(found);
    });
    void ended.then(() => reject(new Error('the application did not start')));
  });
  return {
    url,
    /** A person who has signed in and sees the list. */
    signIn: async (name, context = {}) => {
      const somebody = await person(t, context);
      await somebody.addInitScript(checkOften);
      await somebody.page.goto(url);
      await somebody.page.getByLabel('Name').fill(name);
      await somebody.page.getByRole('button', { name: 'Sign in' }).click();
      await somebody.page.getByRole('heading', { name: 'Customers' }).waitFor();
      return at(somebody.page, somebody);
    },
  };
}

// In the page: guards learn of knocks and of a sign-out after half a second instead of ten.
function checkOften() {
  new MutationObserver(() => {
    for (const guard of document.querySelectorAll('leasehold-guard:not([check-every])')) guard.setAttribute('check-every', '500ms');
  }).observe(document, { childList: true, subtree: true });
}

/** What somebody sees and does in a page. */
export function at(page, context) {
  const panel = page.locator('leasehold-guard section');
  return {
    page,
    context,
    panel,
    row: (customer) => page.getByRole('listitem').filter({ hasText: customer }),
    edit(customer) { return this.row(customer).getByRole('button', { name: 'Edit' }).click(); },
    field: (label) => page.getByLabel(label, { exact: true }),
    press: (label) => page.locator('main').getByRole('button', { name: label, exact: true }).click(),
    reads: (text) => page.locator('main').getByText(text).first().waitFor(),
    /** Waits for a state of the guard; 'held' by a page that has waited, and only opens the form now, does not count. */
    is: (state) => page
      .locator(`leasehold-guard${state === 'held' ? '[manual]' : ''} section[data-state="${state}"]`)
      .waitFor({ state: 'attached' }),
  };
}
