/*
 * Types of the Leasehold client. They compile with and without TypeScript's DOM library: a browser type is
 * taken from the program's own globals and has a small substitute where the program has none.
 */

type Signal = typeof globalThis extends { AbortSignal: { prototype: infer Instance } } ? Instance : { readonly aborted: boolean };
declare const EventBase: typeof globalThis extends { Event: infer Constructor }
  ? Constructor
  : { new (type: string): { readonly type: string } };
declare const EventTargetBase: typeof globalThis extends { EventTarget: infer Constructor }
  ? Constructor
  : { new (): { dispatchEvent(event: { readonly type: string }): boolean } };

/** The thing that is locked. */
export interface Key {
  type: string;
  id: string;
}

export type Mode = 'exclusive' | 'shared';

/** The public part of a lease. Times are the store's, as ISO 8601 texts. */
export interface Holder extends Key {
  owner: string;
  mode: Mode;
  fence: number;
  granted_at: string;
  /** Null: the lease lasts until it is released. */
  expires_at: string | null;
  note: string;
}

/** Somebody's request to get the lock. */
export interface Knock {
  by: string;
  message: string;
  at: string;
}

export interface Lease extends Holder {
  /** The secret. Everybody who knows it can check, renew and release the lease. */
  lock_id: string;
  /** The time left when the store answered; null for a lease without end. */
  remaining_ms: number | null;
  store_now: string;
  /** The latest knocks; `knocks_in_all` counts all that the server remembers. */
  knocks?: Knock[];
  knocks_in_all?: number;
  /** `left`: milliseconds for which the lease is certainly valid, counted from before the request. */
  validFor: { readonly left: number };
}

export interface Held {
  code: 'held';
  detail: string;
  /** The first holders: at most 16, and fewer if their texts are long. */
  holders: Holder[];
  /** The number of all holders. */
  holders_in_all: number;
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

/** What `LocksOptions.fetch` is called with. */
export interface FetchRequest {
  method: string;
  headers: Record<string, string>;
  body?: string;
  keepalive: boolean;
  signal: Signal;
  cache: 'no-store';
}

/** What the client reads of an answer. */
export interface FetchResponse {
  readonly ok: boolean;
  readonly status: number;
  readonly statusText: string;
  readonly headers: { get(name: string): string | null };
  text(): Promise<string>;
}

export interface LocksOptions {
  /** The URL of the Leasehold server, or of an application that answers the same routes. Default: the page's own origin. */
  server?: string | { readonly href: string; toString(): string };
  /** A bearer token, or a function that returns one. */
  token?: string | (() => string | Promise<string>);
  /** Header fields for every request, for example against CSRF. */
  headers?: Record<string, string>;
  fetch?: (url: string, request: FetchRequest) => Promise<FetchResponse>;
  /** Milliseconds to wait for an answer. */
  timeout?: number;
}

export interface RequestOptions {
  signal?: Signal;
  keepalive?: boolean;
  timeout?: number;
}

export interface TryOptions extends RequestOptions {
  owner?: string;
  mode?: Mode;
  /** How many can share the key at most. */
  places?: number;
  ttl?: number;
  note?: string;
  /** Grants the lock only if nobody was granted the key after this fence. */
  since?: number;
  maxHold?: number;
  /** How long to wait in line. */
  wait?: number;
  /** The lock id to use. Sending the same one again is safe. */
  lockId?: string;
}

/** The server did not answer, or its answer says nothing about the lock. */
export class NoAnswer extends Error {
  readonly status: number;
  readonly code: string;
  readonly retryAfter: number;
  /** `unknown`: the request may have been carried out. Repeat it with the same lock id: that is harmless. */
  readonly effect: 'none' | 'unknown';
  /** Whether the same request may succeed later. */
  get passing(): boolean;
}

/** Sends requests to a Leasehold server. Returns a refusal as a value; throws NoAnswer. All times are in milliseconds. */
export class Locks {
  constructor(options?: LocksOptions);
  tryLock(key: Key, options?: TryOptions): Promise<Lease | Refused>;
  /** `cut`: very many hold the key, and the answer ends early. */
  holders(key: Key): Promise<{ holders: Holder[]; store_now: string; waiting: string[]; cut?: true }>;
  check(key: Key, lockId: string, options?: RequestOptions): Promise<Lease | Refused<Gone>>;
  renew(key: Key, lockId: string, ttl: number, options?: RequestOptions & { maxHold?: number }): Promise<Lease | Refused<Gone>>;
  extend(key: Key, lockId: string, by: number): Promise<Lease | Refused<Gone>>;
  /** Ends the lease. With `after`, ends it after that many milliseconds unless it is renewed before. */
  release(key: Key, lockId: string, options?: RequestOptions & { after?: number }): Promise<{ lease: Lease } | Refused<Gone>>;
  knock(key: Key, options: { owner?: string; message: string }): Promise<unknown>;
}

/** All times are in milliseconds; Infinity for never. */
export interface GuardOptions extends LocksOptions, Key {
  /** The user. The owner of the lease is user/session/tab. Not needed with a lockId. */
  owner?: string;
  /** The session. Default: a name kept in the browser. */
  session?: string;
  /** The tab. Default: a name kept in the tab. */
  tab?: string;
  /** Keeps the lease that the page was served with instead of taking one. */
  lockId?: string;
  note?: string;
  mode?: Mode;
  /** Default: 5 minutes. */
  ttl?: number;
  /** Default: a third of the ttl. */
  renewEvery?: number;
  /** How often a visible page asks for knocks and breaks. Default: 10 seconds. */
  checkEvery?: number;
  /** Releases the lock after this long without activity. Default: 15 minutes. */
  idleAfter?: number;
  /** How long before that `expiring` is dispatched. Default: 2 minutes. */
  idleWarning?: number;
  /** The longest time the lock can be held in all. Default: 8 hours. */
  cap?: number;
  /** How long the lease of a closed tab lives on. Default: 5 seconds. */
  closing?: number;
  /** When `knocked` is dispatched again after fiveMore(). Default: 5 minutes. */
  fiveMore?: number;
  /** The length of one waiting request. Default: 50 seconds. */
  longestWait?: number;
  /** Replaces server, token, headers and fetch. */
  locks?: Locks;
}

export type LossReason = Gone['reason'] | 'idle' | 'cap' | 'unconfirmed' | 'unauthorized' | 'forbidden';

/** The `detail` of each event of an EditGuard. */
export interface GuardEvents {
  asking: { error?: NoAnswer };
  /** `stale`: others held the lock after this page was loaded. Load what they saved. */
  held: { lease: Lease; stale: boolean };
  expiring: { why: 'unconfirmed' | 'idle' | 'cap'; left: number };
  lost: { reason: LossReason; by: string; why: string; holders: Holder[] };
  refused: { holders: Holder[] };
  free: Record<string, never>;
  /** `ahead`: how many wait before this page; absent while it is not known. */
  waiting: { holders: Holder[]; ahead?: number; error?: NoAnswer };
  released: Record<string, never>;
  failed: { error: Error };
  knocked: { knocks: Knock[]; again: boolean };
}

export type GuardState = Exclude<keyof GuardEvents, 'knocked'>;

/** `state` and `detail` of an EditGuard: a test of `state` tells the type of `detail`. */
export type GuardStatus = {
  [State in GuardState]: { readonly state: State; readonly detail: GuardEvents[State] };
}[GuardState];

export class GuardEvent<Type extends keyof GuardEvents = keyof GuardEvents> extends EventBase {
  constructor(type: Type, detail: GuardEvents[Type]);
  readonly detail: GuardEvents[Type];
}

export type GuardListener<Type extends keyof GuardEvents> =
  | ((event: GuardEvent<Type>) => void)
  | { handleEvent(event: GuardEvent<Type>): void };

export interface ListenerOptions {
  capture?: boolean;
  once?: boolean;
  passive?: boolean;
  signal?: Signal;
}

declare class Guard extends EventTargetBase {
  start(): Promise<void>;

