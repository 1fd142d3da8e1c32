// Legacy sessions in the durable store, so that the next request of a client works after a restart: most
// clients of that era never begin a new session by themselves. Under a hash of its id a session has its
// principal and what its client has said to set it up; nothing that was sent to it, and no work. What
// cannot be stored or read costs nobody a request: that session ends with the process.

import { hash } from 'node:crypto';
import { type Clock, within } from '../../../kernel/clock.ts';
import { ignored } from '../../../kernel/contain.ts';
import { isRecord } from '../../../kernel/json-values.ts';
import { ownerIdIn, type Principal } from '../../../policy/principal.ts';
import type { RecordEntry, Records } from '../../../store/contract/records.ts';
import { StoreError } from '../../../store/store-error.ts';
import { ClientSetup, type SetupTexts } from '../../clients/client-setup.ts';

/** A session, as it is stored. */
interface StoredSession {
  readonly principal: Principal;
  readonly setup: SetupTexts;
}

export interface KeptSessionsParts {
  readonly records: Records;
  readonly clock: Clock;
  /** How long one may be idle. */
  readonly idleMs: number;
  /** An unexpected error. */
  readonly caught: (error: unknown) => void;
}

/** The first ones wait no longer than this: the database may be opened only now. */
const openMs = 2_000;
/** A client waits no longer than this for a slow disk, to be told that its session is stored or has ended. */
const keepMs = 250;
/** And no longer than this for its session to be found. */
const findMs = 5_000;
/** More than a client can say to set a session up (`ClientSetup.refusal`), as JSON in JSON. */
const maxBytes = 1_048_576;
/** One that is connected is used, and stored again, whenever its idle time would be over. */
const slack = 1.5;

export class KeptSessions {
  readonly #parts: KeptSessionsParts;
  /** Something was stored, or could not be for so long. */
  #isOpen = false;

  constructor(parts: KeptSessionsParts) {
    this.#parts = parts;
  }

  /** Resolves when it is stored, cannot be, or takes too long; never rejects. */
  async keep(id: string, principal: Principal, setup: ClientSetup): Promise<void> {
    const { clock } = this.#parts;
    const ms = this.#isOpen ? keepMs : openMs;
    await within(clock, ms, this.#put(id, principal, setup).catch(ignored));
    this.#isOpen = true;
  }

  async #put(id: string, { id: who, role }: Principal, setup: ClientSetup): Promise<void> {
    const { records, idleMs } = this.#parts;
    const { texts } = setup;
    if (texts === undefined) return;
    const stored: StoredSession = { principal: { id: who, role }, setup: texts };
    const isLarge = JSON.stringify(stored).length > maxBytes;
    if (isLarge) await this.#contained(records.remove(keyOf(id)));
    else await this.#contained(records.put(keyOf(id), stored, { ttlMs: idleMs * slack }));
  }

  /** The session of this id, if it is this principal's; `unavailable`: that cannot be said now. */
  async find(id: string, principal: Principal): Promise<ClientSetup | 'unavailable' | undefined> {
    let entry: RecordEntry | undefined | 'unavailable' = 'unavailable';
    const reading = this.#read(id).then((read) => {
      entry = read;
    });
    await within(this.#parts.clock, findMs, reading);
    return this.#judged(entry, id, principal);
  }

  /** One that is damaged is gone; a store that fails may work again soon. */
  async #read(id: string): Promise<RecordEntry | undefined | 'unavailable'> {
    try {
      return await this.#parts.records.get(keyOf(id));
    } catch (error) {
      if (!(error instanceof StoreError)) this.#parts.caught(error);
      return error instanceof StoreError && error.reason === 'unreadable'
        ? undefined
        : 'unavailable';
    }
  }

  #judged(
    entry: RecordEntry | undefined | 'unavailable',
    id: string,
    principal: Principal,
  ): ClientSetup | 'unavailable' | undefined {
    if (entry === 'unavailable') return entry;
    if (!isStoredSession(entry?.value)) return undefined;
    const { principal: owner, setup } = entry.value;
    if (owner.id !== principal.id) return undefined;
    if (owner.role === principal.role) return ClientSetup.from(setup);
    // A session does not outlive a change of rights.
    this.forget(id).catch(ignored);
    return undefined;
  }

  /** Resolves when it is forgotten, cannot be, or takes too long; never rejects. */
  async forget(id: string): Promise<void> {
    const { clock, records } = this.#parts;
    await within(clock, keepMs, this.#contained(records.remove(keyOf(id))).catch(ignored));
  }

  /** Forgets the sessions of everybody else: their access was revoked. */
  async forgetAllBut(principals: readonly Principal[]): Promise<void> {
    const known = new Set(principals.map(({ id }) => id));
    await this.#forgetWhere((id) => !known.has(id));
  }

  /** Forgets the sessions of these, by the ids of their principals: their access has ended. */
  async forgetOf(ids: ReadonlySet<string>): Promise<void> {
    await this.#forgetWhere((id) => ids.has(id));
  }

  /** What cannot be read belongs to nobody. */
  async #forgetWhere(isForgotten: (id: string) => boolean): Promise<void> {
    const { records } = this.#parts;
    // Part by part: there may be many.
    for (const digit of '0123456789abcdef') {
      for (const { key, value } of (await this.#contained(records.entries(digit))) ?? []) {
        if (isStoredSession(value) && !isForgotten(ownerIdIn(value.principal.id))) continue;
        await this.#contained(records.remove(key));
      }
    }
  }

  /** The store reports its own problems; here they only mean that nothing is kept. */
  async #contained<T>(work: Promise<T>): Promise<T | undefined> {
    try {
      return await work;
    } catch (error) {
      if (!(error instanceof StoreError)) this.#parts.caught(error);
      return undefined;
    }
  }
}

/** The id itself is a credential of sorts: with the token it opens the session. */
function keyOf(id: string): string {
  return hash('sha256', id, 'hex');
}

export function isStoredSession(value: unknown): value is StoredSession {
  if (!isRecord(value)) return false;
  const { principal, setup } = value;
  if (!isRecord(principal) || !isRecord(setup)) return false;
  const { id, role } = principal;
  const { initialize, level, subscriptions } = setup;
  return (
    typeof id === 'string' &&
    (role === null || typeof role === 'string') &&
    typeof initialize === 'string' &&
    (level === undefined || typeof level === 'string') &&
    Array.isArray(subscriptions) &&
    subscriptions.every((one) => typeof one === 'string')
  );
}
