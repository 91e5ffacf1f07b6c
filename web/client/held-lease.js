import { Deadline, never, over } from './clock.js';

const soonest = 1000;  // ms, the shortest time between two renewals

/** A lease that this page holds, with its deadlines: of the server, of the person's activity, and the cap. */
export class HeldLease {
  #options;
  #lease;
  #valid;
  #renewIn;
  #idleIn;
  #capIn;
  #remindIn = never;
  #trouble = null;  // the latest NoAnswer; null after an answer

  constructor(lease, options) {
    const heldFor = Date.parse(lease.store_now) - Date.parse(lease.granted_at);
    this.#options = options;
    this.#capIn = new Deadline(options.cap - heldFor);
    this.touch();
    this.renewed(lease);
  }

  get lease() { return this.#lease; }
  /** Milliseconds until the lease may expire, until the person is idle, and until the cap. */
  get left() { return this.#valid.left; }
  get idleLeft() { return this.#idleIn.left; }
  get capLeft() { return this.#capIn.left; }

  /** Whether the server has answered the latest request about the lease. */
  get isAnswered() { return this.#trouble === null; }
  get isToRenew() { return this.#renewIn.left <= 0; }
  get isToRemind() { return this.#remindIn.left <= 0; }
  /** The reason to release the lease now, if there is one. */
  get end() { return this.#capIn.left <= 0 ? 'cap' : this.#idleIn.left <= 0 ? 'idle' : undefined; }

  /** What will end the lease soon, if anything. */
  get threat() {
    const { ttl, idleWarning } = this.#options;
    if (this.#trouble && this.left < ttl / 2) return { why: 'unconfirmed', left: this.left };
    if (this.capLeft <= Math.min(idleWarning, ttl / 2)) return { why: 'cap', left: this.capLeft };
    if (this.idleLeft <= idleWarning) return { why: 'idle', left: this.idleLeft };
    return undefined;
  }

  /** Milliseconds until the next thing to do. */
  get due() {
    const { idleWarning } = this.#options;
    const warnings = [this.idleLeft, this.capLeft].map((left) => (left > idleWarning ? left - idleWarning : left));
    return Math.min(this.left, this.#renewIn.left, this.#remindIn.left, ...warnings);
  }

  /** For a request about the lease: the answer must arrive before the lease may expire. */
  get timeout() {
    return Math.min(this.#options.timeout, this.#options.ttl / 3, this.left);
  }

  touch() { this.#idleIn = new Deadline(this.#options.idleAfter); }
  remindAfter(ms) { this.#remindIn = ms === undefined ? never : new Deadline(ms); }

  renewed(lease) {
    const { ttl, renewEvery } = this.#options;
    this.#confirm(lease);
    this.#renewIn = new Deadline(Math.min(renewEvery, Math.max(this.left / 2, soonest)));
    // The server grants less than we asked for when its own upper limit is reached: this renewal is the last.
    const capped = lease.remaining_ms !== null && lease.remaining_ms < 0.9 * ttl;
    if (capped && this.left < this.capLeft) this.#capIn = this.#valid;
  }

  checked(lease) {
    this.#confirm(lease);
    if (this.#renewIn.left > this.left / 2) this.#renewIn = new Deadline(this.left / 2);
  }

  unanswered(error) {
    this.#trouble = error;
    const patient = Math.min(this.#options.renewEvery / 8, this.left / 4);
    if (this.isToRenew) this.#renewIn = new Deadline(Math.max(soonest, error.retryAfter, patient));
  }

  /** Call it when the network is back. */
  askSoon() {
    if (this.#trouble) this.#renewIn = over;
  }

  #confirm(lease) {
    this.#lease = lease;
    this.#valid = lease.validFor;
    this.#trouble = null;
  }
}
