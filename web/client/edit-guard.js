import { Asker } from './asker.js';
import { Deadline, never, over } from './clock.js';
import { Knocks } from './knocks.js';
import { Line } from './line.js';
import { NoAnswer } from './locks.js';
import { second, withDefaults } from './options.js';
import { Page } from './page.js';
import { Tenure } from './tenure.js';
import { Timer } from './timer.js';

const retry = 3 * second;
const holding = new Set(['held', 'expiring']);
const resting = new Set(['released', 'failed']);
const denials = { 401: 'unauthorized', 403: 'forbidden' };
const unsure = new Set(['unconfirmed', ...Object.values(denials)]);  // reasons of a loss that may be none

/** What an EditGuard tells; `detail` holds the particulars. */
export class GuardEvent extends Event {
  constructor(type, detail) {
    super(type);
    this.detail = detail;
  }
}

/**
 * One person's work on one thing. Takes the lock, keeps it while the person works, and tells the page
 * truthfully how it stands. `state` is the latest of these events, `detail` its particulars:
 *
 *   asking    it is not known yet, or not any more        { error? }
 *   held      the lock is this page's                     { lease, stale }
 *   expiring  it will be lost soon, unless                { why: 'unconfirmed' | 'idle' | 'cap', left }
 *   lost      it is this page's no longer                 { reason, by, why, holders }
 *   refused   somebody else has it                        { holders }
 *   free      the one who had it is done                  {}
 *   waiting   in line for it                              { ahead, holders, error? }
 *   released  this page has let it go                     {}
 *   failed    it cannot be asked for like this            { error }
 *
 * and, without a change of the state:
 *
 *   knocked   others would like to have it                { knocks, again }
 */
export class EditGuard extends EventTarget {
  #options;
  #asker;
  #state = 'asking';
  #detail = {};
  #turn = 0;  // grows with every change of mind: an answer to an older question does not count
  #ended = false;
  #away = false;  // between pagehide and pageshow

  #tenure = null;  // the latest
  #lookIn = never;
  #question = null;  // what is being asked in the state asking
  #line = null;
  #stale = false;  // others had it after this page was made
  #leaving = false;  // whoever saves the page ends the lease with it
  #knocks = new Knocks();

  #stepping = false;
  #stepAgain = false;
  #timer = new Timer(() => this.#step());
  #page;

  /**
   * Takes the lock, or learns who has it: look at `state`. With a `lockId` it keeps the lease that
   * the page was served with instead of taking one.
   */
  static async hold(options) {
    const guard = new EditGuard(options);
    await guard.start();
    return guard;
  }

  /** For those who want to listen before they hold: nothing is asked until start(). */
  constructor(options) {
    super();
    this.#options = withDefaults(options);
    this.#asker = new Asker(this.#options);
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
    return this.#ask(() => (lockId ? this.#asker.renew(lockId) : this.#asker.try()));
  }

