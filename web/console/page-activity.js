// What this server did over time, and which keys are fought over.

import { get, query } from './api.js';
import { Chart, gather } from './chart.js';
import { h, setText } from './dom.js';
import { Refresher } from './refresh.js';
import { keyHref, ownerHref, replaceParameters } from './routes.js';
import { readStatistics } from './statistics.js';
import { moment, number, ownerName, t } from './words.js';

// How many of the server's steps make one bar, and how many bars there are.
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

export function activityPage({ parameters, report }) {
  let over = parameters.get('over') === 'day' ? 'day' : 'hour';
  const charts = {
    held: new Chart(t('chartHeld'), 'area'),
    tries: new Chart(t('chartTries'), 'bars'),
    waits: new Chart(t('chartWaits'), 'area'),
    lost: new Chart(t('chartLost'), 'bars'),
  };
  const triesHint = h('p', { class: 'hint' });
  const hot = h('ol', { class: 'hot' });
  const noHot = h('p', { class: 'empty-line', hidden: true }, t('noHot'));
  const refused = h('tbody', { role: 'rowgroup' });
  const noRefused = h('p', { class: 'empty-line', hidden: true }, t('noRefused'));
  const absent = h('p', { class: 'empty', hidden: true }, t('noActivity'));
  const spanButtons = ['hour', 'day'].map((name) =>
    h(
      'button',
      {
        type: 'button',
        'aria-pressed': String(name === over),
        onclick: () => {
          over = name;
          replaceParameters({ over: name === 'hour' ? null : name });
          spanButtons.forEach((button, i) =>
            button.setAttribute('aria-pressed', String(['hour', 'day'][i] === over)),
          );
          refresher.restart();
        },
      },
      t(name === 'hour' ? 'lastHour' : 'lastDay'),
    ),
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
    hot.replaceChildren(
      ...keys.slice(0, 10).map((key) => {
        const bar = h(
          'span',
          { class: 'hot-bar' },
          h('span', { class: 'hot-granted' }),
          h('span', { class: 'hot-refused' }),
        );
        bar.style.width = `${Math.max(2, (100 * key.tries) / top)}%`;
        bar.lastChild.style.width = `${(100 * key.refusals) / key.tries}%`;
        return h(
          'li',
          {},
          h(
            'a',
            { class: 'key', href: keyHref(key) },
            h('span', { class: 'key-type' }, key.type),
            h('span', { class: 'key-slash' }, '/'),
            h('span', { class: 'key-id' }, key.id),
          ),
          h(
            'span',
            { class: 'hot-number' },
            number(key.tries),
            h(
              'span',
              { class: 'hint' },
              ` ${t('refusedShare', { n: Math.round((100 * key.refusals) / key.tries) })}`,
            ),
          ),
          h('span', { class: 'hot-track', 'aria-hidden': 'true' }, bar),
        );
      }),
    );
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
        refused.replaceChildren(
          ...tries.refused.map((one) =>
            h(
              'tr',
              { class: 'row', role: 'row' },
              h(
                'td',
                { role: 'cell', class: 'try-owner' },
                one.owner ? h('a', { href: ownerHref(one.owner), class: 'owner' }, one.owner) : ownerName(''),
              ),
              h(
                'td',
                { role: 'cell', class: 'try-key' },
                h(
                  'a',
                  { class: 'key', href: keyHref(one) },
                  h('span', { class: 'key-type' }, one.type),
                  h('span', { class: 'key-slash' }, '/'),
                  h('span', { class: 'key-id' }, one.id),
                ),
              ),
              h('td', { role: 'cell', class: 'try-tries' }, number(one.tries)),
              h('td', { role: 'cell', class: 'try-when' }, moment(one.last_at)),
            ),
          ),
        );
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
      h(
        'table',
        { class: 'plain tries', role: 'table', hidden: true },
        h('caption', { class: 'hidden' }, t('refusedTitle')),
        h(
          'thead',
          { role: 'rowgroup' },
          h(
            'tr',
            { role: 'row' },
            ['owner', 'key', 'tries', 'when'].map((name) =>
              h('th', { scope: 'col', role: 'columnheader' }, t(name)),
            ),
          ),
        ),
        refused,
      ),
      noRefused,
    ),
  );
  return {
    title: t('activityTitle'),
    filter: null,
    element: h(
      'div',
      { class: 'page' },
      h(
        'header',
        { class: 'page-head' },
        h(
          'div',
          { class: 'page-title' },
          h('h1', { tabindex: '-1' }, t('activityTitle')),
          hint(t('activityHint')),
        ),
        h('div', { class: 'segments', role: 'group', 'aria-label': t('span') }, spanButtons),
      ),
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
