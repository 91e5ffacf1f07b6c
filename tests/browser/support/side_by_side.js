import { describe, test } from 'node:test';

/**
 * Returns a `test` function for the tests of a file that wait more than they compute: up to `count` of them run at
 * the same time. Each needs a server and pages of its own.
 */
export function sideBySide(count) {
  const tests = [];
  // Runs when the file has been evaluated, and all its tests are known.
  queueMicrotask(() => {
    describe('side by side', { concurrency: count }, () => {
      for (const [name, run] of tests) test(name, run);
    });
  });
  return (name, run) => tests.push([name, run]);
}
