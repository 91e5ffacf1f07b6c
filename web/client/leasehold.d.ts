/** What is locked. */
export interface Key {
  type: string;
  id: string;
}

export type Mode = 'exclusive' | 'shared';

/** What everybody may know of a lease. Times are the store's, as ISO texts. */
export interface Holder extends Key {
  owner: string;
  mode: Mode;
  fence: number;
  granted_at: string;
  /** Null: until it is released. */
  expires_at: string | null;
  note: string;
}

/** Somebody asks for the lock. */
export interface Knock {
  by: string;
  message: string;
  at: string;
}

export interface Lease extends Holder {
  /** The secret: whoever knows it may check, renew and release. */
  lock_id: string;
  /** How long it had to live when the store answered. */
  remaining_ms: number | null;
  store_now: string;
  knocks?: Knock[];
  /** For how long it is certain, counted from before the question. */
  validFor: { readonly left: number };
}

export interface Held {
  code: 'held';
  detail: string;
  holders: Holder[];
  store_now: string;
}

export interface Gone {
  code: 'gone';
  detail: string;
  reason: 'unknown' | 'expired' | 'released' | 'taken' | 'broken';
  by: string;
  why: string;
  store_now: string;
}

export interface Refused<Refusal = Held | Gone> {
  refused: Refusal;
}

export interface LocksOptions {
  /** Where the Leasehold server is, or an application that answers the same routes; the page's own origin if not given. */
  server?: string | URL;
  /** A bearer token, or what gives one. */
  token?: string | (() => string | Promise<string>);
  /** Fields for every request, against CSRF for example. */
  headers?: Record<string, string>;
  fetch?: typeof globalThis.fetch;
  /** Milliseconds for an answer. */
  timeout?: number;
}

export interface RequestOptions {
  signal?: AbortSignal;
  keepalive?: boolean;
  timeout?: number;
}

export interface TryOptions extends RequestOptions {
  owner?: string;
  mode?: Mode;
  ttl?: number;
  note?: string;
  /** Only if nobody was granted the key after this fence. */
  since?: number;
  maxHold?: number;
  /** How long to wait in line. */
  wait?: number;
  /** Drawn by who asks: asking again with it is safe. */
  lockId?: string;
}

/** The server gave no answer, or none about the lock: nothing is known. */
export class NoAnswer extends Error {
  readonly status: number;
  readonly code: string;
  readonly retryAfter: number;
  /** Whether asking again may help. */
  get passing(): boolean;
}

/** Asks a Leasehold server. A "no" is a value, no answer is a NoAnswer. All times are in milliseconds. */
export class Locks {
  constructor(options?: LocksOptions);
  tryLock(key: Key, options?: TryOptions): Promise<Lease | Refused>;
  holders(key: Key): Promise<{ holders: Holder[]; waiting: string[] }>;
  check(key: Key, lockId: string, options?: RequestOptions): Promise<Lease | Refused<Gone>>;
  renew(key: Key, lockId: string, ttl: number, options?: RequestOptions & { maxHold?: number }): Promise<Lease | Refused<Gone>>;
  extend(key: Key, lockId: string, by: number): Promise<Lease | Refused<Gone>>;
  /** Ends it; with `after`, then, unless it is renewed before. */
  release(key: Key, lockId: string, options?: RequestOptions & { after?: number }): Promise<{ lease: Lease } | Refused<Gone>>;
  knock(key: Key, options: { owner?: string; message: string }): Promise<unknown>;
}

