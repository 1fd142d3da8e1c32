// The embedded broker without its sockets: members that have joined with a verified identity, their mailboxes, and
// what happens with each letter. It decides who may write to whom, keeps what is delivered (`inbox.ts`), hands it
// to readers (`shelf.ts`) and confirms it to its sender when it is on the disk. A letter is handed on while it is
// being written: if the broker dies in between, its sender has no confirmation and sends it again.

import type { Clock } from '../../kernel/clock.ts';
import { ignored } from '../../kernel/contain.ts';
import type { Log } from '../../store/contract/log.ts';
import { StoreError } from '../../store/store-error.ts';
import { BrokerError } from '../broker-error.ts';
import type { Letter } from '../contract.ts';
import { type Identity, mayWrite } from '../identity.ts';
import type { Held } from './held.ts';
import { Inbox } from './inbox.ts';
import { type HubLimits, usualHubLimits, weightOf } from './limits.ts';
import { Member, type Peer } from './member.ts';
import { SenderShares } from './sender-shares.ts';
import { Shelf } from './shelf.ts';
import { bodyOf, type StoredLetter, storedBody } from './stored-letter.ts';

export interface HubOptions {
  readonly clock: Clock;
  readonly letters: Log;
  /** Letters that somebody could not read. */
  readonly aside: Log;
  /** Who has this mailbox, by the present credentials. */
  readonly ownerOf: (mailbox: string) => Identity | undefined;
  /** For people. */
  readonly report: (text: string) => void;
  readonly limits?: Partial<HubLimits>;
}

export interface HubFigures {
  readonly members: number;
  readonly letters: number;
  readonly bytes: number;
  /** Since the start: kept ones whose time was over before anybody read them. */
  readonly expired: number;
}

const sweepEveryMs = 5_000;
/** Of those that were put aside; the oldest go first. */
const maxAside = 1_000;

export class Hub {
  readonly #clock: Clock;
  readonly #options: HubOptions;
  readonly #limits: HubLimits;
  readonly #inbox: Inbox;
  /** By mailbox and kind; at most twice `maxKinds` for each mailbox with a credential. */
  readonly #shelves = new Map<string, Map<string, Shelf>>();
  /** By mailbox and seat; one for each open link. */
  readonly #members = new Map<string, Map<string, Member>>();
  /** The shelf of each kept letter, by number; bounded by the limits of shelves. */
  readonly #shelfOf = new Map<number, Shelf>();
  readonly #shares = new SenderShares();
  #bytes = 0;
  #isClosing = false;
  #expired = 0;
  #nextNumber = 1;
  #sweeping: Disposable | undefined;

