// Legacy sessions in the durable store, so that the next request of a client works after a restart: most
// clients of that era never begin a new session by themselves. Under a hash of its id a session has its
// principal and what its client has said to set it up; nothing that was sent to it, and no work. What
// cannot be stored or read costs nobody a request: that session ends with the process. Where several replicas share
// the store, one of them holds the session, and says so in its record; another one takes it over only if that one is
// gone.

import { hash } from 'node:crypto';
import { type Clock, within } from '../../../kernel/clock.ts';
import { ignored } from '../../../kernel/contain.ts';
import { isRecord } from '../../../kernel/json-values.ts';
import { ownerIdIn, type Principal } from '../../../policy/principal.ts';
import type { RecordEntry, Records, Version } from '../../../store/contract/records.ts';
import { isAway } from '../../../store/read-again.ts';
import { StoreError } from '../../../store/store-error.ts';
import { ClientSetup, type SetupTexts } from '../../clients/client-setup.ts';
import { Elsewhere } from '../replicas/peers.ts';

/** A session, as it is stored. */
interface StoredSession {
  readonly principal: Principal;
  readonly setup: SetupTexts;
  /** The replica that has it; absent where there is only one. */
  readonly holder?: string | undefined;
  /** The one that it was taken over from. */
  readonly former?: string | undefined;
}

/** What this replica has stored last of a session. */
interface Written {
  readonly version: Version;
  /** When, at the latest; monotonic. */
  readonly at: number;
  readonly former: string | undefined;
}

/** What a client has said to set its session up, or where that session is; `unavailable`: that cannot be said now. */
export type KeptSession = ClientSetup | Elsewhere | 'unavailable' | undefined;

export interface KeptSessionsParts {
  readonly records: Records;
  /** This replica, where several share the records. */
  readonly replica?: string | undefined;
  /** They tell each other of sessions, also of those that could not be stored. */
  readonly areNearby?: boolean | undefined;
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
/** And no longer than this where its next request may reach another replica, which finds it in the store only. */
const sharedKeepMs = 5_000;
/** And no longer than this for its session to be found. */
const findMs = 5_000;
/** More than a client can say to set a session up (`ClientSetup.refusal`), as JSON in JSON. */
const maxBytes = 1_048_576;
/** One that is connected is used, and stored again, whenever its idle time would be over. */
const slack = 1.5;
/** So often a change is tried again that met another one of the same session. */
const maxConflicts = 8;

export class KeptSessions {
  readonly #parts: KeptSessionsParts;
  /** Each as long as its session is kept. */
  readonly #written = new WeakMap<ClientSetup, Written>();
  /** Something was stored, or could not be for so long. */
  #isOpen = false;

  constructor(parts: KeptSessionsParts) {
    this.#parts = parts;
  }

  /**
   * Resolves when it is stored, cannot be, or takes too long; never rejects. `lost` is called, maybe later, if another
   * replica has it now, or it has ended.
   */
  async keep(
    id: string,
    principal: Principal,
    setup: ClientSetup,
    lost: () => void = ignored,
  ): Promise<void> {
    const { clock, replica, areNearby } = this.#parts;
    const ownMs = this.#isOpen ? keepMs : openMs;
    const ms = replica === undefined || areNearby ? ownMs : sharedKeepMs;
    const putting = this.#put(id, principal, setup).then((isOurs) => {
      if (!isOurs) lost();
    });
    await within(clock, ms, putting.catch(this.#parts.caught));
    this.#isOpen = true;
  }

  async #put(id: string, principal: Principal, setup: ClientSetup): Promise<boolean> {
    const { records, idleMs, replica } = this.#parts;
    const stored = this.#stored(principal, setup, this.formerOf(setup));
    if (stored === undefined) return true;
    const isLarge = JSON.stringify(stored).length > maxBytes;
    if (isLarge) await this.#contained(records.remove(keyOf(id)));
    else if (replica !== undefined) return await this.#putShared(id, stored, setup);
    else await this.#contained(records.put(keyOf(id), stored, { ttlMs: idleMs * slack }));
    return true;
  }

