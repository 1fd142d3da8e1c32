// The letters that the hub keeps: their numbers, what they weigh, by sender and in all, and that each is on the disk
// (`inbox.ts`) until it is done with. Which reader has a letter is known to its shelf.

import type { Clock } from '../../kernel/clock.ts';
import { ignored } from '../../kernel/contain.ts';
import { RingMap } from '../../kernel/ring-map.ts';
import type { Log } from '../../store/contract/log.ts';
import { StoreError } from '../../store/store-error.ts';
import { BrokerError } from '../broker-error.ts';
import type { Letter } from '../contract.ts';
import { type Held, heldFrom, ownBody, storedFrom } from './held.ts';
import { Inbox } from './inbox.ts';
import { type HubLimits, weightOf } from './limits.ts';
import type { Member } from './member.ts';
import { SenderShares } from './sender-shares.ts';
import type { Shelf } from './shelf.ts';

/** So many letters are kept at once, as a rule. */
const usualLetters = 4_096;

export class KeptLetters {
  readonly #clock: Clock;
  readonly #limits: HubLimits;
  readonly #inbox: Inbox;
  /** The shelf of each kept letter, by number; bounded by the limits of shelves. */
  readonly #shelfOf = new RingMap<number, Shelf>(usualLetters);
  readonly #shares = new SenderShares();
  #bytes = 0;
  #nextNumber = 1;

  constructor(log: Log, clock: Clock, limits: HubLimits) {
    this.#clock = clock;
    this.#limits = limits;
    this.#inbox = new Inbox(log, clock, (number) => {
      const held = this.#shelfOf.get(number)?.letter(number);
      return held && storedFrom(held);
    });
  }

  get size(): number {
    return this.#shelfOf.size;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** What an earlier process has kept, each on its shelf; how many entries cannot be read. */
  async load(shelfFor: (held: Held) => Shelf): Promise<number> {
    const { letters, unreadable, nextNumber } = await this.#inbox.load();
    this.#nextNumber = nextNumber;
    const now = { wall: this.#clock.wallNow(), monotonic: this.#clock.now() };
    for (const stored of letters) {
      const held = heldFrom(stored, now);
      const shelf = shelfFor(held);
      this.#remember(shelf, held);
      shelf.put(held);
    }
    return unreadable;
  }

  /** Throws a BrokerError if there is no room; resolves when it is on the disk. */
  keep(shelf: Shelf, member: Member, letter: Letter): Promise<void> {
    const { id, seat } = letter;
    const same = shelf.sameAs({ from: member.sender, id, seat });
    if (same !== undefined) return same.isUnkept ? this.#store(shelf, same) : same.stored;
    this.#assertRoom(member, letter, shelf);
    const held = this.#held(member, letter);
    this.#remember(shelf, held);
    const stored = this.#store(shelf, held);
    shelf.put(held);
    return stored;
  }

  /** It is kept no longer by its shelf, if this member has it; `done` says so to the disk. */
  take({ identity, seat }: Member, number: number): Held | undefined {
    const shelf = this.#shelfOf.get(number);
    const isTheirs = shelf?.letter(number)?.to === identity.mailbox;
    const held = isTheirs ? shelf?.take(seat, number) : undefined;
    if (held !== undefined) this.#forget(held);
    return held;
  }

  /** It has left its shelf by itself: its time is over, or its sender's. */
  hasLeft(held: Held): void {
    this.#forget(held);
    // A disk that refuses is known from what is written for others; it leaves again after a restart.
    this.done(held).catch(ignored);
  }

  /** Those that nobody has begun with are handed to nobody. */
  withdraw(isUnwanted: (held: Held) => boolean): void {
    for (const shelf of new Set(this.#shelfOf.values())) {
      for (const held of shelf.letters.filter(isUnwanted)) {
        if (!shelf.withdraw(held.number)) continue;
        this.#forget(held);
        // A disk that refuses is known from what is written for others; it is withdrawn again after a restart.
        this.done(held).catch(ignored);
      }
    }
  }

  /** Resolves when the disk knows it. */
  done({ number }: Held): Promise<void> {
    return this.#inbox.done(number);
  }

  /** When nothing is being written any more. */
  settled(): Promise<void> {
    return this.#inbox.settled();
  }

  #store(shelf: Shelf, held: Held): Promise<void> {
    held.isUnkept = false;
    const put = this.#inbox.put(held.number, { to: held.to, bytes: held.body.length }, () => {
      // From now on it may stay for long.
      held.body = ownBody(held.body);
      return storedFrom(held);
    });
    held.stored = put.catch((error: unknown) => {
      this.#drop(shelf, held);
      throw notKept(error, held);
    });
    // Whoever waits for it hears of it; nobody need.
    held.stored.catch(ignored);
    return held.stored;
  }

  #assertRoom({ identity }: Member, letter: Letter, shelf: Shelf): void {
    const weight = weightOf(letter);
    const { maxTotalBytes, maxWorkerLetters: letters, maxWorkerBytes: bytes } = this.#limits;
    if (!shelf.hasRoomFor(weight) || this.#bytes + weight > maxTotalBytes) {
      throw new BrokerError('full', `the mailbox ${letter.to} is full`);
    }
    if (
      identity.kind === 'worker' &&
      !this.#shares.hasRoom(identity.mailbox, weight, { letters, bytes })
    ) {
      throw new BrokerError('full', `too many letters of ${identity.mailbox} are not read yet`);
    }
  }

  #held(member: Member, letter: Letter): Held {
    const { id, to, credential, seat, kind, about, ttlMs, body } = letter;
    const number = this.#nextNumber;
    this.#nextNumber += 1;
    const livesMs = this.#lifeOf(member, ttlMs);
    return {
      number,
      id,
      from: member.sender,
      to,
      credential,
      seat,
      kind,
      about,
      expiresAt: livesMs === undefined ? undefined : this.#clock.wallNow() + livesMs,
      endsAt: livesMs === undefined ? undefined : this.#clock.now() + livesMs,
      body,
      stored: Promise.resolve(),
      wasHanded: false,
      isUnkept: false,
    };
  }

  /** Undefined: until it is read. */
  #lifeOf({ identity }: Member, ttlMs: number | undefined): number | undefined {
    if (identity.kind !== 'worker') return ttlMs;
    return Math.min(ttlMs ?? Number.POSITIVE_INFINITY, this.#limits.maxWorkerMs);
  }

  #remember(shelf: Shelf, held: Held): void {
    this.#shelfOf.set(held.number, shelf);
    this.#bytes += weightOf(held);
    this.#shares.add(held.from.mailbox, weightOf(held));
  }

  #forget(held: Held): void {
    this.#shelfOf.delete(held.number);
    this.#bytes -= weightOf(held);
    this.#shares.remove(held.from.mailbox, weightOf(held));
  }

  /** It is not on the disk: it goes to nobody who does not have it already. */
  #drop(shelf: Shelf, held: Held): void {
    if (shelf.withdraw(held.number)) this.#forget(held);
    else held.isUnkept = true;
  }
}

/** `full` says that nobody has it, and nobody will: not so if a reader had it meanwhile. */
function notKept(error: unknown, { wasHanded }: Held): unknown {
  if (!(error instanceof StoreError)) return error;
  const isNobodys = error.reason === 'full' && !wasHanded;
  return new BrokerError(isNobodys ? 'full' : 'not_kept', error.message);
}
