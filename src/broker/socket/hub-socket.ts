// One WebSocket link at the hub: decodes frames, passes them to its member, and sends what the member gets. The
// first frame is a hello; what is no frame ends the link. Nothing more is taken from a link for a while
// (`link-intake.ts`) if it has sent more than its rate, if too much of it waits for the disk, or if it does not read
// what it is sent: so it slows only itself. A link whose other side is silent is ended after two missed pings, so that its seat is free
// and its letters wait for the next reader.

import type { WebSocket } from 'ws';
import type { Clock } from '../../kernel/clock.ts';
import type { Caught } from '../../kernel/contain.ts';
import { BrokerError } from '../broker-error.ts';
import type { Letter } from '../contract.ts';
import type { Hub } from '../hub/hub.ts';
import type { Handed, Member, Peer } from '../hub/member.ts';
import { type Identity, otherMailbox } from '../identity.ts';
import { closeCodeOf } from './close-codes.ts';
import type { FrameRate } from './frame-rate.ts';
import { FrameWriter, type StreamBelow } from './frame-writer.ts';
import {
  type ClientFrame,
  decodeClientFrame,
  type HubFrame,
  headerBytesOf,
  protocolVersion,
} from './frames.ts';
import { LinkIntake } from './link-intake.ts';

/** What a link waits longer than those that have sent nothing meanwhile. */
const turnMs = 10;

export interface HubSocketParts {
  readonly hub: Hub;
  readonly clock: Clock;
  readonly caught: Caught;
  /** Of this link, or of all links of its worker. */
  readonly rate: FrameRate;
}

type Asking = Exclude<ClientFrame, { readonly is: 'hello' }>;
type LetterFrame = Extract<ClientFrame, { readonly is: 'deliver' | 'tell' }>;

export const pingEveryMs = 5_000;
const missedPings = 2;
const helloWithinMs = 5_000;
/** Questions of one link that wait for the disk; beyond it nothing more is read from it. */
const maxWaiting = 1_024;
/** Bytes that wait to be sent to one link; beyond it nothing more is read from it. */
const maxUnread = 1_048_576;
/** A frame has the length of its header, at least. */
const shortestBytes = 4;

export class HubSocket implements Peer {
  readonly #parts: HubSocketParts;
  readonly #identity: Identity;
  readonly #socket: WebSocket;
  #member: Member | undefined;
  #silentPings = 0;
  #waiting = 0;
  /** Hears that the mark that is under way was passed. */
  #passed: (() => void) | undefined;
  #isOver = false;
  readonly #writer: FrameWriter;
  readonly #intake: LinkIntake;
  /** When the last ping was sent: bytes that were on their way, and bytes that waited. */
  #flushed = 0;
  #backlog = 0;
  #timer: Disposable;
  #rateTimer: Disposable | undefined;

