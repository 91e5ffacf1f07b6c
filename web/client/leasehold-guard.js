import { EditGuard } from './edit-guard.js';
import { Panel } from './panel.js';
import { ReadOnly } from './read-only.js';
import { texts } from './texts.js';

const units = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };
const modes = ['exclusive', 'shared'];
const events = ['asking', 'held', 'expiring', 'lost', 'refused', 'free', 'waiting', 'released', 'failed', 'knocked'];

/** An attribute of the element is missing or has a wrong value. */
class AttributeError extends TypeError {
  constructor(attribute, value, expected) {
    super(`<leasehold-guard>: the attribute ${attribute} is ` +
      (value ? `"${value}"; possible values: ${expected.join(', ')}` : 'missing or empty'));
    Object.assign(this, { attribute, value, expected });
  }
}

/**
 * <leasehold-guard key-type="Customer" key-id="7" owner="alice"> around a form: takes the lock, shows its state,
 * writes the lock id into a hidden field, and makes the form read-only while the lock is not held. README.md lists
 * the attributes. Dispatches the guard's events as leasehold-held, leasehold-lost and so on. The events
 * leasehold-turn and leasehold-finish can be prevented.
 */
export class LeaseholdGuard extends HTMLElement {
  /** By language. Change them before the first element is created. */
  static texts = texts;

  #guard = null;
  #panel = new Panel(this);
  #readOnly = new ReadOnly(this);
  #edited = false;  // whether the lock was held once: the person may have typed something
  #ownTexts = {};
  #ending = Promise.resolve();  // the release of the previous lease
  #unusable = null;  // shown instead of a guard if the attributes are wrong
  #sending = false;  // the server is being asked whether the form may be sent
  #letPass = null;  // called with the event of a form that may be sent

  constructor() {
    super();
    // Runs before the listeners of the form and of the page, so that they hear only of forms that are sent.
    this.addEventListener('submit', (event) => this.#holdBack(event), { capture: true });
  }

  /** The EditGuard; null before start(). */
  get guard() { return this.#guard; }

  /** Texts of this element that differ from the texts of its language: {held: '…'}. */
  get texts() { return this.#ownTexts; }
  set texts(own) {
    this.#ownTexts = own;
    this.#show();
  }

  get form() { return this.querySelector('form'); }

  /** False while the server is known not to answer. */
  get isReachable() {
    return navigator.onLine && (this.#guard?.isReachable ?? true);
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

  /** Starts, or starts again with the current attributes. */
  async start() {
    this.stop();
    this.#edited = false;
    this.#unusable = null;
    let guard;
    try {
      guard = new EditGuard(this.#options());
    } catch (error) {
      return this.#fail(error);
    }
    this.#guard = guard;
    for (const type of events) guard.addEventListener(type, (event) => this.#hear(event));
    this.#show();
    await this.#ending;
    if (this.#guard === guard) await guard.start();
  }

  /** Releases the lock and stops. */
  stop() {
    const guard = this.#guard;
    if (!guard) return;
    this.#guard = null;
    // The next start takes a new lease.
    if (this.#field()) this.#field().value = '';
    this.#ending = guard.release();
    guard.close();
  }

  /** Sends the form, unless a listener prevents leasehold-finish. */
  finish() {
    const event = new CustomEvent('leasehold-finish', { bubbles: true, cancelable: true });
    if (this.dispatchEvent(event)) this.form?.requestSubmit();
  }

  #options() {
    const text = (name) => this.getAttribute(name) ?? undefined;
    const time = (name) => duration(this, name);
    const needed = ['key-type', 'key-id', ...(this.#field()?.value ? [] : ['owner'])];
    const missing = needed.find((name) => !text(name));
    if (missing) throw new AttributeError(missing);
    if (!modes.includes(text('mode') ?? modes[0])) throw new AttributeError('mode', text('mode'), modes);
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

  // Without the lock nothing can be saved: the form is read-only until a page corrects the attributes.
  #fail(error) {
    console.error(error.message);
    this.#unusable = { state: 'failed', detail: { error }, isHeld: false, knocks: [] };
    this.#show('failed');
    this.dispatchEvent(new CustomEvent('leasehold-failed', { bubbles: true, detail: { error } }));
  }

  // A browser that sends a form leaves the page. If the server did not answer, or refused to save, what was typed
  // would be lost. So while the lock is held:
  //   1. Stops the event, before other listeners hear it.
  //   2. Asks the server whether this page holds the lock.
  //   3. If so, sends the form with the same button. That event passes. Otherwise the panel says why not.
  #holdBack(event) {
    if (this.#letPass) return this.#letPass(event);
    if (event.defaultPrevented || !['held', 'expiring'].includes(this.#guard?.state)) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    if (!this.#sending) void this.#send(event.target, event.submitter);
  }

  async #send(form, submitter) {
    const guard = this.#guard;
    this.#sending = true;
    this.#panel.beginSending();
    const isOurs = await guard.confirm();
    // A button that always works needs an answer, whatever it is.
    const maySend = isOurs || (guard.isReachable && Boolean(submitter?.matches('[data-always]')));
    this.#sending = false;
    this.#panel.endSending(maySend);
    if (!maySend || guard !== this.#guard) return;
    let sent;
    this.#letPass = (event) => (sent = event);
    form.requestSubmit(submitter?.form === form ? submitter : null);
    this.#letPass = null;
    // A listener that prevents it sends the form in its own way, and the page stays.
    if (sent && !sent.defaultPrevented) guard.handOver();
  }

  #hear({ type, detail }) {
    if (type === 'held') this.#keepLockId(detail.lease.lock_id);
    this.#show(type);
    this.dispatchEvent(new CustomEvent('leasehold-' + type, { bubbles: true, detail }));
    if (type === 'held' && detail.stale && !this.#edited) this.#takeTurn(detail);
    else if (type === 'held') this.#edited = true;
  }

  // The page got the lock after somebody else, so it may show an old version: load it again.
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
    const guard = this.#guard ?? this.#unusable;
    if (!guard) return;
    this.#readOnly.set(!guard.isHeld);
    this.#panel.show(guard, { news, edited: this.#edited, texts: this.#ownTexts });
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

// '5m', '90s', '250ms' or 'never'.
function duration(element, name) {
  const text = element.getAttribute(name);
  if (text === null) return undefined;
  if (text === 'never') return Infinity;
  const [, number, unit] = /^(\d+(?:\.\d+)?)(ms|s|m|h)$/.exec(text) ?? [];
  if (number === undefined) throw new AttributeError(name, text, ['90s', '5m', 'never', '…']);
  return Number(number) * units[unit];
}

if (!customElements.get('leasehold-guard')) customElements.define('leasehold-guard', LeaseholdGuard);
