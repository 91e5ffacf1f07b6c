// The health of the server, its store and its clock.

import { get, problemOf, send } from './api.js';
import { storeNow } from './clock.js';
import { h, icon, setAttribute, setText } from './dom.js';
import { page } from './parts.js';
import { Refresher, tick } from './refresh.js';
import { readStatistics } from './statistics.js';
import { duration, hourMinuteSecond, number, t } from './words.js';

const noticeable = 1_000; // ms, a difference between two clocks
const nearlyUsedUp = 0.8; // of a quota

const quotaNames = {
  leases: 'quotaLeases',
  grants_per_day: 'quotaGrants',
  bytes_per_day: 'quotaBytes',
  waiters: 'quotaWaiters',
  event_streams: 'quotaStreams',
  delayed_releases: 'quotaReleases',
  connections: 'quotaConnections',
};

export function serverPage({ access, report }) {
  const ready = h('span', { class: 'chip' }, t('loading'));
  const readyText = h('p', { class: 'hint' });
  const storeName = h('p', { class: 'big' });
  const durable = h('span', { class: 'chip' });
  const durableText = h('p', { class: 'hint' });
  const warnings = h('ul', { class: 'warnings' });
  const clock = h('p', { class: 'big tabular' });
  const clockState = h('span', { class: 'chip' });
  const pageClock = h('p', { class: 'hint' });
  const answer = h('p', { class: 'big tabular' }, '–');
  const uptime = h('dd', {}, '–');
  const waiting = h('dd', {}, '–');

  const quotas = h('dl', { class: 'facts tabular' });

  // What the token uses, and what it may use.
  function showQuotas(all) {
    quotas.replaceChildren(
      ...all.flatMap(({ quota, used, limit }) => {
        const use = { used: number(used), limit: limit === null ? '' : number(limit) };
        const careful = limit !== null && used >= nearlyUsedUp * limit;
        const text = t(limit === null ? 'quotaUseUnlimited' : 'quotaUse', use);
        return [
          h('dt', {}, t(quotaNames[quota] ?? quota)),
          h('dd', {}, careful ? h('span', { class: 'chip', 'data-state': 'careful' }, text) : text),
        ];
      }),
    );
  }

  function showStore(store) {
    setText(storeName, store?.name ?? '–');
    const durability = store?.durability ?? 'none';
    setText(durable, t(durability));
    setAttribute(
      durable,
      'data-state',
      durability === 'strong' ? 'good' : durability === 'weak' ? 'bad' : 'careful',
    );
    setText(durableText, t(`${durability}Hint`));
    const all = store?.warnings ?? [];
    warnings.replaceChildren(...all.map((text) => h('li', {}, icon('warning'), h('span', {}, text))));
    warnings.hidden = all.length === 0;
  }

  function showClock(statistics) {
    const offset = statistics?.clock_offset_ms;
    clockState.hidden = offset === undefined || offset === null;
    if (!clockState.hidden) {
      const far = Math.abs(offset) > noticeable;
      setText(clockState, far ? t('clockOff', { offset: duration(Math.abs(offset)) }) : t('clockGood'));
      setAttribute(clockState, 'data-state', far ? 'careful' : 'good');
    }
    const ours = Date.now() - storeNow();
    setText(
      pageClock,
      Math.abs(ours) > noticeable ? t('clockPage', { offset: duration(Math.abs(ours)) }) : t('clockHint'),
    );
  }

  const refresher = new Refresher(
    async (signal) => {
      try {
        const asked = performance.now();
        const response = await send('GET', '/readyz', { signal });
        const took = performance.now() - asked;
        if (response.ok) {
          const { store } = await response.json();
          if (store) showStore(store);
          setText(readyText, t('readyHint'));
        } else {
          setText(readyText, (await problemOf(response)).message);
        }
        setText(ready, t(response.ok ? 'ready' : 'notReady'));
        setAttribute(ready, 'data-state', response.ok ? 'good' : 'bad');
        setText(answer, `${took < 10 ? took.toFixed(1) : Math.round(took)} ms`);
        if (access.asksForToken) showQuotas((await get('/v1/token', { signal })).quotas ?? []);
        if (access.can('see')) {
          const statistics = await readStatistics('hour', signal);
          if (signal.aborted) return;
          showClock(statistics);
          if (statistics) {
            setText(uptime, duration(statistics.uptime_ms));
            setText(waiting, number(statistics.waiting));
          }
        }
        report(null);
      } catch (error) {
        if (!signal.aborted) report(error);
      }
    },
    { every: 4_000, relevant: () => false },
  );
  const showTime = () => setText(clock, hourMinuteSecond(storeNow()));
  const stopTicking = tick(showTime);
  showTime();

  const card = (title, ...content) => h('section', { class: 'card' }, h('h2', {}, title), ...content);
  const token = access.asksForToken
    ? h(
        'dl',
        { class: 'facts' },
        h('dt', {}, t('token')),
        h('dd', {}, access.name),
        h('dt', {}, t('roles')),
        h('dd', {}, access.roles.join(', ')),
        h('dt', {}, t('speaksFor')),
        h('dd', {}, access.owner ?? t('everybody')),
        Object.entries(access.keys).map(([role, patterns]) => [
          h('dt', {}, t('keysOfRole', { role })),
          h('dd', {}, patterns.join(', ')),
        ]),
      )
    : h('p', { class: 'hint' }, t('noTokens'));
  return {
    title: t('serverTitle'),
    filter: null,
    element: page(
      {
        heading: h('h1', { tabindex: '-1' }, t('serverTitle')),
        under: h('p', { class: 'state-line' }, ready, readyText),
        unread: true,
      },
      h(
        'div',
        { class: 'grid' },
        card(t('store'), storeName),
        card(t('durability'), h('p', { class: 'big' }, durable), durableText),
        card(t('clock'), clock, h('p', {}, clockState), pageClock),
        card(
          t('answerTime'),
          answer,
          h('dl', { class: 'facts' }, h('dt', {}, t('uptime')), uptime, h('dt', {}, t('waiting')), waiting),
        ),
        card(t('yourToken'), token),
        access.asksForToken ? card(t('quotas'), h('p', { class: 'hint' }, t('quotasHint')), quotas) : null,
        card(
          t('links'),
          h('ul', { class: 'links' }, h('li', {}, h('a', { href: '/openapi.json' }, t('descriptionLink')))),
        ),
      ),
      warnings,
    ),
    start: () => refresher.now(),
    refresh: () => refresher.soon(),
    stop() {
      refresher.stop();
      stopTicking();
    },
  };
}
