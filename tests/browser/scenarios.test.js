// clients/scenarios.json, executed by `Locks`: what every client does, against a real server behind a gate.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { Locks, NoAnswer } from '../../web/client/leasehold.js';
import { sideBySide } from './support/side_by_side.js';
import { eventually } from './support/waiting.js';

const root = new URL('../../', import.meta.url);
const { scenarios } = JSON.parse(readFileSync(new URL('clients/scenarios.json', root), 'utf8'));

/** A server behind a gate: tests/clients/host.py as a program that is controlled line by line. */
async function startHost(t, options) {
  const host = spawn('python3', ['-B', new URL('tests/clients/host.py', root).pathname], { stdio: ['pipe', 'pipe', 'inherit'] });
  t.after(async () => {
    host.stdin.end();
    if (host.exitCode === null) await once(host, 'exit');
  });
  const lines = createInterface({ input: host.stdout })[Symbol.asyncIterator]();
  const control = async (...command) => {
    host.stdin.write(JSON.stringify(command) + '\n');
    const { value, done } = await lines.next();
    if (done) throw new Error('the host has ended');
    return JSON.parse(value);
  };
  return { control, ...(await control('start', options ?? {})) };
}

const isVariable = (value) => typeof value === 'string' && value.startsWith('$');

// In a request, a variable is a lock id that is drawn at its first use.
function filled(value, variables) {
  if (!isVariable(value)) return value;
  if (!variables.has(value)) variables.set(value, randomUUID());
  return variables.get(value);
}

const operators = {
  at_least: (actual, bound) => actual >= bound,
  at_most: (actual, bound) => actual <= bound,
  greater_than: (actual, name, variables) => actual > variables.get(name),
  one_of: (actual, values) => values.includes(actual),
};

// In an answer, a variable is the value it has there at its first use.
function compare(expected, actual, variables, where = 'answer') {
  if (isVariable(expected)) {
    if (!variables.has(expected)) variables.set(expected, actual);
    expected = variables.get(expected);
  }
  if (Array.isArray(expected)) {
    assert.equal(actual?.length, expected.length, `${where} is ${JSON.stringify(actual)}`);
    expected.forEach((one, i) => compare(one, actual[i], variables, `${where}[${i}]`));
  } else if (expected !== null && typeof expected === 'object') {
    for (const [name, value] of Object.entries(expected)) {
      if (name in operators) {
        assert.ok(operators[name](actual, value, variables), `${where} is ${actual}, not ${JSON.stringify(expected)}`);
      } else {
        assert.ok(actual !== null && typeof actual === 'object' && name in actual, `${where} has no ${name}: ${JSON.stringify(actual)}`);
        compare(value, actual[name], variables, `${where}.${name}`);
      }
    }
  } else {
    assert.equal(actual, expected, where);
  }
}

const isLease = (answer) => 'expires_at' in answer;
const plain = (answer) => (isLease(answer) ? { lease: { ...answer, valid_for_ms: answer.validFor.left } } : answer);

const calls = {
  try: (locks, key, { owner, mode, places, ttl_ms: ttl, note, since, max_hold_ms: maxHold, wait_ms: wait }, lockId) =>
    locks.tryLock(key, { owner, mode, places, ttl, note, since, maxHold, wait, lockId }),
  check: (locks, key, step, lockId) => locks.check(key, lockId),
  renew: (locks, key, step, lockId) => locks.renew(key, lockId, step.ttl_ms),
  extend: (locks, key, step, lockId) => locks.extend(key, lockId, step.by_ms),
  release: async (locks, key, step, lockId) => {
    const answer = await locks.release(key, lockId);
    return answer.lease ? { released: true } : answer;
  },
  holders: (locks, key) => locks.holders(key),
  knock: (locks, key, { owner, message }) => locks.knock(key, { owner, message }),
};

// One request, once, and its answer in the words of the scenarios.
async function ask(host, step, variables) {
  const locks = new Locks({ server: host[step.via ?? 'gate'], timeout: step.timeout_ms ?? 60_000 });
  const [type, id] = step.key;
  try {
    return plain(await calls[step.do](locks, { type, id }, step, filled(step.lock_id, variables)));
  } catch (error) {
    if (!(error instanceof NoAnswer)) throw error;
    return { fault: { effect: error.effect, passing: error.passing, retry_after_ms: error.retryAfter } };
  }
}

async function execute(t, { server, steps }) {
  const host = await startHost(t, server);
  const variables = new Map();
  const started = new Map();
  for (const step of steps) {
    if (step.gate) await host.control('gate', ...step.gate);
    else if (step.server) await host.control('server', ...step.server);
    else if (step.pause_ms) await new Promise((resolve) => setTimeout(resolve, step.pause_ms));
    else if (step.start) started.set(step.start, ask(host, step, variables));
    else if (step.finish) compare(step.expect, await started.get(step.finish), variables);
    else if (step.until) {
      await eventually(async () => {
        const answer = await ask(host, step, variables);
        try {
          compare(step.expect, answer, new Map(variables));
          return true;
        } catch {
          return false;
        }
      }, JSON.stringify(step.expect));
    } else compare(step.expect, await ask(host, step, variables), variables);
  }
}

const test = sideBySide(8);
const mine = scenarios.filter((scenario) => scenario.for === 'all');
assert.ok(mine.length > 20);
for (const scenario of mine) test(scenario.name, (t) => execute(t, scenario));
