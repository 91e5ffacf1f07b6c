// An estimate of the store's clock. The times in answers are the store's, and the clock of this computer
// may be wrong.

let offset = null; // ms from performance.now() to the store's time
let spread = Infinity;

// Call it with `store_now` of an answer, and performance.now() before and after the request.
export function learn(storeNow, asked, answered = asked) {
  const then = Date.parse(storeNow);
  if (Number.isNaN(then)) return;
  const width = answered - asked;
  // A quick answer is more exact than a slow one, and an old one counts less with time.
  spread += 20;
  if (offset !== null && width > spread) return;
  spread = width;
  offset = then - (asked + answered) / 2;
}

export const storeNow = () => (offset === null ? Date.now() : performance.now() + offset);
export const remaining = (expiresAt) => (expiresAt === null ? Infinity : Date.parse(expiresAt) - storeNow());
