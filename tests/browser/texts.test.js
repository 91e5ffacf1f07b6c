// The texts of the console, of the element and of the example: complete in every language, in one vocabulary.

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { texts } from '../../web/client/texts.js';
import { english } from '../../web/console/words-en.js';
import { korean } from '../../web/console/words-ko.js';

const root = fileURLToPath(new URL('../../', import.meta.url));
const read = (path) => readFileSync(root + path, 'utf8');

// The example's texts: pairs of an English and a Korean one, each in one or more C++ string literals.
const literals = String.raw`((?:\s*"(?:[^"\\]|\\.)*")+)`;
const joined = (code) => [...code.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map(([, text]) => text).join('');
const pairs = [...read('examples/customers/web/language.cpp').matchAll(new RegExp(`\\{${literals},${literals}\\}`, 'g'))];
const example = Object.fromEntries(pairs.map(([, from, to]) => [joined(from), joined(to)]));

const placeholders = (text) => (text.match(/\{\w*\}/g) ?? []).sort();

for (const [name, en, ko] of [
  ['the element', texts.en, texts.ko],
  ['the console', english, korean],
  ['the example', Object.fromEntries(Object.keys(example).map((text) => [text, text])), example],
]) {
  test(`${name} has every text in Korean, with the same placeholders`, () => {
    assert.deepEqual(Object.keys(ko).sort(), Object.keys(en).sort());
    assert.ok(Object.keys(en).length > 40);
    for (const key of Object.keys(en)) {
      assert.deepEqual(placeholders(ko[key]), placeholders(en[key]), key);
      assert.notEqual(ko[key], '', key);
    }
  });
}

test('every word of the console is used, and every word used is there', () => {
  const files = readdirSync(root + 'web/console').filter((name) => name.endsWith('.js') && !name.startsWith('words-'));
  const code = files.map((name) => read('web/console/' + name)).join('\n');
  for (const [, word] of code.matchAll(/\bt\('(\w+)'/g)) assert.ok(word in english, word);
  // Some are named by a variable: an event, a mode, a column.
  const named = new Set([...code.matchAll(/['`](\w+)['`]/g)].map(([, word]) => word));
  const byServer = ['exclusive', 'shared', 'released', 'expired', 'taken', 'broken', 'unknown'];
  const byPattern = Object.keys(english).filter((word) => word.endsWith('Hint'));
  const unused = Object.keys(english).filter((word) => !named.has(word) && ![...byServer, ...byPattern, 'language'].includes(word));
  assert.deepEqual(unused, []);
});

// The rows of the first table of a page.
const rowsOf = (path) => read(path).split('\n').filter((line) => line.startsWith('|')).slice(2)
  .map((line) => line.split('|').slice(1, -1).map((cell) => cell.trim()));
const avoided = rowsOf('docs/ko/glossary.md').flatMap(([, , , not]) => not.split(',').map((word) => word.trim())).filter(Boolean);

test('the Korean glossary has a word for every row of the English one', () => {
  assert.deepEqual(rowsOf('docs/ko/glossary.md').map(([word]) => word).sort(), rowsOf('docs/glossary.md').map(([word]) => word).sort());
  for (const [word, inKorean] of rowsOf('docs/ko/glossary.md')) assert.match(inKorean, /[가-힣]/, word);
});

test('Korean texts use the words of the glossary', () => {
  assert.ok(avoided.includes('임대') && avoided.length > 10);
  const all = [...Object.values(texts.ko), ...Object.values(korean), ...Object.values(example)];
  for (const table of ['src/core/refusal_phrases.hpp', 'src/cli/phrases.hpp', 'src/server/http/phrases.hpp', 'src/server/quota.hpp']) {
    const phrases = [...read(table).matchAll(/"((?:[^"\\]|\\.)*[가-힣](?:[^"\\]|\\.)*)"/g)].map(([, text]) => text);
    assert.ok(phrases.length > 8, table);
    all.push(...phrases);
  }
  for (const text of all) for (const word of avoided) assert.ok(!text.includes(word), `"${text}" says ${word}`);
});

test('Korean pages use the words of the glossary', () => {
  const pages = readdirSync(root + 'docs/ko', { recursive: true }).filter((name) => name.endsWith('.md') && name !== 'glossary.md').map((name) => 'docs/ko/' + name);
  for (const page of [...pages, 'README.ko.md']) {
    const prose = read(page).replace(/^```[^]*?^```/gm, '').replace(/`[^`\n]*`/g, '');
    // At the beginning of a Korean word: 락 is avoided, 연락 is not.
    for (const word of avoided) {
      const found = prose.match(new RegExp(`.*(?<![가-힣])${word}.*`));
      assert.equal(found, null, `${page} says ${word}`);
    }
  }
});
