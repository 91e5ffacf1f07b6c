import { Deadline, never, now } from './clock.js';

/** The server did not answer, or its answer says nothing about the lock. */
export class NoAnswer extends Error {
  constructor(message, { status = 0, code = 'unreachable', retryAfter = 0, effect = 'none' } = {}) {
    super(message);
    this.name = 'NoAnswer';
    this.status = status;
    this.code = code;
    this.retryAfter = retryAfter;  // ms
    this.effect = effect;  // 'none', or 'unknown': the request may have been carried out. Then repeat it with the same lock id
  }

  /** Whether the same request may succeed later. False if the request itself is wrong. */
  get passing() {
    return this.code === 'busy' || [0, 408, 429].includes(this.status) || this.status >= 500;
  }
}

const refusals = new Set(['held', 'gone']);

/**
 * Sends requests to a Leasehold server, or to an application that answers the same routes. Returns a refusal
 * as a value, `{refused: {code, ...}}`; throws NoAnswer. Times are in milliseconds. A lease has the fields of the
 * server's answer and `validFor.left`: for how long it is certainly valid, counted from before the request.
 */
export class Locks {
  #base;
  #token;
  #headers;
  #fetch;
  #timeout;

  constructor({ server = '', token, headers = {}, fetch, timeout = 10_000 } = {}) {
    this.#base = String(server).replace(/\/+$/, '') + '/v1/locks/';
    this.#token = token;
    this.#headers = headers;
    this.#fetch = fetch ?? ((...request) => globalThis.fetch(...request));
    this.#timeout = timeout;
  }

  tryLock(key, { owner, mode, places, ttl, note, since, maxHold, wait = 0, ...options } = {}) {
    const body = { owner, mode, places, ttl_ms: ttl, note, since, max_hold_ms: maxHold };
    if (wait > 0) body.wait_ms = wait;
    return this.#ask('POST', key, { body, timeout: this.#timeout + wait, ...options });
  }

  /** The holders and the owners in line: `{holders: [...], store_now, waiting: [owner, ...]}`. */
  holders(key) {
    return this.#ask('GET', key);
  }

  check(key, lockId, options) {
    return this.#ask('GET', key, { lockId, ...options });
  }

  renew(key, lockId, ttl, { maxHold, ...options } = {}) {
    return this.#ask('PATCH', key, { body: { ttl_ms: ttl, max_hold_ms: maxHold }, lockId, ...options });
  }

  extend(key, lockId, by) {
    return this.#ask('PATCH', key, { body: { extend_ms: by }, lockId });
  }

  /** Releases the lease. With `after`, releases it then, unless it is renewed before. */
  release(key, lockId, { after = 0, ...options } = {}) {
    const below = after > 0 ? '?after_ms=' + after : '';
    return this.#ask('DELETE', key, { below, lockId, ...options });
  }

  /** Asks the holder to finish. */
  knock(key, { owner, message } = {}) {
    return this.#ask('POST', key, { below: '/knock', body: { owner, message } });
  }

  // A browser removes '.' and '..' from a URL, encoded or not: the request would reach another route.
  #url({ type, id }) {
    if ([type, id].some((part) => ['.', '..'].includes(String(part)))) {
      throw new NoAnswer("a key's type and id cannot be '.' or '..'", { status: 400, code: 'bad_request' });
    }
    return this.#base + encodeURIComponent(type) + '/' + encodeURIComponent(id);
  }

  // `below` is what follows the key in the URL.
  async #ask(method, key, { below = '', body, lockId, signal, keepalive = false, timeout = this.#timeout } = {}) {
    const url = this.#url(key) + below;
    const effectOnceSent = method === 'GET' ? 'none' : 'unknown';
    const ending = new AbortController();
    const end = () => ending.abort();
    const timer = setTimeout(end, Math.max(timeout, 0));
    signal?.addEventListener('abort', end);
    if (signal?.aborted) end();
    try {
      const headers = await this.#headersFor(body, lockId);
      const askedAt = now();
      const response = await this.#fetch(url, {
        method,
        headers,
        body: body && JSON.stringify(body),
        keepalive,
        signal: ending.signal,
        cache: 'no-store',
      });
      return read(response, await response.text(), askedAt, key, effectOnceSent);
    } catch (error) {
      if (error instanceof NoAnswer) throw error;
      const message = ending.signal.aborted ? 'no answer in time' : String(error?.message ?? error);
      throw new NoAnswer(message, { effect: effectOnceSent });
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
    }
  }

  async #headersFor(body, lockId) {
    const headers = { ...this.#headers };
    if (body) headers['Content-Type'] = 'application/json';
    if (lockId) headers['Lock-Token'] = lockId;
    const token = typeof this.#token === 'function' ? await this.#token() : this.#token;
    if (token) headers['Authorization'] = 'Bearer ' + token;
    return headers;
  }
}

function read(response, text, askedAt, key, effectOnceSent) {
  let answer = {};
  try {
    answer = text ? JSON.parse(text) : {};
  } catch {
    if (response.ok) throw new NoAnswer('the answer is not JSON', { status: 502, code: 'not_json', effect: effectOnceSent });
  }
  if (response.ok) return withLifetime(answer, askedAt, key, effectOnceSent);
  if (refusals.has(answer.code)) return { refused: answer };
  // A refused request was not started. If it was started, the server says so.
  const untouched = (response.status >= 300 && response.status < 500) || answer.effect === 'none' || answer.code === 'overloaded';
  throw new NoAnswer(answer.detail ?? `the server answered ${response.status} ${response.statusText}`, {
    status: response.status,
    code: answer.code ?? 'unknown',
    retryAfter: Number(response.headers.get('Retry-After')) * 1000 || 0,
    effect: untouched ? 'none' : effectOnceSent,
  });
}

// Counted from before the request: a slow answer must shorten the lease, never lengthen it.
function withLifetime(answer, askedAt, key, effectOnceSent) {
  if (!('expires_at' in answer)) return answer;
  if (answer.type !== String(key.type) || answer.id !== String(key.id)) {
    const message = 'the server answered with a lease of another key';
    throw new NoAnswer(message, { status: 502, code: 'wrong_key', effect: effectOnceSent });
  }
  return { ...answer, validFor: answer.expires_at === null ? never : new Deadline(answer.remaining_ms, askedAt) };
}
