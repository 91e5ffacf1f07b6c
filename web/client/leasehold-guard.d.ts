import type { EditGuard } from './leasehold.js';

export type Texts = Record<string, string>;

/** <leasehold-guard> around a form; README.md lists its attributes and events. */
export class LeaseholdGuard extends HTMLElement {
  /** By language. */
  static texts: Record<string, Texts>;
  /** Null before start(). */
  readonly guard: EditGuard | null;
  readonly form: HTMLFormElement | null;
  /** False while the server is known not to answer. */
  readonly isReachable: boolean;
  /** Texts of this element that differ from those of its language. */
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
