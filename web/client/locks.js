import { Deadline, never, now } from './clock.js';

/** The server gave no answer, or none about the lock: nothing is known. */
export class NoAnswer extends Error {
  constructor(message, { status = 0, code = 'unreachable', retryAfter } = {}) {
    super(message);
    this.name = 'NoAnswer';
    this.status = status;
    this.code = code;
    this.retryAfter = retryAfter;
  }

  /** Whether asking again may help: not where the request itself was wrong. */
  get passing() {
    return this.status === 0 || this.status === 408 || this.status === 429 || this.status >= 500;
  }
}

const about_locks = new Set(['held', 'busy', 'gone']);

/**
 * Asks a Leasehold server, or an application that answers the same routes. A "no" is a value with
 * `refused`; no answer is a NoAnswer.
 */
export class Locks {
  #base;
  #token;
  #headers;
  #fetch;
  #patience;

  constructor({ server = '', token, headers = {}, fetch, timeout = 10_000 } = {}) {
    this.#base = String(server).replace(/\/+$/, '') + '/v1/locks/';
    this.#token = token;
    this.#headers = headers;
    this.#fetch = fetch ?? ((...args) => globalThis.fetch(...args));
    this.#patience = timeout;
  }

  tryLock(key, { owner, mode, ttl, note, since, wait = 0, lockId, signal } = {}) {
    const body = { owner, mode, ttl_ms: ttl, note, since };
    if (wait > 0) body.wait_ms = wait;
    return this.#ask('POST', this.#url(key), { body, lockId, signal, patience: this.#patience + wait });
  }

  holders(key) {
    return this.#ask('GET', this.#url(key));
  }

  check(key, lockId) {
    return this.#ask('GET', this.#url(key), { lockId });
  }

  renew(key, lockId, ttl, { keepalive = false } = {}) {
    return this.#ask('PATCH', this.#url(key), { body: { ttl_ms: ttl }, lockId, keepalive });
  }

  extend(key, lockId, by) {
    return this.#ask('PATCH', this.#url(key), { body: { extend_ms: by }, lockId });
  }

  release(key, lockId, { keepalive = false } = {}) {
    return this.#ask('DELETE', this.#url(key), { lockId, keepalive });
  }

  knock(key, { owner, message }) {
    return this.#ask('POST', this.#url(key) + '/knock', { body: { owner, message } });
  }

  #url({ type, id }) {
    return this.#base + encodeURIComponent(type) + '/' + encodeURIComponent(id);
  }

  async #ask(method, url, { body, lockId, signal, keepalive = false, patience = this.#patience } = {}) {
    const ending = new AbortController();
    const end = () => ending.abort();
    const timer = setTimeout(end, patience);
    signal?.addEventListener('abort', end);
    if (signal?.aborted) end();
    const headers = { ...this.#headers };
    if (body) headers['Content-Type'] = 'application/json';
    if (lockId) headers['Lock-Token'] = lockId;
    if (this.#token) headers['Authorization'] = 'Bearer ' + this.#token;
    const asked_at = now();
    try {
      const response = await this.#fetch(url, {
        method,
        headers,
        body: body && JSON.stringify(body),
        keepalive,
        signal: ending.signal,
        cache: 'no-store',
      });
      return this.#read(response, await response.text(), asked_at);
    } catch (error) {
      if (error instanceof NoAnswer) throw error;
      throw new NoAnswer(error?.message ?? String(error));
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
    }
  }

  #read(response, text, asked_at) {
    let answer;
    try {
      answer = text ? JSON.parse(text) : {};
    } catch {
      throw new NoAnswer('the answer is not JSON', { status: response.status || 500, code: 'not_json' });
    }
    if (response.ok) return { ...answer, ...lifetime(answer, asked_at) };
    if (about_locks.has(answer.code)) return { refused: answer };
    throw new NoAnswer(answer.detail ?? response.statusText, {
      status: response.status,
      code: answer.code ?? 'unknown',
      retryAfter: Number(response.headers.get('Retry-After')) || undefined,
    });
  }
}

// Counted from before we asked: a slow answer must shorten our lease, never stretch it.
function lifetime(answer, asked_at) {
  if (!('expires_at' in answer)) return {};
  return { validFor: answer.expires_at === null ? never : new Deadline(answer.remaining_ms, asked_at) };
}
