import { Timer } from './timer.js';

const retry = 3000;  // ms

/**
 * A place in line. Each request is followed by the next before the server's patience with it ends, with
 * the same lock id: that keeps the place.
 */
export class Line {
  #ask;
  #longest;
  #leaving = new AbortController();
  #left = new Promise((resolve) => this.#leaving.signal.addEventListener('abort', () => resolve({})));

  /** `ask(wait, signal)` tries once. */
  constructor(ask, longest) {
    this.#ask = ask;
    this.#longest = longest;
  }

  leave() {
    this.#leaving.abort();
  }

  /** What ends the waiting; nothing if that is leave(). Tells of trouble on the way. */
  async stand(tell) {
    const { signal } = this.#leaving;
    while (!signal.aborted) {
      const asked = settled(this.#ask(this.#longest, signal));
      const { answer, error } = await this.#firstOf(asked, 0.8 * this.#longest);
      if (signal.aborted) break;
      if (error && !error.passing) throw error;
      if (error) {
        tell(error);
        await this.#firstOf(this.#left, Math.max(retry, error.retryAfter));
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
