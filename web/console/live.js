// The server's events: /v1/events, read with fetch because EventSource cannot send the token. If the server
// has no events, the page reads its data again every few seconds.
//
//   'change'  an event, in `detail`
//   'resync'  events may have been missed: read the data again
//   'status'  `status` has changed

import { headers, problemOf, query, session } from './api.js';
import { learn } from './clock.js';

const pollEvery = 3_000;
const silence = 45_000; // the server sends something more often
const hiddenPatience = 60_000;

class Live extends EventTarget {
  status = 'connecting'; // 'live', 'polling', 'offline', 'paused', 'stopped'
  retryAt = 0;
  lastNews = 0; // performance.now() of the last message from the server

  #filter = {};
  #run = null;
  #lastId = null;
  #hiddenTimer = 0;

  constructor() {
    super();
    document.addEventListener('visibilitychange', () => this.#visibility());
    window.addEventListener('online', () => this.retry());
  }

  // Starts to listen to the events that match the filter.
  start(filter = {}) {
    if (this.#run && JSON.stringify(filter) === JSON.stringify(this.#filter)) return;
    this.#filter = filter;
    this.#lastId = null;
    this.#restart();
  }

  stop() {
    this.#end();
    this.#become('stopped');
  }

  // Connects now instead of at the planned time.
  retry() {
    if (this.status === 'offline') this.#restart();
  }

  heard() {
    this.lastNews = performance.now();
  }

  #become(status) {
    if (this.status === status) return;
    this.status = status;
    this.dispatchEvent(new Event('status'));
  }

  #end() {
    this.#run?.abort();
    this.#run = null;
  }

  #restart() {
    this.#end();
    const run = new AbortController();
    this.#run = run;
    this.#listen(run.signal).catch((error) => {
      if (!run.signal.aborted) console.error(error);
    });
  }

  #visibility() {
    clearTimeout(this.#hiddenTimer);
    if (document.hidden) {
      this.#hiddenTimer = setTimeout(() => {
        if (!this.#run) return;
        this.#end();
        this.#become('paused');
      }, hiddenPatience);
    } else if (this.status === 'paused') {
      this.#restart();
    }
  }

  async #listen(signal) {
    let failures = 0;
    let first = true;
    while (!signal.aborted) {
      if (!first) this.#resync();
      first = false;
      let outcome;
      try {
        outcome = await this.#stream(signal, () => {
          failures = 0;
        });
      } catch (error) {
        outcome = 'failed';
      }
      if (signal.aborted) return;
      if (outcome === 'refused') return this.#become('stopped');
      if (outcome === 'absent') {
        await this.#poll(signal);
        continue;
      }
      if (outcome === 'ended' && failures === 0) {
        failures = 1;
        await pause(250, signal);
        continue;
      }
      ++failures;
      const wait = Math.min(500 * 2 ** Math.min(failures, 6), 15_000) * (0.75 + Math.random() / 2);
      this.retryAt = performance.now() + wait;
      this.#become('offline');
      await pause(wait, signal);
    }
  }

  // Returns 'ended', 'absent' (the server has no events) or 'refused' (the token lacks the right). Throws if
  // the connection fails.
  async #stream(signal, connected) {
    const stop = new AbortController();
    const abort = () => stop.abort();
    signal.addEventListener('abort', abort);
    let watchdog = setTimeout(abort, silence);
    try {
      const more = { Accept: 'text/event-stream' };
      if (this.#lastId) more['Last-Event-ID'] = this.#lastId;
      const response = await fetch(`/v1/events${query(this.#filter)}`, {
        headers: headers(more),
        signal: stop.signal,
        cache: 'no-store',
        credentials: 'omit',
      });
      if (response.status === 401 || response.status === 403) {
        session.dispatchEvent(new CustomEvent('problem', { detail: await problemOf(response) }));
        return 'refused';
      }
      if (response.status >= 500 || response.status === 429) throw new Error('unavailable');
      if (!response.ok) return 'absent';
      connected();
      this.heard();
      this.#become('live');
      const reader = response.body.getReader();
      const decoder = new TextDecoder();
      let text = '';
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return 'ended';
        clearTimeout(watchdog);
        watchdog = setTimeout(abort, silence);
        this.heard();
        text += decoder.decode(value, { stream: true });
        const messages = text.split('\n\n');
        text = messages.pop();
        for (const message of messages) this.#message(message);
      }
    } finally {
      clearTimeout(watchdog);
      signal.removeEventListener('abort', abort);
      stop.abort();
    }
  }

  #message(text) {
    let data = '';
    for (const line of text.split('\n')) {
      if (line.startsWith('id: ')) this.#lastId = line.slice(4);
      else if (line.startsWith('data: ')) data += line.slice(6);
    }
    if (!data) return;
    const event = JSON.parse(data);
    if (event.event === 'reset') return this.#resync();
    if (event.store_now) learn(event.store_now, performance.now());
    this.dispatchEvent(new CustomEvent('change', { detail: event }));
  }

  async #poll(signal) {
    this.#become('polling');
    for (let turn = 0; turn < 20 && !signal.aborted; ++turn) {
      await pause(pollEvery, signal);
      if (!signal.aborted) this.#resync();
    }
  }

  #resync() {
    this.dispatchEvent(new Event('resync'));
  }
}

function pause(ms, signal) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener(
      'abort',
      () => {
        clearTimeout(timer);
        resolve();
      },
      { once: true },
    );
  });
}

export const live = new Live();
