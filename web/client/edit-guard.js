import { Deadline, never, over } from './clock.js';
import { HeldLease } from './held-lease.js';
import { KeyClient } from './key-client.js';
import { Knocks } from './knocks.js';
import { NoAnswer } from './locks.js';
import { retryPause, second, withDefaults } from './options.js';
import { Page } from './page.js';
import { Timer } from './timer.js';
import { WaitingLine } from './waiting-line.js';

const holding = new Set(['held', 'expiring']);
const resting = new Set(['released', 'failed']);
const denials = { 401: 'unauthorized', 403: 'forbidden' };
const unsure = new Set(['unconfirmed', ...Object.values(denials)]);  // with these reasons the lease may still be ours

/** An event of an EditGuard. */
export class GuardEvent extends Event {
  constructor(type, detail) {
    super(type);
    this.detail = detail;
  }
}

/**
 * One person's work on one thing. Takes the lock, keeps it while the person works, and reports its state to
 * the page. `state` is the name of the latest of these events, `detail` is its detail:
 *
 *   asking    the state of the lock is not known           { error? }
 *   held      this page holds the lock                     { lease, stale }
 *   expiring  this page will lose the lock soon            { why: 'unconfirmed' | 'idle' | 'cap', left }
 *   lost      this page no longer holds the lock           { reason, by, why, holders }
 *   refused   somebody else holds the lock                 { holders }
 *   free      nobody holds the lock any more               {}
 *   waiting   this page is in line for the lock            { ahead, holders, error? }
 *   released  this page has released the lock              {}
 *   failed    the request itself is wrong                  { error }
 *
 * One event does not change the state:
 *
 *   knocked   others ask for the lock                      { knocks, again }
 *
 * How it works:
 *   1. A timer, and events of the page (shown, online, ...), call #step(). Only one step runs at a time.
 *   2. While the lock is held, a step renews or checks the lease when that is due, and releases it when the
 *      person is idle or the cap is reached. Otherwise a step asks who holds the lock.
 *   3. Every answer is compared with #turn. If the person has done something else since the request was sent,
 *      the answer is ignored, and a lease that it granted is released.
 *   4. A lease whose time is over on one of our clocks is not held any more, until the server confirms it.
 */
export class EditGuard extends EventTarget {
  #options;
  #client;
  #state = 'asking';
  #detail = {};
  #turn = 0;  // grows when pending requests no longer matter: their answers are ignored
  #ended = false;
  #away = false;  // between pagehide and pageshow

  #held = null;  // the latest HeldLease, also after it was lost
  #lookIn = never;
  #question = null;  // the request of the state asking, to be sent again
  #line = null;
  #stale = false;  // others held the lock after this page was loaded
  #leaving = false;  // the form was sent: the application releases the lease
  #knocks = new Knocks();

  #stepping = false;
  #stepAgain = false;
  #timer = new Timer(() => this.#step());
  #page;

  /**
   * Takes the lock, or finds out who holds it: see `state`. With a `lockId` it keeps the lease that the page
   * was served with.
   */
  static async hold(options) {
    const guard = new EditGuard(options);
    await guard.start();
    return guard;
  }

