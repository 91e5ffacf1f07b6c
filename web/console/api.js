// Requests to the server. The token is kept in this tab's sessionStorage only.

import { t } from './words.js';

const tokenPlace = 'leasehold.token';

export const session = new (class extends EventTarget {
  get token() {
    return sessionStorage.getItem(tokenPlace);
  }
  signIn(token) {
    sessionStorage.setItem(tokenPlace, token);
    this.dispatchEvent(new Event('change'));
  }
  forget() {
    sessionStorage.removeItem(tokenPlace);
  }
  signOut() {
    this.forget();
    this.dispatchEvent(new Event('change'));
  }
})();

// The server refused: a problem document.
export class Problem extends Error {
  constructor(status, document) {
    super(document?.detail || document?.title || `HTTP ${status}`);
    this.status = status;
    this.code = document?.code ?? '';
    this.document = document ?? {};
  }
}

// The server did not answer.
export class Unreachable extends Error {}

export function headers(more = {}) {
  const all = new Headers(more);
  if (session.token) all.set('Authorization', `Bearer ${session.token}`);
  return all;
}

export async function send(method, path, { body, signal, timeout = 15_000 } = {}) {
  const patience = AbortSignal.timeout(timeout);
  const stop = new AbortController();
  const abort = () => stop.abort();
  patience.addEventListener('abort', abort);
  signal?.addEventListener('abort', abort);
  if (signal?.aborted) abort();
  try {
    return await fetch(path, {
      method,
      headers: headers(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      body: body === undefined ? undefined : JSON.stringify(body),
      signal: stop.signal,
      cache: 'no-store',
      credentials: 'omit',
      redirect: 'error',
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Unreachable(error.message);
  } finally {
    patience.removeEventListener('abort', abort);
    signal?.removeEventListener('abort', abort);
  }
}

export async function problemOf(response) {
  return new Problem(response.status, await response.json().catch(() => null));
}

export async function ask(method, path, options) {
  const response = await send(method, path, options);
  if (!response.ok) throw await problemOf(response);
  try {
    return await response.json();
  } catch (error) {
    if (options?.signal?.aborted) throw error;
    throw new Unreachable(error.message);
  }
}

export const get = (path, options) => ask('GET', path, options);

export function query(fields) {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(fields)) {
    if (value !== undefined && value !== null && value !== '') parameters.set(name, value);
  }
  const text = parameters.toString();
  return text ? `?${text}` : '';
}

// A part of a path. A browser removes '.' and '..' from a URL, encoded or not: the request would reach another route.
export function segment(text) {
  if (text === '.' || text === '..') throw new Problem(400, { code: 'bad_request', detail: t('dots', { name: text }) });
  return encodeURIComponent(text);
}

export const lockPath = ({ type, id }) => `/v1/locks/${segment(type)}/${segment(id)}`;
