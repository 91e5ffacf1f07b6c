/** Who has knocked; each is news once. */
export class Knocks {
  #all = [];
  #heard = new Set();

  /** Latest last. */
  get all() { return this.#all; }

  forget() {
    this.#all = [];
  }

  /** Those that were not heard before. */
  fresh(knocks = []) {
    const fresh = knocks.filter((knock) => !this.#heard.has(JSON.stringify(knock)));
    for (const knock of fresh) this.#heard.add(JSON.stringify(knock));
    this.#all = [...this.#all, ...fresh];
    return fresh;
  }
}
