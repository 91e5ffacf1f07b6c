// What an EditGuard is told, and what it assumes.

export const second = 1000;
const minute = 60 * second;

const defaults = {
  mode: 'exclusive',
  note: '',
  ttl: 5 * minute,
  renewEvery: undefined,  // a third of the ttl
  checkEvery: 10 * second,  // while the page is visible, so that knocks and breaks are heard soon
  idleAfter: 15 * minute,  // without activity, the lock is let go
  idleWarning: 2 * minute,  // before that
  cap: 8 * 60 * minute,  // held in all, however busy the person is
  closing: 5 * second,  // what a closed tab leaves of its lease: long enough for a reload
  fiveMore: 5 * minute,
  timeout: 10 * second,  // of a request
  longestWait: 50 * second,  // of a request in line
};

export function withDefaults(options) {
  for (const name of ['type', 'id']) {
    if (typeof options?.[name] !== 'string' || options[name] === '') {
      throw new TypeError(`EditGuard: "${name}" says what is edited and must be a text`);
    }
  }
  if (!options.lockId && !options.owner) throw new TypeError('EditGuard: "owner" says who edits');
  const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
  const all = { ...defaults, ...given };
  all.renewEvery ??= all.ttl / 3;
  return all;
}
