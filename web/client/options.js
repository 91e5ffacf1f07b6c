// The options of an EditGuard and their defaults.

export const second = 1000;
const minute = 60 * second;
/** Between two requests while the server does not answer. */
export const retryPause = 3 * second;

const defaults = {
  mode: 'exclusive',
  note: '',
  ttl: 5 * minute,
  renewEvery: undefined,  // a third of the ttl
  checkEvery: 10 * second,  // while the page is visible, to learn of knocks and breaks soon
  idleAfter: 15 * minute,  // without activity, the lock is released
  idleWarning: 2 * minute,  // before that
  cap: 8 * 60 * minute,  // the longest time the lock is held, even with activity
  closing: 5 * second,  // how long the lease of a closed tab lives on: long enough for a reload
  fiveMore: 5 * minute,
  timeout: 10 * second,  // of a request
  longestWait: 50 * second,  // of a request in line
};

export function withDefaults(options) {
  for (const name of ['type', 'id']) {
    if (typeof options?.[name] !== 'string' || options[name] === '') {
      throw new TypeError(`EditGuard: the option "${name}" is missing or not a text; it names what is edited`);
    }
  }
  if (!options.lockId && !options.owner) throw new TypeError('EditGuard: the option "owner" is missing; it names who edits');
  if (options.mode !== undefined && !['exclusive', 'shared'].includes(options.mode)) {
    throw new TypeError(`EditGuard: the option "mode" is "${options.mode}"; possible values: exclusive, shared`);
  }
  const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
  const all = { ...defaults, ...given };
  all.renewEvery ??= all.ttl / 3;
  return all;
}
