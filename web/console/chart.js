// Numbers over time as SVG. Redrawn when its width changes, so that text keeps its size.

import { timeTicks } from './axis.js';
import { h, svg } from './dom.js';
import { hourMinute, number, t } from './words.js';

const margin = { left: 44, right: 10, top: 12, bottom: 24 };

// The next round number.
function niceCeiling(value) {
  if (value <= 4) return 4;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 4, 6, 8, 10].map((n) => n * power).find((n) => n >= value);
}

const compact = (value) => (value >= 10_000 ? `${number(Math.round(value / 1000))}k` : number(value));

// Joins `count` values into one: their sum, or the highest.
export function gather(values, count, how) {
  const groups = [];
  for (let end = values.length; end > 0; end -= count) {
    const known = values.slice(Math.max(0, end - count), end).filter((value) => value !== null);
    if (known.length === 0) groups.unshift(null);
    else groups.unshift(how === 'sum' ? known.reduce((a, b) => a + b, 0) : Math.max(...known));
  }
  return groups;
}

export class Chart {
  #label;
  #kind;
  #height;
  #data = null;
  #tip = h('div', { class: 'tip', hidden: true });
  #plot = h('div', { class: 'plot' });
  element = h('div', { class: 'chart' }, this.#plot, this.#tip);
  #observer = new ResizeObserver(() => this.#draw());

  // `kind` is 'area' or 'bars' (stacked).
  constructor(label, kind, height = 190) {
    this.#label = label;
    this.#kind = kind;
    this.#height = height;
    this.element.style.height = `${height}px`; // before it is drawn: nothing moves later
    this.#observer.observe(this.element);
    this.element.addEventListener('pointermove', (event) => this.#point(event));
    this.element.addEventListener('pointerleave', () => this.#point(null));
  }

  stop() {
    this.#observer.disconnect();
  }

  // {step (ms), last (ms: when the last point began), count (of points in the whole width),
  //  series: [{name, tone, values}]}
  update(data) {
    this.#data = data;
    this.#draw();
  }

  #draw() {
    const width = this.element.clientWidth;
    if (!this.#data || width === 0) return;
    const { series, count, step, last } = this.#data;
    const height = this.#height;
    const inner = { w: width - margin.left - margin.right, h: height - margin.top - margin.bottom };
    const sums = [];
    for (let i = 0; i < count; ++i) {
      const values = series.map(({ values }) => values[values.length - count + i] ?? null);
      sums.push(
        this.#kind === 'bars'
          ? values.reduce((a, b) => a + (b ?? 0), 0)
          : Math.max(0, ...values.map((v) => v ?? 0)),
      );
    }
    const top = niceCeiling(Math.max(...sums));
    const x = (i) => margin.left + (inner.w * i) / count;
    const y = (value) => margin.top + inner.h * (1 - value / top);
    const root = svg('svg', {
      width,
      height,
      viewBox: `0 0 ${width} ${height}`,
      role: 'img',
      'aria-label': this.#describe(sums),
    });
    for (const share of [0, 0.5, 1]) {
      root.append(
        svg('line', {
          class: share === 0 ? 'axis' : 'grid',
          x1: margin.left,
          x2: width - margin.right,
          y1: y(top * share),
          y2: y(top * share),
        }),
        svg(
          'text',
          { class: 'tick', x: margin.left - 8, y: y(top * share) + 4, 'text-anchor': 'end' },
          compact(top * share),
        ),
      );
    }
    const end = last + step;
    const { all, write } = timeTicks(end - count * step, end, Math.max(2, Math.floor(inner.w / 80)));
    for (const at of all) {
      const left = margin.left + inner.w * (1 - (end - at) / (count * step));
      if (left < margin.left + 16 || left > width - 20) continue;
      root.append(
        svg('line', { class: 'axis', x1: left, x2: left, y1: y(0), y2: y(0) + 4 }),
        svg('text', { class: 'tick', x: left, y: height - 5, 'text-anchor': 'middle' }, write(at)),
      );
    }
    if (this.#kind === 'bars') this.#bars(root, x, y, inner.w / count);
    else this.#areas(root, x, y);
    this.#plot.replaceChildren(root);
    if (!sums.some((sum) => sum > 0)) {
      this.#plot.append(h('p', { class: 'chart-empty' }, t('chartEmpty')));
    }
  }

  #areas(root, x, y) {
    const { series, count } = this.#data;
    for (const { values, tone } of series) {
      const points = [];
      for (let i = 0; i < count; ++i) {
        const value = values[values.length - count + i] ?? null;
        if (value !== null) points.push([x(i + 0.5), y(value)]);
      }
      if (points.length === 0) continue;
      const line = points.map(([px, py], i) => `${i ? 'L' : 'M'}${px.toFixed(1)} ${py.toFixed(1)}`).join('');
      const [first] = points;
      const final = points.at(-1);
      root.append(
        svg('path', {
          class: `area ${tone}`,
          d: `${line}L${final[0].toFixed(1)} ${y(0)}L${first[0].toFixed(1)} ${y(0)}Z`,
        }),
        svg('path', { class: `line ${tone}`, d: line }),
        svg('circle', { class: `dot ${tone}`, cx: final[0], cy: final[1], r: 3 }),
      );
    }
  }

  #bars(root, x, y, slot) {
    const { series, count } = this.#data;
    const gap = Math.min(2, slot * 0.25);
    for (let i = 0; i < count; ++i) {
      let below = 0;
      for (const { values, tone } of series) {
        const value = values[values.length - count + i] ?? 0;
        if (!value) continue;
        const high = Math.max(1, y(below) - y(below + value));
        root.append(
          svg('rect', {
            class: `column ${tone}`,
            x: (x(i) + gap / 2).toFixed(2),
            y: (y(below) - high).toFixed(2),
            width: Math.max(1, slot - gap).toFixed(2),
            height: high.toFixed(2),
            rx: Math.min(1.5, slot / 4),
          }),
        );
        below += value;
      }
    }
  }

  #describe(sums) {
    const latest = this.#data.series.map(
      ({ name, values }) => `${name} ${number(values.filter((v) => v !== null).at(-1) ?? 0)}`,
    );
    return `${this.#label}: ${latest.join(', ')}; max ${number(Math.max(...sums))}`;
  }