  private constructor(options: HubOptions) {
    this.#options = options;
    this.#clock = options.clock;
    this.#limits = { ...usualHubLimits, ...options.limits };
    this.#inbox = new Inbox(options.letters, (number) => {
      const held = this.#shelfOf.get(number)?.letter(number);
      return held && asStored(held);
    });
  }

  /** Reads what an earlier process has kept. Rejects with a StoreError. */
  static async open(options: HubOptions): Promise<Hub> {
    const hub = new Hub(options);
    await hub.#load();
    hub.#scheduleSweep();
    return hub;
  }

  get limits(): HubLimits {
    return this.#limits;
  }

  get figures(): HubFigures {
    const members = [...this.#members.values()].reduce((sum, seats) => sum + seats.size, 0);
    const letters = this.#shelfOf.size;
    return { members, letters, bytes: this.#bytes, expired: this.#expired };
  }

  /** A newer link in the same seat replaces the older one. Throws a BrokerError. */
  join(identity: Identity, seat: string, peer: Peer): Member {
    this.#assertOpen();
    const { mailbox } = identity;
    // It may have been revoked since the link was opened.
    if (this.#options.ownerOf(mailbox) !== identity) throw revoked();
    this.#members
      .get(mailbox)
      ?.get(seat)
      ?.end(new BrokerError('replaced', 'a newer link has this seat'));
    // Looked up only now: the end of the only link of a mailbox ends its entry.
    const seats = this.#members.get(mailbox) ?? new Map<string, Member>();
    if (seats.size >= this.#limits.maxSeats) {
      throw new BrokerError('full', `the mailbox ${mailbox} has ${seats.size} links`);
    }
    const member = new Member(this, identity, seat, peer);
    this.#members.set(mailbox, seats.set(seat, member));
    return member;
  }

  /** Those whose credential is gone, or another one now, are members no longer. */
  credentialsChanged(): void {
    for (const member of this.#allMembers()) {
      const now = this.#options.ownerOf(member.identity.mailbox);
      if (now === member.identity) continue;
      member.end(revoked());
    }
  }

  /** Takes nothing more; every link ends when what was taken is on the disk and confirmed. */
  async close(): Promise<void> {
    this.#isClosing = true;
    this.#sweeping?.[Symbol.dispose]();
    await this.#inbox.settled();
    // Confirmations are sent at the end of the turn.
    await new Promise((resolve) => setImmediate(resolve));
    for (const member of this.#allMembers()) member.end(closing());
    await this.#inbox.settled();
  }

  /** Throws a BrokerError if it is not taken; resolves when it is on the disk. */
  deliver(member: Member, letter: Letter): Promise<void> {
    const shelf = this.#shelfFor(member, letter);
    const same = shelf.sameAs(member.identity.mailbox, letter.id);
    if (same !== undefined) return same.isUnkept ? this.#store(shelf, same) : same.stored;
    this.#assertRoom(member, letter, shelf);
    const held = this.#held(member, letter);
    this.#remember(shelf, held);
    const stored = this.#store(shelf, held);
    shelf.put(held);
    return stored;
  }

  #store(shelf: Shelf, held: Held): Promise<void> {
    held.isUnkept = false;
    held.stored = this.#inbox.put(asStored(held)).catch((error: unknown) => {
      this.#drop(shelf, held);
      throw notKept(error);
    });
    // Whoever waits for it hears of it; nobody need.
    held.stored.catch(ignored);
    return held.stored;
  }

  #assertRoom({ identity }: Member, letter: Letter, shelf: Shelf): void {
    const weight = weightOf(letter);
    const { maxTotalBytes } = this.#limits;
    if (!shelf.hasRoomFor(weight) || this.#bytes + weight > maxTotalBytes) {
      throw new BrokerError('full', `the mailbox ${letter.to} is full`);
    }
    if (
      identity.kind === 'worker' &&
      !this.#shares.hasRoom(identity.mailbox, weight, this.#limits)
    ) {
      throw new BrokerError('full', `too many letters of ${identity.mailbox} are not read yet`);
    }
  }

  /** Throws a BrokerError if it is not passed on. */
  tell(member: Member, letter: Letter): void {
    const shelf = this.#shelfFor(member, letter);
    const handed = {
      number: 0,
      id: letter.id,
      from: member.sender,
      kind: letter.kind,
      about: letter.about,
      ttlMs: letter.ttlMs,
      body: letter.body,
    };
    const readers = this.#told(letter, shelf);
    if (readers.length === 0)
      throw new BrokerError('absent', `nobody reads ${letter.kind} of ${letter.to} now`);
    const keepingUp = readers.filter(
      ({ peer }) => peer.backlogBytes <= this.#limits.maxBacklogBytes,
    );
    if (keepingUp.length === 0) {
      throw new BrokerError('full', `the reader of ${letter.to} does not keep up`);
    }
    for (const { peer } of keepingUp) peer.hand(handed);
  }

  receive(member: Member, kind: string): void {
    const shelf = this.#shelf(member.identity.mailbox, kind, true);
    shelf.join({
      seat: member.seat,
      hand: (held) => member.handKept(held, this.#remaining(held)),
    });
  }

  /** Nothing happens unless this member has it. */
  acknowledge(member: Member, number: number): void {
    const held = this.#take(member, number);
    // A disk that refuses is known from what is written for others; the letter comes again after a restart.
    if (held !== undefined) this.#inbox.done(held.number).catch(ignored);
  }

  /** As above; it is not done with before it is on the disk in its new place. */
  setAside(member: Member, number: number, why: string): void {
    const held = this.#take(member, number);
    if (held === undefined) return;
    const { aside, report } = this.#options;
    report(
      `a letter of the kind ${held.kind} from ${held.from.mailbox} to ${held.to} could not be read and was put aside: ${why}`,
    );
    aside
      .append({ ...asStored(held), why, at: this.#clock.wallNow() })
      .then((last) => Promise.all([this.#inbox.done(held.number), aside.trim(last + 1 - maxAside)]))
      // It comes again after a restart.
      .catch(ignored);
  }

  /** Those that this member may write to and that have a link. */
  present({ identity }: Member): readonly string[] {
    const among =
      identity.kind === 'worker'
        ? identity.to.filter((mailbox) => this.#members.has(mailbox))
        : [...this.#members.keys()];
    return among.filter((mailbox) => mayWrite(identity, this.#options.ownerOf(mailbox)));
  }

  left(member: Member): void {
    const { mailbox } = member.identity;
    const seats = this.#members.get(mailbox);
    if (seats?.get(member.seat) !== member) return;
    seats.delete(member.seat);
    if (seats.size === 0) this.#members.delete(mailbox);
    for (const shelf of this.#shelves.get(mailbox)?.values() ?? []) shelf.leave(member.seat);
    this.#tidy(mailbox);
  }

  #shelfFor(member: Member, { to, kind, body }: Letter): Shelf {
    this.#assertOpen();
    const { maxBodyBytes } = this.#limits;
    if (body.length > maxBodyBytes) {
      throw new BrokerError(
        'too_large',
        `a letter has at most ${maxBodyBytes} bytes, not ${body.length}`,
      );
    }
    // Whether there is such a mailbox is not told to those who may not write to it.
    if (!mayWrite(member.identity, this.#options.ownerOf(to))) {
      throw new BrokerError('not_allowed', `this credential may not write to ${to}`);
    }
    return this.#shelf(to, kind);
  }

  /** For a reader there is always room among those that the mailbox reads, whatever others have sent. */
  #shelf(mailbox: string, kind: string, isForReader = false): Shelf {
    const known = this.#shelves.get(mailbox)?.get(kind);
    if (known !== undefined && (known.hadReader || !isForReader)) return known;
    if (this.#kinds(mailbox, isForReader) >= this.#limits.maxKinds) this.#tidy(mailbox);
    if (this.#kinds(mailbox, isForReader) >= this.#limits.maxKinds) {
      const words = `the mailbox ${mailbox} has ${this.#limits.maxKinds} kinds of mail`;
      throw new BrokerError('full', words);
    }
    return known ?? this.#newShelf(mailbox, kind);
  }

  #newShelf(mailbox: string, kind: string): Shelf {
    const shelf = new Shelf({
      limits: this.#limits,
      now: () => this.#clock.now(),
      expired: (held) => this.#hasExpired(held),
    });
    const shelves = this.#shelves.get(mailbox) ?? new Map<string, Shelf>();
    this.#shelves.set(mailbox, shelves.set(kind, shelf));
    return shelf;
  }

  /** How many it has: of those that it reads, or of the others. */
  #kinds(mailbox: string, areRead: boolean): number {
    const shelves = [...(this.#shelves.get(mailbox)?.values() ?? [])];
    return shelves.filter(({ hadReader }) => hadReader === areRead).length;
  }

  /** Empty shelves need no place, but those that a mailbox reads keep theirs while its link is away. */
  #tidy(mailbox: string): void {
    const shelves = this.#shelves.get(mailbox);
    const isOwned = this.#options.ownerOf(mailbox) !== undefined;
    for (const [kind, shelf] of shelves ?? []) {
      if (shelf.isEmpty && !(shelf.hadReader && isOwned)) shelves?.delete(kind);
    }
    if (shelves?.size === 0) this.#shelves.delete(mailbox);
  }

  #told({ to, seat, toAll }: Letter, shelf: Shelf): readonly Member[] {
    const seats = this.#members.get(to);
    const memberOf = (name: string | undefined) =>
      name === undefined ? undefined : seats?.get(name);
    const named = toAll
      ? shelf.readers.map((reader) => memberOf(reader.seat))
      : [memberOf(seat === undefined ? shelf.nextReader()?.seat : shelf.readerOf(seat)?.seat)];
    return named.filter((member) => member !== undefined);
  }

  #held(member: Member, { id, to, seat, kind, about, ttlMs, body }: Letter): Held {
    const number = this.#nextNumber;
    this.#nextNumber += 1;
    return {
      number,
      id,
      from: member.sender,
      to,
      seat,
      kind,
      about,
      expiresAt: ttlMs === undefined ? undefined : this.#clock.wallNow() + ttlMs,
      endsAt: ttlMs === undefined ? undefined : this.#clock.now() + ttlMs,
      body,
      stored: Promise.resolve(),
      isUnkept: false,
    };
  }

  #remaining({ endsAt }: Held): number | undefined {
    return endsAt === undefined ? undefined : Math.max(1, endsAt - this.#clock.now());
  }

  #take(member: Member, number: number): Held | undefined {
    const shelf = this.#shelfOf.get(number);
    const isTheirs = shelf?.letter(number)?.to === member.identity.mailbox;
    const held = isTheirs ? shelf?.take(member.seat, number) : undefined;
    if (held !== undefined) this.#forget(held);
    return held;
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

  async #load(): Promise<void> {
    const { letters, unreadable, nextNumber } = await this.#inbox.load();
    this.#nextNumber = nextNumber;
    if (unreadable > 0)
      this.#options.report(`${unreadable} entries of the inbox cannot be read and are left out`);
    const wallNow = this.#clock.wallNow();
    for (const stored of letters) {
      const held = this.#asHeld(stored, wallNow);
      // What was taken is kept, also if the limits are others now.
      const known = this.#shelves.get(held.to)?.get(held.kind);
      const shelf = known ?? this.#newShelf(held.to, held.kind);
      this.#remember(shelf, held);
      shelf.put(held);
    }
    this.#expire();
  }

  #asHeld(stored: StoredLetter, wallNow: number): Held {
    const { number, id, from, to, kind, about, seat, expiresAt } = stored;
    const left = expiresAt === null ? undefined : expiresAt - wallNow;
    return {
      number,
      id,
      from,
      to,
      seat: seat ?? undefined,
      kind,
      about: about ?? undefined,
      expiresAt: expiresAt ?? undefined,
      endsAt: left === undefined ? undefined : this.#clock.now() + left,
      body: bodyOf(stored),
      stored: Promise.resolve(),
      isUnkept: false,
    };
  }

  #scheduleSweep(): void {
    const sweep = () => {
      this.#expire();
      this.#scheduleSweep();
    };
    this.#sweeping = this.#clock.after(sweepEveryMs, sweep, true);
  }

  #expire(): void {
    for (const [mailbox, shelves] of this.#shelves) {
      for (const shelf of shelves.values()) shelf.expire();
      this.#tidy(mailbox);
    }
  }

  #hasExpired(held: Held): void {
    this.#expired += 1;
    this.#forget(held);
    // A disk that refuses is known from what is written for others; it expires again after a restart.
    this.#inbox.done(held.number).catch(ignored);
  }

  #assertOpen(): void {
    if (this.#isClosing) throw closing();
  }

  #allMembers(): readonly Member[] {
    return [...this.#members.values()].flatMap((seats) => [...seats.values()]);
  }
}

function revoked(): BrokerError {
  return new BrokerError('unauthorized', 'the credential of this link was changed or revoked');
}

function closing(): BrokerError {
  return new BrokerError('lost', 'the broker ends');
}

function asStored(held: Held): StoredLetter {
  const { number, id, from, to, seat, kind, about, expiresAt, body } = held;
  return {
    number,
    id,
    from,
    to,
    seat: seat ?? null,
    kind,
    about: about ?? null,
    expiresAt: expiresAt ?? null,
    ...storedBody(body),
  };
}

function notKept(error: unknown): unknown {
  if (!(error instanceof StoreError)) return error;
  return new BrokerError(error.reason === 'full' ? 'full' : 'not_kept', error.message);
}
