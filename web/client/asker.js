import { Locks } from './locks.js';
import { drawLockId } from './random.js';
import { browserName, tabName } from './tab.js';

/** Asks the server about one key, in the name of user, session and tab. */
export class Asker {
  owner;  // not known before the first try

  #options;
  #key;
  #locks;
  #draw = null;  // the lock id of a try that has no answer yet

  constructor(options) {
    this.#options = options;
    this.#key = { type: options.type, id: options.id };
    this.#locks = options.locks ?? new Locks(options);
  }

  get key() { return this.#key; }
  /** Of a lease that may have been granted to us without our knowing. */
  get drawn() { return this.#draw; }

  /** The next try is another one. */
  drawAnew() {
    this.#draw = null;
  }

  // The same lock id until there is an answer: asking again after a lost one is then harmless.
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

  /** Renews a lease and lets others read this of it. */
  remark({ owner }, note, options) {
    return this.#locks.tryLock(this.#key, { ...this.#wanted, owner, note, ...options });
  }

  check(lockId, options) {
    return this.#locks.check(this.#key, lockId, options);
  }

  /** Who has it, and who waits. */
  look() {
    return this.#locks.holders(this.#key);
  }

  /** The server need not answer: the ttl ends them as well. */
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
    if (!owner) return;  // it keeps a lease that it did not take
    this.owner = [owner, session ?? (await browserName()), tab ?? (await tabName())].join('/');
  }
}
