// Everything that happens, as one closed union. Status, the event log, the timeline a person reads
// and the library's `host.events()` are all views of this stream, so that they can never disagree.
// Events name servers and codes; they never carry arguments, results or secrets.

import type { FaultCode } from '../kernel/fault.ts';
import { Defects, type Handled } from './defects.ts';

/** Things a server sent that belong to no call; counted, never logged with their payload. */
export type Noise =
  | 'not-json'
  | 'invalid-message'
  | 'unknown-id'
  | 'late-answer'
  | 'duplicate-answer'
  | 'oversized-frame'
  | 'unanswerable-request'
  /** Said to a client, but nobody can tell to which. */
  | 'unowned-notification';

export type HostEvent = { readonly at: number; readonly server: string } & (
  | { readonly kind: 'registered'; readonly lazy: boolean }
  | { readonly kind: 'starting'; readonly generation: number }
  | {
      readonly kind: 'ready';
      readonly generation: number;
      readonly era: 'legacy' | 'modern';
      readonly protocolVersion: string;
      readonly pid: number | null;
      readonly startMs: number;
    }
  | {
      readonly kind: 'start-failed';
      readonly generation: number;
      readonly code: FaultCode;
      readonly detail: string;
      /** The lines that tell why, without secrets. */
      readonly stderr?: string;
    }
  | {
      readonly kind: 'lost';
      readonly generation: number;
      readonly detail: string;
      readonly stderr?: string;
    }
  | { readonly kind: 'cooling'; readonly delayMs: number; readonly restartsLeft: number | null }
  | { readonly kind: 'ejected'; readonly detail: string }
  | { readonly kind: 'stopping'; readonly generation: number; readonly reason: string }
  | { readonly kind: 'stopped'; readonly generation: number; readonly swept: number }
  | { readonly kind: 'idle' }
  | { readonly kind: 'reloaded' }
  | { readonly kind: 'removed' }
  | { readonly kind: 'circuit'; readonly circuit: 'closed' | 'open' | 'half_open' }
  | { readonly kind: 'tools'; readonly tools: number; readonly invalid: number }
  | { readonly kind: 'noise'; readonly noise: Noise; readonly count: number }
  /** An error of our own, contained; without a name it was a client's message that met it. */
  | {
      readonly kind: 'defect';
      readonly code: 'internal';
      readonly handled: Handled;
      readonly detail: string;
      readonly count: number;
    }
  | {
      readonly kind: 'call';
      readonly request: number;
      readonly tool: string;
      readonly latencyMs: number;
      readonly attempts: number;
      readonly replays: number;
      readonly outcome: 'ok' | 'is_error' | 'cached' | FaultCode;
      readonly generation: number | null;
    }
);

/** An event before it is stamped. */
export type Happening = HostEvent extends infer E
  ? E extends HostEvent
    ? Omit<E, 'at'>
    : never
  : never;

type Listener = (event: HostEvent) => void;

/** Hands every event to every listener, in order. A listener that throws harms nobody else. */
export class EventHub {
  /** Errors of our own, which are told here too. */
  readonly defects: Defects = new Defects(this);
  /** Until they are disposed of, or throw. */
  readonly #listeners = new Set<Listener>();
  readonly #wallNow: () => number;

  constructor(wallNow: () => number) {
    this.#wallNow = wallNow;
  }

  /** Lets the hot path skip building an event nobody hears. */
  get isHeard(): boolean {
    return this.#listeners.size > 0;
  }

  emit(happening: Happening): void {
    if (this.#listeners.size === 0) return;
    this.tell({ at: this.#wallNow(), ...happening } as HostEvent);
  }

  /** One that is stamped already: there is one for every call, and a copy less to make. */
  tell(event: HostEvent): void {
    for (const listener of this.#listeners) {
      try {
        listener(event);
      } catch {
        // An observer's own defect: it must not decide the fate of a call.
        this.#listeners.delete(listener);
      }
    }
  }

  subscribe(listener: Listener): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }

  /** Events as a stream. A reader that falls behind loses the oldest, never the host's memory. */
  async *stream(
    signal: AbortSignal,
    mayHear: (event: HostEvent) => boolean = () => true,
    capacity = 1024,
  ): AsyncGenerator<HostEvent, void, void> {
    const waiting: HostEvent[] = [];
    let wake: () => void = () => {};
    using _subscription = this.subscribe((event) => {
      if (!mayHear(event)) return;
      if (waiting.length === capacity) waiting.shift();
      waiting.push(event);
      wake();
    });
    const onAbort = () => wake();
    signal.addEventListener('abort', onAbort);
    try {
      for (;;) {
        const next = waiting.shift();
        // What happened before the end is told, too.
        if (next) yield next;
        else if (signal.aborted) return;
        else await new Promise<void>((resolve) => (wake = resolve));
      }
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  }
}
