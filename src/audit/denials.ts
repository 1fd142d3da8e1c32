// Denied requests on their way to the audit log. Whoever is denied can ask as often as it likes, so its lines
// are limited: within a minute a principal has a line for each of a few different denials, at once; what is
// denied again, or beyond those, is counted, and written as one line with a count when the minute is over. So
// the log always has that, how often and (of the first ones) what, and nobody can fill a disk with it. A record
// is made only for those that get a line: what it takes is not spent on the others.

import { hash } from 'node:crypto';
import type { Clock } from '../kernel/clock.ts';
import type { DeniedRecord } from './audit-record.ts';

export interface DenialsParts {
  readonly clock: Clock;
  readonly write: (record: DeniedRecord) => void;
}

/** How long denials are counted together. */
export const denialWindowMs = 60_000;
/** Different denials of one principal that have a line of their own within that time. */
export const maxDenialLines = 20;
/** Beyond so many principals the counts of the first are written early. */
export const maxDeniedPrincipals = 256;

type Latest = Pick<DeniedRecord, 'at' | 'id' | 'principal' | 'token' | 'role' | 'path' | 'method'>;

export interface Denial extends Latest {
  /** What was asked for, as it was written; it is kept as a hash only. */
  readonly wish: readonly (string | null)[];
  /** Finds out what was refused and why. */
  readonly record: () => DeniedRecord;
}

interface Repeated {
  readonly record: DeniedRecord;
  latest: Latest;
  /** Those that have no line yet. */
  count: number;
}

interface Window {
  /** By the hash of what was asked for, and as whom; at most `maxDenialLines`. */
  readonly different: Map<string, Repeated>;
  others: Pick<Repeated, 'latest' | 'count'> | undefined;
  readonly end: Disposable;
}

export class Denials {
  readonly #parts: DenialsParts;
  /** By principal, for `denialWindowMs`; at most `maxDeniedPrincipals`. */
  readonly #windows = new Map<string, Window>();

  constructor(parts: DenialsParts) {
    this.#parts = parts;
  }

  add(denial: Denial): void {
    const window = this.#windowOf(denial.principal);
    const { different } = window;
    const key = keyOf(denial);
    const known = different.get(key);
    const latest = latestOf(denial);
    if (known === undefined && different.size < maxDenialLines) {
      const record = denial.record();
      different.set(key, { record, latest, count: 0 });
      return this.#parts.write(record);
    }
    const counted = known ?? window.others ?? { latest, count: 0 };
    if (known === undefined) window.others = counted;
    counted.latest = latest;
    counted.count += 1;
  }

  /** Writes what is counted. */
  flush(): void {
    for (const principal of [...this.#windows.keys()]) this.#close(principal);
  }

  #windowOf(principal: string): Window {
    const known = this.#windows.get(principal);
    if (known !== undefined) return known;
    const [first] = this.#windows.size >= maxDeniedPrincipals ? this.#windows.keys() : [];
    if (first !== undefined) this.#close(first);
    const end = this.#parts.clock.after(denialWindowMs, () => this.#close(principal), true);
    const window: Window = { different: new Map(), others: undefined, end };
    this.#windows.set(principal, window);
    return window;
  }

  #close(principal: string): void {
    const window = this.#windows.get(principal);
    if (window === undefined) return;
    this.#windows.delete(principal);
    window.end[Symbol.dispose]();
    const { write } = this.#parts;
    for (const { record, latest, count } of window.different.values()) {
      if (count > 0) write({ ...record, at: latest.at, id: latest.id, count });
    }
    if (window.others === undefined) return;
    const { latest, count } = window.others;
    const nameless = { path: null, server: null, what: 'other', name: null };
    write({ kind: 'denied', ...latest, ...nameless, reason: furtherDenials, count });
  }
}

const furtherDenials = `further denials within ${denialWindowMs / 1_000} s, of which only the number is kept; the method is that of the latest`;

function keyOf({ role, path, wish }: Denial): string {
  return hash('sha256', JSON.stringify([role, path, ...wish]), 'base64');
}

/** Without what it was, which may be long. */
function latestOf({ at, id, principal, token, role, path, method }: Denial): Latest {
  return { at, id, principal, ...(token !== undefined && { token }), role, path, method };
}
