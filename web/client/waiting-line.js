import { retryPause } from './options.js';
import { Timer } from './timer.js';

/**
 * A place in line for a key:
 *   1. Send a waiting request.
 *   2. Send the next one, with the same lock id, before the server ends the first. That keeps the place.
 *   3. Repeat until a request is granted, fails for good, or leave() is called.
 */
export class WaitingLine {
  #ask;
  #longest;
  #leaving = new AbortController();
  #left = new Promise((resolve) => this.#leaving.signal.addEventListener('abort', () => resolve({})));

  /** `ask(wait, signal)` sends one waiting request. */
  constructor(ask, longest) {
    this.#ask = ask;
    this.#longest = longest;
  }

  leave() {
    this.#leaving.abort();
  }

  /** Returns the final answer; undefined after leave(). Calls `tell` with each passing error. */
  async stand(tell) {
    const { signal } = this.#leaving;
    while (!signal.aborted) {
      const asked = settled(this.#ask(this.#longest, signal));
      const { answer, error } = await this.#firstOf(asked, 0.8 * this.#longest);
      if (signal.aborted) break;
      if (error && !error.passing) throw error;
      if (error) {
        tell(error);
        await this.#firstOf(this.#left, Math.max(retryPause, error.retryAfter));
      } else if (answer && answer.refused?.code !== 'held') {
        return answer;
      }
    }
    return undefined;
  }

  async #firstOf(promise, ms) {
    let timer;
    const late = new Promise((resolve) => {
      timer = new Timer(() => resolve({}));
      timer.set(ms);
    });
    try {
      return await Promise.race([promise, late, this.#left]);
    } finally {
      timer.stop();
    }
  }
}

function settled(promise) {
  return promise.then((answer) => ({ answer }), (error) => ({ error }));
}
