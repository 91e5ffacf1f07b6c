/** In ms. Longer than anything takes on a slow machine. */
export const patience = 60_000;

/** The next event of these types, or the state if it is there already. */
export function become(guard, ...states) {
  if (states.includes(guard.state)) return Promise.resolve(guard.detail);
  return next(guard, ...states);
}

/** The detail of the next event of these types. */
export function next(target, ...types) {
  return new Promise((resolve, reject) => {
    const ending = new AbortController();
    const timer = setTimeout(() => end(reject, new Error(`no ${types.join(' or ')}; it is ${target.state}`)), patience);
    const end = (settle, value) => {
      clearTimeout(timer);
      ending.abort();
      settle(value);
    };
    for (const type of types) {
      target.addEventListener(type, ({ detail }) => end(resolve, detail), { signal: ending.signal });
    }
  });
}

/** Waits for a condition that has no event. */
export async function eventually(condition, what = 'it') {
  const deadline = Date.now() + patience;
  for (;;) {
    const value = await condition();
    if (value) return value;
    if (Date.now() > deadline) throw new Error(`${what} did not come`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
