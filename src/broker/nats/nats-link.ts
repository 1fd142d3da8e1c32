// A link to a NATS server (docs/decisions/0026-broker.md). Each mailbox is an account there, with a stream for each
// kind of mail; letters come into it from the accounts that may write to it (`nats-config.ts`). This file opens a
// link and puts its parts together: what is kept (`kept-queue.ts`), what is told (`told-letters.ts`), who is there
// (`presence.ts`) and the time of the server (`server-clock.ts`).

import { randomBytes } from 'node:crypto';
import type { Msg } from '@nats-io/transport-node';
import type { Clock } from '../../kernel/clock.ts';
import { within } from '../../kernel/clock.ts';
import { type Caught, ignored } from '../../kernel/contain.ts';
import { RareLine } from '../../kernel/rare-line.ts';
import { loadNatsClient } from '../../nats/nats-client.ts';
import { connectNats } from '../../nats/nats-connect.ts';
import { ServerClock } from '../../nats/server-clock.ts';
import { Wire } from '../../nats/wire.ts';
import { isCredentialId, isKind, isLetterId, isMailbox, isSeat } from '../address.ts';
import { BrokerError } from '../broker-error.ts';
import type { Letter, Link, Mail, MailReader, Sender } from '../contract.ts';
import { type Identity, senderOf } from '../identity.ts';
import { type BrokerWire, inboxPrefixOf, refuse } from './broker-wire.ts';
import { JetStream } from './jet-stream.ts';
import { keptAt } from './kept-at.ts';
import { KeptQueue, sweep } from './kept-queue.ts';
import { duplicateIdOf, headersOf, letterHeadersIn } from './letter-message.ts';
import { maxBodyBytes } from './limits.ts';
import { MailStreams } from './mail-streams.ts';
import { Mailboxes } from './mailboxes.ts';
import { Presence } from './presence.ts';
import { SenderCheck } from './sender-check.ts';
import { StoreRecord } from './store-record.ts';
import {
  asideConfig,
  clockConfig,
  clockStream,
  type Keeping,
  storeConfig,
} from './stream-config.ts';
import { anySeat, everySeat, incoming, ownSubject, senderIn, subjectOf } from './subjects.ts';
import { ToldLetters } from './told-letters.ts';

export interface NatsLinkOptions extends Keeping {
  /** `nats://HOST:PORT`, or `tls://`. */
  readonly url: string;
  /** What the server's config says of this credential; something else is refused by the server. */
  readonly identity: Pick<Identity, 'mailbox' | 'kind' | 'role' | 'to' | 'id'>;
  /** The seed of an nkey, or a password. */
  readonly secret: string;
  readonly seat: string;
  /** The kinds of mail that others can write to us from the first link on, whether anybody receives them or not. */
  readonly kinds: readonly string[];
  /** The identity of the store in which calls are remembered; absent: none are. */
  readonly store?: string | undefined;
  readonly clock: Clock;
  /** Unexpected errors. */
  readonly caught: Caught;
  /** For people: letters that nobody could read. */
  readonly report: (text: string) => void;
  /** A letter was dropped because its time was over. */
  readonly expired?: () => void;
  /** Certificates to trust besides those of the system, in PEM. */
  readonly ca?: string | Buffer | undefined;
}

/** A letter that its reader cannot use. */
interface Unread {
  readonly subject: string;
  readonly body: Buffer;
  readonly ack: string;
  readonly kind: string;
}

/** For headers, of what a server takes in one message. */
const headerBytes = 4_096;
/** A server that does not answer is not waited for. */
const farewellMs = 1_000;
/** Of this process: a letter that it sends again over another link is known to the server, and nobody can guess it. */
const origin = randomBytes(16);

