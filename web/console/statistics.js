// The server's statistics over time.

import { get, Problem } from './api.js';
import { learn } from './clock.js';
import { live } from './live.js';

// Returns null if the server has no statistics.
export async function readStatistics(over, signal) {
  const asked = performance.now();
  try {
    const statistics = await get(`/v1/statistics?over=${over}`, { signal });
    if (statistics.store_now) learn(statistics.store_now, asked, performance.now());
    live.heard();
    return statistics;
  } catch (error) {
    if (error instanceof Problem && error.status === 404) return null;
    throw error;
  }
}

export const latest = (values) => values.filter((value) => value !== null).at(-1) ?? null;
export const sum = (values) => values.reduce((a, b) => a + b, 0);

// The number of live leases: {n, atLeast}.
export function heldTotal(statistics) {
  const n = latest(statistics.series.held);
  return n === null ? null : { n, atLeast: statistics.held_complete === false };
}
