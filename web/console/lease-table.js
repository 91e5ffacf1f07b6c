// The live leases, page by page with the server's cursors. The browser holds only the leases it shows.

import { get, query } from './api.js';
import { arrange, h, icon, leaveTo, setAttribute, setText } from './dom.js';
import { keyLink } from './parts.js';
import { Refresher, tick } from './refresh.js';
import { ownerHref } from './routes.js';
import { TimeLeft } from './time-left.js';
import { keyName, number, ownerName, t } from './words.js';

const endedStays = 1_400;
const longestSearch = 10; // requests for one page
const firstPlace = { after: null, page: 1 };
const rowKey = (lease) => JSON.stringify([lease.type, lease.id, lease.fence]);

// The place that the parameters of an address name.
export const parametersOf = ({ after, page }) => (after ? { after, page } : {});
export const placeIn = (parameters) => ({
  after: parameters.get('after'),
  page: Math.max(2, Number(parameters.get('page')) || 2),
});

// A neighbour of an ended row that has not ended itself.
function neighbourOf(row) {
  for (const side of ['nextElementSibling', 'previousElementSibling']) {
    for (let at = row[side]; at; at = at[side]) if (!at.classList.contains('ended')) return at;
  }
  return null;
}

function cell(name, label, ...children) {
  return h('td', { class: `cell-${name}`, role: 'cell', 'data-label': label }, ...children);
}

class Row {
  lease;
  #time = new TimeLeft();
  #owner = h('a', { class: 'owner' });
  #mode = h('span', { class: 'mode' });
  #note = h('span', { class: 'note' });
  #waiters = h('span', { class: 'waiters' });
  #break;

