// A link to the embedded broker over a WebSocket. It is opened by a credential in the request for the upgrade and
// a hello; from then on each question has a number, and its answer the same. When the link ends, everything that
// waits is rejected with the reason, or as lost where the reason could be taken for an answer. It is never opened again: its user opens another (`reconnecting`).
// The broker judges a letter when it hands it over. The link of an orchestrator that has stood still ends, with nothing more read from
// it: by the next link the broker hands over what is allowed and in time then.

import type { Writable } from 'node:stream';
import { WebSocket } from 'ws';
import type { Clock } from '../../kernel/clock.ts';
import { RingMap } from '../../kernel/ring-map.ts';
import { isOfWorker } from '../address.ts';
import { BrokerError, isEndOfLink } from '../broker-error.ts';
import type { Letter, Link, Mail, MailReader, Sender } from '../contract.ts';
import { refusalOf } from './close-codes.ts';
import { FrameWriter } from './frame-writer.ts';
import {
  type ClientFrame,
  decodeHubFrame,
  encodeFrame,
  type HubFrame,
  isSendable,
  mailboxesIn,
  maxHeaderBytes,
  protocolVersion,
  subprotocol,
} from './frames.ts';
import { refusedUpgrade } from './refused-upgrade.ts';
import { StallWatch } from './stall-watch.ts';
import { isUnseen } from './web-socket-head.ts';

export interface SocketLinkOptions {
  /** `ws://` or `wss://`. */
  readonly url: string;
  readonly secret: string;
  readonly seat: string;
  readonly clock: Clock;
  /** The mailbox that the secret has to be of; absent: any. */
  readonly mailbox?: string | undefined;
  /** The identity of the store in which calls are remembered. */
  readonly store?: string | undefined;
  /** Certificates to trust besides those of the system, in PEM. */
  readonly ca?: string | Buffer | undefined;
}

type Welcome = Extract<HubFrame, { readonly is: 'welcome' }>;
type MailFrame = Extract<HubFrame, { readonly is: 'mail' }>;
/** A frame with a number, without it. */
type Question = ClientFrame extends infer One
  ? One extends { readonly n: number }
    ? Omit<One, 'n'>
    : never
  : never;

interface Waiting {
  readonly resolve: (present: readonly string[]) => void;
  readonly reject: (error: BrokerError) => void;
}

const handshakeMs = 5_000;
/** More than this in one frame is none of ours; the broker says how much it takes. */
const maxFrameBytes = 16 * 1024 * 1024 + maxHeaderBytes + 4;
/** A refusal comes soon, or not at all. */
const maxTold = 4_096;
/** Questions that wait at once, as a rule. */
const usualWaiting = 256;
/** The broker pings every five seconds. */
const silentAfterMs = 15_000;

/** Rejects with a BrokerError. */
export function openSocketLink(options: SocketLinkOptions, signal: AbortSignal): Promise<Link> {
  const { url, secret, seat, mailbox, store, clock, ca } = options;
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(new BrokerError('closed', 'not opened'));
    const socket = new WebSocket(url, subprotocol, {
      perMessageDeflate: false,
      maxPayload: maxFrameBytes,
      followRedirects: false,
      headers: { authorization: `Bearer ${secret}` },
      ...(ca === undefined ? {} : { ca }),
    });
    const fail = (error: BrokerError) => {
      signal.removeEventListener('abort', onAbort);
      timer[Symbol.dispose]();
      socket.on('error', () => {});
      socket.terminate();
      reject(error);
    };
    const onAbort = () => fail(new BrokerError('closed', 'not opened'));
    signal.addEventListener('abort', onAbort, { once: true });
    const timer = clock.after(handshakeMs, () =>
      fail(new BrokerError('lost', `${url} did not greet within ${handshakeMs} ms`)),
    );
    socket.once('unexpected-response', (_request, response) => {
      response.resume();
      fail(refusedUpgrade(url, response.statusCode ?? 0));
    });
    socket.once('error', (error) => fail(refusedUpgrade(url, error)));
    socket.once('close', (code, words) => {
      fail(new BrokerError(refusalOf(code), words.toString() || `${url} has ended the link`));
    });
    let stream: Writable | undefined;
    socket.once('upgrade', (response) => {
      stream = response.socket;
    });
    socket.once('open', () => {
      const hello = { is: 'hello', version: protocolVersion, seat, mailbox, store } as const;
      socket.send(encodeFrame(hello));
    });
    socket.once('message', (data: Buffer) => {
      const frame = decodeHubFrame(data);
      if (frame?.header.is !== 'welcome' || stream === undefined) {
        return fail(
          new BrokerError('not_a_broker', `${url} does not speak the protocol of a broker`),
        );
      }
      signal.removeEventListener('abort', onAbort);
      timer[Symbol.dispose]();
      socket.removeAllListeners();
      resolve(new SocketLink({ socket, stream, url, clock }, frame.header));
    });
  });
}