/** Rejects with a BrokerError. */
export async function openNatsLink(options: NatsLinkOptions, signal: AbortSignal): Promise<Link> {
  const { url, identity, caught } = options;
  const client = await loadNatsClient();
  const { mailbox: user } = identity;
  const inboxPrefix = inboxPrefixOf(user);
  const address = { ...options, user, inboxPrefix, name: `holdfast ${user}` };
  const connection = await connectNats(client, refuse, address, signal);
  const wire: BrokerWire = new Wire({ client, connection, url, inboxPrefix, caught, refuse });
  const onAbort = () => wire.finish(new BrokerError('closed', 'not opened'));
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    const link = new NatsLink(wire, options, connection.info?.max_payload ?? 0);
    await link.open();
    if (wire.over !== undefined) throw wire.over;
    return link;
  } catch (error) {
    connection.close().catch(ignored);
    throw wire.over ?? error;
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

class NatsLink implements Link {
  readonly #wire: BrokerWire;
  readonly #options: NatsLinkOptions;
  readonly #jetStream: JetStream;
  readonly #mailStreams: MailStreams;
  readonly #serverClock: ServerClock<BrokerError>;
  readonly #told: ToldLetters;
  readonly #senders: SenderCheck;
  readonly #presence: Presence;
  readonly #mailboxes: Mailboxes;
  /** Two for each kind that is received. */
  readonly #queues: KeptQueue[] = [];
  /** What is being put aside; at most as many as are handed out at once. */
  readonly #asides = new Set<Promise<void>>();
  /** Whoever may write to us can cause it. */
  readonly #asideLine: RareLine;
  /** Of letters that were sent with a credential that is gone, as many as there are. */
  readonly #revokedLine: RareLine;
  readonly self: Sender;
  readonly maxBodyBytes: number;
  readonly ended: Promise<BrokerError>;
  #closing: Promise<void> | undefined;

  constructor(wire: BrokerWire, options: NatsLinkOptions, maxPayload: number) {
    const { url, identity, seat, clock, caught } = options;
    const { mailbox } = identity;
    this.#wire = wire;
    this.#options = options;
    this.#asideLine = new RareLine(options.clock, options.report);
    this.#revokedLine = new RareLine(options.clock, options.report);
    this.self = senderOf(identity, seat);
    this.maxBodyBytes = Math.min(maxBodyBytes, maxPayload - headerBytes);
    this.#jetStream = new JetStream(wire, url);
    this.#mailStreams = new MailStreams({
      jetStream: this.#jetStream,
      owner: identity,
      keeping: options,
      report: options.report,
    });
    this.#serverClock = new ServerClock({
      wire,
      api: this.#jetStream.api,
      clock,
      stream: clockStream,
      subject: ownSubject(mailbox, 'clock'),
    });
    this.#told = new ToldLetters(wire, clock);
    this.#senders = new SenderCheck({
      told: this.#told,
      self: this.self,
      clock,
      caught,
      isOver: () => wire.over !== undefined,
    });
    this.#presence = new Presence(wire, this.#told, this.self, identity);
    const { api } = this.#jetStream;
    this.#mailboxes = new Mailboxes({ wire, api, self: this.self, url, clock });
    this.ended = wire.ended;
    wire.ended.then((why) => this.#finish(why)).catch(caught);
  }

  /** Rejects with a BrokerError. */
  async open(): Promise<void> {
    const { identity, kinds, replicas = 1 } = this.#options;
    this.#assertKnown();
    await this.#jetStream.api.assertEnabled();
    for (const kind of kinds) await this.#mailStreams.ensure(kind);
    await this.#jetStream.ensureStream(asideConfig(identity, replicas));
    await this.#jetStream.ensureStream(clockConfig(identity));
    await this.#serverClock.measure();
    await this.#claimStore();
    if (!(await this.#hasNeighbours())) await sweep(this.#jetStream);
    await this.#takeSeat();
    this.#presence.open();
    const refused = this.#refusedIdentity();
    const present = await this.#presence.present();
    if (refused.why !== undefined) throw refused.why;
    // An account is connected to all others or to none.
    const [one] = identity.kind === 'worker' ? identity.to : present;
    if (one !== undefined) await this.#mailboxes.assertConnected(one);
  }

  get backlogBytes(): number {
    return this.#told.bytes;
  }

  async deliver(letter: Letter): Promise<void> {
    this.#assertUsable(letter);
    const duplicateId = duplicateIdOf(origin, this.self, letter);
    const headers = headersOf(this.#wire.client, letter, duplicateId);
    await this.#mailboxes.deliver(letter, headers);
  }

  tell(letter: Letter, refused: (why: BrokerError) => void = () => {}): void {
    try {
      this.#assertUsable(letter);
    } catch (error) {
      if (error instanceof BrokerError) return refused(error);
      throw error;
    }
    const headers = headersOf(this.#wire.client, letter);
    this.#told.tell(subjectOf('tell', letter, this.self), letter.body, headers, (why) =>
      // The server speaks of a subject.
      refused(why.reason === 'not_allowed' ? notAllowed(letter) : why),
    );
  }

  async receive(kind: string, reader: MailReader, isOnlyTold = false): Promise<void> {
    const { mailbox, seat } = this.self;
    const { clock, caught } = this.#options;
    if (!isKind(kind)) throw new BrokerError('bad_letter', `${kind} is no kind of mail`);
    if (!isOnlyTold) await this.#mailStreams.ensure(kind);
    const heard = (message: Msg) => this.#heard(message, kind, reader);
    this.#wire.subscribe(incoming('tell', mailbox, kind, seat), heard);
    this.#wire.subscribe(incoming('tell', mailbox, kind, everySeat), heard);
    this.#wire.subscribe(incoming('tell', mailbox, kind, anySeat), heard, 'hf');
    if (isOnlyTold) return;
    const parts = { wire: this.#wire, jetStream: this.#jetStream, clock, caught, mailbox, kind };
    for (const place of [seat, anySeat]) {
      const queue: KeptQueue = new KeptQueue({
        ...parts,
        place,
        hand: (message, ack) => this.#hand(queue, message, ack, kind, reader),
      });
      this.#queues.push(queue);
      await queue.open();
    }
  }

  present(): Promise<readonly string[]> {
    return this.#presence.present();
  }

  async close(): Promise<void> {
    await within(this.#options.clock, farewellMs, Promise.all(this.#asides));
    this.#wire.finish(new BrokerError('closed', 'the link was closed'));
    await this.ended;
    await this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Before anything of others is touched. Rejects with a BrokerError. */
  async #claimStore(): Promise<void> {
    const { identity, store, clock, caught, replicas = 1 } = this.#options;
    if (store === undefined) return;
    await this.#jetStream.ensureStream(storeConfig(identity, replicas));
    const { mailbox } = this.self;
    const [wire, jetStream, serverClock] = [this.#wire, this.#jetStream, this.#serverClock];
    const parts = { wire, jetStream, serverClock, clock, caught, mailbox, store };
    await new StoreRecord(parts).claim();
  }

  /** Other links of this mailbox. */
  async #hasNeighbours(): Promise<boolean> {
    const { mailbox } = this.self;
    const subject = ownSubject(mailbox, 'link');
    let isAlone = false;
    this.#told.tell(subject, new Uint8Array(), undefined, ({ reason }) => {
      isAlone = reason === 'absent';
    });
    await this.#told.settled();
    return !isAlone;
  }

  /** The older link in this seat hears of it, and ends; who speaks after us is newer. */
  async #takeSeat(): Promise<void> {
    const { mailbox, seat } = this.self;
    const mine = randomBytes(16).toString('hex');
    const subject = ownSubject(mailbox, `seat.${seat}`);
    let isTaken = false;
    this.#wire.subscribe(ownSubject(mailbox, 'link'), () => {});
    this.#wire.subscribe(subject, (message) => {
      if (message.string() === mine) isTaken = true;
      else if (isTaken)
        this.#wire.finish(new BrokerError('replaced', 'a newer link has this seat'));
    });
    this.#wire.publish(subject, mine);
    await this.#wire.flush();
  }

  /** A server that asks nobody who he is has one account for all. */
  #assertKnown(): void {
    if (this.#wire.info?.auth_required === true) return;
    const words = `${this.#options.url} lets in everybody and keeps no mailboxes apart: start it with the config that holdfast broker nats-config prints`;
    throw new BrokerError('unsupported', words);
  }

  /** Our own words are refused if the server knows this credential as another. */
  #refusedIdentity(): { readonly why: BrokerError | undefined } {
    const found: { why: BrokerError | undefined } = { why: undefined };
    const { mailbox, role } = this.self;
    this.#wire.onViolation(() => {
      const words = `${this.#options.url} knows this credential, but not as ${mailbox} with the role ${role}: use the file that the last holdfast broker nats-config has written, and reload the server with the config that it has printed`;
      found.why ??= new BrokerError('unauthorized', words);
    });
    return found;
  }

  #assertUsable({ id, to, credential, seat, kind, about, body }: Letter): void {
    if (this.#wire.over !== undefined) throw this.#wire.over;
    if (body.length > this.maxBodyBytes) {
      const words = `a letter has at most ${this.maxBodyBytes} bytes, not ${body.length}`;
      throw new BrokerError('too_large', words);
    }
    const isUsable =
      isLetterId(id) &&
      isMailbox(to) &&
      (credential === undefined || isCredentialId(credential)) &&
      isKind(kind) &&
      (seat === undefined || isSeat(seat)) &&
      (about === undefined || isLetterId(about));
    if (!isUsable) throw new BrokerError('bad_letter', 'a name in this letter cannot be used');
  }

  /** Something that was told. */
  #heard(message: Msg, kind: string, reader: MailReader): void {
    const from = senderIn(message.subject);
    const headers = letterHeadersIn(message.headers);
    // Whoever may write to us may also write what is no letter; it is not kept, so nothing is left of it.
    if (from === undefined || headers === undefined) return;
    const body = Buffer.from(message.data);
    reader({ ...headers, from, kind, body, isKept: false, ack: () => {}, setAside: () => {} });
  }

  #hand(queue: KeptQueue, message: Msg, ack: string, kind: string, reader: MailReader): void {
    const { subject } = message;
    const from = senderIn(subject);
    const headers = letterHeadersIn(message.headers);
    // A copy: a message is a view of all that came with it from the socket, and letters may be held for long.
    const body = Buffer.from(message.data);
    const setAside = (why: string) => this.#setAside(queue, { subject, body, ack, kind }, why);
    if (from === undefined || headers === undefined) return setAside('it is no letter');
    const { ttlMs: ttl } = headers;
    const hand = (ttlMs: number | undefined) => {
      const mail: Mail = {
        ...headers,
        from,
        kind,
        ttlMs,
        body,
        isKept: true,
        ack: () => queue.ack(ack),
        setAside,
      };
      reader(mail);
    };
    const drop = () => {
      queue.ack(ack);
      this.#options.expired?.();
    };
    const handInTime = () => {
      if (ttl === undefined) return hand(undefined);
      const left = () => ttl - Math.max(0, this.#serverClock.now() - keptAt(ack));
      if (left() > 0) return hand(left());
      // It seems to be over; that is certain if the server's clock was looked at just now.
      this.#certainTime()
        .then(() => (left() > 0 ? hand(left()) : drop()))
        .catch(this.#options.caught);
    };
    // It may have waited here for longer than its sender has had its credential.
    this.#senders.hand(from, (isCurrent) => {
      if (isCurrent) return handInTime();
      this.#revokedLine.say(() => removed(kind, from.mailbox, this.self.mailbox));
      queue.ack(ack);
    });
  }

  async #certainTime(): Promise<void> {
    // A link that ends drops nothing; the letter comes again.
    if (!this.#serverClock.isFresh) await this.#serverClock.measure().catch(ignored);
  }

  /** It is not done with before the server has it in its new place. */
  #setAside(queue: KeptQueue, { subject, body, ack, kind }: Unread, why: string): void {
    const { mailbox } = this.self;
    const { caught } = this.#options;
    const from = senderIn(subject)?.mailbox ?? 'somebody';
    this.#asideLine.say(
      () =>
        `a letter of the kind ${kind} from ${from} to ${mailbox} could not be read and was put aside: ${why}`,
    );
    const headers = this.#wire.client.headers();
    headers.set('Hf-Subject', subject);
    headers.set('Hf-Why', encodeURIComponent(why.slice(0, 1_000)));
    const written: Promise<void> = this.#wire
      .ask(ownSubject(mailbox, `aside.${kind}`), body, { headers })
      .then(() => queue.ack(ack))
      // It comes again.
      .catch((error: unknown) => {
        if (!(error instanceof BrokerError)) caught(error);
      })
      .finally(() => this.#asides.delete(written));
    this.#asides.add(written);
  }

  /** What we hold goes to others at once, and nothing of ours is left in the way of the next. */
  #finish(why: BrokerError): void {
    this.#told.end(why);
    const { clock } = this.#options;
    this.#closing = this.#wire.close((connection) => {
      for (const queue of this.#queues) {
        const consumer = queue.giveBack((ack, body) => connection.publish(ack, body));
        if (consumer !== undefined) connection.publish(`$JS.API.CONSUMER.DELETE.${consumer}`);
      }
      return within(clock, farewellMs, connection.flush());
    });
    this.#closing.catch(this.#options.caught);
  }
}

function removed(kind: string, from: string, to: string): string {
  return `a letter of the kind ${kind} from ${from} to ${to} was removed unread, because the NATS server does not know the credential any more that it was sent with; if ${from} was not revoked, reload the server with the config that holdfast broker nats-config prints`;
}

function notAllowed({ to }: Letter): BrokerError {
  return new BrokerError('not_allowed', `this credential may not write to ${to}`);
}
