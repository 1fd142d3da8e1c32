// Public results that several replicas share: what one has fetched, the others need not fetch. They are copies for a
// while, never the only place: a store that fails, hangs or forgets costs a call to the server. A result that is known
// to be public is fetched by one replica at a time, the others wait for it. That a tool's results are public is known
// from an earlier one; private results are never stored here, and nobody waits for them.

import type { Signal } from '../kernel/cancel-signal.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Caught } from '../kernel/contain.ts';
import type { Records, Version } from '../store/contract/records.ts';
import { InTime } from './in-time.ts';
import type { SharedEpochs } from './shared-epochs.ts';

export interface SharedResultsParts {
  readonly clock: Clock;
  /** Rejects if they cannot be encrypted. */
  readonly place: () => Promise<SharedPlace>;
  /** What may still be shared. */
  readonly epochs: Pick<SharedEpochs, 'of'>;
  readonly caught: Caught;
}

/** Where the results are. */
export interface SharedPlace {
  /** Encrypted, because results are payloads. */
  readonly records: Records;
  /** The key of a record, from which nobody can guess what was asked for. */
  readonly keyOf: (id: string) => string;
}

/** A result of the store, with what is left of its time. */
export interface SharedResult {
  readonly bytes: Buffer;
  readonly ttlMs: number;
}

/** A larger one is fetched by each. */
const maxBytes = 262_144;
/** A replica that fetches for longer is not waited for. */
const flightMs = 10_000;
const lookMs = 25;
const maxPublic = 4_096;

interface StoredResult {
  readonly text: string;
  /** When it was stored. The clocks of replicas may differ: what is left of it is said by the store. */
  readonly ttlMs: number;
  /** Of its server, when it was asked for. */
  readonly epoch: string;
}

/** What is asked for. */
export interface Wanted {
  /** The same at all replicas for the same request. */
  readonly id: string;
  readonly server: string;
  /** What has results of one kind. */
  readonly shelf: string;
}

export class SharedResults {
  readonly #parts: SharedResultsParts;
  /** Shelves whose latest result was public; at most `maxPublic`. */
  readonly #public = new Set<string>();
  readonly #store: InTime;

  constructor(parts: SharedResultsParts) {
    this.#parts = parts;
    this.#store = new InTime(parts.clock, parts.caught);
  }

