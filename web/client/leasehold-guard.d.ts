import type { EditGuard } from './leasehold.js';

export type Texts = Record<string, string>;

/** <leasehold-guard> around a form; README.md lists its attributes and events. */
export class LeaseholdGuard extends HTMLElement {
  /** By language. */
  static texts: Record<string, Texts>;
  /** Null before start(). */
  readonly guard: EditGuard | null;
  readonly form: HTMLFormElement | null;
  /** Whether the server answered lately, as far as is known: a form is not sent otherwise. */
  readonly isReachable: boolean;
  /** What this element says otherwise. */
  texts: Texts;
  start(): Promise<void>;
  stop(): void;
  finish(): void;
}

declare global {
  interface HTMLElementTagNameMap {
    'leasehold-guard': LeaseholdGuard;
  }
}
