// Public results that several replicas share: what one has fetched, the others need not fetch. They are copies for a
// while, never the only place: a store that fails, hangs or forgets costs a call to the server. A result that is known
// to be public is fetched by one replica at a time, the others wait for it. That a tool's results are public is known
// from an earlier one; private results are never stored here, and nobody waits for them.

import { type Clock, within } from '../kernel/clock.ts';
import type { Caught } from '../kernel/contain.ts';
import { Fault } from '../kernel/fault.ts';
import type { Records } from '../store/contract/records.ts';

export interface SharedResultsParts {
  readonly clock: Clock;
  /** Encrypted, because results are payloads; rejects if that cannot be had. */
  readonly records: () => Promise<Records>;
  readonly caught: Caught;
}

/** A result of the store, with what is left of its time. */
export interface SharedResult {
  readonly bytes: Buffer;
  readonly ttlMs: number;
}

/** A larger one is fetched by each. */
const maxBytes = 262_144;
/** Nobody waits longer for the store; while it does not answer, it is left alone. */
const storeMs = 1_000;
const aloneMs = 10_000;
/** A replica that fetches for longer is not waited for. */
const flightMs = 10_000;
const lookMs = 25;
const maxPublic = 4_096;

interface StoredResult {
  readonly text: string;
  /** Wall time of the replica that has stored it. */
  readonly expiresAt: number;
}

export class SharedResults {
  readonly #parts: SharedResultsParts;
  /** Shelves whose latest result was public; at most `maxPublic`. */
  readonly #public = new Set<string>();
  #aloneUntil = Number.NEGATIVE_INFINITY;

  constructor(parts: SharedResultsParts) {
    this.#parts = parts;
  }

  /**
   * The result under this id: of the store, of another replica that fetches it now, or of `fetch`, which says whether
   * others may have it.
   */
  async get(
    id: string,
    shelf: string,
    found: (result: SharedResult) => void,
    fetch: () => Promise<Buffer>,
    fetched: () => SharedResult | undefined,
  ): Promise<Buffer> {
    const known = (await this.#find(id)) ?? (await this.#awaited(id, shelf));
    if (known !== undefined) {
      this.#isPublic(shelf);
      found(known);
      return known.bytes;
    }
    try {
      return await fetch();
    } finally {
      await this.#landed(id, shelf, fetched());
    }
  }

  #isPublic(shelf: string): void {
    if (this.#public.size < maxPublic) this.#public.add(shelf);
  }

  /** Undefined: this replica is to fetch it, or nobody can say. */
  async #awaited(id: string, shelf: string): Promise<SharedResult | undefined> {
    if (!this.#public.has(shelf)) return undefined;
    const { clock } = this.#parts;
    const deadline = clock.now() + flightMs;
    while (clock.now() < deadline) {
      if ((await this.#claim(id)) !== 'taken') return undefined;
      await new Promise<void>((resolve) => void clock.after(lookMs, resolve));
      const found = await this.#find(id);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  async #claim(id: string): Promise<'ours' | 'taken' | undefined> {
    const claimed = await this.#inTime((records) =>
      records.putIfAbsent(flightOf(id), { text: '', expiresAt: 0 }, { ttlMs: flightMs }),
    );
    if (claimed === undefined) return undefined;
    return claimed.isPut ? 'ours' : 'taken';
  }

  async #landed(id: string, shelf: string, result: SharedResult | undefined): Promise<void> {
    const wasPublic = this.#public.has(shelf);
    if (result !== undefined) this.#isPublic(shelf);
    else this.#public.delete(shelf);
    if (result !== undefined && result.bytes.length <= maxBytes) {
      const { ttlMs } = result;
      const expiresAt = this.#parts.clock.wallNow() + ttlMs;
      const stored: StoredResult = { text: result.bytes.toString('utf8'), expiresAt };
      await this.#inTime((records) => records.put(id, stored, { ttlMs }));
    }
    if (wasPublic) await this.#inTime((records) => records.remove(flightOf(id)));
  }

  async #find(id: string): Promise<SharedResult | undefined> {
    const entry = await this.#inTime((records) => records.get(id));
    if (!isStoredResult(entry?.value)) return undefined;
    const { text, expiresAt } = entry.value;
    const ttlMs = expiresAt - this.#parts.clock.wallNow();
    return ttlMs > 0 ? { bytes: Buffer.from(text), ttlMs } : undefined;
  }

  /** Undefined if it failed or took too long. */
  async #inTime<T>(work: (records: Records) => Promise<T>): Promise<T | undefined> {
    const { clock, records, caught } = this.#parts;
    if (clock.now() < this.#aloneUntil) return undefined;
    let result: T | undefined;
    let isDone = false;
    const working = records()
      .then(work)
      .then((value) => {
        result = value;
      })
      .finally(() => {
        isDone = true;
      })
      .catch((error: unknown) => {
        if (!(error instanceof Fault)) caught(error);
      });
    await within(clock, storeMs, working);
    if (!isDone) this.#aloneUntil = clock.now() + aloneMs;
    return result;
  }
}

function flightOf(id: string): string {
  return `${id} flight`;
}

export function isStoredResult(value: unknown): value is StoredResult {
  const { text, expiresAt } = (value ?? {}) as Partial<StoredResult>;
  return typeof text === 'string' && typeof expiresAt === 'number';
}
