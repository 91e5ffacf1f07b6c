// The name of this tab. A reload keeps the name. A duplicated tab gets another one, although browsers copy the
// session storage into it.

import { drawName } from './random.js';

const tabKey = 'leasehold.tab';
const browserKey = 'leasehold.browser';
const grace = 300;  // ms for the page before a reload to give up the name

let mine;

/** The name of this tab: the same after a reload, different in a duplicate. `given` is the name that a server
 *  has already used for a form that was sent before the page could tell. */
export function tabName(given) {
  mine ??= findTabName(given);
  return mine;
}

async function findTabName(given) {
  const before = given || read('sessionStorage', tabKey);
  const name = before && (await claim(before)) ? before : await drawName();
  write('sessionStorage', tabKey, name);
  if (name !== before) void claim(name);
  return name;
}

/** The name of this browser: the session, if the page gives none. */
export async function browserName() {
  const before = read('localStorage', browserKey);
  if (before) return before;
  write('localStorage', browserKey, await drawName());
  return read('localStorage', browserKey) ?? 'browser';
}

// Claims the name while this page is open. False if another page of this browser has it, or if the browser
// cannot tell (pages without https): a reload that waits for its own lease is better than two tabs that
// share one.
async function claim(name) {
  const now = { ifAvailable: true };
  // The last try is for a browser so slow that the grace was over before it asked.
  return (await take(name, now)) || (await take(name, { signal: AbortSignal.timeout(grace) })) || take(name, now);
}

function take(name, options) {
  const locks = globalThis.navigator?.locks;
  if (!locks) return Promise.resolve(false);
  return new Promise((resolve) => {
    locks
      .request(`${tabKey}:${name}`, options, (lock) => {
        resolve(lock !== null);
        return lock && new Promise((end) => addEventListener('pagehide', end, { once: true }));
      })
      .catch(() => resolve(false));
  });
}

// A page in the back/forward cache gives its name up, and claims it again when it is shown.
globalThis.addEventListener?.('pageshow', async (event) => {
  if (event.persisted && mine && !(await claim(await mine))) mine = undefined;
});

function read(storage, key) {
  try {
    return globalThis[storage]?.getItem(key);
  } catch {
    return null;  // storage is switched off
  }
}

function write(storage, key, value) {
  try {
    globalThis[storage]?.setItem(key, value);
  } catch {
    // Without storage a reload is a new tab.
  }
}
