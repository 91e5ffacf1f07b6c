// A timer that background tabs do not slow down: it ticks in a worker where there can be one.

const longest = 2 ** 31 - 1;  // setTimeout's own bound

let worker;
let last = 0;
const waiting = new Map();

// Pages that insist on trusted types allow the policy by its name.
function trusted(address) {
  const policy = globalThis.trustedTypes?.createPolicy('leasehold', { createScriptURL: (url) => url });
  return policy ? policy.createScriptURL(address) : address;
}

function ticks() {
  if (worker !== undefined) return worker;
  worker = null;
  if (!globalThis.Worker || !globalThis.document) return worker;
  try {
    worker = new Worker(trusted(new URL('./ticks.js', import.meta.url).href), { type: 'module', name: 'leasehold' });
    worker.onmessage = ({ data }) => waiting.get(data)?.();
    worker.onerror = withoutWorker;
  } catch {
    worker = null;
  }
  return worker;
}

// Not allowed here: the page's own timers must do.
function withoutWorker(event) {
  event.preventDefault();
  worker = null;
  for (const ring of waiting.values()) ring();
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
    if (!ticks()) {
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