interface OpenedSocket {
  readonly socket: WebSocket;
  /** What it writes to. */
  readonly stream: Writable;
  readonly url: string;
  readonly clock: Clock;
}

class SocketLink implements Link {
  readonly #socket: WebSocket;
  readonly #writer: FrameWriter;
  readonly #url: string;
  readonly self: Sender;
  readonly maxBodyBytes: number;
  /** By number, until answered; bound: what its user waits for. */
  readonly #waiting = new RingMap<number, Waiting>(usualWaiting);
  /** Who hears of a refusal of what was told, by number; at most the last `maxTold`. */
  readonly #told = new RingMap<number, (why: BrokerError) => void>(maxTold);
  /** One for each kind that is received. */
  readonly #readers = new Map<string, MailReader>();
  readonly ended: Promise<BrokerError>;
  #end: (why: BrokerError) => void = () => {};
  #over: BrokerError | undefined;
  #next = 1;
  readonly #clock: Clock;
  /** When something was last heard. */
  #heardAt: number;
  #silence: Disposable;
  /** Of an orchestrator. */
  readonly #stalls: StallWatch | undefined;

  constructor(
    { socket, stream, url, clock }: OpenedSocket,
    { mailbox, seat, role, maxBody }: Welcome,
  ) {
    this.#socket = socket;
    const side = isUnseen(url) ? 'client' : 'masked';
    const numbersFrame = (mails: readonly number[]) => ({ is: 'ack', mails }) as const;
    this.#writer = new FrameWriter({ socket, stream, side, numbersFrame });
    this.#url = url;
    this.self = { mailbox, seat, role };
    this.maxBodyBytes = maxBody;
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
    this.#clock = clock;
    this.#heardAt = clock.now();
    this.#silence = this.#watch(silentAfterMs);
    if (!isOfWorker(mailbox)) this.#stalls = new StallWatch(clock, (ms) => this.#stoodStill(ms));
    socket.on('message', (data: Buffer) => this.#received(data));
    socket.on('ping', () => {
      this.#heardAt = clock.now();
    });
    // The close comes next.
    socket.on('error', () => {});
    socket.on('close', (code, words) => {
      const detail = words.toString() || `the link to ${this.#url} has ended`;
      this.#finish(new BrokerError(refusalOf(code), detail));
    });
  }

  get backlogBytes(): number {
    return this.#socket.bufferedAmount;
  }

  async deliver(letter: Letter): Promise<void> {
    const { id, to, seat, kind, about, ttlMs, credential, body } = letter;
    await this.#ask({ is: 'deliver', id, to, seat, kind, about, ttl: ttlMs, credential }, body);
  }

  tell(letter: Letter, refused?: (why: BrokerError) => void): void {
    const { id, to, seat, kind, about, ttlMs, toAll, credential, body } = letter;
    const header = { id, to, seat, kind, about, ttl: ttlMs, all: toAll, credential };
    const n = this.#send({ is: 'tell', ...header }, body);
    if (n instanceof BrokerError) return refused?.(n);
    const oldest = n - maxTold;
    this.#told.delete(oldest);
    if (refused !== undefined) this.#told.set(n, refused);
  }

  async receive(kind: string, reader: MailReader): Promise<void> {
    this.#readers.set(kind, reader);
    await this.#ask({ is: 'receive', kind });
  }

  present(): Promise<readonly string[]> {
    return this.#ask({ is: 'present' });
  }

  async close(): Promise<void> {
    this.#leave(new BrokerError('closed', 'the link was closed'));
    await this.ended;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #ask(question: Question, body?: Buffer): Promise<readonly string[]> {
    return new Promise((resolve, reject) => {
      const n = this.#send(question, body);
      if (n instanceof BrokerError) return reject(n);
      this.#waiting.set(n, { resolve, reject });
    });
  }

  /** The number that it was sent with. */
  #send(question: Question, body?: Buffer): number | BrokerError {
    if (this.#over !== undefined) return this.#over;
    if (body !== undefined && body.length > this.maxBodyBytes) {
      const words = `a letter has at most ${this.maxBodyBytes} bytes, not ${body.length}`;
      return new BrokerError('too_large', words);
    }
    const n = this.#next;
    const frame = { ...question, n } as ClientFrame;
    if (!isSendable(frame))
      return new BrokerError('bad_letter', 'a name or time in it cannot be used');
    this.#next += 1;
    this.#writer.send(frame, body);
    return n;
  }

  /** A broker that is not heard of is gone, whatever the socket says. */
  #watch(ms: number): Disposable {
    const look = () => {
      const left = this.#heardAt + silentAfterMs - this.#clock.now();
      if (left > 0) this.#silence = this.#watch(left);
      else this.#socket.terminate();
    };
    return this.#clock.after(ms, look, true);
  }