  /** `stream` is what the WebSocket writes to. */
  constructor(parts: HubSocketParts, identity: Identity, socket: WebSocket, stream: StreamBelow) {
    this.#parts = parts;
    const numbersFrame = (ns: readonly number[]) => ({ is: 'done', ns }) as const;
    const written = () => this.#written();
    this.#writer = new FrameWriter({ socket, stream, side: 'server', numbersFrame, written });
    const isBehind = () => this.backlogBytes >= maxUnread;
    // The other links of the same worker may have used up what it may send.
    const before = () => this.#slowDown(parts.rate.owed());
    this.#intake = new LinkIntake({ socket, isBehind, before, take: (frame) => this.#take(frame) });
    this.#identity = identity;
    this.#socket = socket;
    this.#timer = parts.clock.after(helloWithinMs, () => this.#pingOrEnd(), true);
    socket.on('message', (data: Buffer, isBinary: boolean) => this.#received(data, isBinary));
    socket.on('ping', (data: Buffer) => this.#pinged(data));
    socket.on('pong', (data: Buffer) => {
      this.#silentPings = 0;
      if (data.length > 0) this.#hasPassed();
    });
    // The close comes next.
    socket.on('error', () => {});
    socket.on('close', () => this.#closed());
  }

  get backlogBytes(): number {
    return this.#socket.bufferedAmount;
  }

  hand({ number, id, from, kind, about, ttlMs, body }: Handed): void {
    const { mailbox, seat, role, credential } = from;
    const letter = { id, from: mailbox, seat, role, kind, about, ttl: ttlMs, credential };
    this.#send({ is: 'mail', mail: number, ...letter }, body);
  }

  /** A ping is answered when what came before it was read. */
  mark(passed: () => void): void {
    this.#passed = passed;
    if (!this.#isOver) this.#socket.ping('mark');
  }

  end(why: BrokerError): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#intake.drop();
    // What it was sent comes before its end.
    this.#writer.flush();
    // The newer link is sent the same: nobody need keep it for one that does not read.
    const isCopied = why.reason === 'replaced' && this.backlogBytes >= maxUnread;
    if (isCopied) return this.#socket.terminate();
    this.#socket.close(closeCodeOf(why.reason), why.message.slice(0, 100));
    // A side that does not answer the close is not waited for.
    this.#timer[Symbol.dispose]();
    this.#timer = this.#parts.clock.after(1_000, () => this.#socket.terminate(), true);
  }

  #received(data: Buffer, isBinary: boolean): void {
    if (this.#isOver) return;
    this.#silentPings = 0;
    if (isBinary && data.length >= shortestBytes) this.#intake.arrived(data);
    else this.#refuseFrame();
  }

  #pinged(data: Buffer): void {
    if (this.#isOver) return;
    this.#slowDown(this.#parts.rate.taken());
    this.#intake.pinged(data);
  }

  #take(data: Buffer): void {
    if (this.#isOver) return;
    const waitMs = this.#parts.rate.taken(headerBytesOf(data));
    // The other links of this worker have their turns first.
    this.#slowDown(waitMs === 0 ? 0 : waitMs + turnMs);
    const frame = decodeClientFrame(data);
    if (frame === undefined) return this.#refuseFrame();
    const { header, body } = frame;
    try {
      if (this.#member === undefined) return this.#greet(header);
      if (header.is === 'hello') return this.#refuse('bad_letter', 'a link says hello once');
      this.#ask(this.#member, header, body);
    } catch (error) {
      if (error instanceof BrokerError) return this.#endBy(error);
      this.#parts.caught(error);
      this.#refuse('lost', 'an unexpected error');
    }
  }

  #hasPassed(): void {
    const passed = this.#passed;
    this.#passed = undefined;
    passed?.();
  }

  /** A link that sends more than its rate is not read until its turn. */
  #slowDown(waitMs: number): void {
    if (waitMs === 0 || this.#intake.holdsFor('rate')) return;
    this.#intake.hold('rate');
    this.#rateTimer = this.#parts.clock.after(waitMs, () => this.#intake.release('rate'), true);
  }

  #greet(header: ClientFrame): void {
    if (header.is !== 'hello') return this.#refuse('bad_letter', 'the first frame must be a hello');
    if (header.version !== protocolVersion) {
      const words = `this broker speaks version ${protocolVersion} of the protocol`;
      return this.#refuse('unsupported', words);
    }
    const { hub } = this.#parts;
    if (header.mailbox !== undefined && header.mailbox !== this.#identity.mailbox) {
      return this.#refuse('unauthorized', otherMailbox(this.#identity.mailbox));
    }
    this.#member = hub.join(this.#identity, header.seat, this, header.store);
    const { mailbox, role } = this.#identity;
    const maxBody = hub.limits.maxBodyBytes;
    this.#send({
      is: 'welcome',
      version: protocolVersion,
      mailbox,
      seat: header.seat,
      role,
      maxBody,
    });
  }

