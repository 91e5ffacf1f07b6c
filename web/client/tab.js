// Who this tab is. A reload is the same tab; a duplicate is another one, although browsers copy the
// session storage into it.

import { drawName } from './random.js';

const tabKey = 'leasehold.tab';
const browserKey = 'leasehold.browser';
const grace = 300;  // ms in which the page before a reload lets go

let mine;

/** The name of this tab, the same after a reload and different in a duplicate; `given` where a server has
 *  named it already, for a form that was sent before the page knew. */
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

/** The name of this browser, for those who give no session of their own. */
export async function browserName() {
  const before = read('localStorage', browserKey);
  if (before) return before;
  write('localStorage', browserKey, await drawName());
  return read('localStorage', browserKey) ?? 'browser';
}

// Whether no other page of this browser has the name; ours while this page is open. Where a browser
// cannot tell (pages without https), no page takes over a name: better a reload that waits for its own
// lease than two tabs that share one.
async function claim(name) {
  const now = { ifAvailable: true };
  // The grace is for the page before, not for a browser that is slow to answer.
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

// A page in the back/forward cache has no name; it takes it again when it is shown again.
globalThis.addEventListener?.('pageshow', async (event) => {
  if (event.persisted && mine && !(await claim(await mine))) mine = undefined;
});

function read(storage, key) {
  try {
    return globalThis[storage]?.getItem(key);
  } catch {
    return null;  // switched off
  }
}

function write(storage, key, value) {
  try {
    globalThis[storage]?.setItem(key, value);
  } catch {
    // Without storage a reload is a new tab.
  }
}