  readonly key: Key;
  readonly owner: string | undefined;
  readonly lease: Lease | null;
  /** Whether the lock is certainly held by this page at this moment. */
  readonly isHeld: boolean;
  /** False while the server is known not to answer. */
  readonly isReachable: boolean;
  /** The secret of the lease; empty unless the lock is held. */
  readonly lockId: string;
  /** Milliseconds for which the lock is certainly held, until it is released as idle, and until the cap. */
  readonly left: number;
  readonly idleLeft: number;
  readonly capLeft: number;
  readonly knocks: Knock[];

  touch(): void;
  /** Asks the server now. True if it answers that the lock is held by this page. */
  confirm(): Promise<boolean>;
  release(): Promise<void>;
  handOver(): void;
  /** Takes the lock again, only if nobody else held it in between. */
  retake(): Promise<boolean>;
  take(): Promise<boolean>;
  /** True when the lock is held, false when the wait ended otherwise. */
  wait(): Promise<boolean>;
  stopWaiting(): Promise<void>;
  /** False if nobody holds the lock any more. */
  knock(message: string): Promise<boolean>;
  fiveMore(note?: string): Promise<void>;
  close(): void;

  addEventListener<Type extends keyof GuardEvents>(
    type: Type, listener: GuardListener<Type> | null, options?: boolean | ListenerOptions): void;
  addEventListener(
    type: string, listener: GuardListener<keyof GuardEvents> | null, options?: boolean | ListenerOptions): void;
  removeEventListener<Type extends keyof GuardEvents>(
    type: Type, listener: GuardListener<Type> | null, options?: boolean | ListenerOptions): void;
  removeEventListener(
    type: string, listener: GuardListener<keyof GuardEvents> | null, options?: boolean | ListenerOptions): void;
}

/** One person's work on one thing: takes the lock, keeps it while the person works, and reports its state. */
export type EditGuard = Guard & GuardStatus;

export const EditGuard: {
  new (options: GuardOptions): EditGuard;
  readonly prototype: EditGuard;
  hold(options: GuardOptions): Promise<EditGuard>;
};

/** The name of this tab: the same after a reload, different in a duplicate. `given` is the name that a server
 *  has already used for a form that was sent before the page could tell. */
export function tabName(given?: string): Promise<string>;

// Keeps the declarations above without `export` private.
export {};
