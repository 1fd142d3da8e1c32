// Which public results of a server replicas may still share: each invalidation, at whichever replica, begins a new epoch
// of that server, and a result is given out only in the epoch in which it was asked for. The epoch is a record that all
// replicas read; they watch it, so that they drop what they have themselves. An invalidation that could not be stored
// yet is stored before the next result is shared, so that the replica that made it never goes back behind it.

import { hash, randomUUID } from 'node:crypto';
import type { Clock } from '../kernel/clock.ts';
import { type Caught, ignored } from '../kernel/contain.ts';
import type { Records } from '../store/contract/records.ts';
import { maxTtlMs } from './freshness.ts';
import { InTime } from './in-time.ts';

export interface SharedEpochsParts {
  readonly clock: Clock;
  readonly records: Records;
  /** The names of all servers of this host. */
  readonly servers: () => readonly string[];
  /** Another replica has invalidated the results of this server, or may have. */
  readonly told: (server: string) => void;
  readonly caught: Caught;
}

interface StoredEpoch {
  readonly epoch: string;
}

/** Of a server that has never been invalidated, or so long ago that nothing older is left. */
const first = '';
/** No result lives longer. */
const keptMs = 2 * maxTtlMs;
const maxUnsaid = 1_024;

export class SharedEpochs {
  readonly #parts: SharedEpochsParts;
  readonly #inTime: InTime;
  /** Epochs that began here and that the store does not have yet, by server; at most `maxUnsaid`. */
  readonly #unsaid = new Map<string, string>();
  /** While they are being stored, by server; at most those of `#unsaid`. */
  readonly #saying = new Map<string, Promise<boolean>>();
  /** How many have begun here. */
  #begun = 0;
  /** There were too many to remember: nothing is shared any more. */
  #isLost = false;

  constructor(parts: SharedEpochsParts) {
    this.#parts = parts;
    this.#inTime = new InTime(parts.clock, parts.caught);
    // Until the store is closed, which its host does.
    parts.records.watch?.('', (change) => {
      const { servers, told } = this.#parts;
      // The store may have been away, and may be back.
      if (change.kind === 'gap') this.#sayAll();
      for (const server of servers()) {
        if (change.kind === 'gap' || change.key === keyOf(server)) told(server);
      }
    });
  }

  /** Undefined: that cannot be said now, and nothing may be shared. */
  async of(server: string): Promise<string | undefined> {
    if (this.#isLost || !(await this.#said(server))) return undefined;
    const { records } = this.#parts;
    const begun = this.#begun;
    const read = await this.#inTime.run(async () => ({ entry: await records.get(keyOf(server)) }));
    // Another one may have begun here meanwhile.
    if (read === undefined || begun !== this.#begun) return undefined;
    const { value } = read.entry ?? {};
    return isStoredEpoch(value) ? value.epoch : first;
  }

  /** The results of this server were invalidated here. */
  invalidated(server: string): void {
    this.#begun += 1;
    if (this.#unsaid.size >= maxUnsaid && !this.#unsaid.has(server)) {
      this.#isLost = true;
      return;
    }
    this.#unsaid.set(server, randomUUID());
    this.#said(server).catch(ignored);
  }

  #sayAll(): void {
    for (const server of this.#unsaid.keys()) this.#said(server).catch(ignored);
  }

  /** Whether the store has what began here. Never rejects. */
  #said(server: string): Promise<boolean> {
    if (!this.#unsaid.has(server)) return Promise.resolve(true);
    const saying =
      this.#saying.get(server) ?? this.#say(server).finally(() => this.#saying.delete(server));
    this.#saying.set(server, saying);
    return saying;
  }

  async #say(server: string): Promise<boolean> {
    const { records } = this.#parts;
    // Another may begin while this one is stored.
    for (let epoch = this.#unsaid.get(server); epoch !== undefined; ) {
      const stored: StoredEpoch = { epoch };
      const put = () => records.put(keyOf(server), stored, { ttlMs: keptMs });
      if ((await this.#inTime.run(put)) === undefined) return false;
      if (this.#unsaid.get(server) === epoch) this.#unsaid.delete(server);
      epoch = this.#unsaid.get(server);
    }
    return true;
  }
}

function keyOf(server: string): string {
  return hash('sha256', server, 'hex');
}

export function isStoredEpoch(value: unknown): value is StoredEpoch {
  return typeof (value as Partial<StoredEpoch> | undefined)?.epoch === 'string';
}
