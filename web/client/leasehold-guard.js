import { EditGuard } from './edit-guard.js';
import { Panel } from './panel.js';
import { ReadOnly } from './read-only.js';
import { texts } from './texts.js';

const units = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };
const told = ['asking', 'held', 'expiring', 'lost', 'refused', 'free', 'waiting', 'released', 'failed', 'knocked'];

/**
 * <leasehold-guard key-type="Customer" key-id="7" owner="alice"> around a form: takes the lock, shows how it
 * stands, keeps the lock id in a hidden field, and makes the form read-only while the lock is not ours. README.md
 * lists the attributes. What the guard tells comes as leasehold-held, leasehold-lost and so on, with the
 * same particulars; leasehold-turn and leasehold-finish can be prevented.
 */
export class LeaseholdGuard extends HTMLElement {
  /** By language; add to them, or change them, before the first element is there. */
  static texts = texts;

  #guard = null;
  #panel = new Panel(this);
  #readOnly = new ReadOnly(this);
  #edited = false;  // whether it was ours once: then there may be a draft
  #ownTexts = {};
  #ending = Promise.resolve();  // of the lease before
  #sure = false;  // that the server answers: it just did

  constructor() {
    super();
    this.addEventListener('submit', (event) => this.#send(event));
  }

  /** The EditGuard; null before start(). */
  get guard() { return this.#guard; }

  /** Texts of this element that differ: {held: '…'}. */
  get texts() { return this.#ownTexts; }
  set texts(own) {
    this.#ownTexts = own;
    this.#show();
  }

  get form() { return this.querySelector('form'); }

  /** Whether the server answered lately, as far as is known. */
  get isReachable() {
    const { state, detail } = this.#guard ?? {};
    return navigator.onLine && !(state === 'expiring' && detail.why === 'unconfirmed');
  }

  connectedCallback() {
    if (this.#guard || this.hasAttribute('manual')) return;
    if (document.readyState !== 'loading') void this.start();
    else document.addEventListener('DOMContentLoaded', () => this.isConnected && this.start(), { once: true });
  }

  disconnectedCallback() {
    queueMicrotask(() => {
      if (this.isConnected) return;
      this.stop();
    });
  }

  /** Begins, or begins again with the attributes as they are now. */
  async start() {
    this.stop();
    this.#edited = false;
    const guard = new EditGuard(this.#options());
    this.#guard = guard;
    for (const type of told) guard.addEventListener(type, (event) => this.#hear(event));
    this.#show();
    await this.#ending;
    if (this.#guard === guard) await guard.start();
  }

  /** Lets go; nothing is shown or asked any more. */
  stop() {
    const guard = this.#guard;
    if (!guard) return;
    this.#guard = null;
    // What comes next takes a lease of its own.
    if (this.#field()) this.#field().value = '';
    this.#ending = guard.release();
    guard.close();
  }

  /** The person is done: sends the form, unless the page does something else. */
  finish() {
    const event = new CustomEvent('leasehold-finish', { bubbles: true, cancelable: true });
    if (this.dispatchEvent(event)) this.form?.requestSubmit();
  }

  #options() {
    const text = (name) => this.getAttribute(name) ?? undefined;
    const time = (name) => duration(this, name);
    return {
      type: text('key-type'),
      id: text('key-id'),
      owner: text('owner'),
      session: text('session'),
      server: text('server'),
      token: text('token'),
      note: text('note'),
      mode: text('mode'),
      lockId: this.#field()?.value || undefined,
      ttl: time('ttl'),
      renewEvery: time('renew-every'),
      checkEvery: time('check-every'),
      idleAfter: time('idle-after'),
      idleWarning: time('idle-warning'),
      cap: time('cap'),
      closing: time('closing'),
      fiveMore: time('five-more'),
      timeout: time('timeout'),
    };
  }

  // A form that is sent where nobody answers takes the page with it, and what was typed.
  async #send(event) {
    const guard = this.#guard;
    if (event.defaultPrevented || !guard) return;
    const sure = this.#sure || this.isReachable || !guard.isHeld;
    this.#sure = false;
    if (sure) return guard.handOver();
    event.preventDefault();
    this.#sure = await guard.confirm();
    if (this.#sure) event.target.requestSubmit(event.submitter);
    else this.#panel.notSent();
  }

  #hear({ type, detail }) {
    if (type === 'held') this.#keepLockId(detail.lease.lock_id);
    this.#show(type);
    this.dispatchEvent(new CustomEvent('leasehold-' + type, { bubbles: true, detail }));
    if (type === 'held' && detail.stale && !this.#edited) this.#takeTurn(detail);
    else if (type === 'held') this.#edited = true;
  }

  // What the page shows is older than what the one before has saved.
  #takeTurn(detail) {
    const event = new CustomEvent('leasehold-turn', { bubbles: true, cancelable: true, detail });
    if (!this.dispatchEvent(event) || this.getAttribute('on-turn') === 'keep') {
      this.#edited = true;
      return;
    }
    this.#readOnly.set(true);
    this.#panel.loading();
    location.reload();
  }

  #show(news) {
    if (!this.#guard) return;
    this.#readOnly.set(!this.#guard.isHeld);
    this.#panel.show(this.#guard, { news, edited: this.#edited, texts: this.#ownTexts });
  }

  #field() {
    return this.form?.elements.namedItem(this.getAttribute('field') ?? 'lock_id');
  }

  #keepLockId(lockId) {
    let field = this.#field();
    if (!field && this.form) {
      field = document.createElement('input');
      field.type = 'hidden';
      field.name = this.getAttribute('field') ?? 'lock_id';
      this.form.append(field);
    }
    if (field) field.value = lockId;
  }
}

// '5m', '90s', '250ms', 'never'; a bare number is in ms.
function duration(element, name) {
  const text = element.getAttribute(name);
  if (text === null) return undefined;
  if (text === 'never') return Infinity;
  const [, number, unit = 'ms'] = /^(\d+(?:\.\d+)?)(ms|s|m|h)?$/.exec(text) ?? [];
  if (number === undefined) throw new TypeError(`<leasehold-guard>: ${name} cannot be "${text}"; 90s would be right`);
  return Number(number) * units[unit];
}

if (!customElements.get('leasehold-guard')) customElements.define('leasehold-guard', LeaseholdGuard);
