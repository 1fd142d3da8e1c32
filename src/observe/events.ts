// All events as one closed union. Status, the event log, the timeline of a server and the library's
// `host.events()` are views of this stream, so that they always agree. Events contain names of
// servers and codes, never arguments, results or secrets.

import type { FaultCode } from '../kernel/fault.ts';
import { Defects, type Handled } from './defects.ts';

/** Messages of a server that belong to no call; counted, never logged with their content. */
export type Noise =
  | 'not-json'
  | 'invalid-message'
  | 'unknown-id'
  | 'late-answer'
  | 'duplicate-answer'
  | 'oversized-frame'
  | 'unanswerable-request'
  /** A message to a client that cannot be assigned to one. */
  | 'unowned-notification';

/** Something that happened; `kind` says what. */
export type HostEvent = {
  /** When, in milliseconds since 1970. */
  readonly at: number;
  /** The server it happened to; empty if it was none. */
  readonly server: string;
} & (
  | {
      /** The server was registered. */
      readonly kind: 'registered';
      /** False: it is started at once and kept running. */
      readonly lazy: boolean;
    }
  | {
      /** The server is being started. */
      readonly kind: 'starting';
      /** Which of its starts, counted from 1. */
      readonly generation: number;
    }
  | {
      /** The server is ready for calls. */
      readonly kind: 'ready';
      /** Which of its starts, counted from 1. */
      readonly generation: number;
      /** `modern`: MCP 2026-07-28. `legacy`: an earlier version. */
      readonly era: 'legacy' | 'modern';
      /** The MCP version that was agreed on, such as `2025-11-25`. */
      readonly protocolVersion: string;
      /** Its process; null: it is at an address. */
      readonly pid: number | null;
      /** How long the start took, in milliseconds. */
      readonly startMs: number;
      /** True: it ran already, and was taken over from the process before this one. Absent otherwise. */
      readonly isAdopted?: true;
    }
  | {
      /** The server could not be started. */
      readonly kind: 'start-failed';
      /** Which of its starts, counted from 1. */
      readonly generation: number;
      /** Why, as a fault code. */
      readonly code: FaultCode;
      /** Why, in words. */
      readonly detail: string;
      /** The lines of its standard error that tell why, without secrets; absent: none. */
      readonly stderr?: string;
    }
  | {
      /** The connection to a server that was ready was lost. */
      readonly kind: 'lost';
      /** Which of its starts, counted from 1. */
      readonly generation: number;
      /** Why, in words. */
      readonly detail: string;
      /** The lines of its standard error that tell why, without secrets; absent: none. */
      readonly stderr?: string;
    }
  | {
      /** The server waits for its next start. */
      readonly kind: 'cooling';
      /** How long, in milliseconds. */
      readonly delayMs: number;
      /** Restarts that are left in the window; null: without limit. */
      readonly restartsLeft: number | null;
    }
  | {
      /** The server was restarted too often; `reload` brings it back. */
      readonly kind: 'ejected';
      /** Why, in words. */
      readonly detail: string;
    }
  | {
      /** The server is being ended. */
      readonly kind: 'stopping';
      /** Which of its starts, counted from 1. */
      readonly generation: number;
      /**
       * `idle`: unused. `removed`: no longer in the config. `hung`: it no longer answers. `end`: it
       * was replaced, or the host ends.
       */
      readonly reason: 'idle' | 'reload' | 'removed' | 'stop' | 'hung' | 'end';
    }
  | {
      /** The server has ended. */
      readonly kind: 'stopped';
      /** Which of its starts, counted from 1. */
      readonly generation: number;
      /** Processes that it had left behind and that were ended. */
      readonly swept: number;
    }
  | {
      /** The server is not running, and is started when it is needed. */
      readonly kind: 'idle';
    }
  | {
      /** `reload` was called. */
      readonly kind: 'reloaded';
    }
  | {
      /** The server is no longer registered. */
      readonly kind: 'removed';
    }
  | {
      /** The circuit breaker of the server has changed. */
      readonly kind: 'circuit';
      /** `open`: calls are refused. `half_open`: one call may try. `closed`: all calls may go. */
      readonly circuit: 'closed' | 'open' | 'half_open';
    }
  | {
      /** The list of the server's tools was read. */
      readonly kind: 'tools';
      /** How many it offers. */
      readonly tools: number;
      /** How many were ignored because their definitions are invalid. */
      readonly invalid: number;
    }
  | {
      /**
       * The server sent something that belongs to no call; reported at the first, and again as they
       * add up.
       */
      readonly kind: 'noise';
      /** What it was. */
      readonly noise: Noise;
      /** How many of this kind there were. */
      readonly count: number;
    }
  | {
      /**
       * An internal error of Holdfast, contained. `server` is empty if a client's message caused
       * it.
       */
      readonly kind: 'defect';
      /** The fault code that it counts as. */
      readonly code: 'internal';
      /** What was being handled. */
      readonly handled: Handled;
      /** The error and where it was thrown. */
      readonly detail: string;
      /** How many there were, of this kind and for this server. */
      readonly count: number;
    }
  | {
      /** A call has ended. */
      readonly kind: 'call';
      /** Its number, counted from 1 since the host was made. */
      readonly request: number;
      /** The tool, or the method. */
      readonly tool: string;
      /** How long it took, in milliseconds. */
      readonly latencyMs: number;
      /** How often it was sent. */
      readonly attempts: number;
      /** How often it was repeated after it may have run. */
      readonly replays: number;
      /** How it ended: with a result, a result with `isError`, a result from the cache, or a fault. */
      readonly outcome: 'ok' | 'is_error' | 'cached' | FaultCode;
      /** Which start of the server answered, counted from 1; null: no server was called. */
      readonly generation: number | null;
    }
);

/** An event without its time. */
export type Happening = HostEvent extends infer E
  ? E extends HostEvent
    ? Omit<E, 'at'>
    : never
  : never;

type Listener = (event: HostEvent) => void;

/**
 * Passes every event to every listener, in order. A listener that throws does not affect the
 * others.
 */
export class EventHub {
  /** Internal errors, which are reported as events too. */
  readonly defects: Defects = new Defects(this);
  /** Until they are disposed of, or throw. */
  readonly #listeners = new Set<Listener>();
  readonly #wallNow: () => number;

  constructor(wallNow: () => number) {
    this.#wallNow = wallNow;
  }

  /** Lets the call path skip creating an event when nobody listens. */
  get isHeard(): boolean {
    return this.#listeners.size > 0;
  }

  emit(happening: Happening): void {
    if (this.#listeners.size === 0) return;
    this.tell({ at: this.#wallNow(), ...happening } as HostEvent);
  }

  /** An event that has its time already: one is created for every call, and this avoids a copy. */
  tell(event: HostEvent): void {
    for (const listener of this.#listeners) {
      try {
        listener(event);
      } catch {
        // A defect of a listener must not affect a call.
        this.#listeners.delete(listener);
      }
    }
  }

  subscribe(listener: Listener): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }

  /**
   * Events as a stream. A reader that falls behind loses the oldest events; memory stays bounded.
   */
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
        // Events from before the end are still delivered.
        if (next) yield next;
        else if (signal.aborted) return;
        else await new Promise<void>((resolve) => (wake = resolve));
      }
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  }
}
