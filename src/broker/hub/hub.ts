// The embedded broker without its sockets: members that have joined with a verified identity, and what happens with
// each letter. It decides who may write to whom, keeps what is delivered (`kept-letters.ts`), hands it to readers
// (`shelves.ts`) and confirms it to its sender when it is on the disk. A letter is handed on while it is being
// written: if the broker dies in between, its sender has no confirmation and sends it again.

import type { Clock } from '../../kernel/clock.ts';
import { ignored } from '../../kernel/contain.ts';
import { RareLine } from '../../kernel/rare-line.ts';
import type { Log } from '../../store/contract/log.ts';
import type { Records } from '../../store/contract/records.ts';
import { isOfWorker } from '../address.ts';
import { BrokerError } from '../broker-error.ts';
import type { Letter } from '../contract.ts';
import { type Identity, mayWrite } from '../identity.ts';
import { type Held, storedFrom } from './held.ts';
import { KeptLetters } from './kept-letters.ts';
import { type HubLimits, usualHubLimits } from './limits.ts';
import { MailboxStores } from './mailbox-stores.ts';
import { Member, type Peer } from './member.ts';
import { Members } from './members.ts';
import type { Shelf } from './shelf.ts';
import { Shelves } from './shelves.ts';
import { writtenLetter } from './stored-letter.ts';

export interface HubOptions {
  readonly clock: Clock;
  readonly letters: Log;
  /** Letters that somebody could not read. */
  readonly aside: Log;
  /** Which store the links of each mailbox use; absent: it is not known after a restart. */
  readonly stores?: Records;
  /** Who has this mailbox, by the present credentials. */
  readonly ownerOf: (mailbox: string) => Identity | undefined;
  /** Whether all credentials were read once: until then one that is not found is not known to be gone. Absent: they were. */
  readonly areAllKnown?: () => boolean;
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
  /** Any member can cause it. */
  readonly #asideLine: RareLine;
  readonly #options: HubOptions;
  readonly limits: HubLimits;
  readonly #members: Members;
  readonly #shelves: Shelves;
  readonly #kept: KeptLetters;
  readonly #stores: MailboxStores;
  #isClosing = false;
  #expired = 0;
  #sweeping: Disposable | undefined;