  #stored(
    { id, role }: Principal,
    { texts }: ClientSetup,
    former: string | undefined,
  ): StoredSession | undefined {
    const { replica: holder } = this.#parts;
    if (texts === undefined) return undefined;
    const stored = { principal: { id, role }, setup: texts };
    if (holder === undefined) return stored;
    return former === undefined ? { ...stored, holder } : { ...stored, holder, former };
  }

  /** Replicas are processes of one gateway: what the store cannot say, they have told each other. */
  get areNearby(): boolean {
    return this.#parts.areNearby === true;
  }

  /** The replica that had this session before, if it was taken over. */
  formerOf(setup: ClientSetup): string | undefined {
    return this.#written.get(setup)?.former;
  }

  /** Everything stored is gone after that time: nobody has ended it. */
  #isExpired({ at }: Written): boolean {
    const { clock, idleMs } = this.#parts;
    return clock.now() - at >= idleMs * slack;
  }

  /** Only while it is ours: another replica may have taken it over while this one stood still. */
  async #putShared(id: string, stored: StoredSession, setup: ClientSetup): Promise<boolean> {
    const { records, idleMs, replica, clock } = this.#parts;
    const ttl = { ttlMs: idleMs * slack };
    const { former } = stored;
    for (let tried = 0; tried < maxConflicts; tried += 1) {
      const written = this.#written.get(setup);
      const at = clock.now();
      const changing =
        written === undefined
          ? records.putIfAbsent(keyOf(id), stored, ttl)
          : records.compareAndSet(keyOf(id), written.version, stored, ttl);
      const put = await this.#contained(changing);
      if (put === undefined) return true;
      if (put.isPut) {
        this.#written.set(setup, { version: put.version, at, former });
        return true;
      }
      const { entry } = put;
      if (entry === undefined && written !== undefined && this.#isExpired(written)) {
        this.#written.delete(setup);
        continue;
      }
      // Two changes of our own have met.
      if (!isStoredSession(entry?.value) || entry.value.holder !== replica) return false;
      this.#written.set(setup, { version: entry.version, at, former });
    }
    return true;
  }

  /** The session of this id, if it is this principal's. */
  async find(id: string, principal: Principal): Promise<KeptSession> {
    const entry = await this.#readInTime(id);
    return this.#judged(entry, id, principal);
  }

  /** The same, and it is ours from now on: the replica that had it is gone. */
  async takeOver(id: string, principal: Principal, from: Elsewhere): Promise<KeptSession> {
    const { records, idleMs, clock } = this.#parts;
    const entry = await this.#readInTime(id);
    const found = this.#judged(entry, id, principal);
    if (!(found instanceof Elsewhere) || found.replica !== from.replica) return found;
    if (entry === 'unavailable' || !isStoredSession(entry?.value)) return undefined;
    const setup = ClientSetup.from(entry.value.setup);
    const former = from.replica;
    const stored = setup && this.#stored(principal, setup, former);
    if (setup === undefined || stored === undefined) return undefined;
    const ttl = { ttlMs: idleMs * slack };
    const at = clock.now();
    const put = await this.#contained(records.compareAndSet(keyOf(id), entry.version, stored, ttl));
    if (put === undefined) return 'unavailable';
    if (!put.isPut) return this.#judged(put.entry, id, principal);
    this.#written.set(setup, { version: put.version, at, former });
    return setup;
  }

  /** Whether a session that is open here is still ours; undefined: it has ended elsewhere. */
  async look(
    id: string,
    principal: Principal,
    setup: ClientSetup,
  ): Promise<'ours' | Elsewhere | 'unavailable' | undefined> {
    const entry = await this.#readInTime(id);
    if (entry === 'unavailable') return entry;
    const written = this.#written.get(setup);
    // It was opened while nothing could be stored, or was in use for longer than its record could be renewed.
    if (entry === undefined && (written === undefined || this.#isExpired(written))) {
      this.#written.delete(setup);
      return (await this.#put(id, principal, setup)) ? 'ours' : 'unavailable';
    }
    if (!isStoredSession(entry?.value)) return undefined;
    const { holder } = entry.value;
    if (holder !== undefined && holder !== this.#parts.replica) return new Elsewhere(holder);
    const { at, former } = written ?? this.#readNow(entry.value);
    this.#written.set(setup, { version: entry.version, at, former });
    return 'ours';
  }

  #readNow({ former }: StoredSession): Omit<Written, 'version'> {
    return { at: this.#parts.clock.now(), former };
  }

  async #readInTime(id: string): Promise<RecordEntry | undefined | 'unavailable'> {
    let entry: RecordEntry | undefined | 'unavailable' = 'unavailable';
    const reading = this.#read(id).then((read) => {
      entry = read;
    });
    await within(this.#parts.clock, findMs, reading);
    return entry;
  }

  /** One that is damaged is gone; a store that fails may work again soon. */
  async #read(id: string): Promise<RecordEntry | undefined | 'unavailable'> {
    try {
      return await this.#parts.records.get(keyOf(id));
    } catch (error) {
      if (!(error instanceof StoreError)) this.#parts.caught(error);
      const isDamaged = error instanceof StoreError && error.reason === 'unreadable';
      return isDamaged && !isAway(error) ? undefined : 'unavailable';
    }
  }

  #judged(
    entry: RecordEntry | undefined | 'unavailable',
    id: string,
    principal: Principal,
  ): KeptSession {
    if (entry === 'unavailable') return entry;
    if (entry === undefined || !isStoredSession(entry.value)) return undefined;
    const { version, value } = entry;
    const { principal: owner, setup, holder } = value;
    if (owner.id !== principal.id) return undefined;
    if (owner.role === principal.role) {
      const { replica } = this.#parts;
      if (replica !== undefined && holder !== undefined && holder !== replica) {
        return new Elsewhere(holder);
      }
      const kept = ClientSetup.from(setup);
      // One that is ours and not here: what was stored was not confirmed.
      if (kept !== undefined) this.#written.set(kept, { version, ...this.#readNow(value) });
      return kept;
    }
    // A session does not outlive a change of rights.
    this.forget(id).catch(ignored);
    return undefined;
  }

  /** Resolves when it is forgotten, cannot be, or takes too long; never rejects. */
  async forget(id: string): Promise<void> {
    const { clock } = this.#parts;
    await within(clock, keepMs, this.#contained(this.#remove(id)).catch(ignored));
  }

  /** Where replicas share the records, only what is ours: another one may have taken it over. */
  async #remove(id: string): Promise<void> {
    const { records, replica } = this.#parts;
    if (replica !== undefined) {
      const { value } = (await records.get(keyOf(id))) ?? {};
      if (isStoredSession(value) && value.holder !== undefined && value.holder !== replica) return;
    }
    await records.remove(keyOf(id));
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
  const { principal, setup, holder, former } = value;
  if (!isRecord(principal) || !isRecord(setup)) return false;
  const { id, role } = principal;
  const { initialize, level, subscriptions } = setup;
  return (
    typeof id === 'string' &&
    (holder === undefined || typeof holder === 'string') &&
    (former === undefined || typeof former === 'string') &&
    (role === null || typeof role === 'string') &&
    typeof initialize === 'string' &&
    (level === undefined || typeof level === 'string') &&
    Array.isArray(subscriptions) &&
    subscriptions.every((one) => typeof one === 'string')
  );
}
