// Time on two clocks. The steady clock may stop while a laptop sleeps, and the wall clock can be set. A
// deadline has passed as soon as one of the two clocks says so.

export function now() {
  return { steady: performance.now(), wall: Date.now() };
}

/** The moment `ms` after `from`. */
export class Deadline {
  #steady;
  #wall;

  constructor(ms, from = now()) {
    this.#steady = from.steady + ms;
    this.#wall = from.wall + ms;
  }

  /** Milliseconds left; negative after the deadline. */
  get left() {
    return Math.min(this.#steady - performance.now(), this.#wall - Date.now());
  }
}

export const never = { left: Infinity };
export const over = { left: 0 };
