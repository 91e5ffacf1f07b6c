// Reads data again and again: one reading at a time, with a pause in between, and not while the page is
// hidden.

import { live } from './live.js';

const shortestGap = 400;

export class Refresher {
  #read;
  #every;
  #run = new AbortController();
  #reading = false;
  #again = false;
  #timer = 0;
  #last = -Infinity;
  #took = 0;
  #unlisten;

  // `read(signal)` reads and shows; `relevant(event)` tells whether an event requires a new reading.
  constructor(read, { every = 5_000, relevant = () => true } = {}) {
    this.#read = read;
    this.#every = every;
    const onChange = ({ detail }) => relevant(detail) && this.soon();
    const onResync = () => this.soon();
    const onVisible = () => !document.hidden && this.soon();
    live.addEventListener('change', onChange);
    live.addEventListener('resync', onResync);
    document.addEventListener('visibilitychange', onVisible);
    this.#unlisten = () => {
      live.removeEventListener('change', onChange);
      live.removeEventListener('resync', onResync);
      document.removeEventListener('visibilitychange', onVisible);
    };
  }

  // Drops the current reading and starts a new one.
  restart() {
    this.#run.abort();
    this.#run = new AbortController();
    this.#reading = false;
    return this.now();
  }

  async now() {
    clearTimeout(this.#timer);
    if (this.#reading) {
      this.#again = true;
      return;
    }
    const run = this.#run;
    this.#reading = true;
    this.#again = false;
    const begun = performance.now();
    try {
      await this.#read(run.signal);
    } finally {
      if (!run.signal.aborted) {
        this.#reading = false;
        this.#last = performance.now();
        this.#took = this.#last - begun;
        if (this.#again) this.soon();
        else this.#wait(this.#every);
      }
    }
  }

  soon() {
    if (this.#reading) {
      this.#again = true;
      return;
    }
    const gap = Math.max(shortestGap, 3 * this.#took);
    this.#wait(Math.max(0, this.#last + gap - performance.now()));
  }

  stop() {
    this.#run.abort();
    clearTimeout(this.#timer);
    this.#unlisten();
    this.#every = Infinity;
  }

  #wait(ms) {
    clearTimeout(this.#timer);
    if (ms === Infinity || this.#run.signal.aborted) return;
    this.#timer = setTimeout(() => {
      if (!document.hidden) this.now();
    }, ms);
  }
}

// Calls back every second while the page is visible.
const everySecond = new Set();
setInterval(() => {
  if (document.hidden) return;
  for (const call of everySecond) call();
}, 1000);
export function tick(call) {
  everySecond.add(call);
  return () => everySecond.delete(call);
}
