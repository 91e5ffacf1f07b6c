// Reports events of the page around a guard. Does nothing outside of browsers.

const activities = ['keydown', 'pointerdown', 'input', 'wheel', 'touchstart'];

export class Page {
  #ending = new AbortController();

  /** `tell` has the callbacks active, woken, online, hidden(event) and shown. */
  constructor(tell) {
    if (!globalThis.document) return;
    for (const type of activities) this.#on(document, type, tell.active, { passive: true, capture: true });
    this.#on(document, 'visibilitychange', tell.woken);
    this.#on(document, 'resume', tell.woken);
    this.#on(globalThis, 'focus', tell.woken);
    this.#on(globalThis, 'online', tell.online);
    this.#on(globalThis, 'pagehide', tell.hidden);
    this.#on(globalThis, 'pageshow', (event) => event.persisted && tell.shown());
  }

  get visible() {
    return globalThis.document?.visibilityState !== 'hidden';
  }

  close() {
    this.#ending.abort();
  }

  #on(target, type, listener, options) {
    target.addEventListener(type, listener, { ...options, signal: this.#ending.signal });
  }
}
