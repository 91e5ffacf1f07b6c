/** The knocks at a lease. Each knock is reported once. */
export class Knocks {
  #all = [];
  #heard = new Set();

  /** The latest last. */
  get all() { return this.#all; }

  forget() {
    this.#all = [];
  }

  /** Adds knocks, and returns the new ones. */
  fresh(knocks = []) {
    const fresh = knocks.filter((knock) => !this.#heard.has(JSON.stringify(knock)));
    for (const knock of fresh) this.#heard.add(JSON.stringify(knock));
    this.#all = [...this.#all, ...fresh];
    return fresh;
  }
}
