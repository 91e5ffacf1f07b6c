// The time left of a lease, as a shrinking bar and as text.

import { h, setAttribute, setText } from './dom.js';
import { remaining } from './clock.js';
import { countdown, t } from './words.js';

// The length of a full bar: a common ttl.
const usual = [10, 15, 20, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800, 86400].map(
  (seconds) => seconds * 1000,
);

export class TimeLeft {
  #expiresAt;
  #full = 0;
  #fill = h('span', { class: 'bar-fill' });
  #text = h('span', { class: 'time-text' });
  element = h(
    'div',
    { class: 'time-left' },
    this.#text,
    h('span', { class: 'bar', 'aria-hidden': 'true' }, this.#fill),
  );

  update(lease) {
    if (this.#expiresAt === lease.expires_at) return;
    this.#expiresAt = lease.expires_at;
    const left = remaining(lease.expires_at);
    const whole = lease.expires_at === null ? 0 : Date.parse(lease.expires_at) - Date.parse(lease.granted_at);
    // A renewed lease lives longer in all than its ttl.
    const guess = usual.find((ms) => ms >= left * 0.97 - 500) ?? left;
    this.#full = Math.max(1, Math.abs(whole - guess) < guess / 2 ? whole : guess);
    this.tick();
  }

  tick() {
    const left = remaining(this.#expiresAt);
    setText(this.#text, left === Infinity ? t('untilReleased') : countdown(left));
    const share = left === Infinity ? 1 : Math.max(0, Math.min(1, left / this.#full));
    this.#fill.style.transform = `scaleX(${share.toFixed(4)})`;
    const state =
      left === Infinity
        ? 'endless'
        : left <= 0
          ? 'over'
          : share < 0.12
            ? 'last'
            : share < 0.34
              ? 'low'
              : 'fine';
    setAttribute(this.element, 'data-state', state);
  }
}
