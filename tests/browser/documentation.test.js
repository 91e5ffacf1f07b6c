// The site of the documentation, as a server that is installed with it serves it under /docs/.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { person, picture } from './support/people.js';
import { executable, startServer } from './support/server.js';

const skip = existsSync('/usr/bin/mkdocs') ? false : 'MkDocs is not installed';
const root = fileURLToPath(new URL('../../', import.meta.url));
const prefix = mkdtempSync(join(tmpdir(), 'leasehold-docs.'));
const docs = join(prefix, 'share/leasehold/docs');
const command = join(prefix, 'bin/leasehold');
after(() => rmSync(prefix, { recursive: true }));

if (!skip) {
  mkdirSync(join(prefix, 'bin'));
  mkdirSync(join(prefix, 'share/leasehold'), { recursive: true });
  copyFileSync(executable, command);
  execFileSync(root + 'web/site/build', [executable, docs], { stdio: 'ignore' });
  execFileSync('find', [docs, '-type', 'f', '-exec', 'gzip', '-9n', '{}', '+']);
}

test('pages show, scripts run and the search finds, without a violation of the policy', { skip }, async (t) => {
  const server = await startServer(t, {}, command);
  const { page } = await person(t);
  const failed = [];
  page.on('response', (response) => response.status() >= 400 && failed.push(response.url()));
  await page.goto(server.url + '/docs');
  assert.equal(page.url(), server.url + '/docs/');
  await page.getByRole('heading', { name: 'Leasehold', exact: true }).waitFor();
  await page.locator('input.md-search__input').fill('tombstone');
  await page.locator('.md-search-result__item a').first().waitFor();
  await picture(page, 'documentation-search');
  await page.goto(server.url + '/docs/reference/http.html');
  await page.locator('h1').waitFor();
  await page.goto(server.url + '/docs/ko/index.html');
  await page.locator('html[lang=ko]').waitFor();
  await picture(page, 'documentation-ko');
  assert.deepEqual(failed, []);
});

