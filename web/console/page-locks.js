// All live leases: key figures, search, and the table.

import { gather, sparkline } from './chart.js';
import { h, icon, setText } from './dom.js';
import { LeaseTable, parametersOf, placeIn } from './lease-table.js';
import { Refresher } from './refresh.js';
import { keyHref, replaceParameters } from './routes.js';
import { heldTotal, readStatistics, sum } from './statistics.js';
import { number, t } from './words.js';

const sparkSteps = 60; // of half a minute each

class Tile {
  #value = h('span', { class: 'tile-value' }, '–');
  #line = h('span', { class: 'tile-line' });
  constructor(label, tone) {
    this.element = h(
      'div',
      { class: `tile ${tone}` },
      h('span', { class: 'tile-label' }, label),
      this.#value,
      this.#line,
    );
  }
  say(value) {
    setText(this.#value, value);
  }
  draw(values) {
    this.#line.replaceChildren(sparkline(values, sparkSteps));
  }
  update(value, values) {
    this.say(value);
    this.draw(values);
  }
}

export function locksPage({ actions, parameters, report, announce }) {
  const tiles = {
    held: new Tile(t('held'), 'tone-held'),
    grants: new Tile(t('grants'), 'tone-grants'),
    refusals: new Tile(t('refusals'), 'tone-refusals'),
    waiters: new Tile(t('waiting'), 'tone-waits'),
  };
  const glance = h(
    'section',
    { class: 'tiles', 'aria-label': t('activity') },
    Object.values(tiles).map((tile) => tile.element),
  );

  const types = h('datalist', { id: 'known-types' });
  const knownTypes = new Set();
  const search = h('input', {
    type: 'search',
    id: 'search',
    class: 'search-input',
    placeholder: t('searchHint'),
    'aria-label': t('search'),
    autocomplete: 'off',
    spellcheck: 'false',
    value: parameters.get('q') ?? '',
  });
  const filter = (name) =>
    h('input', {
      type: 'text',
      placeholder: t(`${name}Hint`),
      'aria-label': t(name),
      autocomplete: 'off',
      spellcheck: 'false',
      value: parameters.get(name) ?? '',
    });
  const type = filter('type');
  type.setAttribute('list', types.id);
  const owner = filter('owner');
  const open = h('a', { class: 'button quiet', hidden: true });
  const clear = h('button', { type: 'reset', class: 'button quiet' }, t('clear'));
  const form = h(
    'form',
    { class: 'filters', role: 'search', 'aria-label': t('filters') },
    h('label', { class: 'filter search' }, icon('search'), search),
    h('label', { class: 'filter' }, h('span', { class: 'filter-name' }, t('type')), type),
    h('label', { class: 'filter' }, h('span', { class: 'filter-name' }, t('owner')), owner),
    types,
    open,
    clear,
  );

  const table = new LeaseTable(actions, {
    onPage: (place) => replaceParameters({ ...parametersNow(), ...parametersOf(place) }),
    onRead: (leases, { isAll }) => {
      report(null);
      seen = isAll ? { n: leases.length, atLeast: false } : null;
      showTotal();
      for (const lease of leases) {
        if (knownTypes.has(lease.type) || knownTypes.size >= 50) continue;
        knownTypes.add(lease.type);
        types.append(h('option', { value: lease.type }));
      }
      if (asked) announce(t('announceCount', { n: number(leases.length) }));
      asked = false;
    },
    onError: report,
  });
  let asked = false;
  let seen = null; // the number of leases, if the table shows all of them
  let counted = null; // the number that the server counted a few seconds ago
  const showTotal = () => {
    const total = seen ?? counted;
    tiles.held.say(total ? t(total.atLeast ? 'atLeast' : 'exactly', { n: number(total.n) }) : '–');
    table.setTotal(total);
  };

  const parametersNow = () => ({
    q: search.value.trim(),
    type: type.value.trim(),
    owner: owner.value.trim(),
  });
  const apply = (place) => {
    const now = parametersNow();
    const slash = now.q.indexOf('/');
    open.hidden = slash < 1 || slash === now.q.length - 1;
    if (!open.hidden) {
      open.setAttribute('href', keyHref({ type: now.q.slice(0, slash), id: now.q.slice(slash + 1) }));
      setText(open, t('openKey', { key: now.q }));
    }
    clear.hidden = !Object.values(now).some(Boolean);
    table.show(
      { contains: now.q, type: now.type, owner: now.owner, scope: now.owner ? 'below' : undefined },
      place,
    );
  };
  let timer = 0;
  const changed = () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      asked = true;
      replaceParameters(parametersNow());
      apply();
    }, 250);
  };
  form.addEventListener('input', changed);
  form.addEventListener('submit', (event) => event.preventDefault());
  form.addEventListener('reset', (event) => {
    event.preventDefault();
    for (const input of [search, type, owner]) input.value = '';
    changed();
    search.focus();
  });
  const onKey = (event) => {
    if (
      event.key !== '/' ||
      event.ctrlKey ||
      event.metaKey ||
      /^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement?.tagName)
    )
      return;
    event.preventDefault();
    search.focus();
  };
  document.addEventListener('keydown', onKey);

  const numbers = new Refresher(
    async (signal) => {
      const statistics = await readStatistics('hour', signal).catch(() => null);
      if (signal.aborted) return;
      if (!statistics && counted === null) glance.hidden = true;
      if (!statistics) return;
      const { series } = statistics;
      const steps = (values, how) => gather(values, 3, how);
      counted = heldTotal(statistics);
      glance.hidden = false;
      showTotal();
      tiles.held.draw(filled(steps(series.held, 'max')));
      const lastMinute = (values) => t('perMinute', { n: number(sum(values.slice(-7, -1))) });
      tiles.grants.update(lastMinute(series.grants), steps(series.grants, 'sum'));
      tiles.refusals.update(lastMinute(series.refusals), steps(series.refusals, 'sum'));
      tiles.waiters.update(number(statistics.waiting), steps(series.waiters, 'max'));
    },
    { every: 5_000, relevant: () => false },
  );

  return {
    title: t('locks'),
    filter: {},
    element: h(
      'div',
      { class: 'page' },
      h('h1', { class: 'hidden', tabindex: '-1' }, t('locks')),
      glance,
      form,
      h('section', { class: 'card flush' }, table.element),
    ),
    start() {
      apply(placeIn(parameters));
      numbers.now();
    },
    refresh: () => table.refresh(),
    stop() {
      table.stop();
      numbers.stop();
      clearTimeout(timer);
      document.removeEventListener('keydown', onKey);
    },
  };
}

// A missing count is taken to be the same as the one before.
function filled(values) {
  let last = values.find((value) => value !== null) ?? 0;
  return values.map((value) => (last = value ?? last));
}
