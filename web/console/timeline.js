// The history of a key: a lane for each owner, a bar for each lease, a mark for each refused try.

import { timeTicks } from './axis.js';
import { storeNow } from './clock.js';
import { h, svg } from './dom.js';
import { duration, moment, ownerName, t } from './words.js';

const lane = 30;
const most = 10; // lanes; further owners share one
const names = 150;
const bottom = 26;

export const spans = { fit: 0, '15m': 900_000, '1h': 3_600_000, '6h': 21_600_000, '24h': 86_400_000 };

const tones = {
  released: 'tone-released',
  expired: 'tone-expired',
  taken: 'tone-expired',
  broken: 'tone-broken',
};

export class Timeline {
  #data = null;
  #plot = h('div', { class: 'plot' });
  #tip = h('div', { class: 'tip', hidden: true });
  element = h('div', { class: 'timeline' }, this.#plot, this.#tip);
  #observer = new ResizeObserver(() => this.draw());

  constructor() {
    this.#observer.observe(this.element);
    this.element.addEventListener('pointerover', (event) => this.#show(event.target));
    this.element.addEventListener('pointerleave', () => {
      this.#tip.hidden = true;
    });
  }

  stop() {
    this.#observer.disconnect();
  }

  // {label, past, holders, refused, span}
  update(data) {
    this.#data = data;
    this.draw();
  }

  // The bars and marks, {owner, from, to, tone, text}, the latest first.
  #pieces() {
    const { past, holders, refused } = this.#data;
    const now = storeNow();
    const bars = [
      ...holders.map((lease) => ({
        owner: lease.owner,
        from: Date.parse(lease.granted_at),
        to: now,
        until: lease.expires_at === null ? null : Date.parse(lease.expires_at),
        tone: 'tone-live',
        fence: lease.fence,
        text: [ownerName(lease.owner), `${t('since')} ${moment(lease.granted_at)}`, t('legendLive')],
      })),
      ...past.map((lease) => ({
        owner: lease.owner,
        from: Date.parse(lease.granted_at),
        to: Date.parse(lease.ended_at),
        tone: tones[lease.how] ?? 'tone-released',
        how: lease.how,
        fence: lease.fence,
        text: [
          ownerName(lease.owner),
          `${moment(lease.granted_at)} – ${moment(lease.ended_at)}`,
          `${t(lease.how)}, ${duration(Date.parse(lease.ended_at) - Date.parse(lease.granted_at))}${lease.by ? `, ${lease.by}` : ''}${lease.why ? `: ${lease.why}` : ''}`,
        ],
      })),
    ];
    const marks = refused.map((one) => ({
      owner: one.owner,
      at: Date.parse(one.last_at),
      text: [
        one.tries > 1
          ? t('refusedTries', { owner: ownerName(one.owner), n: one.tries })
          : t('refusedTry', { owner: ownerName(one.owner) }),
        moment(one.last_at),
      ],
    }));
    return { bars, marks, now };
  }

  draw() {
    const width = this.element.clientWidth;
    if (!this.#data || width === 0) return;
    const { bars, marks, now } = this.#pieces();
    const moments = [...bars.map((bar) => bar.from), ...marks.map((mark) => mark.at)];
    const span =
      spans[this.#data.span] || Math.max(60_000, (now - Math.min(now - 60_000, ...moments)) * 1.04);
    const from = now - span;
    // Shows the time left of live leases to the right of now, if it fits.
    const to = now + span * 0.12;

    const visible = (piece) => (piece.to ?? piece.at) >= from;
    // First the holders, then earlier holders, then refused owners; the latest first in each group.
    const latestOf = (pieces) => {
      const latest = new Map();
      for (const piece of pieces.filter(visible)) {
        const at = piece.tone === 'tone-live' ? Infinity : (piece.to ?? piece.at);
        latest.set(piece.owner, Math.max(latest.get(piece.owner) ?? -Infinity, at));
      }
      return [...latest].sort((a, b) => b[1] - a[1]).map(([owner]) => owner);
    };
    const owners = [...new Set([...latestOf(bars), ...latestOf(marks)])];
    const own = owners.length > most ? owners.slice(0, most - 1) : owners;
    const lanes = owners.length > most ? [...own, null] : own;
    const laneOf = (owner) => {
      const i = own.indexOf(owner);
      return i < 0 ? lanes.length - 1 : i;
    };

    const left = width < 560 ? 0 : names;
    const high = width < 560 ? lane + 14 : lane;
    const height = Math.max(1, lanes.length) * high + bottom + 6;
    const x = (at) => left + ((width - left - 8) * (at - from)) / (to - from);
    const middle = (i) => i * high + (width < 560 ? high - 13 : high / 2) + 4;

    const root = svg('svg', {
      width,
      height,
      viewBox: `0 0 ${width} ${height}`,
      role: 'img',
      'aria-label': this.#data.label,
    });
    const { all, write } = timeTicks(from, to, Math.max(2, Math.floor((width - left) / 90)));
    for (const at of all) {
      root.append(
        svg('line', { class: 'grid', x1: x(at), x2: x(at), y1: 4, y2: height - bottom }),
        svg(
          'text',
          {
            class: 'tick',
            x: Math.max(left + 16, Math.min(width - 24, x(at))),
            y: height - 8,
            'text-anchor': 'middle',
          },
          write(at),
        ),
      );
    }
    lanes.forEach((owner, i) => {
      const name = owner === null ? t('otherOwners') : ownerName(owner);
      const fits = Math.floor((left ? names - 14 : width - 16) / 7.2);
      root.append(
        svg('line', { class: 'lane', x1: left, x2: width - 8, y1: middle(i), y2: middle(i) }),
        svg(
          'text',
          {
            class: 'lane-name',
            x: left ? left - 12 : 2,
            y: left ? middle(i) + 4 : middle(i) - 12,
            'text-anchor': left ? 'end' : 'start',
          },
          name.length > fits ? `${name.slice(0, fits - 1)}…` : name,
        ),
      );
    });
    const thick = 14;
    for (const bar of bars.filter(visible).reverse()) {
      const i = laneOf(bar.owner);
      const start = Math.max(left, x(bar.from));
      const wide = Math.max(3, x(bar.to) - start);
      const group = svg('g', { class: `lease ${bar.tone}` });
      group.piece = bar;
      if (bar.tone === 'tone-live') {
        const until = bar.until === null ? to : Math.min(bar.until, to);
        if (until > now)
          group.append(
            svg('rect', {
              class: 'ahead',
              x: x(now),
              y: middle(i) - thick / 2,
              width: Math.max(0, x(until) - x(now)),
              height: thick,
              rx: 4,
            }),
          );
      }
      group.append(
        svg('rect', {
          class: 'bar-shape',
          x: start,
          y: middle(i) - thick / 2,
          width: wide,
          height: thick,
          rx: Math.min(4, wide / 2),
        }),
      );
      if (bar.tone === 'tone-broken') {
        const end = start + wide;
        group.append(
          svg('path', { class: 'break-mark', d: `M${end - 4} ${middle(i) - 10}l8 20m0 -20l-8 20` }),
        );
      } else if (bar.tone === 'tone-expired') {
        group.append(
          svg('line', {
            class: 'expiry-mark',
            x1: start + wide,
            x2: start + wide,
            y1: middle(i) - 9,
            y2: middle(i) + 9,
          }),
        );
      }
      root.append(group);
    }
    for (const mark of marks.filter(visible)) {
      const at = x(mark.at);
      const y = middle(laneOf(mark.owner));
      const shape = svg('path', { class: 'refused-mark', d: `M${at} ${y - 6}l6 6l-6 6l-6 -6z` });
      shape.piece = mark;
      root.append(shape);
    }
    root.append(svg('line', { class: 'now', x1: x(now), x2: x(now), y1: 0, y2: height - bottom }));
    this.#plot.replaceChildren(root);
  }

  #show(target) {
    const piece = target.piece ?? target.parentNode?.piece;
    this.#tip.hidden = !piece;
    if (!piece) return;
    const [title, ...more] = piece.text;
    this.#tip.replaceChildren(h('strong', {}, title), ...more.map((line) => h('span', {}, line)));
    const box = this.element.getBoundingClientRect();
    const at = target.getBoundingClientRect();
    const half = this.#tip.offsetWidth / 2;
    const middle = Math.max(at.left, box.left) / 2 + Math.min(at.right, box.right) / 2 - box.left;
    this.#tip.style.left = `${Math.max(half, Math.min(box.width - half, middle))}px`;
    this.#tip.style.top = `${at.top - box.top - this.#tip.offsetHeight - 8}px`;
  }
}

export function legend() {
  const one = (tone, text) => h('li', {}, h('i', { class: `swatch ${tone}` }), text);
  return h(
    'ul',
    { class: 'legend' },
    one('tone-live', t('legendLive')),
    one('tone-released', t('legendReleased')),
    one('tone-expired', t('legendExpired')),
    one('tone-broken', t('legendBroken')),
    one('refused', t('legendRefused')),
  );
}