  #point(event) {
    const old = this.#plot.querySelector('.cursor');
    old?.remove();
    this.#tip.hidden = true;
    if (!event || !this.#data) return;
    const { series, count, step, last } = this.#data;
    const box = this.element.getBoundingClientRect();
    const inner = box.width - margin.left - margin.right;
    const i = Math.floor(((event.clientX - box.left - margin.left) / inner) * count);
    if (i < 0 || i >= count) return;
    const known = series.filter(({ values }) => (values[values.length - count + i] ?? null) !== null);
    if (known.length === 0) return;
    const at = margin.left + (inner * (i + 0.5)) / count;
    this.#plot.firstElementChild?.append(
      svg('line', { class: 'cursor', x1: at, x2: at, y1: margin.top, y2: this.#height - margin.bottom }),
    );
    this.#tip.replaceChildren(
      h('strong', {}, hourMinute(last - (count - 1 - i) * step)),
      ...known.map(({ name, tone, values }) =>
        h(
          'span',
          {},
          h('i', { class: `swatch ${tone}` }),
          `${name} ${number(values[values.length - count + i])}`,
        ),
      ),
    );
    this.#tip.hidden = false;
    const half = this.#tip.offsetWidth / 2;
    this.#tip.style.left = `${Math.max(half, Math.min(box.width - half, at))}px`;
  }
}

// A line chart as small as a word, of the last `count` values.
export function sparkline(values, count) {
  const width = 96;
  const height = 28;
  const known = values.slice(-count).map((value) => value ?? 0);
  const top = Math.max(1, ...known);
  const x = (i) => width - (width * (known.length - 1 - i)) / (count - 1);
  const y = (value) => height - 2 - (height - 4) * (value / top);
  const root = svg('svg', {
    class: 'sparkline',
    viewBox: `0 0 ${width} ${height}`,
    preserveAspectRatio: 'none',
    'aria-hidden': 'true',
  });
  if (known.length < 2) return root;
  const line = known.map((value, i) => `${i ? 'L' : 'M'}${x(i).toFixed(1)} ${y(value).toFixed(1)}`).join('');
  root.append(
    svg('path', { class: 'area', d: `${line}L${width} ${height}L${x(0).toFixed(1)} ${height}Z` }),
    svg('path', { class: 'line', d: line }),
  );
  return root;
}
