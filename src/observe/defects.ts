// Errors that nobody expected: defects of our own, met while something was handled that one server or
// one client had sent, or thrown by a callback of the program that embeds us. Each is caught at its
// edge; here it is counted, and told as an event with the fault code `internal` and its cause. A
// defect that repeats with every message must not become a flood of events: it is told at every power
// of ten.

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
  | 'an answer to the client'
  | 'news for clients'
  | 'the kept catalogue';

const mostChars = 500;
const shownFrames = 3;

export class Defects {
  readonly #events: EventHub;
  /** By server and what was handled; at most one for each server and each of the words above. */
  readonly #counts = new Map<string, number>();
  #total = 0;

  constructor(events: EventHub) {
    this.#events = events;
  }

  /** How many there were. */
  get total(): number {
    return this.#total;
  }

  /** Counts it and tells of it; never throws. Returns it as a fault, for whoever must answer. */
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
 * The error and where it was thrown. What JSON.parse says of a text quotes the text, which is
 * somebody's data: of such an error only the place is told.
 */
function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return printableLine(`threw ${typeof error}`);
  const words = error instanceof SyntaxError ? error.name : `${error.name}: ${error.message}`;
  const frames = (error.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line));
  const place = frames.slice(0, shownFrames).map((line) => line.trim());
  return printableLine([words.slice(0, mostChars), ...place].join(' ')).slice(0, 2 * mostChars);
}
