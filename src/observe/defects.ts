// Unexpected errors: internal errors of Holdfast while it handled something from one server or
// client, or errors thrown by a callback of the embedding program. Each is caught where it happens;
// here it is counted and reported as an event with the fault code `internal` and its cause. An
// error that repeats with every message must not flood the events, so it is reported only at each
// power of ten.

import { Fault } from '../kernel/fault.ts';
import { printableLine } from '../kernel/printable.ts';
import type { EventHub } from './events.ts';

/** What was being handled. */
export type Handled =
  | 'a message of the server'
  | 'a question of the server'
  | 'the output of the process'
  | 'an answer over HTTP'
  | 'a timer'
  | 'a call'
  | 'an observer of calls'
  | 'progress of a call'
  | 'a message of the client'
  | 'a message of the broker'
  | 'an answer to the client'
  | 'news for clients'
  | 'the control socket'
  | 'the config file'
  | 'a rollout'
  | 'the tokens'
  | 'the audit log'
  | 'the shared store'
  | 'the kept catalogue'
  | 'a changed config'
  | 'a hand-over'
  | 'the budget of a role'
  | 'the store'
  | 'the shared results'
  | 'another replica';

const mostChars = 500;
const shownFrames = 3;

export class Defects {
  readonly #events: EventHub;
  /**
   * By server and by what was handled; at most one for each server and each of the values above.
   */
  readonly #counts = new Map<string, number>();
  #total = 0;

  constructor(events: EventHub) {
    this.#events = events;
  }

  /** How many there were. */
  get total(): number {
    return this.#total;
  }

  /** The server was removed; the total stays. */
  forget(server: string): void {
    for (const key of this.#counts.keys())
      if (key.startsWith(`${server} `)) this.#counts.delete(key);
  }

  /** Counts and reports it; never throws. Returns it as a fault for callers that must answer. */
  caught(handled: Handled, error: unknown, server = ''): Fault {
    const detail = causeOf(error);
    const key = `${server} ${handled}`;
    const count = (this.#counts.get(key) ?? 0) + 1;
    this.#counts.set(key, count);
    this.#total += 1;
    if (Number.isInteger(Math.log10(count))) {
      this.#events.emit({ kind: 'defect', server, code: 'internal', handled, detail, count });
    }
    const words = `an error of Holdfast itself while it handled ${handled}: ${detail}`;
    return new Fault('internal', words, { server }, error);
  }
}

/**
 * The error and where it was thrown. An error of JSON.parse quotes the text, which is somebody's
 * data, so only its place is reported.
 */
function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return printableLine(`threw ${typeof error}`);
  const words = error instanceof SyntaxError ? error.name : `${error.name}: ${error.message}`;
  const frames = (error.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line));
  const place = frames.slice(0, shownFrames).map((line) => line.trim());
  return printableLine([words.slice(0, mostChars), ...place].join(' ')).slice(0, 2 * mostChars);
}