  #leave(why: BrokerError): void {
    this.#finish(why);
    this.#writer.flush();
    this.#socket.close(1_000);
    // A broker that does not answer is not waited for.
    this.#clock.after(1_000, () => this.#socket.terminate(), true);
  }

  #stoodStill(ms: number): void {
    const words = `this process stood still for ${Math.round(ms)} ms; what waits is asked for again`;
    this.#leave(new BrokerError('lost', words));
  }

  #received(data: Buffer): void {
    this.#heardAt = this.#clock.now();
    this.#stalls?.look();
    // What is not read any more comes again by the next link.
    if (this.#over !== undefined) return;
    const frame = decodeHubFrame(data);
    if (frame === undefined) {
      this.#finish(new BrokerError('not_a_broker', `${this.#url} sent what is no frame`));
      return this.#socket.terminate();
    }
    const { header, body } = frame;
    if (header.is === 'mail') this.#mail(header, body);
    else if (header.is !== 'welcome') this.#answered(header, body);
  }

  #answered(header: Exclude<HubFrame, MailFrame | Welcome>, body: Buffer): void {
    switch (header.is) {
      case 'done':
        for (const n of header.ns) this.#take(n)?.resolve([]);
        return;
      case 'present':
        return this.#take(header.n)?.resolve(mailboxesIn(body));
      case 'refused': {
        const why = new BrokerError(header.reason, header.detail);
        this.#take(header.n)?.reject(why);
        const refused = this.#told.get(header.n);
        this.#told.delete(header.n);
        refused?.(why);
      }
    }
  }

  #take(n: number): Waiting | undefined {
    const waiting = this.#waiting.get(n);
    this.#waiting.delete(n);
    return waiting;
  }

  #mail(header: MailFrame, body: Buffer): void {
    const { mail, id, from, seat, role, kind, about, ttl, credential } = header;
    const isKept = mail !== 0;
    const received: Mail = {
      id,
      from: { mailbox: from, seat, role, ...(credential !== undefined && { credential }) },
      kind,
      about,
      ttlMs: ttl,
      body,
      isKept,
      ack: () => {
        if (isKept) this.#writer.number(mail);
      },
      setAside: (why) => {
        if (isKept) this.#writer.send({ is: 'aside', mail, why: why.slice(0, 1_000) });
      },
    };
    this.#readers.get(kind)?.(received);
  }

  #finish(why: BrokerError): void {
    if (this.#over !== undefined) return;
    // Why a link was ended says nothing about the letters that wait: they may have arrived.
    const over = isEndOfLink(why) ? why : new BrokerError('lost', why.message);
    this.#over = over;
    this.#silence[Symbol.dispose]();
    this.#stalls?.[Symbol.dispose]();
    const [waiting, told] = [this.#waiting.values(), this.#told.values()];
    this.#waiting.clear();
    this.#told.clear();
    for (const { reject } of waiting) reject(over);
    for (const refused of told) refused(over);
    this.#end(why);
  }
}
