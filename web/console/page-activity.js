// What this server did over time, and which keys have the most tries.

import { get, query } from './api.js';
import { Chart, gather } from './chart.js';
import { h, setText } from './dom.js';
import { choice, Items, keyLink, ownerLink, page, plainTable } from './parts.js';
import { Refresher } from './refresh.js';
import { replaceParameters } from './routes.js';
import { readStatistics } from './statistics.js';
import { keyName, moment, number, t } from './words.js';

// `steps` of the server's make one bar; `count` bars fill the chart.
const scales = { hour: { steps: 6, count: 60 }, day: { steps: 15, count: 96 } };

function chartCard(title, hint, chart, names) {
  return h(
    'section',
    { class: 'card' },
    h(
      'div',
      { class: 'card-head' },
      h('div', {}, h('h2', {}, title), hint),
      names.length > 1
        ? h(
            'ul',
            { class: 'legend' },
            names.map(([name, tone]) => h('li', {}, h('i', { class: `swatch ${tone}` }), name)),
          )
        : null,
    ),
    chart.element,
  );
}

function hotKey(key) {
  const bar = h(
    'span',
    { class: 'hot-bar' },
    h('span', { class: 'hot-granted' }),
    h('span', { class: 'hot-refused' }),
  );
  const refused = (100 * key.refusals) / key.tries;
  bar.style.width = `${Math.max(2, (100 * key.tries) / key.top)}%`;
  bar.lastChild.style.width = `${refused}%`;
  return h(
    'li',
    {},
    keyLink(key),
    h(
      'span',
      { class: 'hot-number' },
      number(key.tries),
      h('span', { class: 'hint' }, ` ${t('refusedShare', { n: Math.round(refused) })}`),
    ),
    h('span', { class: 'hot-track', 'aria-hidden': 'true' }, bar),
  );
}

function refusedTry(one) {
  const cell = (name, content) => h('td', { role: 'cell', class: `try-${name}` }, content);
  return h(
    'tr',
    { class: 'row', role: 'row' },
    cell('owner', ownerLink(one.owner)),
    cell('key', keyLink(one)),
    cell('tries', number(one.tries)),
    cell('when', moment(one.last_at)),
  );
}

export function activityPage({ parameters, report }) {
  let over = parameters.get('over') === 'day' ? 'day' : 'hour';
  const charts = {
    held: new Chart(t('chartHeld'), 'area'),
    tries: new Chart(t('chartTries'), 'bars'),
    waits: new Chart(t('chartWaits'), 'area'),
    lost: new Chart(t('chartLost'), 'bars'),
  };
  const triesHint = h('p', { class: 'hint' }, '\u00a0');
  const hot = h('ol', { class: 'hot' });
  const noHot = h('p', { class: 'empty-line', hidden: true }, t('noHot'));
  const refused = h('tbody', { role: 'rowgroup' });
  const noRefused = h('p', { class: 'empty-line', hidden: true }, t('noRefused'));
  const hotKeys = new Items(hot, keyName, hotKey);
  const refusedTries = new Items(refused, (one) => JSON.stringify([one.owner, one.type, one.id]), refusedTry);
  const absent = h('p', { class: 'empty', hidden: true }, t('noActivity'));
  const spans = choice(
    t('span'),
    [
      ['hour', t('lastHour')],
      ['day', t('lastDay')],
    ],
    over,
    (name) => {
      over = name;
      replaceParameters({ over: name === 'hour' ? null : name });
      refresher.restart();
    },
  );

  function show({ series, hot_keys: keys }) {
    const { steps, count } = scales[over];
    const step = series.step_ms * steps;
    const common = { step, last: Date.parse(series.last_at) - series.step_ms * (steps - 1), count };
    const values = (name, how) => gather(series[name], steps, how);
    charts.held.update({
      ...common,
      series: [{ name: t('chartHeld'), tone: 'tone-held', values: values('held', 'max') }],
    });
    charts.tries.update({
      ...common,
      series: [
        { name: t('grants'), tone: 'tone-grants', values: values('grants', 'sum') },
        { name: t('refusals'), tone: 'tone-refusals', values: values('refusals', 'sum') },
      ],
    });
    charts.waits.update({
      ...common,
      series: [{ name: t('waiting'), tone: 'tone-waits', values: values('waiters', 'max') }],
    });
    charts.lost.update({
      ...common,
      series: [{ name: t('lost'), tone: 'tone-lost', values: values('lost', 'sum') }],
    });
    setText(triesHint, t(over === 'hour' ? 'chartTriesMinute' : 'chartTriesQuarter'));
    const top = Math.max(1, ...keys.map((key) => key.tries));
    hotKeys.show(keys.slice(0, 10).map((key) => ({ ...key, top })));
    noHot.hidden = keys.length > 0;
  }

  const refresher = new Refresher(
    async (signal) => {
      try {
        const [statistics, tries] = await Promise.all([
          readStatistics(over, signal),
          get(`/v1/refused${query({ limit: 12 })}`, { signal }).catch(() => ({ refused: [] })),
        ]);
        if (signal.aborted) return;
        report(null);
        absent.hidden = statistics !== null;
        content.hidden = statistics === null;
        if (statistics) show(statistics);
        refusedTries.show(tries.refused);
        refused.parentElement.hidden = tries.refused.length === 0;
        noRefused.hidden = tries.refused.length > 0;
      } catch (error) {
        if (!signal.aborted) report(error);
      }
    },
    { every: 5_000, relevant: () => false },
  );

  const hint = (text) => h('p', { class: 'hint' }, text);
  const content = h(
    'div',
    { class: 'charts' },
    chartCard(t('chartHeld'), hint(t('chartHeldHint')), charts.held, [[]]),
    chartCard(t('chartTries'), triesHint, charts.tries, [
      [t('grants'), 'tone-grants'],
      [t('refusals'), 'tone-refusals'],
    ]),
    chartCard(t('chartWaits'), hint(t('chartWaitsHint')), charts.waits, [[]]),
    chartCard(t('chartLost'), hint(t('chartLostHint')), charts.lost, [[]]),
    h('section', { class: 'card' }, h('h2', {}, t('hottest')), hint(t('hottestHint')), hot, noHot),
    h(
      'section',
      { class: 'card flush' },
      h(
        'div',
        { class: 'card-head padded' },
        h('div', {}, h('h2', {}, t('refusedTitle')), hint(t('refusedHint'))),
      ),
      plainTable('tries', t('refusedTitle'), ['owner', 'key', 'tries', 'when'], refused),
      noRefused,
    ),
  );
  return {
    title: t('activityTitle'),
    filter: null,
    element: page(
      {
        heading: h('h1', { tabindex: '-1' }, t('activityTitle')),
        under: hint(t('activityHint')),
        side: spans,
        unread: true,
      },
      absent,
      content,
    ),
    start: () => refresher.now(),
    refresh: () => refresher.soon(),
    stop() {
      refresher.stop();
      for (const chart of Object.values(charts)) chart.stop();
    },
  };
}
