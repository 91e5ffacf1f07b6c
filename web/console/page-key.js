// One key: its holders, its history, and the refused tries.

import { get, lockPath, Problem, query } from './api.js';
import { arrange, h, setAttribute, setText } from './dom.js';
import { live } from './live.js';
import { choice, Items, keyWords, ownerLink, page, plainTable } from './parts.js';
import { Refresher, tick } from './refresh.js';
import { readStatistics } from './statistics.js';
import { legend, spans, Timeline } from './timeline.js';
import { TimeLeft } from './time-left.js';
import { duration, keyName, moment, number, ownerName, t, unit } from './words.js';

class HolderCard {
  #time = new TimeLeft();
  #until = h('dd', {});
  #note = h('p', { class: 'holder-note' });
  constructor(lease, actions) {
    this.lease = lease;
    const button = actions.breakButton(() => this.lease, 'small');
    setAttribute(
      button,
      'aria-label',
      t('breakLeaseOf', { owner: ownerName(lease.owner), key: keyName(lease) }),
    );
    this.element = h(
      'li',
      { class: 'holder' },
      h(
        'div',
        { class: 'holder-head' },
        h('span', { class: 'holder-name' }, ownerLink(lease.owner)),
        h('span', { class: 'mode', 'data-mode': lease.mode }, t(lease.mode)),
        button,
      ),
      this.#time.element,
      this.#note,
      h(
        'dl',
        { class: 'inline-facts' },
        h('div', {}, h('dt', {}, t('granted')), h('dd', {}, moment(lease.granted_at))),
        h('div', {}, h('dt', {}, t('expires')), this.#until),
        h('div', {}, h('dt', {}, t('fence')), h('dd', {}, `#${lease.fence}`)),
      ),
    );
    this.update(lease);
  }
  update(lease) {
    this.lease = lease;
    this.#time.update(lease);
    setText(this.#until, lease.expires_at ? moment(lease.expires_at) : t('untilReleased'));
    setText(this.#note, lease.note);
    this.#note.hidden = !lease.note;
  }
  tick() {
    this.#time.tick();
  }
}

// The owners in line, the next one first.
function line(owners) {
  const names = owners.slice(0, 3).map(ownerName).join(', ');
  return owners.length > 3 ? `${names} ${t('andMore', { n: number(owners.length - 3) })}` : names;
}

function historyRow(lease) {
  const cell = (name, ...content) => h('td', { role: 'cell', class: `past-${name}` }, ...content);
  const lasted = Date.parse(lease.ended_at) - Date.parse(lease.granted_at);
  return h(
    'tr',
    { class: 'row', role: 'row' },
    cell('holder', ownerLink(lease.owner)),
    cell('granted', moment(lease.granted_at)),
    cell('ended', moment(lease.ended_at)),
    cell('lasted', duration(lasted)),
    cell(
      'how',
      h('span', { class: 'ending', 'data-how': lease.how }, t(lease.how)),
      lease.by || lease.why
        ? h('span', { class: 'hint' }, ` ${lease.by}${lease.why ? `: ${lease.why}` : ''}`)
        : null,
    ),
    cell('fence', `#${lease.fence}`),
  );
}

export function keyPage({ actions, names: [type, id], report, announce }) {
  const key = { type, id };
  const state = h('span', { class: 'chip' }, t('loading'));
  const waiting = h('span', { class: 'hint' });
  const holders = h('ul', { class: 'holders' });
  const cards = new Map();
  const timeline = new Timeline();
  const past = h('tbody', { role: 'rowgroup' });
  const rows = new Map();
  const nothing = h('p', { class: 'empty-line', hidden: true }, t('noHistory'));
  const older = h('button', { class: 'button quiet', type: 'button', hidden: true }, t('olderHistory'));
  const refusedList = h('ul', { class: 'refused-list' });
  const noRefused = h('p', { class: 'empty-line', hidden: true }, t('noRefused'));
  const refusedCard = h(
    'section',
    { class: 'card' },
    h('h2', {}, t('refusedTitle')),
    h('p', { class: 'hint' }, t('refusedHint')),
    refusedList,
    noRefused,
  );
  const refused = new Items(
    refusedList,
    (one) => one.owner,
    (one) =>
      h(
        'li',
        {},
        ownerLink(one.owner),
        h('span', { class: 'hint' }, ` ${moment(one.last_at)}`),
        one.tries > 1 ? h('span', { class: 'times' }, `×${number(one.tries)}`) : null,
      ),
  );
  const knock = actions.knockButton(key);
  knock.hidden = true;
  const free = h('li', { class: 'holder free' }, t('freeHint'));
  const data = { holders: [], past: [], refused: [], waiters: [], span: 'fit', next: null };
  let before = null; // the last announced state

  const draw = () =>
    timeline.update({
      ...data,
      label: t('timelineLabel', {
        key: keyName(key),
        leases: data.past.length + data.holders.length,
        owners: new Set([...data.past, ...data.holders].map((one) => one.owner)).size,
        tries: data.refused.reduce((n, one) => n + one.tries, 0),
      }),
    });

  function show() {
    const { waiters } = data;
    for (const lease of data.holders) {
      if (cards.has(lease.fence)) cards.get(lease.fence).update(lease);
      else cards.set(lease.fence, new HolderCard(lease, actions));
    }
    const alive = new Set(data.holders.map((lease) => lease.fence));
    for (const fence of [...cards.keys()]) if (!alive.has(fence)) cards.delete(fence);
    arrange(holders, data.holders.length ? [...cards.values()].map((card) => card.element) : [free]);
    const now =
      data.holders.length === 0
        ? t('free')
        : data.holders.length > 1
          ? t('heldByMany', { n: number(data.holders.length) + (data.cut ? '+' : '') })
          : `${t('heldBy')} ${ownerName(data.holders[0].owner)}`;
    setText(state, now);
    setAttribute(state, 'data-state', data.holders.length ? 'held' : 'free');
    knock.hidden = data.holders.length === 0;
    if (before !== null && before !== now) announce(`${keyName(key)}: ${now}`);
    before = now;
    setText(waiting, waiters.length ? t('waitingHere', { owners: line(waiters) }) : '');

    // The history of an expired lease changes when another owner takes the key.
    const nameOf = (lease) => `${lease.fence} ${lease.how}`;
    for (const lease of data.past) if (!rows.has(nameOf(lease))) rows.set(nameOf(lease), historyRow(lease));
    arrange(
      past,
      data.past.map((lease) => rows.get(nameOf(lease))),
    );
    past.parentElement.hidden = data.past.length === 0;
    nothing.hidden = data.past.length > 0;
    older.hidden = !data.next;

    refused.show(data.refused.slice(0, 5));
    noRefused.hidden = data.refused.length > 0;
    draw();
  }

  const refresher = new Refresher(
    async (signal) => {
      try {
        const quiet = (error) => {
          if (error instanceof Problem && (error.status === 404 || error.status === 403))
            return { refused: [] };
          throw error;
        };
        const [now, history, tries] = await Promise.all([
          get(lockPath(key), { signal }),
          get(`/v1/history${query({ type, id, limit: 100 })}`, { signal }),
          get(`/v1/refused${query({ type, id, limit: 200 })}`, { signal }).catch(quiet),
        ]);
        if (signal.aborted) return;
        data.holders = now.holders;
        data.cut = now.cut;
        const known = data.past.filter(
          (lease) => !history.history.some((one) => one.sequence === lease.sequence),
        );
        const oldest = history.history.at(-1)?.sequence ?? Infinity;
        data.past = [...history.history, ...known.filter((lease) => lease.sequence < oldest)];
        if (data.next === null || known.length === 0) data.next = history.next;
        data.refused = tries.refused;
        report(null);
        data.waiters = now.waiting ?? [];
        show();
      } catch (error) {
        if (!signal.aborted) report(error);
      }
    },
    { relevant: (event) => event.type === type && event.id === id && event.event !== 'knocked' },
  );

  older.addEventListener('click', async () => {
    try {
      const more = await get(`/v1/history${query({ type, id, limit: 100, before: data.next })}`);
      data.past = [...data.past, ...more.history];
      data.next = more.next;
      show();
    } catch (error) {
      report(error);
    }
  });

  const onChange = ({ detail: event }) => {
    if (event.type !== type || event.id !== id) return;
    if (event.event === 'knocked')
      announce(
        `${t('knockedEvent', { by: ownerName(event.by) })}${event.message ? `: ${event.message}` : ''}`,
        'toast',
      );
  };
  live.addEventListener('change', onChange);
  const stopTicking = tick(() => {
    for (const card of cards.values()) card.tick();
    if (data.holders.length) draw();
  });

  return {
    title: keyName(key),
    filter: { type, id },
    element: page(
      {
        fromLocks: true,
        heading: h('h1', { class: 'key-title', tabindex: '-1' }, keyWords(key)),
        under: h('p', { class: 'state-line' }, state, waiting),
        side: h('div', { class: 'page-actions' }, knock),
        unread: true,
      },
      h(
        'div',
        { class: 'columns' },
        h('section', { class: 'card', 'aria-label': t('heldBy') }, h('h2', {}, t('heldBy')), holders),
        refusedCard,
      ),
      h(
        'section',
        { class: 'card' },
        h(
          'div',
          { class: 'card-head' },
          h('h2', {}, t('timeline')),
          choice(
            t('span'),
            Object.keys(spans).map((name) => [name, name === 'fit' ? t('spanFit') : unit(name)]),
            data.span,
            (name) => {
              data.span = name;
              draw();
            },
          ),
        ),
        timeline.element,
        legend(),
      ),
      h(
        'section',
        { class: 'card flush' },
        h(
          'div',
          { class: 'card-head padded' },
          h('div', {}, h('h2', {}, t('history')), h('p', { class: 'hint' }, t('historyHint'))),
        ),
        plainTable('past', t('history'), ['holder', 'granted', 'endedAt', 'lasted', 'how', 'fence'], past),
        nothing,
        h('div', { class: 'pager' }, older),
      ),
    ),
    start() {
      readStatistics('hour').catch(() => null); // for the store's clock
      refresher.now();
    },
    refresh: () => refresher.soon(),
    stop() {
      refresher.stop();
      timeline.stop();
      stopTicking();
      live.removeEventListener('change', onChange);
    },
  };
}
