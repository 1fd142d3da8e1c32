// The start history of one server, stored across runs of the host: how long the last start took,
// when its tools were last read, and which of its lists did not arrive in time. It decides the
// order of a first list, which does not wait twice for a server that hangs. The record belongs to
// the server's spec; it is small, and written only when it changes. An invalid record counts as
// missing.

import type { Clock } from '../../kernel/clock.ts';
import { ignored } from '../../kernel/contain.ts';
import { isRecord } from '../../kernel/json-values.ts';
import type { Records } from '../../store/contract/records.ts';
import { type ListKind, listKinds } from '../lists/listings.ts';

export interface StartFacts {
  /** How long the last start took; undefined if there was none. */
  readonly startMs: number | undefined;
  /** Wall time of the last reading of its tools. */
  readonly listedAt: number | undefined;
  /** Lists that did not come in time and have not come since; at most one entry for each kind. */
  readonly late: readonly ListKind[];
}

export const noFacts: StartFacts = { startMs: undefined, listedAt: undefined, late: [] };

const version = 1;
/** A server that nobody has started for so long is a new one. */
const keptMs = 90 * 24 * 60 * 60 * 1000;
/** Ages are shown in hours. */
const worthAfterMs = 60 * 60 * 1000;

/** Start times are rounded, so that only a real change is written. */
export function isWorthKeeping(kept: StartFacts, now: StartFacts): boolean {
  if (kept.late.length !== now.late.length) return true;
  if (kept.late.some((kind) => !now.late.includes(kind))) return true;
  if ((now.listedAt ?? 0) - (kept.listedAt ?? 0) >= worthAfterMs) return true;
  const [before, after] = [kept.startMs, now.startMs];
  if (before === undefined || after === undefined) return before !== after;
  return after > 2 * before || before > 2 * after;
}

export class StartHistory {
  readonly #specHash: string;
  readonly #clock: Clock;
  readonly #records: Records;
  #facts = noFacts;
  #kept = noFacts;
  #recalling: Promise<void> | undefined;
  /** Those that have come in this run; at most one entry for each kind. */
  readonly #listed = new Set<ListKind>();

  constructor(specHash: string, clock: Clock, records: Records) {
    this.#specHash = specHash;
    this.#clock = clock;
    this.#records = records;
  }

  get facts(): StartFacts {
    return this.#facts;
  }

  /** Reads what an earlier run has kept, once. What this run knows already stays. */
  recall(): Promise<void> {
    this.#recalling ??= this.#recall();
    return this.#recalling;
  }

  /** For the process after this one. */
  get written(): StartFacts & { readonly listed: readonly ListKind[] } {
    return { ...this.#facts, listed: [...this.#listed] };
  }

  /** What the process before this one knew, which is in the records as far as it is worth keeping. */
  restore({ listed, ...facts }: StartFacts & { readonly listed: readonly ListKind[] }): void {
    for (const kind of listed) this.#listed.add(kind);
    this.#facts = facts;
  }

  started(startMs: number): void {
    this.#note({ ...this.#facts, startMs });
  }

  listed(kind: ListKind): void {
    this.#listed.add(kind);
    const late = this.#facts.late.filter((other) => other !== kind);
    const listedAt = kind === 'tools' ? this.#clock.wallNow() : this.#facts.listedAt;
    this.#note({ ...this.#facts, late, listedAt });
  }

  wasLate(kind: ListKind): void {
    if (this.#facts.late.includes(kind)) return;
    this.#note({ ...this.#facts, late: [...this.#facts.late, kind] });
  }

  async #recall(): Promise<void> {
    const kept = factsOf((await this.#records.get(this.#specHash))?.value);
    if (!kept) return;
    this.#kept = kept;
    const { startMs = kept.startMs, listedAt = kept.listedAt, late } = this.#facts;
    const lateBefore = kept.late.filter((kind) => !this.#listed.has(kind) && !late.includes(kind));
    this.#facts = { startMs, listedAt, late: [...lateBefore, ...late] };
  }

  #note(facts: StartFacts): void {
    this.#facts = facts;
    // A disk that cannot be used is reported in `status` by the store itself; a closed one does not matter.
    this.#keep().catch(ignored);
  }

  /** What was kept before is read first: a short command learns only a part of it. */
  async #keep(): Promise<void> {
    await this.recall().catch(ignored);
    const facts = this.#facts;
    if (!isWorthKeeping(this.#kept, facts)) return;
    this.#kept = facts;
    await this.#records.put(this.#specHash, { version, ...facts }, { ttlMs: keptMs });
  }
}

/** Is this a record of starts, of this version or another? */
export function isStartRecord(record: unknown): boolean {
  if (!isRecord(record) || typeof record['version'] !== 'number') return false;
  return record['version'] !== version || Array.isArray(record['late']);
}

function factsOf(record: unknown): StartFacts | undefined {
  if (!isRecord(record) || record['version'] !== version) return undefined;
  const { startMs, listedAt, late } = record;
  return {
    startMs: positive(startMs),
    listedAt: positive(listedAt),
    late: Array.isArray(late) ? listKinds.filter((kind) => late.includes(kind)) : [],
  };
}

function positive(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined;
}