  /** Sends nothing until start() is called, so that you can add listeners before. */
  constructor(options) {
    super();
    this.#options = withDefaults(options);
    this.#client = new KeyClient(this.#options);
    this.#page = new Page({
      active: () => this.touch(),
      woken: () => this.#step(),
      online: () => this.#askSoon(),
      hidden: () => this.#leave(),
      shown: () => this.#comeBack(),
    });
  }

  async start() {
    const { lockId } = this.#options;
    return this.#ask(() => (lockId ? this.#client.renew(lockId) : this.#client.try()));
  }

  get key() { return this.#client.key; }
  get state() { return this.#state; }
  get detail() { return this.#detail; }
  /** user/session/tab. */
  get owner() { return this.#client.owner; }
  /** The latest lease, also after it was lost; null before the first one. */
  get lease() { return this.#held?.lease ?? null; }
  /** Whether this page certainly holds the lock at this moment. */
  get isHeld() { return this.#holding && this.#held.left > 0; }
  /** False while the server is known not to answer. */
  get isReachable() {
    if (this.#holding) return this.#held.isAnswered;
    return !this.#detail.error?.passing && this.#detail.reason !== 'unconfirmed';
  }
  /** The secret of the lease, for the form that saves; empty unless the lock is held. */
  get lockId() { return this.isHeld ? this.lease.lock_id : ''; }
  /** Milliseconds for which the lock is certainly held. */
  get left() { return this.#holding ? Math.max(0, this.#held.left) : 0; }
  /** Milliseconds until the lock is released because the person is idle, or because of the cap. */
  get idleLeft() { return this.#holding ? this.#held.idleLeft : 0; }
  get capLeft() { return this.#holding ? this.#held.capLeft : 0; }
  /** The knocks at this lease, the latest last. */
  get knocks() { return this.#knocks.all; }

  /** Records activity of the person. Key presses and clicks in the page call it. */
  touch() {
    if (!this.#holding) return;
    this.#held.touch();
    if (this.#state === 'expiring' && this.#detail.why === 'idle') this.#settle();
  }

  /** Asks the server now. True if it answers that this page holds the lock. */
  async confirm() {
    if (!this.#holding) return false;
    const { lock_id: lockId } = this.lease;
    return this.#askAboutLease((options) => this.#client.check(lockId, options), 'checked');
  }

  /** Releases the lock. */
  async release() {
    const lockIds = this.#lockIds();
    this.#forgetPending();
    this.#become('released');
    await this.#client.end(lockIds);
  }

  /** Call it when the form is sent and the application releases the lease with the save. */
  handOver() {
    this.#leaving = true;
  }

  /** Takes the lock again after a loss, only if nobody else held it in between. */
  retake() {
    return this.#take(this.lease?.fence);
  }

  /** Takes the lock even if others held it in between; `stale` tells whether they did. */
  take() {
    return this.#take();
  }

  /** Waits in line for the lock, first come, first served. */
  async wait() {
    if (this.#ended || this.#holding || this.#line) return this.#holding;
    this.#forgetPending();
    this.#become('waiting', { holders: this.#detail.holders ?? [] });
    this.#lookIn = new Deadline(second / 4);
    this.#setTimer();
    await this.#standInLine();
    return this.#holding;
  }

  /** Leaves the line. */
  async stopWaiting() {
    if (!this.#line) return;
    const lockIds = this.#lockIds();
    this.#forgetPending();
    this.#become('refused', { holders: this.#detail.holders });
    await this.#client.end(lockIds);
    await this.#look();
  }

  /** Asks the holder to finish. False if nobody holds the lock any more. */
  async knock(message) {
    try {
      await this.#client.knock(message);
      return true;
    } catch (error) {
      if (error.status === 429) return true;  // the holder was asked a moment ago
      if (error.code !== 'not_held') throw error;
      this.#askSoon();
      return false;
    }
  }

  /** The person needs a little longer after a knock. Others see `note`; `knocked` is dispatched again. */
  async fiveMore(note) {
    if (!this.#holding) return;
    this.touch();
    this.#held.remindAfter(this.#options.fiveMore);
    this.#setTimer();
    if (!note || !this.lease.owner) return;
    await this.#askAboutLease((options) => this.#client.remark(this.lease, note, options));
  }

  /** Ends this object: no more requests and events. The lease lives on until its ttl is over. */
  close() {
    this.#forgetPending();
    this.#ended = true;
    this.#timer.stop();
    this.#page.close();
  }

  get #holding() { return holding.has(this.#state); }

  // ---- asking ----

  async #take(since) {
    if (this.#ended || this.#holding || this.#state === 'asking') return this.#holding;
    this.#forgetPending();
    await this.#ask(() => this.#client.try({ since }));
    return this.#holding;
  }

  // The lock counts as not held until the answer arrives.
  async #ask(question) {
    this.#question = question;
    this.#become('asking');
    await this.#askAgain();
  }

  async #askAgain() {
    const turn = this.#turn;
    this.#lookIn = never;
    try {
      const answer = await this.#question();
      if (turn === this.#turn) this.#accept(answer);
      else this.#decline(answer);
    } catch (error) {
      if (turn === this.#turn) this.#handleNoAnswer(error);
    }
  }

  #accept(answer) {
    if (!answer.refused) this.#hold(answer);
    else if (answer.refused.code === 'gone') this.#lose(answer.refused);
    else this.#refuse(answer.refused);
  }

  // Releases a lease that was granted after the person had changed their mind.
  #decline(answer) {
    if (answer.lock_id && answer.lock_id === answer.drawn) void this.#client.end([answer.lock_id]);
  }

  #handleNoAnswer(error) {
    const denial = this.#held && denials[error.status];
    if (denial) return this.#lose({ reason: denial, why: error.message });
    if (!(error instanceof NoAnswer) || !error.passing) return this.#become('failed', { error });
    if (this.#held) return this.#lose({ reason: 'unconfirmed', why: error.message });
    this.#become('asking', { error });
    this.#lookIn = new Deadline(Math.max(retryPause, error.retryAfter));
    this.#setTimer();
  }

  // ---- in line ----

  async #standInLine() {
    const turn = this.#turn;
    this.#line = new WaitingLine((wait, signal) => this.#client.try({ wait, signal }), this.#options.longestWait);
    try {
      const answer = await this.#line.stand((error) => this.#tellIfNew('waiting', { ...this.#detail, error }));
      if (turn === this.#turn) this.#line = null;
      if (answer && turn === this.#turn) this.#accept(answer);
      else if (answer) this.#decline(answer);
    } catch (error) {
      if (turn !== this.#turn) return;
      this.#line = null;
      this.#become('failed', { error });
    }
  }

  async #tellPlace() {
    const line = this.#line;
    const { holders, waiting = [] } = await this.#client.look();
    if (this.#line !== line || !line) return;
    const place = waiting.indexOf(this.owner);
    this.#tellIfNew('waiting', { holders, ahead: place < 0 ? undefined : place });
    if (place < 0) this.#lookIn = new Deadline(second);
  }

  // ---- while the lock is held ----

  #hold({ drawn, unchanged, ...lease }) {
    const stale = this.#stale && !unchanged && lease.fence !== this.lease?.fence;
    this.#stale = false;
    this.#leaving = false;
    this.#knocks.forget();
    this.#client.owner ??= lease.owner;
    this.#held = new HeldLease(lease, this.#options);
    this.#become('held', { lease, stale });
    this.#hear(lease);
  }

  #lose({ reason = 'unknown', by = '', why = '' }) {
    this.#forgetPending();
    if (reason === 'released' && this.#leaving) return this.#become('released');
    this.#stale = true;
    this.#become('lost', { reason, by, why, holders: [] });
    if (reason === 'unconfirmed') this.#lookIn = new Deadline(retryPause);
    else if (!unsure.has(reason)) this.#lookIn = over;
    this.#setTimer();
  }

  #refuse({ holders = [] }) {
    this.#stale = true;
    this.#become('refused', { holders });
  }

  async #keep() {
    const held = this.#held;
    const { lock_id: lockId } = held.lease;
    // The time is over on one of our clocks. The store's clock decides: ask the server.
    if (held.left <= 0) return this.#ask(() => this.#client.renew(lockId));
    if (held.end) return this.#giveUp(held.end);
    if (held.isToRemind) this.#remind();
    if (held.isToRenew) {
      await this.#askAboutLease((options) => this.#client.renew(lockId, options));
    } else if (this.#lookIn.left <= 0) {
      this.#lookIn = new Deadline(this.#options.checkEvery);
      await this.#askAboutLease((options) => this.#client.check(lockId, options), 'checked');
    }
    if (this.isHeld) this.#settle();
  }

  // Sends a request about our lease. True if the server answers that we hold it.
  async #askAboutLease(ask, outcome = 'renewed') {
    const turn = this.#turn;
    const held = this.#held;
    const counts = () => turn === this.#turn && this.#holding;
    try {
      const answer = await ask({ timeout: held.timeout });
      if (!counts()) return false;
      if (answer.refused) {
        this.#lose(answer.refused);
        return false;
      }
      held[outcome](answer);
      this.#hear(answer);
      return true;
    } catch (error) {
      if (!(error instanceof NoAnswer)) throw error;
      if (!counts()) return false;
      if (denials[error.status]) this.#lose({ reason: denials[error.status], why: error.message });
      else held.unanswered(error);
      return false;
    }
  }

  // Reports a threat to the lease, or the end of it.
  #settle() {
    const { threat } = this.#held;
    if (!threat && this.#state === 'expiring') this.#become('held', { lease: this.lease, stale: false });
    else if (threat && threat.why !== this.#detail.why) this.#become('expiring', threat);
  }

  async #giveUp(reason) {
    const lockIds = this.#lockIds();
    this.#lose({ reason });
    await this.#client.end(lockIds);
  }

  // Lock ids of the lease that we hold, and of one that we may have been granted.
  #lockIds() {
    return [this.#holding ? this.lease.lock_id : null, this.#client.drawn].filter(Boolean);
  }

  // ---- while the lock is not held ----

  async #look() {
    this.#lookIn = new Deadline(this.#options.checkEvery);
    try {
      if (this.#state === 'asking') return await this.#askAgain();
      if (this.#line) return await this.#tellPlace();
      if (this.#state === 'lost' && unsure.has(this.#detail.reason)) return await this.#findOut();
      const turn = this.#turn;
      const { holders } = await this.#client.look();
      if (turn !== this.#turn || resting.has(this.#state)) return;
      if (holders.length > 0) this.#stale = true;
      if (this.#state === 'lost') this.#tellIfNew('lost', { ...this.#detail, holders });
      else if (holders.length > 0) this.#tellIfNew('refused', { holders });
      else this.#tellIfNew('free', {});
    } catch (error) {
      if (!(error instanceof NoAnswer)) throw error;
    } finally {
      this.#setTimer();
    }
  }

  // A lease that could not be confirmed may still be ours: renew it.
  async #findOut() {
    const turn = this.#turn;
    const answer = await this.#client.renew(this.lease.lock_id);
    if (turn === this.#turn && this.#state === 'lost') this.#accept(answer);
  }

  // ---- steps ----

  async #step() {
    if (this.#ended || this.#away) return;
    this.#stepAgain = this.#stepping;
    if (this.#stepping) return;
    this.#stepping = true;
    try {
      do {
        this.#stepAgain = false;
        if (this.#holding) await this.#keep();
        else if (this.#lookIn.left <= 0 && !resting.has(this.#state)) await this.#look();
      } while (this.#stepAgain);
    } finally {
      this.#stepping = false;
      this.#setTimer();
    }
  }

  #setTimer() {
    if (this.#ended || this.#away || resting.has(this.#state)) return this.#timer.stop();
    if (this.#stepping) return;
    const due = [];
    if (this.#page.visible || this.#state === 'asking') due.push(this.#lookIn.left);
    if (this.#holding) due.push(this.#held.due);
    this.#timer.set(Math.min(...due, Infinity));
  }

  #askSoon() {
    this.#held?.askSoon();
    if (this.#lookIn !== never) this.#lookIn = over;
    this.#step();
  }

  // Answers to pending requests are ignored from now on.
  #forgetPending() {
    ++this.#turn;
    this.#client.drawAnew();
    const line = this.#line;
    this.#line = null;
    line?.leave();
  }

  // ---- events ----

  #hear({ knocks }) {
    const fresh = this.#knocks.fresh(knocks);
    if (fresh.length > 0) this.#tell('knocked', { knocks: fresh, again: false });
  }

  #remind() {
    this.#held.remindAfter();
    this.#tell('knocked', { knocks: this.knocks, again: true });
  }

  #become(state, detail = {}) {
    if (this.#ended) return;
    this.#state = state;
    this.#detail = detail;
    this.#lookIn = new Deadline(this.#options.checkEvery);
    this.#setTimer();
    this.#tell(state, detail);
  }

  #tellIfNew(state, detail) {
    if (this.#state === state && JSON.stringify(this.#detail) === JSON.stringify(detail)) return;
    this.#become(state, detail);
  }

  #tell(type, detail) {
    this.dispatchEvent(new GuardEvent(type, detail));
  }

  // ---- the page is hidden and shown ----

  // The page is closed, reloaded or left; a browser does not tell which. The lease is released after some
  // seconds, unless a reload renews it before.
  #leave() {
    if (!this.#leaving) void this.#client.end(this.#lockIds(), { after: this.#options.closing, keepalive: true });
    this.#away = true;
    this.#timer.stop();
    this.#forgetPending();
  }

  async #renewOrRetake({ lock_id: lockId, fence: since }) {
    const answer = await this.#client.renew(lockId);
    return answer.refused?.code === 'gone' ? this.#client.try({ since }) : answer;
  }

  // The page returns from the back/forward cache.
  async #comeBack() {
    this.#away = false;
    this.#leaving = false;
    if (this.#holding) {
      await this.#ask(() => this.#renewOrRetake(this.lease));
    } else if (this.#state === 'waiting') {
      await this.wait();
    } else if (this.#state === 'asking') {
      await this.#askAgain();
    } else {
      this.#askSoon();
    }
  }
}