  constructor(lease, actions) {
    this.#break = actions.breakButton(() => this.lease, 'small');
    this.element = h(
      'tr',
      { role: 'row', class: 'row' },
      h('th', { class: 'cell-key', role: 'rowheader', scope: 'row' }, keyLink(lease)),
      cell('holder', t('holder'), this.#owner),
      cell('time', t('timeLeft'), this.#time.element),
      cell('mode', t('mode'), this.#mode),
      cell('waiters', t('waiters'), this.#waiters),
      cell('note', t('note'), this.#note),
      cell('actions', '', this.#break),
    );
    this.update(lease);
  }

  update(lease) {
    this.lease = lease;
    setText(this.#owner, ownerName(lease.owner));
    setAttribute(this.#owner, 'href', lease.owner ? ownerHref(lease.owner) : null);
    setAttribute(this.#owner, 'data-anonymous', lease.owner ? null : '');
    setText(this.#mode, t(lease.mode));
    setAttribute(this.#mode, 'data-mode', lease.mode);
    setText(this.#note, lease.note);
    setAttribute(this.#note, 'title', lease.note || null);
    setText(this.#waiters, lease.waiters ? number(lease.waiters) : '');
    setAttribute(
      this.#waiters,
      'data-words',
      lease.waiters ? t('waitingUnit', { n: number(lease.waiters) }) : null,
    );
    setAttribute(this.#waiters, 'data-some', lease.waiters ? '' : null);
    setAttribute(
      this.#break,
      'aria-label',
      t('breakLeaseOf', { owner: ownerName(lease.owner), key: keyName(lease) }),
    );
    this.#time.update(lease);
  }

  tick() {
    this.#time.tick();
  }
}

export class LeaseTable {
  element;
  rows = new Map();
  total = null; // the number of live leases, if known: {n, atLeast}

  #actions;
  #filter = {};
  #places = [firstPlace]; // of the previous pages and of this one
  #next = null;
  #ending = new Map();
  #events = new Map(); // how a row ended, by its name
  #body = h('tbody', { role: 'rowgroup' });
  #count = h('span', { class: 'count' });
  #previousButton;
  #nextButton;
  #empty = h('div', { class: 'empty', hidden: true });
  #table;
  #refresher;
  #stops = [];
  #options;
  #loaded = false;

  // Calls `onPage({after, page})` when it turns a page, `onRead(leases, {isAll})` after reading one.
  constructor(
    actions,
    { pageSize = 50, emptyText, onPage = () => {}, onRead = () => {}, onError = () => {} } = {},
  ) {
    this.#actions = actions;
    this.#options = { pageSize, emptyText, onPage, onRead, onError };
    const head = ['key', 'holder', 'timeLeft', 'mode', 'waiters', 'note'];
    this.#table = h(
      'table',
      { class: 'leases', role: 'table', 'aria-busy': 'true' },
      h('caption', { class: 'hidden' }, t('caption')),
      h(
        'thead',
        { role: 'rowgroup' },
        h(
          'tr',
          { role: 'row' },
          head.map((name) => h('th', { scope: 'col', role: 'columnheader', class: `head-${name}` }, t(name))),
          h(
            'th',
            { scope: 'col', role: 'columnheader', class: 'head-actions' },
            h('span', { class: 'hidden' }, t('actions')),
          ),
        ),
      ),
      this.#body,
    );
    this.#previousButton = h(
      'button',
      { class: 'button quiet', type: 'button', onclick: () => this.#turn(-1) },
      icon('back'),
      h('span', {}, t('previous')),
    );
    this.#nextButton = h(
      'button',
      { class: 'button quiet', type: 'button', onclick: () => this.#turn(1) },
      t('next'),
      icon('next'),
    );
    this.element = h(
      'div',
      { class: 'lease-table' },
      this.#skeleton(),
      this.#table,
      this.#empty,
      h(
        'nav',
        { class: 'pager', 'aria-label': t('rows', { from: '', to: '' }), hidden: true },
        this.#count,
        this.#previousButton,
        this.#nextButton,
      ),
    );
    this.#table.hidden = true;
    this.#refresher = new Refresher((signal) => this.#read(signal), {
      relevant: (event) => this.#concerns(event),
    });
    this.#stops.push(tick(() => this.#tick()));
  }

  // Shows the leases that match {type, owner, scope, contains}, from a place that `onPage` was called with.
  show(filter, place) {
    this.#filter = filter;
    this.#places = place?.after ? [firstPlace, place] : [firstPlace];
    this.#forget();
    return this.#refresher.restart();
  }

  refresh() {
    this.#refresher.soon();
  }

  stop() {
    this.#refresher.stop();
    for (const stop of this.#stops) stop();
  }

  setTotal(total) {
    this.total = total;
    this.#showCount();
  }

  #skeleton() {
    return h(
      'div',
      { class: 'skeleton', 'aria-hidden': 'true' },
      Array.from({ length: 8 }, () => h('div', { class: 'skeleton-row' })),
    );
  }

  #forget() {
    this.rows.clear();
    this.#ending.clear();
    this.#events.clear();
  }

  #turn(by) {
    if (by > 0) this.#places.push({ after: this.#next, page: this.#place.page + 1 });
    else this.#places.pop();
    this.#forget();
    this.#options.onPage(this.#place);
    this.#refresher.restart();
    this.element.scrollIntoView({ block: 'nearest' });
  }

  async #read(signal) {
    setAttribute(this.#table, 'aria-busy', 'true');
    try {
      const { leases, next } = await this.#page(signal);
      if (signal.aborted) return;
      this.#next = next;
      this.#show(leases);
      const isAll = this.#isPlain && this.#places.length === 1 && !next;
      this.#options.onRead(leases, { isAll });
    } catch (error) {
      if (!signal.aborted) this.#options.onError(error);
    }
  }

  // One request searches a limited number of leases. If few match, it takes several to fill a page.
  async #page(signal) {
    const leases = [];
    let next = this.#place.after;
    for (let i = 0; i < longestSearch && (i === 0 || next) && leases.length < this.#options.pageSize; ++i) {
      const limit = this.#options.pageSize - leases.length;
      const answer = await get(`/v1/locks${query({ ...this.#filter, after: next, limit })}`, { signal });
      leases.push(...answer.locks);
      next = answer.next;
    }
    return { leases, next };
  }

  #show(leases) {
    const before = this.rows;
    this.rows = new Map();
    const elements = [];
    for (const lease of leases) {
      const name = rowKey(lease);
      let row = before.get(name);
      if (row) {
        row.update(lease);
        before.delete(name);
      } else {
        row = new Row(lease, this.#actions);
        if (this.#loaded) row.element.classList.add('fresh');
      }
      this.rows.set(name, row);
      elements.push(row.element);
    }
    // An ended row stays for a moment, so that people see what happened.
    for (const [name, row] of before) this.#end(name, row);
    for (const [name, { row }] of this.#ending) {
      if (!elements.includes(row.element)) this.#putBack(row, elements);
      if (this.rows.has(name)) this.#ending.delete(name);
    }
    arrange(this.#body, elements);
    this.#loaded = true;
    this.element.querySelector('.skeleton')?.remove();
    setAttribute(this.#table, 'aria-busy', 'false');
    const nothing = elements.length === 0;
    this.#table.hidden = nothing;
    this.#empty.hidden = !nothing;
    if (nothing) arrange(this.#empty, this.#nothing());
    this.#showCount();
  }

  #nothing() {
    if (this.#next)
      return [
        h('p', { class: 'empty-title' }, t('searchedSome')),
        h(
          'p',
          {},
          h('button', { class: 'button', type: 'button', onclick: () => this.#turn(1) }, t('searchOn')),
        ),
      ];
    if (this.#options.emptyText) return [h('p', { class: 'empty-title' }, this.#options.emptyText)];
    const filtered = Object.values(this.#filter).some(Boolean) || this.#places.length > 1;
    return [
      h('p', { class: 'empty-title' }, t(filtered ? 'emptyFiltered' : 'empty')),
      h('p', {}, t(filtered ? 'emptyFilteredHint' : 'emptyHint')),
    ];
  }

  #end(name, row) {
    const how = this.#events.get(name) ?? 'nowEnded';
    this.#events.delete(name);
    // Its button disappears. A dialog that the button opened gives the focus to the neighbour.
    const heir = neighbourOf(row.element)?.querySelector('a') ?? document.querySelector('main h1');
    if (heir) leaveTo(row.element, heir);
    if (row.element.contains(document.activeElement?.closest('button'))) heir?.focus();
    const focused = row.element.contains(document.activeElement);
    row.element.classList.remove('fresh');
    row.element.classList.add('ended');
    row.element.querySelector('.cell-time').setAttribute('data-how', t(how));
    this.#ending.set(name, { row });
    const forget = () => {
      // A row with the focus stays until the focus moves on.
      if (row.element.contains(document.activeElement)) return void setTimeout(forget, endedStays);
      this.#ending.delete(name);
      row.element.remove();
      if (this.rows.size === 0) this.#show([]);
    };
    setTimeout(forget, focused ? 3 * endedStays : endedStays);
  }

  // Puts an ended row back at its old place.
  #putBack(row, elements) {
    const after = elements.indexOf(row.element.previousElementSibling);
    elements.splice(after + 1, 0, row.element);
  }

  get #isPlain() {
    return !this.#filter.type && !this.#filter.owner && !this.#filter.contains;
  }

  get #place() {
    return this.#places.at(-1);
  }

  #showCount() {
    const from = (this.#place.page - 1) * this.#options.pageSize + 1;
    const to = from + this.rows.size - 1;
    const values = { from: number(from), to: number(to) };
    const total =
      this.total?.n >= to && this.#isPlain ? t(this.total.atLeast ? 'atLeast' : 'exactly', { n: number(this.total.n) }) : null;
    setText(
      this.#count,
      this.rows.size === 0 ? '' : total ? t('rowsOf', { ...values, total }) : t('rows', values),
    );
    // After opening an address of a later page, only the first page is known as a previous one.
    const jumps = this.#places.length === 2 && this.#place.page > 2;
    setText(this.#previousButton.querySelector('span'), t(jumps ? 'firstPage' : 'previous'));
    this.#previousButton.disabled = this.#places.length < 2;
    this.#nextButton.disabled = !this.#next;
    this.#previousButton.parentElement.hidden =
      this.#places.length < 2 && !this.#next && this.rows.size === 0;
  }

  // Whether the table must be read again after an event. Changes of one row are shown at once.
  #concerns(event) {
    const name = rowKey(event);
    const row = this.rows.get(name);
    if (event.event === 'extended' && row) {
      row.update({ ...row.lease, expires_at: event.expires_at, note: event.note, mode: event.mode });
      return false;
    }
    if (row && event.event !== 'granted') {
      this.#events.set(name, event.event);
      return true;
    }
    if (event.event === 'knocked') return false;
    const last = [...this.rows.values()].at(-1)?.lease;
    const full = this.rows.size >= this.#options.pageSize;
    if (full && last && (event.type > last.type || (event.type === last.type && event.id > last.id)))
      return false;
    return event.event === 'granted';
  }

  #tick() {
    for (const row of this.rows.values()) row.tick();
  }
}
