// Legacy sessions that a former has handed over and whose clients have not come back yet: what each client has said to set
// its session up, and what was sent to it and can be resumed. A session begins here with the first request of its client.
// Until then it takes little, and no more of them are kept than may be open; of the events only so many bytes, the oldest
// sessions losing theirs first. One whose client does not come is forgotten with its idle time.

import type { Clock } from '../../../kernel/clock.ts';
import { ownerIdIn, type Principal } from '../../../policy/principal.ts';
import type { SetupTexts } from '../../clients/client-setup.ts';
import { byteLength } from '../frame-bytes.ts';
import type { SentBefore } from '../legacy/http-session.ts';
import { besideText, type KeptEvent } from '../legacy/kept-events.ts';

export interface HandedSession extends SentBefore {
  readonly id: string;
  readonly principal: Pick<Principal, 'id' | 'role'>;
  readonly setup: SetupTexts;
  /** The replica that had it; absent: nothing of it can be asked there. */
  readonly from?: string | undefined;
}

interface Kept {
  readonly handed: HandedSession;
  readonly bytes: number;
  /** Monotonic. */
  readonly until: number;
}

export interface HandedSessionsParts {
  readonly clock: Clock;
  readonly maxSessions: number;
  /** Of all events together. */
  readonly maxBytes: number;
  readonly keepMs: number;
}

export class HandedSessions implements Disposable {
  readonly #parts: HandedSessionsParts;
  /** By id, the first to be forgotten first; at most `maxSessions`. */
  readonly #kept = new Map<string, Kept>();
  #bytes = 0;
  #timer: Disposable | undefined;

  constructor(parts: HandedSessionsParts) {
    this.#parts = parts;
  }

  get size(): number {
    return this.#kept.size;
  }

  /** What an earlier message has said of it is replaced but for the events. */
  add(handed: HandedSession): void {
    const events = [...(this.remove(handed.id)?.events ?? []), ...handed.events];
    this.#put({ ...handed, events });
  }

  #put(handed: HandedSession): void {
    const { clock, maxSessions, maxBytes, keepMs } = this.#parts;
    const bytes = bytesOf(handed.events);
    this.#kept.set(handed.id, { handed, bytes, until: clock.now() + keepMs });
    this.#bytes += bytes;
    for (const id of this.#kept.keys()) {
      if (this.#kept.size <= maxSessions) break;
      this.remove(id);
    }
    for (const [id, kept] of this.#kept) {
      if (this.#bytes <= maxBytes) break;
      this.#bytes -= kept.bytes;
      this.#kept.set(id, { ...kept, handed: { ...kept.handed, events: [] }, bytes: 0 });
    }
    this.#timer ??= clock.after(keepMs, () => this.#expire(), true);
  }

  /** Whether there is one; what its former has sent or ended since. */
  addEvents(id: string, events: readonly KeptEvent[]): boolean {
    const handed = this.remove(id);
    if (handed === undefined) return false;
    this.#put({ ...handed, events: [...handed.events, ...events] });
    return true;
  }

  /** The one with this id, if it is this principal's with the same rights. */
  find(id: string, principal: Principal): HandedSession | undefined {
    const handed = this.#kept.get(id)?.handed;
    const { id: owner, role } = handed?.principal ?? {};
    return owner === principal.id && role === principal.role ? handed : undefined;
  }

  /** It has begun, or ended. */
  remove(id: string): HandedSession | undefined {
    const kept = this.#kept.get(id);
    if (kept === undefined) return undefined;
    this.#kept.delete(id);
    this.#bytes -= kept.bytes;
    return kept.handed;
  }

  /** All of them, for the next process. */
  takeAll(): readonly HandedSession[] {
    const all = [...this.#kept.values()].map(({ handed }) => handed);
    this[Symbol.dispose]();
    return all;
  }

  /** The access of these principals has ended, by id. */
  endAccess(ids: ReadonlySet<string>): void {
    for (const [id, { handed }] of [...this.#kept]) {
      if (ids.has(ownerIdIn(handed.principal.id))) this.remove(id);
    }
  }

  #expire(): void {
    this.#timer = undefined;
    const { clock } = this.#parts;
    for (const [id, { until }] of [...this.#kept]) {
      if (until <= clock.now()) this.remove(id);
    }
    const [next] = this.#kept.values();
    if (next === undefined) return;
    this.#timer = clock.after(Math.max(0, next.until - clock.now()), () => this.#expire(), true);
  }

  [Symbol.dispose](): void {
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
    this.#kept.clear();
    this.#bytes = 0;
  }
}

function bytesOf(events: readonly KeptEvent[]): number {
  let bytes = 0;
  for (const { frame } of events) bytes += byteLength(frame) + besideText;
  return bytes;
}
