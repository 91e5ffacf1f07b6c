import { Deadline, never } from './clock.js';
import { Locks, NoAnswer } from './locks.js';
import { browser_name, tab_name } from './tab.js';
import { Timer } from './timer.js';

const second = 1000;
const minute = 60 * second;

const defaults = {
  ttl: 5 * minute,
  note: '',
  mode: 'exclusive',
  renewEvery: undefined,  // a third of the ttl
  checkEvery: 10 * second,  // while the page is visible: knocks and breaks are heard soon
  idleAfter: 15 * minute,  // without activity, the lock is let go
  idleWarning: 2 * minute,  // before that
  cap: 8 * 60 * minute,  // held in all, however busy the person is
  closing: 5 * second,  // what a closed tab leaves of its lease: long enough for a reload
  fiveMore: 5 * minute,
};

const longest_wait = 55 * second;  // of one request; the next follows at once
const soonest_retry = second;
const activities = ['keydown', 'pointerdown', 'input', 'wheel', 'touchstart'];

/** What an EditGuard tells; `detail` holds the particulars. */
export class GuardEvent extends Event {
  constructor(type, detail) {
    super(type);
    this.detail = detail;
  }
}

/**
 * One person's work on one thing. Takes the lock, keeps it while the person works, and tells the
 * page truthfully how it stands, by events:
 *
 *   held      the lock is this page's                    { lease }
 *   expiring  it may soon be lost                        { why: 'unconfirmed' | 'idle' | 'cap', left }
 *   asking    it is not known whether it still is ours   {}
 *   lost      it is not                                  { reason, by, why, holders }
 *   refused   somebody else has it                       { holders }
 *   waiting   in line for it                             { ahead }
 *   free      the one who had it is done                 {}
 *   knocked   others would like to have it               { knocks }
 *   released  this page has let it go                    {}
 *   failed    the server cannot be asked like this       { error }
 */
export class EditGuard extends EventTarget {
  #options;
  #locks;
  #key;
  #owner;
  #state = 'asking';
  #detail = {};
  #lease = null;
  #valid = { left: 0 };
  #renew_in = never;
  #look_in = never;
  #idle_in = never;
  #cap_in = never;
  #trouble = null;  // the latest NoAnswer, until there is an answer
  #draw = null;  // the lock id of a try whose outcome is not known yet
  #line = null;  // ends the waiting
  #stepping = false;
  #again = false;
  #told = new Set();  // knocks the page has heard of
  #ended = false;
  #timer = new Timer(() => this.#step());
  #listeners = [];

  /**
   * Takes the lock, or says who has it: look at `state`. With a `lockId` the lease that the page was
   * served with is kept instead of a new one taken.
   */
  static async hold(options) {
    const guard = new EditGuard(options);
    await guard.#begin();
    return guard;
  }

  constructor(options) {
    super();
    for (const name of ['type', 'id']) {
      if (typeof options?.[name] !== 'string' || options[name] === '') {
        throw new TypeError(`EditGuard: "${name}" says what is edited and must be a text`);
      }
    }
    if (!options.lockId && !options.owner) throw new TypeError('EditGuard: "owner" says who edits');
    const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
    this.#options = { ...defaults, ...given };
    this.#options.renewEvery ??= this.#options.ttl / 3;
    this.#locks = options.locks ?? new Locks(options);
    this.#key = { type: options.type, id: options.id };
  }

