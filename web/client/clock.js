// Time on two clocks: the steady one may stand still while a laptop sleeps, and the wall clock can be
// set. Something is over as soon as either says so.

export function now() {
  return { steady: performance.now(), wall: Date.now() };
}

/** When `ms` will have passed since `from`. */
export class Deadline {
  #steady;
  #wall;

  constructor(ms, from = now()) {
    this.#steady = from.steady + ms;
    this.#wall = from.wall + ms;
  }

  /** Milliseconds left, negative when it is over. */
  get left() {
    return Math.min(this.#steady - performance.now(), this.#wall - Date.now());
  }
}

export const never = { left: Infinity };
export const over = { left: 0 };
