// What <leasehold-guard> shows above the form: the state of the lock in words, with a colour and a sign; the
// buttons; and the knocks.

import { dress } from './style.js';
import { textsFor } from './texts.js';

const signs = {
  good: 'M12 20h9M16.5 3.5a2.1 2.1 0 0 1 3 3L7 19l-4 1 1-4z',  // a pen
  warn: 'M12 3 2 20h20zM12 10v4M12 17h0',
  bad: 'M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM9 9l6 6M15 9l-6 6',
  taken: 'M5 11h14v10H5zM8 11V7a4 4 0 0 1 8 0v4',  // a padlock
  wait: 'M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM12 7v5l3 2',
  knock: 'M6 9a6 6 0 0 1 12 0c0 6 2 8 2 8H4s2-2 2-8M10 21h4',  // a bell
};
const lossTexts = {
  expired: 'lostExpired', released: 'lostReleased', idle: 'lostIdle', cap: 'lostCap', unconfirmed: 'lostUnconfirmed',
  unauthorized: 'lostUnauthorized', forbidden: 'lostForbidden',
};
const failureTexts = { 401: 'failedUnauthorized', 403: 'failedForbidden' };
const slow = 500;  // ms after which the panel says that the server is being asked
const expiryTexts = { unconfirmed: 'expiringUnconfirmed', idle: 'expiringIdle', cap: 'expiringCap' };

export class Panel {
  #host;
  #guard;
  #edited;
  #t;
  #parts;
  #buttons = {};
  #knocks = [];  // not answered yet
  #asked = '';  // the result of this page's own knock
  #sending;  // a timer while the server is asked before the form is sent
  #isSlow = false;  // whether that takes long
  #unsent = false;  // whether the form was not sent because the server does not answer
  #said = '';  // the last announcement to screen readers
  #ticking;

  constructor(host) {
    this.#host = host;
    const root = host.attachShadow({ mode: 'open' });
    dress(root);
    this.#parts = this.#build(root);
  }

  /** `news` is the type of the latest event. */
  show(guard, { news, edited, texts }) {
    this.#guard = guard;
    this.#edited = edited;
    this.#t = textsFor(this.#host, texts);
    this.#parts.section.hidden = false;
    if (news === 'knocked') this.#knocks = guard.knocks.slice(-3);
    if (!guard.isHeld) this.#knocks = [];
    if (guard.state !== 'refused' && guard.state !== 'waiting') this.#asked = '';
    this.#label();
    this.#update(news);
    this.#tick();
  }

