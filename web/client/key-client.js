import { Locks } from './locks.js';
import { drawLockId } from './random.js';
import { browserName, tabName } from './tab.js';

/** Sends requests about one key, as the owner user/session/tab. */
export class KeyClient {
  owner;  // undefined before the first try

  #options;
  #key;
  #locks;
  #draw = null;  // the lock id of a try that is not answered yet

  constructor(options) {
    this.#options = options;
    this.#key = { type: options.type, id: options.id };
    this.#locks = options.locks ?? new Locks(options);
  }

  get key() { return this.#key; }
  /** The lock id of a try that may have been granted although its answer was lost. */
  get drawn() { return this.#draw; }

  /** The next try draws a new lock id. */
  drawAnew() {
    this.#draw = null;
  }

  // Keeps the lock id until a try is answered: sending the same try again is harmless.
  async try({ since, wait, signal } = {}) {
    await this.#identify();
    const drawn = (this.#draw ??= await drawLockId());
    const wanted = { ...this.#wanted, owner: this.owner, since, wait };
    const answer = await this.#locks.tryLock(this.#key, { ...wanted, lockId: drawn, signal });
    if (this.#draw === drawn && (!wait || !answer.refused)) this.#draw = null;
    return { ...answer, drawn, unchanged: since !== undefined };
  }

  renew(lockId, options) {
    const { ttl, maxHold } = this.#wanted;
    return this.#locks.renew(this.#key, lockId, ttl, { maxHold, ...options });
  }

  /** Renews a lease and changes its note. */
  remark({ owner }, note, options) {
    return this.#locks.tryLock(this.#key, { ...this.#wanted, owner, note, ...options });
  }

  check(lockId, options) {
    return this.#locks.check(this.#key, lockId, options);
  }

  /** The holders of the key, and the owners in line for it. */
  look() {
    return this.#locks.holders(this.#key);
  }

  /** Releases leases. Ignores failures: the ttl ends a lease as well. */
  end(lockIds, options) {
    const ended = lockIds.map((lockId) => this.#locks.release(this.#key, lockId, options).catch(() => {}));
    return Promise.all(ended);
  }

  async knock(message) {
    await this.#identify();
    return this.#locks.knock(this.#key, { owner: this.owner, message });
  }

  get #wanted() {
    const { ttl, note, mode, cap } = this.#options;
    return { ttl, note, mode, maxHold: cap === Infinity ? undefined : cap };
  }

  async #identify() {
    if (this.owner) return;
    const { owner, session, tab } = this.#options;
    if (!owner) return;  // this page keeps a lease that the application took
    this.owner = [owner, session ?? (await browserName()), tab ?? (await tabName())].join('/');
  }
}