  /**
   * The result under this id: of the store, of another replica that fetches it now, or of `fetch`, which says whether
   * others may have it.
   */
  async get(
    { id, server, shelf }: Wanted,
    found: (result: SharedResult) => void,
    fetch: () => Promise<Buffer>,
    fetched: () => SharedResult | undefined,
    signal?: Signal,
  ): Promise<Buffer> {
    const [epoch, stored] = await Promise.all([this.#parts.epochs.of(server), this.#find(id)]);
    if (epoch === undefined) return await fetch();
    const there = inEpoch(stored, epoch);
    const { known, claim } =
      there === undefined ? await this.#awaited(id, shelf, epoch, signal) : { known: there };
    if (known !== undefined) {
      this.#isPublic(shelf);
      found(known);
      return known.bytes;
    }
    try {
      return await fetch();
    } finally {
      // Nobody waits for the store who has an answer.
      this.#landed({ id, shelf, epoch, claim }, fetched()).catch(this.#parts.caught);
    }
  }

  #isPublic(shelf: string): void {
    if (this.#public.size < maxPublic) this.#public.add(shelf);
  }

  /** Nothing known: this replica is to fetch it, or nobody can say, or its caller has left. */
  async #awaited(
    id: string,
    shelf: string,
    epoch: string,
    signal: Signal | undefined,
  ): Promise<{ readonly known?: SharedResult | undefined; readonly claim?: Version }> {
    if (!this.#public.has(shelf)) return {};
    const { clock } = this.#parts;
    const deadline = clock.now() + flightMs;
    while (clock.now() < deadline && signal?.aborted !== true) {
      const claimed = await this.#claim(id, epoch);
      if (claimed === undefined) return {};
      if (claimed !== 'taken') return await this.#storedSince(id, epoch, claimed);
      await this.#pause(signal);
      const known = inEpoch(await this.#find(id), epoch);
      if (known !== undefined) return { known };
    }
    return {};
  }

  /** Another one may have stored it and let go of its claim between our last look and our claim. */
  async #storedSince(id: string, epoch: string, claim: Version) {
    const known = inEpoch(await this.#find(id), epoch);
    if (known !== undefined) await this.#letGo(id, epoch, claim);
    return { known, claim };
  }

  /** Only of its own claim: one that has taken too long is another's by now. */
  async #letGo(id: string, epoch: string, claim: Version): Promise<void> {
    await this.#inTime(({ records, keyOf }) =>
      records.compareAndSet(keyOf(flightOf(id, epoch)), claim, flightMark, { ttlMs: 1 }),
    );
  }

  /** The version of the claim, if it is ours. */
  async #claim(id: string, epoch: string): Promise<Version | 'taken' | undefined> {
    const claimed = await this.#inTime(({ records, keyOf }) =>
      records.putIfAbsent(keyOf(flightOf(id, epoch)), flightMark, { ttlMs: flightMs }),
    );
    if (claimed === undefined) return undefined;
    return claimed.isPut ? claimed.version : 'taken';
  }

  /** Until it is time to look again, or the caller has left. */
  #pause(signal: Signal | undefined): Promise<void> {
    return new Promise((resolve) => {
      const over = () => {
        signal?.removeEventListener('abort', over);
        timer[Symbol.dispose]();
        resolve();
      };
      const timer = this.#parts.clock.after(lookMs, over);
      signal?.addEventListener('abort', over, { once: true });
    });
  }

  async #landed(
    { id, shelf, epoch, claim }: Flight,
    result: SharedResult | undefined,
  ): Promise<void> {
    if (result !== undefined) this.#isPublic(shelf);
    else this.#public.delete(shelf);
    if (result !== undefined && result.bytes.length <= maxBytes) {
      const { ttlMs } = result;
      const stored: StoredResult = { text: result.bytes.toString('utf8'), ttlMs, epoch };
      await this.#inTime(({ records, keyOf }) => records.put(keyOf(id), stored, { ttlMs }));
    }
    if (claim !== undefined) await this.#letGo(id, epoch, claim);
  }

  async #find(id: string): Promise<FoundResult | undefined> {
    const entry = await this.#inTime(({ records, keyOf }) => records.get(keyOf(id)));
    if (!isStoredResult(entry?.value)) return undefined;
    const { text, ttlMs: whole, epoch } = entry.value;
    const ttlMs = Math.min(whole, entry.leftMs ?? whole);
    return ttlMs > 0 ? { bytes: Buffer.from(text), ttlMs, epoch } : undefined;
  }

  async #inTime<T>(work: (place: SharedPlace) => Promise<T>): Promise<T | undefined> {
    return await this.#store.run(async () => await work(await this.#parts.place()));
  }
}

/** One fetch of this replica, with its claim if it has one. */
interface Flight {
  readonly id: string;
  readonly shelf: string;
  readonly epoch: string;
  readonly claim: Version | undefined;
}

/** It is no result: it says that one is fetched. */
const flightMark = { text: '', ttlMs: 0 };

interface FoundResult extends SharedResult {
  readonly epoch: string;
}

/** One that was asked for before its server was invalidated is as good as none. */
function inEpoch(found: FoundResult | undefined, epoch: string): SharedResult | undefined {
  return found?.epoch === epoch ? found : undefined;
}

function flightOf(id: string, epoch: string): string {
  return `${id} flight ${epoch}`;
}

export function isStoredResult(value: unknown): value is StoredResult {
  const { text, ttlMs, epoch } = (value ?? {}) as Partial<StoredResult>;
  return typeof text === 'string' && typeof ttlMs === 'number' && typeof epoch === 'string';
}