  get key() { return this.#asker.key; }
  get state() { return this.#state; }
  get detail() { return this.#detail; }
  /** user/session/tab. */
  get owner() { return this.#asker.owner; }
  /** The lease, also after it was lost; null if there was none. */
  get lease() { return this.#tenure?.lease ?? null; }
  /** Whether the lock is certainly ours at this moment. */
  get isHeld() { return this.#holding && this.#tenure.left > 0; }
  /** The secret of the lease, for the form that saves; empty unless the lock is ours. */
  get lockId() { return this.isHeld ? this.lease.lock_id : ''; }
  /** Milliseconds for which the lock is certainly ours. */
  get left() { return this.#holding ? Math.max(0, this.#tenure.left) : 0; }
  /** Milliseconds until it is let go for want of activity, or because the cap is reached. */
  get idleLeft() { return this.#holding ? this.#tenure.idleLeft : 0; }
  get capLeft() { return this.#holding ? this.#tenure.capLeft : 0; }
  /** Who has knocked at this lease, latest last. */
  get knocks() { return this.#knocks.all; }

  /** The person is there. Key presses and the like in the page say so by themselves. */
  touch() {
    if (!this.#holding) return;
    this.#tenure.touch();
    if (this.#state === 'expiring' && this.#detail.why === 'idle') this.#settle();
  }

  /** Asks now. True where the server answers that the lock is ours. */
  async confirm() {
    if (!this.#holding) return false;
    const { lock_id: lockId } = this.lease;
    return this.#aboutOurs((options) => this.#asker.check(lockId, options), 'checked');
  }

  /** Lets go, so that the next one can begin. */
  async release() {
    const lockIds = this.#lockIds();
    this.#changeMind();
    this.#become('released');
    await this.#asker.end(lockIds);
  }

  /** The application ends the lease as it saves: call it when the form is sent. */
  handOver() {
    this.#leaving = true;
  }

  /** Takes the lock again after a loss, only if nobody else had it meanwhile. */
  retake() {
    return this.#take(this.lease?.fence);
  }

  /** Takes the lock whatever happened meanwhile: `stale` tells whether what the page shows may be old. */
  take() {
    return this.#take();
  }

  /** Waits in line for a lock that somebody else has, first come, first served. */
  async wait() {
    if (this.#ended || this.#holding || this.#line) return this.#holding;
    this.#changeMind();
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
    this.#changeMind();
    this.#become('refused', { holders: this.#detail.holders });
    await this.#asker.end(lockIds);
    await this.#look();
  }

  /** Asks whoever has the lock to finish. False if nobody has it any more. */
  async knock(message) {
    try {
      await this.#asker.knock(message);
      return true;
    } catch (error) {
      if (error.status === 429) return true;  // asked a moment ago
      if (error.code !== 'not_held') throw error;
      this.#askSoon();
      return false;
    }
  }

  /** The person has heard a knock and needs a little longer. Others read `note`; `knocked` comes again. */
  async fiveMore(note) {
    if (!this.#holding) return;
    this.touch();
    this.#tenure.remindAfter(this.#options.fiveMore);
    this.#setTimer();
    if (!note || !this.lease.owner) return;
    await this.#aboutOurs((options) => this.#asker.remark(this.lease, note, options));
  }

  /** The end of this object: nothing more is asked or told. The lease is left to its ttl. */
  close() {
    this.#changeMind();
    this.#ended = true;
    this.#timer.stop();
    this.#page.close();
  }

  get #holding() { return holding.has(this.#state); }

  // ---- asking ----

  async #take(since) {
    if (this.#ended || this.#holding || this.#state === 'asking') return this.#holding;
    this.#changeMind();
    await this.#ask(() => this.#asker.try({ since }));
    return this.#holding;
  }

  // Nothing is claimed until there is an answer.
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
      if (turn === this.#turn) this.#stayUnknowing(error);
    }
  }

  #accept(answer) {
    if (!answer.refused) this.#hold(answer);
    else if (answer.refused.code === 'gone') this.#lose(answer.refused);
    else this.#refuse(answer.refused);
  }

  // What was granted to a try that is no longer wanted.
  #decline(answer) {
    if (answer.lock_id && answer.lock_id === answer.drawn) void this.#asker.end([answer.lock_id]);
  }

  #stayUnknowing(error) {
    const denial = this.#tenure && denials[error.status];
    if (denial) return this.#lose({ reason: denial, why: error.message });
    if (!(error instanceof NoAnswer) || !error.passing) return this.#become('failed', { error });
    if (this.#tenure) return this.#lose({ reason: 'unconfirmed', why: error.message });
    this.#become('asking', { error });
    this.#lookIn = new Deadline(Math.max(retry, error.retryAfter));
    this.#setTimer();
  }

  // ---- in line ----

  async #standInLine() {
    const turn = this.#turn;
    this.#line = new Line((wait, signal) => this.#asker.try({ wait, signal }), this.#options.longestWait);
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
    const { holders, waiting = [] } = await this.#asker.look();
    if (this.#line !== line || !line) return;
    const place = waiting.indexOf(this.owner);
    this.#tellIfNew('waiting', { holders, ahead: place < 0 ? undefined : place });
    if (place < 0) this.#lookIn = new Deadline(second);
  }

  // ---- ours ----

  #hold({ drawn, unchanged, ...lease }) {
    const stale = this.#stale && !unchanged && lease.fence !== this.lease?.fence;
    this.#stale = false;
    this.#leaving = false;
    this.#knocks.forget();
    this.#asker.owner ??= lease.owner;
    this.#tenure = new Tenure(lease, this.#options);
    this.#become('held', { lease, stale });
    this.#hear(lease);
  }

  #lose({ reason = 'unknown', by = '', why = '' }) {
    this.#changeMind();
    if (reason === 'released' && this.#leaving) return this.#become('released');
    this.#stale = true;
    this.#become('lost', { reason, by, why, holders: [] });
    if (reason === 'unconfirmed') this.#lookIn = new Deadline(retry);
    else if (!unsure.has(reason)) this.#lookIn = over;
    this.#setTimer();
  }

  #refuse({ holders = [] }) {
    this.#stale = true;
    this.#become('refused', { holders });
  }

  async #keep() {
    const tenure = this.#tenure;
    const { lock_id: lockId } = tenure.lease;
    // The time is up by one of our clocks: the server knows whether by the store's, too.
    if (tenure.left <= 0) return this.#ask(() => this.#asker.renew(lockId));
    if (tenure.end) return this.#letGo(tenure.end);
    if (tenure.isToRemind) this.#remind();
    if (tenure.isToRenew) {
      await this.#aboutOurs((options) => this.#asker.renew(lockId, options));
    } else if (this.#lookIn.left <= 0) {
      this.#lookIn = new Deadline(this.#options.checkEvery);
      await this.#aboutOurs((options) => this.#asker.check(lockId, options), 'checked');
    }
    if (this.isHeld) this.#settle();
  }

  // Whether it was answered that it is ours.
  async #aboutOurs(ask, outcome = 'renewed') {
    const turn = this.#turn;
    const tenure = this.#tenure;
    const counts = () => turn === this.#turn && this.#holding;
    try {
      const answer = await ask({ timeout: tenure.timeout });
      if (!counts()) return false;
      if (answer.refused) {
        this.#lose(answer.refused);
        return false;
      }
      tenure[outcome](answer);
      this.#hear(answer);
      return true;
    } catch (error) {
      if (!(error instanceof NoAnswer)) throw error;
      if (!counts()) return false;
      if (denials[error.status]) this.#lose({ reason: denials[error.status], why: error.message });
      else tenure.unanswered(error);
      return false;
    }
  }

  // How certain it is that the lock stays ours.
  #settle() {
    const { threat } = this.#tenure;
    if (!threat && this.#state === 'expiring') this.#become('held', { lease: this.lease, stale: false });
    else if (threat && threat.why !== this.#detail.why) this.#become('expiring', threat);
  }

  async #letGo(reason) {
    const lockIds = this.#lockIds();
    this.#lose({ reason });
    await this.#asker.end(lockIds);
  }

  // Of what is ours, or may be.
  #lockIds() {
    return [this.#holding ? this.lease.lock_id : null, this.#asker.drawn].filter(Boolean);
  }

  // ---- while it is not ours ----

  async #look() {
    this.#lookIn = new Deadline(this.#options.checkEvery);
    try {
      if (this.#state === 'asking') return await this.#askAgain();
      if (this.#line) return await this.#tellPlace();
      if (this.#state === 'lost' && unsure.has(this.#detail.reason)) return await this.#findOut();
      const turn = this.#turn;
      const { holders } = await this.#asker.look();
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

  // Whether what could not be confirmed is ours after all.
  async #findOut() {
    const turn = this.#turn;
    const answer = await this.#asker.renew(this.lease.lock_id);
    if (turn === this.#turn && this.#state === 'lost') this.#accept(answer);
  }

  // ---- one thing at a time ----

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
    if (this.#holding) due.push(this.#tenure.due);
    this.#timer.set(Math.min(...due, Infinity));
  }

  #askSoon() {
    this.#tenure?.askSoon();
    if (this.#lookIn !== never) this.#lookIn = over;
    this.#step();
  }

  // What was asked before no longer counts.
  #changeMind() {
    ++this.#turn;
    this.#asker.drawAnew();
    const line = this.#line;
    this.#line = null;
    line?.leave();
  }

  // ---- telling ----

  #hear({ knocks }) {
    const fresh = this.#knocks.fresh(knocks);
    if (fresh.length > 0) this.#tell('knocked', { knocks: fresh, again: false });
  }

  #remind() {
    this.#tenure.remindAfter();
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

  // ---- the page goes and comes ----

  // Closed, reloaded or left: nobody can tell which. A reload comes back within seconds and finds its
  // lease; after a close it is gone as soon.
  #leave() {
    if (!this.#leaving) void this.#asker.end(this.#lockIds(), { after: this.#options.closing, keepalive: true });
    this.#away = true;
    this.#timer.stop();
    this.#changeMind();
  }

  async #renewOrRetake({ lock_id: lockId, fence: since }) {
    const answer = await this.#asker.renew(lockId);
    return answer.refused?.code === 'gone' ? this.#asker.try({ since }) : answer;
  }

  // From the back/forward cache, as it was left.
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
