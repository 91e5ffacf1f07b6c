// Who this tab is. A reload is the same tab; a duplicate is another one, although browsers copy the
// session storage into it.

const name = 'leasehold.tab';
const grace = 300;  // ms in which the page before a reload lets go

export function random_name() {
  const bytes = crypto.getRandomValues(new Uint8Array(9));
  return btoa(String.fromCharCode(...bytes)).replaceAll('+', '-').replaceAll('/', '_');
}

function stored(storage, key) {
  try {
    return storage?.getItem(key);
  } catch {
    return null;  // storage is switched off
  }
}

function store(storage, key, value) {
  try {
    storage?.setItem(key, value);
  } catch {
    // Without storage a reload is a new tab, as good as it gets.
  }
}

// Whether no other page of this browser has it; ours while this page is open. A page that sleeps in
// the back/forward cache holds nothing, and claims its name again when it wakes.
function claim(tab) {
  if (!globalThis.navigator?.locks) return Promise.resolve(true);
  return new Promise((resolve) => {
    const giving_up = new AbortController();
    const timer = setTimeout(() => giving_up.abort(), grace);
    navigator.locks
      .request(`${name}:${tab}`, { signal: giving_up.signal }, () => {
        clearTimeout(timer);
        resolve(true);
        return new Promise((end) => addEventListener('pagehide', end, { once: true }));
      })
      .catch(() => resolve(false));
  });
}

globalThis.addEventListener?.('pageshow', async (event) => {
  if (event.persisted && mine) await claim(await mine);
});

let mine;

/** The name of this tab, the same after a reload and different in a duplicate. */
export function tab_name() {
  mine ??= find_name();
  return mine;
}

async function find_name() {
  const before = stored(globalThis.sessionStorage, name);
  if (before && (await claim(before))) return before;
  const fresh = random_name();
  store(globalThis.sessionStorage, name, fresh);
  await claim(fresh);
  return fresh;
}

/** The name of this browser, for those who give no session of their own. */
export function browser_name() {
  const key = 'leasehold.browser';
  const before = stored(globalThis.localStorage, key);
  if (before) return before;
  const fresh = random_name();
  store(globalThis.localStorage, key, fresh);
  return fresh;
}