  #ask(member: Member, header: Asking, body: Buffer): void {
    switch (header.is) {
      case 'deliver':
        return this.#await(header.n, member.deliver(letterIn(header, body)));
      case 'tell':
        return this.#orRefuse(header.n, () => member.tell(letterIn(header, body)));
      case 'ack':
        for (const mail of header.mails) member.acknowledge(mail);
        return;
      case 'aside':
        return member.setAside(header.mail, header.why);
      case 'receive':
        return this.#orRefuse(header.n, () => {
          // Before the mail that comes by it.
          this.#send({ is: 'done', ns: [header.n] });
          member.receive(header.kind);
        });
      case 'present':
        return this.#send({ is: 'present', n: header.n }, Buffer.from(member.present().join('\n')));
    }
  }

  /** Its sender hears when it is kept; while too many wait, nothing more is read from it. */
  #await(n: number, stored: Promise<void>): void {
    this.#waiting += 1;
    if (this.#waiting >= maxWaiting) this.#intake.hold('disk');
    const settled = () => {
      this.#waiting -= 1;
      if (this.#waiting < maxWaiting) this.#intake.release('disk');
    };
    const kept = () => {
      settled();
      this.#writer.number(n);
    };
    const refused = (error: unknown) => {
      settled();
      this.#refused(n, error);
    };
    stored.then(kept, refused).catch(this.#parts.caught);
  }

  #orRefuse(n: number, work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#refused(n, error);
    }
  }

  #refused(n: number, error: unknown): void {
    if (!(error instanceof BrokerError)) {
      this.#parts.caught(error);
      this.#send({ is: 'refused', n, reason: 'not_kept', detail: 'an unexpected error' });
      return;
    }
    // An orchestrator is refused for what others do not read.
    const isOwnHaste = error.reason === 'full' && this.#identity.kind === 'worker';
    if (isOwnHaste) this.#slowDown(this.#parts.rate.refused());
    this.#send({ is: 'refused', n, reason: error.reason, detail: error.message });
  }

  #send(frame: HubFrame, body?: Buffer): void {
    this.#writer.send(frame, body);
  }

  #written(): void {
    if (this.backlogBytes < maxUnread) this.#intake.release('unread');
  }

  #refuseFrame(): void {
    this.#refuse('bad_letter', 'that is no frame of this protocol');
  }

  #refuse(reason: 'bad_letter' | 'unsupported' | 'unauthorized' | 'lost', detail: string): void {
    this.#endBy(new BrokerError(reason, detail));
  }

  #endBy(why: BrokerError): void {
    this.#member?.left();
    this.end(why);
  }

  #pingOrEnd(): void {
    if (this.#member === undefined) return this.#refuse('bad_letter', 'no hello came');
    if (this.#showsLife()) this.#silentPings = 0;
    if (this.#silentPings >= missedPings) return this.#socket.terminate();
    this.#silentPings += 1;
    this.#socket.ping();
    this.#timer = this.#parts.clock.after(pingEveryMs, () => this.#pingOrEnd(), true);
  }

  /** Without a pong: we do not read what it sends, or it reads what waited for it. */
  #showsLife(): boolean {
    const flushed = this.#writer.sentBytes - this.backlogBytes;
    const isReading = this.#backlog > 0 && flushed > this.#flushed;
    this.#flushed = flushed;
    this.#backlog = this.backlogBytes;
    return isReading || this.#intake.holdsFor('disk') || this.#intake.holdsFor('rate');
  }

  #closed(): void {
    this.#intake.takeRest();
    this.#isOver = true;
    this.#timer[Symbol.dispose]();
    this.#rateTimer?.[Symbol.dispose]();
    this.#member?.left();
  }
}

function letterIn(header: LetterFrame, body: Buffer): Letter {
  const { id, to, seat, kind, about, ttl, credential } = header;
  const letter = { id, to, seat, kind, about, ttlMs: ttl, credential, body };
  return header.is === 'tell' ? { ...letter, toAll: header.all === true } : letter;
}
