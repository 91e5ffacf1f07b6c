// The store's clock, as this page knows it: the times in answers are the store's, and the one of
// this computer may be wrong.

let offset = null; // the store's ahead of performance.now(), in ms
let spread = Infinity;

// `asked` and `answered` are performance.now() around an answer that says `store_now`.
export function learn(storeNow, asked, answered = asked) {
  const then = Date.parse(storeNow);
  if (Number.isNaN(then)) return;
  const width = answered - asked;
  // A quick answer tells more exactly than a slow one; an old one is worth less with time.
  spread += 20;
  if (offset !== null && width > spread) return;
  spread = width;
  offset = then - (asked + answered) / 2;
}

export const storeNow = () => (offset === null ? Date.now() : performance.now() + offset);
export const remaining = (expiresAt) => (expiresAt === null ? Infinity : Date.parse(expiresAt) - storeNow());