  get key() { return this.#key; }
  get state() { return this.#state; }
  /** The particulars of the latest event about the state. */
  get detail() { return this.#detail; }
  get owner() { return this.#owner; }
  get lease() { return this.#lease; }
  /** The secret of the lease, for the form that saves; empty unless the lock is ours. */
  get lockId() { return this.isHeld ? this.#lease.lock_id : ''; }
  get isHeld() { return this.#state === 'held' || this.#state === 'expiring'; }
  /** Milliseconds for which the lock is certainly ours. */
  get left() { return this.isHeld ? Math.max(0, this.#valid.left) : 0; }

  /** The person is there. Key presses and the like in the page say so by themselves. */
  touch() {
    if (!this.isHeld || this.#options.idleAfter === Infinity) return;
    this.#idle_in = new Deadline(this.#options.idleAfter);
    if (this.#state === 'expiring' && this.#detail.why === 'idle') this.#settle();
  }

  /** Lets go, so that the next one can begin. */
  async release() {
    const lock_id = this.lockId;
    this.#stop_waiting();
    this.#lease = null;
    this.#become('released');
    if (lock_id) await this.#locks.release(this.#key, lock_id).catch(unheard);
  }

  /** The page is about to save, and the application lets go with it: say nothing more. */
  handOver() {
    this.#end();
    this.#become('released');
  }

  /** Takes the lock, again or anew; after a loss only if nobody else had it meanwhile. */
  async retake() {
    if (this.isHeld || this.#ended) return this.isHeld;
    const since = this.#state === 'lost' ? this.#lease?.fence : undefined;
    this.#become('asking');
    return this.#take({ since });
  }

  /** Waits in line for a lock that somebody else has. */
  async wait() {
    if (this.isHeld || this.#line || this.#ended) return this.isHeld;
    const line = (this.#line = new AbortController());
    this.#become('waiting', { ahead: undefined });
    this.#tell_place();
    try {
      while (this.#line === line) {
        try {
          const answer = await this.#try({ wait: longest_wait, signal: line.signal });
          if (this.#line !== line) break;
          if (!answer.refused) return this.#hold(answer);
        } catch (error) {
          if (!(error instanceof NoAnswer) || !error.passing) throw error;
          if (this.#line === line) await pause(3 * soonest_retry);
        }
      }
    } catch (error) {
      this.#become('failed', { error });
    } finally {
      if (this.#line === line) this.#line = null;
    }
    return false;
  }

  /** Leaves the line. */
  async stopWaiting() {
    if (!this.#line) return;
    this.#stop_waiting();
    this.#become('asking');
    await this.#look();
  }

  /** Asks whoever has the lock to finish. */
  async knock(message = '') {
    await this.#identify();
    return this.#locks.knock(this.#key, { owner: this.#owner, message });
  }

  /** The person has heard a knock and needs a little longer: remind them then. */
  async fiveMore() {
    if (!this.isHeld) return;
    this.touch();
    const knocks = this.#detail.knocks ?? [];
    setTimeout(() => this.isHeld && this.#tell('knocked', { knocks, again: true }), this.#options.fiveMore);
  }

  /** The end of this object: nothing more is asked or told. The lease is left to its ttl. */
  close() {
    this.#end();
  }

  // ---- taking ----

  async #begin() {
    this.#listen();
    await this.#identify();
    const { lockId } = this.#options;
    if (!lockId) return this.#take({});
    try {
      const answer = await this.#locks.renew(this.#key, lockId, this.#options.ttl);
      answer.refused ? this.#lose(answer.refused) : this.#hold(answer);
    } catch (error) {
      this.#become('failed', { error });
    }
  }

  async #identify() {
    const { owner, session, tab } = this.#options;
    this.#owner ??= owner && `${owner}/${session ?? browser_name()}/${tab ?? (await tab_name())}`;
  }

  // The same lock id until an answer came: asking again after a lost one is then harmless.
  async #try({ since, wait, signal } = {}) {
    this.#draw ??= crypto.randomUUID();
    const { ttl, note, mode } = this.#options;
    const answer = await this.#locks.tryLock(this.#key, {
      owner: this.#owner, ttl, note, mode, since, wait, signal, lockId: this.#draw,
    });
    this.#draw = null;
    return answer;
  }

  async #take({ since }) {
    try {
      const answer = await this.#try({ since });
      if (!answer.refused) return this.#hold(answer);
      answer.refused.code === 'gone' ? this.#lose(answer.refused) : this.#refuse(answer.refused);
    } catch (error) {
      this.#become('failed', { error });
    }
    return false;
  }

  #hold(lease) {
    if (this.#ended || this.#state === 'released') {
      this.#locks.release(this.#key, lease.lock_id).catch(unheard);
      return false;
    }
    this.#confirm(lease);
    const since_grant = Math.max(0, Date.parse(lease.store_now) - Date.parse(lease.granted_at)) || 0;
    this.#cap_in = new Deadline(this.#options.cap - since_grant);
    this.#idle_in = new Deadline(this.#options.idleAfter);
    this.#become('held', { lease });
    return true;
  }

  #confirm(lease) {
    this.#lease = { ...this.#lease, ...lease };
    this.#valid = lease.validFor;
    this.#trouble = null;
    this.#renew_in = new Deadline(Math.min(this.#options.renewEvery, this.#valid.left / 2));
    this.#hear(lease);
  }

  #lose({ reason = 'unknown', by, why, holders }) {
    if (this.#state === 'released') return;
    this.#become('lost', { reason, by, why, holders });
  }

  #refuse({ holders = [] }) {
    this.#become('refused', { holders });
  }

  #stop_waiting() {
    const line = this.#line;
    this.#line = null;
    line?.abort();
  }

  // ---- keeping ----

  // Whatever is due is done, one thing at a time.
  async #step() {
    if (this.#ended) return;
    if (this.#stepping) {
      this.#again = true;
      return;
    }
    this.#stepping = true;
    try {
      do {
        this.#again = false;
        await this.#once();
      } while (this.#again && !this.#ended);
    } finally {
      this.#stepping = false;
      this.#set_timer();
    }
  }

  async #once() {
    if (this.isHeld) {
      if (this.#valid.left <= 0) return this.#ask_whether_alive();
      if (this.#cap_in.left <= 0) return this.#let_go('cap');
      if (this.#idle_in.left <= 0) return this.#let_go('idle');
      if (this.#renew_in.left <= 0) await this.#renew();
      else if (this.#look_in.left <= 0) await this.#check();
      if (this.isHeld) this.#settle();
    } else if (this.#look_in.left <= 0) {
      await this.#look();
    }
  }

  // How certain it is that the lock stays ours.
  #settle() {
    const left = this.#valid.left;
    const warning = this.#options.idleWarning;
    const about = (why, ms) =>
      (this.#state === 'expiring' && this.#detail.why === why) || this.#become('expiring', { why, left: ms });
    if (this.#trouble && left < this.#options.ttl / 2) return about('unconfirmed', left);
    if (this.#cap_in.left < warning) return about('cap', this.#cap_in.left);
    if (this.#idle_in.left < warning) return about('idle', this.#idle_in.left);
    if (this.#state === 'expiring') this.#become('held', { lease: this.#lease });
  }

  async #renew() {
    await this.#about_ours(() => this.#locks.renew(this.#key, this.#lease.lock_id, this.#options.ttl));
    if (this.#trouble) this.#renew_in = new Deadline(this.#next_retry());
  }

  async #check() {
    this.#look_in = new Deadline(this.#options.checkEvery);
    await this.#about_ours(() => this.#locks.check(this.#key, this.#lease.lock_id), (lease) => this.#hear(lease));
  }

  async #about_ours(ask, alive = (lease) => this.#confirm(lease)) {
    try {
      const answer = await ask();
      if (!this.isHeld) return;
      answer.refused ? this.#lose(answer.refused) : alive(answer);
    } catch (error) {
      if (!(error instanceof NoAnswer)) throw error;
      this.#trouble = error;
    }
  }

  #next_retry() {
    const asked = (this.#trouble.retryAfter ?? 0) * second;
    return Math.max(soonest_retry, asked, Math.min(this.#options.renewEvery / 8, this.#valid.left / 4));
  }

  // The time is up by one of our clocks: nothing is claimed before the server has said how it stands.
  async #ask_whether_alive() {
    this.#become('asking');
    try {
      const answer = await this.#locks.renew(this.#key, this.#lease.lock_id, this.#options.ttl);
      if (this.#state !== 'asking') return;
      answer.refused ? this.#lose(answer.refused) : this.#hold(answer);
    } catch (error) {
      if (this.#state === 'asking') this.#lose({ reason: 'unconfirmed', why: error.message });
    }
  }

  async #let_go(reason) {
    const { lock_id } = this.#lease;
    this.#lose({ reason });
    await this.#locks.release(this.#key, lock_id).catch(unheard);
  }

  // ---- while it is not ours ----

  async #look() {
    if (this.#line) return this.#tell_place();
    this.#look_in = new Deadline(this.#options.checkEvery);
    try {
      if (this.#state === 'lost' && this.#detail.reason === 'unconfirmed') return await this.#find_out();
      const { holders } = await this.#locks.holders(this.#key);
      if (this.isHeld || this.#line || this.#ended) return;
      const others = holders.filter(({ owner }) => owner !== this.#owner);
      if (this.#state === 'lost') this.#tell_if_new('lost', { ...this.#detail, holders: others });
      else if (others.length > 0) this.#tell_if_new('refused', { holders: others });
      else if (this.#state !== 'free') this.#become('free');
    } catch (error) {
      if (!(error instanceof NoAnswer)) throw error;
    }
  }

  async #find_out() {
    const answer = await this.#locks.check(this.#key, this.#lease.lock_id);
    if (this.#state !== 'lost') return;
    answer.refused ? this.#lose(answer.refused) : this.#hold(answer);
  }

  async #tell_place() {
    const line = this.#line;
    this.#look_in = new Deadline(this.#options.checkEvery);
    try {
      const { holders, waiting } = await this.#locks.holders(this.#key);
      if (this.#line !== line || line === null) return;
      const place = waiting?.indexOf?.(this.#owner) ?? -1;
      this.#tell_if_new('waiting', { ahead: place < 0 ? undefined : place, holders });
    } catch (error) {
      if (!(error instanceof NoAnswer)) throw error;
    }
  }

  // ---- telling ----

  #hear({ knocks = [] }) {
    const fresh = knocks.filter(({ at, owner }) => !this.#told.has(at + owner));
    for (const { at, owner } of fresh) this.#told.add(at + owner);
    if (fresh.length > 0) this.#tell('knocked', { knocks: fresh });
  }

  #become(state, detail = {}) {
    if (this.#ended && state !== 'released') return;
    this.#state = state;
    this.#detail = detail;
    if (!this.#ended) this.#look_in = new Deadline(this.#options.checkEvery);
    this.#set_timer();
    this.#tell(state, detail);
  }

  #tell_if_new(state, detail) {
    if (this.#state === state && JSON.stringify(this.#detail) === JSON.stringify(detail)) return;
    this.#become(state, detail);
  }

  #tell(type, detail) {
    this.dispatchEvent(new GuardEvent(type, detail));
  }

  // ---- the page around it ----

  #set_timer() {
    if (this.#ended || this.#state === 'released' || this.#state === 'failed') return this.#timer.stop();
    const due = [this.#hidden ? Infinity : this.#look_in.left];
    if (this.isHeld) {
      const warning = this.#options.idleWarning;
      due.push(this.#valid.left, this.#renew_in.left);
      for (const left of [this.#idle_in.left, this.#cap_in.left]) due.push(left, left > warning ? left - warning : Infinity);
    }
    this.#timer.set(Math.min(...due));
  }

  get #hidden() {
    return globalThis.document?.visibilityState === 'hidden';
  }

  #listen() {
    if (!globalThis.document) return;
    const step = () => this.#step();
    for (const type of activities) this.#on(document, type, () => this.touch(), { passive: true, capture: true });
    this.#on(document, 'visibilitychange', step);
    this.#on(document, 'resume', step);
    this.#on(globalThis, 'online', () => this.#on_line());
    this.#on(globalThis, 'pagehide', () => this.#leave());
    this.#on(globalThis, 'pageshow', (event) => event.persisted && this.#come_back());
  }

  #on(target, type, listener, options) {
    target.addEventListener(type, listener, options);
    this.#listeners.push(() => target.removeEventListener(type, listener, options));
  }

  #on_line() {
    if (this.#trouble) this.#renew_in = new Deadline(0);
    this.#look_in = new Deadline(0);
    this.#step();
  }

  // Closed, reloaded or left: nobody can tell which. A reload comes back within seconds and finds its
  // lease; after a close it is gone as soon.
  #leave() {
    if (!this.isHeld) return this.#stop_waiting();
    const lock_id = this.#lease.lock_id;
    const parting =
      this.#options.closing > 0
        ? this.#locks.renew(this.#key, lock_id, this.#options.closing, { keepalive: true })
        : this.#locks.release(this.#key, lock_id, { keepalive: true });
    parting.catch(unheard);
    this.#valid = { left: 0 };
  }

  #come_back() {
    this.#step();
  }

  #end() {
    this.#ended = true;
    this.#stop_waiting();
    this.#timer.stop();
    for (const remove of this.#listeners) remove();
    this.#listeners = [];
  }
}

const unheard = () => {};  // the ttl ends it as well

function pause(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