  private constructor(options: HubOptions) {
    const { clock, letters, ownerOf } = options;
    const limits = { ...usualHubLimits, ...options.limits };
    this.#options = options;
    this.#clock = clock;
    this.#asideLine = new RareLine(clock, options.report);
    this.limits = limits;
    this.#members = new Members(limits.maxSeats);
    this.#kept = new KeptLetters(letters, clock, limits);
    this.#stores = new MailboxStores(options.stores, () => clock.now());
    this.#shelves = new Shelves({
      limits,
      now: () => clock.now(),
      isOwned: (mailbox) => ownerOf(mailbox) !== undefined,
      expired: (held) => {
        this.#expired += 1;
        this.#kept.hasLeft(held);
      },
      isRevoked: (held) => this.#isOfRevoked(held),
      revoked: (held) => this.#kept.hasLeft(held),
      isUncertain: ({ from, to }) => this.#isUncertain(from.mailbox) || this.#isUncertain(to),
    });
  }

  /** Reads what an earlier process has kept. Rejects with a StoreError. */
  static async open(options: HubOptions): Promise<Hub> {
    const hub = new Hub(options);
    const shelfFor = ({ to, kind }: Held) => hub.#shelves.getAnyway(to, kind);
    await hub.#stores.load();
    const unreadable = await hub.#kept.load(shelfFor);
    if (unreadable > 0)
      options.report(`${unreadable} entries of the inbox cannot be read and are left out`);
    hub.#shelves.expire();
    hub.#withdrawOfRevoked();
    hub.#scheduleSweep();
    return hub;
  }

  get figures(): HubFigures {
    const { size: letters, bytes } = this.#kept;
    return { members: this.#members.size, letters, bytes, expired: this.#expired };
  }

  /**
   * A newer link in the same seat replaces the older one. `store`: where it remembers calls; one that remembers none has
   * none. Throws a BrokerError.
   */
  join(identity: Identity, seat: string, peer: Peer, store?: string): Member {
    this.#assertOpen();
    const { mailbox } = identity;
    // It may have been revoked since the link was opened.
    if (this.#options.ownerOf(mailbox) !== identity) throw revoked();
    this.#stores.assertSame(mailbox, store);
    this.#members.makeRoom(mailbox, seat);
    const member = new Member(this, identity, seat, peer, store);
    this.#members.add(member);
    this.#stores.joined(mailbox, store);
    return member;
  }

  /** Those whose credential is gone, or another one now, are members no longer. */
  credentialsChanged(): void {
    for (const member of this.#members.all) {
      const now = this.#options.ownerOf(member.identity.mailbox);
      if (now !== member.identity) member.end(revoked());
    }
    this.#withdrawOfRevoked();
  }

  /** All credentials were read for the first time: what was held back goes to its reader, or to nobody. */
  credentialsKnown(): void {
    this.#withdrawOfRevoked();
    this.#shelves.handOut();
  }

  /** Takes nothing more; every link ends when what was taken is on the disk and confirmed. */
  async close(): Promise<void> {
    this.#isClosing = true;
    this.#sweeping?.[Symbol.dispose]();
    await this.#kept.settled();
    // Confirmations are sent at the end of the turn.
    await new Promise((resolve) => setImmediate(resolve));
    for (const member of this.#members.all) member.end(closing());
    await this.#kept.settled();
  }

  /** Throws a BrokerError if it is not taken; resolves when it is on the disk. */
  deliver(member: Member, letter: Letter): Promise<void> {
    const shelf = this.#shelfFor(member, letter);
    // In a seat that does not exist nobody would read it, and it would take the room of all.
    if (member.identity.kind === 'worker' && letter.seat !== undefined) {
      const words = `a worker may deliver to ${letter.to}, not to one of its seats`;
      throw new BrokerError('not_allowed', words);
    }
    return this.#kept.keep(shelf, member, { ...letter, credential: this.#holderOf(letter) });
  }

  /** Throws a BrokerError if it is not passed on. */
  tell(member: Member, letter: Letter): void {
    const shelf = this.#shelfFor(member, letter);
    this.#holderOf(letter);
    const { id, kind, about, ttlMs, body } = letter;
    const handed = { number: 0, id, from: member.sender, kind, about, ttlMs, body };
    const readers = this.#told(letter, shelf);
    if (readers.length === 0)
      throw new BrokerError('absent', `nobody reads ${letter.kind} of ${letter.to} now`);
    const keepingUp = readers.filter((reader) => reader.hasRoomFor(member, body));
    if (keepingUp.length === 0) {
      throw new BrokerError('full', `the reader of ${letter.to} does not keep up`);
    }
    for (const reader of keepingUp) reader.handTold(member, handed);
  }

  receive(member: Member, kind: string): void {
    this.#shelves.get(member.identity.mailbox, kind, true).join({
      seat: member.seat,
      hand: (held) => member.handKept(held, this.#remaining(held)),
    });
  }

  /** Nothing happens unless this member has it. */
  acknowledge(member: Member, number: number): void {
    const held = this.#kept.take(member, number);
    // A disk that refuses is known from what is written for others; the letter comes again after a restart.
    if (held !== undefined) this.#kept.done(held).catch(ignored);
  }

  /** As above; it is not done with before it is on the disk in its new place. */
  setAside(member: Member, number: number, why: string): void {
    const held = this.#kept.take(member, number);
    if (held === undefined) return;
    const { aside } = this.#options;
    this.#asideLine.say(
      () =>
        `a letter of the kind ${held.kind} from ${held.from.mailbox} to ${held.to} could not be read and was put aside: ${why}`,
    );
    aside
      .append({ ...writtenLetter(storedFrom(held)), why, at: this.#clock.wallNow() })
      .then((last) => Promise.all([this.#kept.done(held), aside.trim(last + 1 - maxAside)]))
      // It comes again after a restart.
      .catch(ignored);
  }

  /** Those that this member may write to and that have a link. */
  present({ identity }: Member): readonly string[] {
    const among =
      identity.kind === 'worker'
        ? identity.to.filter((mailbox) => this.#members.has(mailbox))
        : this.#members.mailboxes;
    return among.filter((mailbox) => mayWrite(identity, this.#options.ownerOf(mailbox)));
  }

  left(member: Member): void {
    if (!this.#members.remove(member)) return;
    this.#shelves.leave(member.identity.mailbox, member.seat);
    this.#stores.left(member.identity.mailbox, member.store);
  }

  #shelfFor(member: Member, { to, kind, body }: Letter): Shelf {
    this.#assertOpen();
    const { maxBodyBytes } = this.limits;
    if (body.length > maxBodyBytes) {
      throw new BrokerError(
        'too_large',
        `a letter has at most ${maxBodyBytes} bytes, not ${body.length}`,
      );
    }
    if (this.#isUncertain(to)) {
      throw new BrokerError('absent', `the credential of ${to} cannot be read now`);
    }
    // Whether there is such a mailbox is not told to those who may not write to it.
    if (!mayWrite(member.identity, this.#options.ownerOf(to))) {
      throw new BrokerError('not_allowed', `this credential may not write to ${to}`);
    }
    return this.#shelves.get(to, kind);
  }

  /** The credential of the worker that a letter is for. Throws a BrokerError if it is for another. */
  #holderOf({ to, credential }: Letter): string | undefined {
    const owner = this.#options.ownerOf(to);
    if (owner !== undefined && isAnother(owner, credential)) {
      throw new BrokerError('not_allowed', `${to} has another credential now`);
    }
    return owner?.kind === 'worker' ? owner.id : undefined;
  }

  #told({ to, seat, toAll }: Letter, shelf: Shelf): readonly Member[] {
    const memberOf = (name: string | undefined) =>
      name === undefined ? undefined : this.#members.get(to, name);
    const named = toAll
      ? shelf.readers.map((reader) => memberOf(reader.seat))
      : [memberOf(seat === undefined ? shelf.nextReader()?.seat : shelf.readerOf(seat)?.seat)];
    return named.filter((member) => member !== undefined);
  }

  #remaining({ endsAt }: Held): number | undefined {
    return endsAt === undefined ? undefined : Math.max(1, endsAt - this.#clock.now());
  }

  /** What a worker has asked for, and nobody has begun with, and what waits for it are handed to nobody once its credential is gone. */
  #withdrawOfRevoked(): void {
    this.#kept.withdraw((held) => this.#isOfRevoked(held));
  }

  /** Also if the same name has another credential now: that one has not asked for it, and it is not meant for that one. */
  #isOfRevoked({ from, to, credential }: Held): boolean {
    if (isOfWorker(to)) return this.#isGone(to, credential);
    return isOfWorker(from.mailbox) && this.#isGone(from.mailbox, from.credential);
  }

  #isGone(worker: string, credential: string | undefined): boolean {
    const owner = this.#options.ownerOf(worker);
    if (owner === undefined) return !this.#isUncertain(worker);
    return isAnother(owner, credential);
  }

  /** Its credential was not found, and may be among those that could not be read since the start. */
  #isUncertain(mailbox: string): boolean {
    const { ownerOf, areAllKnown } = this.#options;
    return areAllKnown?.() === false && ownerOf(mailbox) === undefined;
  }

  #scheduleSweep(): void {
    const sweep = () => {
      this.#shelves.expire();
      this.#stores.forgetOld();
      this.#scheduleSweep();
    };
    this.#sweeping = this.#clock.after(sweepEveryMs, sweep, true);
  }

  #assertOpen(): void {
    if (this.#isClosing) throw closing();
  }
}

/** Whether this credential is known not to be that of the owner. */
function isAnother({ id }: Identity, credential: string | undefined): boolean {
  return id !== undefined && credential !== undefined && id !== credential;
}

function revoked(): BrokerError {
  return new BrokerError('unauthorized', 'the credential of this link was changed or revoked');
}

function closing(): BrokerError {
  return new BrokerError('lost', 'the broker ends');
}
