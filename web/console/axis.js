// The ticks of a time axis, at round times of the day.

import { hourMinute, hourMinuteSecond } from './words.js';

const steps = [1, 5, 10, 30, 60, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400].map((s) => s * 1000);

// {all: [ms], write(ms)}; at most `count` of them.
export function timeTicks(from, to, count) {
  const step = steps.find((one) => (to - from) / one <= count) ?? steps.at(-1);
  const zone = new Date(to).getTimezoneOffset() * 60_000;
  const all = [];
  for (let at = Math.ceil((from - zone) / step) * step + zone; at <= to; at += step) all.push(at);
  return { all, write: step < 60_000 ? hourMinuteSecond : hourMinute };
}