  /** The server is being asked whether the form may be sent. */
  beginSending() {
    this.#unsent = false;
    this.#sending = setTimeout(() => {
      this.#isSlow = true;
      this.#update('sending');
    }, slow);
  }

  endSending(isSent) {
    clearTimeout(this.#sending);
    this.#isSlow = false;
    this.#unsent = !isSent;
    this.#update(isSent ? undefined : 'unsent');
    this.#tick();
  }

  /** The page is about to be loaded again. */
  loading() {
    this.#render({ tone: 'good', sign: 'good', lines: [this.#t.say('turn')], actions: [] }, 'held');
  }

  #update(news) {
    if (!this.#host.isConnected) return clearInterval(this.#ticking);
    this.#unsent &&= this.#guard.isHeld && !this.#host.isReachable;
    const view = this.#view();
    if (this.#isSlow) Object.assign(view, { tone: 'wait', sign: 'wait', lines: [this.#t.say('sending'), ...view.lines] });
    if (this.#unsent) Object.assign(view, { tone: 'warn', sign: 'warn', urgent: true, lines: [this.#t.say('notSent'), ...view.lines] });
    this.#render(view, news);
  }

  // Updates a countdown every second.
  #tick() {
    clearInterval(this.#ticking);
    if (this.#guard.state === 'expiring' || this.#unsent) this.#ticking = setInterval(() => this.#update(), 1000);
  }

  // ---- the words for each state ----

  #view() {
    const { state, detail } = this.#guard;
    const say = this.#t.say;
    switch (state) {
      case 'held': return { tone: 'good', sign: 'good', ...this.#held(detail) };
      case 'expiring': return { tone: 'warn', sign: 'warn', urgent: true, ...this.#expiring(detail) };
      case 'lost': return { tone: 'bad', sign: 'bad', urgent: true, ...this.#lost(detail) };
      case 'refused': return { tone: 'taken', sign: 'taken', ...this.#refused(detail) };
      case 'waiting': return { tone: 'wait', sign: 'wait', ...this.#waiting(detail) };
      case 'free': return { tone: 'wait', sign: 'good', lines: [say('free')], actions: ['take'] };
      case 'released': return { tone: 'taken', sign: 'good', lines: [say('released')], actions: ['take'] };
      case 'failed': return { tone: 'bad', sign: 'bad', ...this.#failed(detail) };
      default: {
        const lines = [say(detail.error ? 'unreachable' : 'asking')];
        return { tone: detail.error ? 'warn' : 'taken', sign: 'wait', lines, actions: [] };
      }
    }
  }

  #held({ stale }) {
    const old = stale && this.#edited;
    return { lines: [this.#t.say(old ? 'heldStale' : 'held')], actions: old ? ['latest'] : [] };
  }

  #expiring({ why }) {
    const { left, idleLeft, capLeft } = this.#guard;
    const ms = { unconfirmed: left, idle: idleLeft, cap: capLeft }[why];
    const lines = [this.#t.say(expiryTexts[why], { left: this.#t.minutes(ms) })];
    return { lines, actions: why === 'idle' ? ['stillHere'] : [] };
  }

  #lost({ reason, by, why, holders = [] }) {
    const say = this.#t.say;
    let cause = say(lossTexts[reason] ?? 'lostUnknown');
    if (reason === 'taken' && !by) cause = say('lostTakenUnknown');
    else if (reason === 'taken') cause = this.#isOwn([{ owner: by }]) ? say('lostTakenOwn') : say('lostTaken', { name: nameOf(by) });
    if (reason === 'broken') cause = say(why ? 'lostBrokenWhy' : 'lostBroken', { name: this.#name(by), why });
    const lines = [cause, say(reason === 'unauthorized' ? 'draftKeptSignedOut' : 'draftKept')];
    if (holders.length > 0) lines.push(this.#nowHeldBy(holders));
    if (reason === 'unconfirmed') return { lines, actions: [] };
    if (holders.length > 0) return { lines, actions: ['wait', 'latest'] };
    return { lines, actions: reason === 'taken' ? ['latest', 'take'] : ['retake'] };
  }

  #failed({ error }) {
    const { attribute: name, value, expected } = error;
    if (name && !value) return { lines: [this.#t.say('failedMissing', { name })], actions: [] };
    if (name) return { lines: [this.#t.say('failedValue', { name, value, expected: expected.join(', ') })], actions: [] };
    const lines = [this.#t.say(failureTexts[error.status] ?? 'failed', { why: error.message })];
    if (this.#edited) lines.push(this.#t.say('draftKept'));
    return { lines, actions: ['again'] };
  }

  #refused({ holders }) {
    const lines = [this.#whoHasIt(holders), ...this.#notes(holders)];
    if (this.#edited) lines.push(this.#t.say('draftKept'));
    if (this.#asked) lines.push(this.#asked);
    return { lines, small: this.#until(holders), actions: this.#isOwn(holders) ? ['wait'] : ['wait', 'knock'] };
  }

  #waiting({ ahead, holders = [], error }) {
    const say = this.#t.say;
    const place = ahead === undefined ? say('waiting') : ahead === 0 ? say('waitingNext') : say('waitingBehind', { ahead });
    const lines = [error ? say('unreachable') : place];
    if (holders.length > 0) lines.push(this.#whoHasIt(holders), ...this.#notes(holders));
    if (this.#asked) lines.push(this.#asked);
    const actions = this.#isOwn(holders) ? ['stopWaiting'] : ['stopWaiting', 'knock'];
    return { lines, small: this.#until(holders), actions };
  }

  #whoHasIt(holders) {
    const since = this.#t.clock(holders[0]?.granted_at ?? Date.now());
    if (this.#isOwn(holders)) return this.#t.say(this.#isNear(holders) ? 'refusedOwn' : 'refusedOwnFar', { since });
    return this.#t.say('refused', { name: this.#names(holders), since });
  }

  #nowHeldBy(holders) {
    return this.#isOwn(holders) ? this.#t.say('nowHeldByYou') : this.#t.say('nowHeldBy', { name: this.#names(holders) });
  }

  // When the last of the leases expires. It changes with every renewal, so screen readers do not announce it.
  #until(holders) {
    const ends = holders.map(({ expires_at: end }) => (end ? Date.parse(end) : Infinity));
    const last = Math.max(...ends);
    return Number.isFinite(last) ? [this.#t.say('refusedUntil', { until: this.#t.clock(last) })] : [];
  }

  #notes(holders) {
    return holders.filter(({ note }) => note).map(({ note }) => this.#t.say('noteOf', { note }));
  }

  #isOwn(holders) {
    const user = this.#guard.owner?.split('/').slice(0, -2).join('/');
    return Boolean(user) && holders.length > 0 && holders.every(({ owner }) => owner.startsWith(user + '/'));
  }

  // Whether another tab or window of this session holds the lock. The same tab can only be the holder if a new
  // sign-in has begun another session.
  #isNear(holders) {
    const own = this.#guard.owner;
    const session = own.slice(0, own.lastIndexOf('/') + 1);
    return holders.every(({ owner }) => owner.startsWith(session) && owner !== own);
  }

  #names(holders) {
    return [...new Set(holders.map(({ owner }) => this.#name(owner)))].slice(0, 3).join(', ');
  }

  #name(owner) {
    return nameOf(owner) || this.#t.say('somebody');
  }

  // ---- rendering ----

  #render({ tone, sign, lines, small = [], actions, urgent = false }, news) {
    const { section, text, knock, knocks, ask } = this.#parts;
    const focused = this.#host.shadowRoot.activeElement;
    section.dataset.tone = tone;
    section.dataset.state = this.#guard.state;
    this.#parts.sign.firstChild.setAttribute('d', signs[sign]);
    fill(text, [...lines, ...small].map((line, index) => element('p', { className: index > 0 ? 'more' : '', textContent: line })));
    for (const [name, button] of Object.entries(this.#buttons)) {
      if (button.parentNode === this.#parts.actions) button.hidden = !actions.includes(name);
      button.classList.toggle('first', (name === actions[0] && name !== 'stopWaiting') || name === 'finish' || name === 'send');
    }
    if (!actions.includes('knock')) ask.hidden = true;
    knock.hidden = this.#knocks.length === 0;
    fill(knocks, this.#knocks.map((one) => element('p', { textContent: this.#wordsOf(one) })));
    this.#announce(news, urgent, lines);
    // If the focused button is gone, the focus moves to a button that is there, not to the top of the page.
    if (focused && !isShown(focused)) (Object.values(this.#buttons).find(isShown) ?? text).focus();
  }

  // Does not repeat the last announcement, except for the result of something that the person just did.
  #announce(news, urgent, lines) {
    const words = (news === 'knocked' ? this.#knocks.map((one) => this.#wordsOf(one)) : lines).join(' ');
    if (!news || (words === this.#said && news === this.#guard.state)) return;
    this.#said = words;
    this.#parts.polite.textContent = urgent ? '' : words;
    this.#parts.urgent.textContent = urgent ? words : '';
  }

  #wordsOf({ by, message }) {
    return this.#t.say('knocked', { name: this.#name(by), message });
  }

  #label() {
    const { section, messageLabel } = this.#parts;
    section.setAttribute('aria-label', this.#t.say('label'));
    section.lang = this.#t.locale;
    for (const [name, button] of Object.entries(this.#buttons)) button.textContent = this.#t.say(name);
    this.#buttons.latest.href = this.#host.getAttribute('latest') ?? location.href;
    messageLabel.data = this.#t.say('knockMessage', { name: this.#names(this.#guard.detail.holders ?? []) });
  }

  // ---- buttons ----

  #build(root) {
    const guard = () => this.#guard;
    const act = {
      take: () => guard().take(),
      retake: () => guard().retake(),
      again: () => (guard().lease ? guard().retake() : guard().take()),
      wait: () => guard().wait(),
      stopWaiting: () => guard().stopWaiting(),
      knock: () => this.#openAsk(),
      latest: undefined,
      stillHere: () => guard().touch(),
      finish: () => this.#host.finish(),
      fiveMore: () => this.#fiveMore(),
      send: undefined,
      cancel: () => this.#closeAsk(),
    };
    for (const [name, does] of Object.entries(act)) {
      const button = (this.#buttons[name] = element(name === 'latest' ? 'a' : 'button', { type: 'button' }));
      if (does) button.addEventListener('click', does);
    }
    const { latest, send, finish, fiveMore, cancel, ...others } = this.#buttons;
    Object.assign(latest, { target: '_blank', rel: 'noopener' });
    send.type = 'submit';

    const sign = picture('wait');
    const text = element('div', { className: 'text', tabIndex: -1 });
    const actions = element('div', { className: 'actions' }, ...Object.values(others), latest);
    const knocks = element('div', { className: 'text' });
    const knock = element('div', { className: 'row knock', hidden: true },
      element('div', { className: 'said' }, picture('knock'), knocks),
      element('div', { className: 'actions' }, finish, fiveMore));
    const message = element('input', { type: 'text', maxLength: 200, autocomplete: 'off' });
    const messageLabel = document.createTextNode('');
    const ask = element('form', { className: 'ask', hidden: true },
      element('label', {}, messageLabel, message), element('div', { className: 'actions' }, send, cancel));
    ask.addEventListener('submit', (event) => {
      event.preventDefault();
      void this.#knockAtIt();
    });
    ask.addEventListener('keydown', (event) => event.key === 'Escape' && this.#closeAsk());
    const polite = element('div', { className: 'told', role: 'status' });
    const urgent = element('div', { className: 'told', role: 'alert' });
    const section = element('section', { hidden: true },
      element('div', { className: 'row' }, element('div', { className: 'said' }, sign, text), actions),
      knock, ask, polite, urgent);
    root.append(section, document.createElement('slot'));
    return { section, sign, text, actions, knock, knocks, ask, message, messageLabel, polite, urgent };
  }

  #openAsk() {
    this.#parts.ask.hidden = false;
    this.#parts.message.focus();
  }

  #closeAsk() {
    this.#parts.ask.hidden = true;
    this.#buttons.knock.focus();
  }

  async #knockAtIt() {
    const { message } = this.#parts;
    const name = this.#names(this.#guard.detail.holders ?? []);
    try {
      const heard = await this.#guard.knock(message.value.trim() || this.#t.say('knockDefault'));
      this.#asked = heard ? this.#t.say('knockSent', { name }) : '';
      message.value = '';
    } catch {
      this.#asked = this.#t.say('knockFailed');
    }
    if (!this.#parts.ask.hidden) this.#closeAsk();
    this.#update('asked');
  }

  #fiveMore() {
    this.#knocks = [];
    const until = this.#t.clock(Date.now() + 5 * 60_000);
    void this.#guard.fiveMore(this.#t.say('needUntil', { until }));
    this.#update();
  }
}

// The user in a path that ends in user/session/tab.
function nameOf(owner) {
  const parts = owner.split('/');
  return parts[Math.max(0, parts.length - 3)];
}

function element(name, properties, ...children) {
  const { role, ...others } = properties;
  const made = Object.assign(document.createElement(name), others);
  if (role) made.setAttribute('role', role);
  made.append(...children);
  return made;
}

function isShown(one) {
  return one.offsetParent !== null;
}

function picture(sign) {
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  const path = document.createElementNS('http://www.w3.org/2000/svg', 'path');
  svg.setAttribute('viewBox', '0 0 24 24');
  svg.setAttribute('aria-hidden', 'true');
  path.setAttribute('d', signs[sign]);
  svg.append(path);
  return svg;
}

function fill(parent, children) {
  const same = parent.children.length === children.length &&
    children.every((child, index) => child.textContent === parent.children[index].textContent);
  if (!same) parent.replaceChildren(...children);
}