/** All times are in milliseconds; Infinity for never. */
export interface GuardOptions extends LocksOptions, Key {
  /** Who edits; the tab is added to it: user/session/tab. Not needed with a lockId. */
  owner?: string;
  /** The session; a name kept in the browser if not given. */
  session?: string;
  /** The tab; found out if not given. */
  tab?: string;
  /** Keeps the lease that the page was served with. */
  lockId?: string;
  note?: string;
  mode?: Mode;
  /** Default: 5 minutes. */
  ttl?: number;
  /** Default: a third of the ttl. */
  renewEvery?: number;
  /** How often to ask for knocks and breaks while the page is visible. Default: 10 seconds. */
  checkEvery?: number;
  /** Let go after this long without activity. Default: 15 minutes. */
  idleAfter?: number;
  /** How long before that `expiring` comes. Default: 2 minutes. */
  idleWarning?: number;
  /** How long it can be held in all. Default: 8 hours. */
  cap?: number;
  /** What a closed tab leaves of its lease. Default: 5 seconds. */
  closing?: number;
  /** Default: 5 minutes. */
  fiveMore?: number;
  /** Of one request in line. Default: 50 seconds. */
  longestWait?: number;
  /** Instead of server, token, headers and fetch. */
  locks?: Locks;
}

export type LossReason = Gone['reason'] | 'idle' | 'cap' | 'unconfirmed' | 'unauthorized' | 'forbidden';

/** The particulars of each event of an EditGuard. */
export interface GuardEvents {
  asking: { error?: NoAnswer };
  /** `stale`: others had it after this page was made; load what they have saved. */
  held: { lease: Lease; stale: boolean };
  expiring: { why: 'unconfirmed' | 'idle' | 'cap'; left: number };
  lost: { reason: LossReason; by: string; why: string; holders: Holder[] };
  refused: { holders: Holder[] };
  free: Record<string, never>;
  /** `ahead`: how many are before this one; not given where it is not known. */
  waiting: { holders: Holder[]; ahead?: number; error?: NoAnswer };
  released: Record<string, never>;
  failed: { error: Error };
  knocked: { knocks: Knock[]; again: boolean };
}

export type GuardState = Exclude<keyof GuardEvents, 'knocked'>;

export class GuardEvent<Type extends keyof GuardEvents = keyof GuardEvents> extends Event {
  readonly detail: GuardEvents[Type];
}

/** One person's work on one thing: takes the lock, keeps it while the person works, and tells how it stands. */
export class EditGuard extends EventTarget {
  static hold(options: GuardOptions): Promise<EditGuard>;
  constructor(options: GuardOptions);
  start(): Promise<void>;

  readonly key: Key;
  readonly state: GuardState;
  readonly detail: GuardEvents[GuardState];
  readonly owner: string | undefined;
  readonly lease: Lease | null;
  /** Whether the lock is certainly ours at this moment. */
  readonly isHeld: boolean;
  /** The secret of the lease; empty unless the lock is ours. */
  readonly lockId: string;
  /** Milliseconds for which the lock is certainly ours, and until it is let go. */
  readonly left: number;
  readonly idleLeft: number;
  readonly capLeft: number;
  readonly knocks: Knock[];

  touch(): void;
  /** Asks now. True where the server answers that the lock is ours. */
  confirm(): Promise<boolean>;
  release(): Promise<void>;
  handOver(): void;
  /** Only if nobody else had it meanwhile. */
  retake(): Promise<boolean>;
  take(): Promise<boolean>;
  /** True when it is held, false when the waiting has ended otherwise. */
  wait(): Promise<boolean>;
  stopWaiting(): Promise<void>;
  /** False if nobody has it any more. */
  knock(message: string): Promise<boolean>;
  fiveMore(note?: string): Promise<void>;
  close(): void;

  addEventListener<Type extends keyof GuardEvents>(
    type: Type, listener: (event: GuardEvent<Type>) => void, options?: boolean | AddEventListenerOptions): void;
  addEventListener(
    type: string, listener: EventListenerOrEventListenerObject | null, options?: boolean | AddEventListenerOptions): void;
  removeEventListener<Type extends keyof GuardEvents>(
    type: Type, listener: (event: GuardEvent<Type>) => void, options?: boolean | EventListenerOptions): void;
  removeEventListener(
    type: string, listener: EventListenerOrEventListenerObject | null, options?: boolean | EventListenerOptions): void;
}

/** The name of this tab, the same after a reload and different in a duplicate; `given` where a server has
 *  named it already, for a form that was sent before the page knew. */
export function tabName(given?: string): Promise<string>;
