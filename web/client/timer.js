// Timers that browsers do not slow down in background tabs, because they run in a worker.
//
// The worker's code comes from one of these places, in this order:
// 1. ticks.js beside this module, or where a bundler has put it. Works under `script-src 'self'`.
// 2. In a bundle that left ticks.js behind (esbuild does): the text below, as a blob. Needs `worker-src blob:`.
//    If that is refused, ticks.js beside the bundle.
// 3. If no worker starts, the page's own timers are used. Browsers slow them down in background tabs.

const longest = 2 ** 31 - 1;  // the upper limit of setTimeout

/** The same code as ticks.js; a test compares them. */
export const workerCode = `
const handles = new Map();

onmessage = ({ data: { name, delay } }) => {
  clearTimeout(handles.get(name));
  handles.delete(name);
  if (delay !== undefined) {
    handles.set(name, setTimeout(() => postMessage(name), delay));
  }
};
`;

let worker;  // undefined before the first timer, null if there can be none
let last = 0;
let places;  // of the worker's code, not tried yet
let policy;
const waiting = new Map();  // name of a timer to its callback

// Pages that require trusted types must allow the policy by this name.
function trusted(address) {
  policy ??= globalThis.trustedTypes?.createPolicy('leasehold', { createScriptURL: (url) => url });
  return policy ? policy.createScriptURL(address) : address;
}

function findPlaces() {
  const module = import.meta.url;  // undefined in a bundle that is not a module
  const file = module && new URL('./ticks.js', import.meta.url).href;
  const blob = () => URL.createObjectURL(new Blob([workerCode], { type: 'text/javascript' }));
  if (!file) return [blob];
  // A bundler either gives ticks.js an address of its own, or does not know of it.
  const isForgotten = /\/ticks\.js$/.test(file) && !/\/timer\.js$/.test(module.replace(/[?#].*/, ''));
  return isForgotten ? [blob, () => file] : [() => file];
}

function startWorker() {
  worker = null;
  while (!worker && places.length > 0) {
    try {
      worker = new Worker(trusted(places.shift()()), { type: 'module', name: 'leasehold' });
      worker.onmessage = ({ data }) => waiting.get(data)?.();
      worker.onerror = withoutWorker;
    } catch {
      worker = null;
    }
  }
}

// The code was not found or is not allowed. Every timer is set again by its owner, in the next worker.
function withoutWorker(event) {
  event.preventDefault();
  startWorker();
  for (const ring of [...waiting.values()]) ring();
}

function hasWorker() {
  if (worker === undefined) {
    places = globalThis.Worker && globalThis.document ? findPlaces() : [];
    startWorker();
  }
  return worker !== null;
}

export class Timer {
  #ring;
  #name = ++last;
  #handle;

  constructor(ring) {
    this.#ring = ring;
  }

  set(ms) {
    this.stop();
    if (ms === Infinity) return;
    const delay = Math.min(Math.max(ms, 0), longest);
    if (!hasWorker()) {
      this.#handle = setTimeout(this.#ring, delay);
      return;
    }
    waiting.set(this.#name, this.#ring);
    worker.postMessage({ name: this.#name, delay });
  }

  stop() {
    clearTimeout(this.#handle);
    if (waiting.delete(this.#name)) worker?.postMessage({ name: this.#name });
  }
}
