// The gateway's face to workers behind a broker: a transport like stdio and HTTP. A letter is one request of the
// modern era, made as the worker and role that the broker has stamped on it; everything else in the letter only
// asks. Each request runs by itself, and its letter is acknowledged when the broker has the answer. A call id that
// has been admitted is not admitted again: its answer is sent again instead, to the credential that has asked, if it asks
// for the same. With another request the call id is refused.

import type { Link, Mail, Sender } from '../../broker/contract.ts';
import type { GatewayForTransports } from '../../downstream/contract.ts';
import type { Clock } from '../../kernel/clock.ts';
import { contain } from '../../kernel/contain.ts';
import type { CallId } from '../../policy/idempotency.ts';
import type { Principal } from '../../policy/principal.ts';
import { rpcCodes } from '../../wire/eras.ts';
import { type ErrorToSend, errorFrame, idText } from '../../wire/frames.ts';
import { type Message, scanMessage } from '../../wire/scan.ts';
import { WireError } from '../../wire/wire-error.ts';
import { callIdIn, isAgainLetter, knownMs } from '../call-ids.ts';
import { mailKinds } from '../mail-kinds.ts';
import { gonePart, partBody, pulledOffset } from '../parcel.ts';
import { BrokeredCall, placeOf } from './brokered-call.ts';
import { CallBook } from './call-book.ts';
import { PulledParts } from './pulled-parts.ts';
import { RefusalRate } from './refusal-rate.ts';
import { digestOf } from './request-digest.ts';
import { nobody, refusalOf, reused } from './request-refusals.ts';
import { WorkerSeats } from './worker-seats.ts';
import { type WatchedSeat, WorkerWatch } from './worker-watch.ts';

export interface BrokerFrontParts {
  readonly gateway: GatewayForTransports & { clientGone(key: string): void };
  readonly clock: Clock;
  /** The principal behind a sender; undefined if it is none that we serve. */
  readonly principalOf: (sender: Sender) => Principal | undefined;
  /** Another one for each process. */
  readonly incarnation: string;
  /** The gateway takes no new work: the broker keeps it for the next process. */
  readonly isEnding: () => boolean;
  /** A worker has cancelled this call, which an earlier process may have as well; it is the same key there. */
  readonly cancelled?: (key: string) => void;
}

export class BrokerFront {
  readonly #parts: BrokerFrontParts;
  readonly #calls: CallBook;
  readonly #seats = new WorkerSeats();
  readonly #watch: WorkerWatch;
  readonly #pulls: PulledParts;
  readonly #refusals: RefusalRate;
  #links = 0;

  constructor(parts: BrokerFrontParts) {
    this.#parts = parts;
    const caught = (error: unknown) => parts.gateway.caught(error);
    this.#calls = new CallBook(parts.clock, caught);
    this.#pulls = new PulledParts(parts.clock);
    this.#refusals = new RefusalRate(parts.clock);
    this.#watch = new WorkerWatch({
      clock: parts.clock,
      running: () => this.#calls.running,
      seats: () => this.#seats.all,
      revoked: (worker, credential) => contain(() => this.#revoked(worker, credential), caught),
      left: (seat) => contain(() => this.#left(seat), caught),
      caught,
    });
  }

  /** How many workers have requests that run. */
  get workers(): number {
    return this.#calls.workers;
  }

  /** Serves what comes by this link. Rejects with a BrokerError. */
  async serve(link: Link): Promise<void> {
    const contained = (handle: (mail: Mail) => void) => (mail: Mail) =>
      contain(
        () => handle(mail),
        (error) => this.#parts.gateway.caught(error),
      );
    // Also of those whose letters are over, and do not come again.
    for (const call of this.#calls.all) call.goOnBy(link);
    await link.receive(
      mailKinds.cancel,
      contained((mail) => {
        const key = keyOf(mail.from, mail.about ?? '');
        this.cancel(key);
        this.#parts.cancelled?.(key);
      }),
      true,
    );
    await link.receive(
      mailKinds.pull,
      contained((mail) => this.#pulled(link, mail)),
      true,
    );
    await link.receive(
      mailKinds.request,
      contained((mail) => this.#request(link, mail)),
    );
    this.#watch.use(link);
    await this.#announce(link);
  }

  /** Its worker does not want it any more. */
  cancel(key: string): void {
    this.#calls.get(key)?.cancel();
  }

  /** Nothing more is answered. */
  close(): void {
    this.#watch.close();
    for (const call of this.#calls.running) call.cancel();
  }

  /** Its credential is gone: nothing of it goes on, and nothing is kept for it. */
  #revoked(worker: string, credential: string | undefined): void {
    const calls = this.#calls.running.filter(
      (call) => call.worker === worker && call.credential === credential,
    );
    const { gateway } = this.#parts;
    const seats = this.#seats.take((one) => one.worker === worker && one.credential === credential);
    for (const call of calls) call.cancel();
    gateway.accessEnded(new Set(seats.map(({ owner }) => owner)));
    for (const { client } of seats) gateway.clientGone(client);
  }

  /** What was told by a process that is gone has nobody to answer to. What is kept goes on, and its client with it. */
  #left(left: WatchedSeat): void {
    const calls = this.#calls.running.filter((call) => isSameSeat(call, left));
    for (const call of calls) if (!call.isKept) call.cancel();
    if (calls.some(({ isKept }) => isKept)) return;
    const seats = this.#seats.take((one) => isSameSeat(one, left));
    for (const { client } of seats) this.#parts.gateway.clientGone(client);
  }

  /** Workers whose requests an earlier process has taken ask again. */
  async #announce(link: Link): Promise<void> {
    this.#links += 1;
    // What was told by the way of an earlier link may have been lost with it.
    const incarnation = `${this.#parts.incarnation}-${this.#links}`;
    const body = Buffer.from(incarnation);
    for (const to of await link.present()) {
      link.tell({ id: incarnation, to, toAll: true, kind: mailKinds.here, body });
    }
  }

  #request(link: Link, mail: Mail): void {
    const message = messageIn(mail.body);
    const digest = digestOf(message, mail.body);
    const { key, isReused } = this.#placeFor(link, mail, digest);
    const known = this.#calls.get(key);
    // A letter that is done with does not come again by the same link: this is another one.
    if (known?.isRefusedBy(link)) this.#calls.forget(known);
    else if (known !== undefined) return known.askedAgain(link, mail);
    // Not acknowledged: the next reader gets it as soon as this link is closed. What listens is asked for again there.
    if ((mail.isKept || isToListen(message)) && this.#parts.isEnding()) return;
    const call = new BrokeredCall({ key, digest }, link, mail, this.#parts.clock, this.#calls);
    const principal = this.#parts.principalOf(mail.from);
    if (message instanceof WireError) {
      const unreadable = { code: rpcCodes.parseError, message: message.message };
      return this.#refuse(call, 'null', unreadable);
    }
    if (message.kind !== 'request') return mail.ack();
    if (principal === undefined) return this.#refuse(call, idText(message), nobody);
    if (isReused) return this.#refuse(call, idText(message), reused(callIdIn(mail)));
    const refusal = refusalOf(message, this.#calls.hasRoomFor(call));
    if (refusal !== undefined) return this.#refuse(call, idText(message), refusal);
    this.#calls.admit(call);
    this.#watch.begin();
    const from = {
      principal,
      client: this.#seats.asks(mail.from, principal.id),
      ...((mail.isKept || message.method === 'tools/call') && { callId: callIdOf(mail) }),
    };
    call.taken(this.#parts.gateway.request(message, from, call));
  }

  /**
   * A request that comes with the call id of another one has a place of its own: it changes nothing of the other. One that
   * has not run has not used its call id up.
   */
  #placeFor(link: Link, mail: Mail, digest: string): { key: string; isReused: boolean } {
    const key = keyOf(mail.from, callIdIn(mail));
    const known = this.#calls.get(key);
    const isOther = known !== undefined && known.digest !== digest;
    const isReused = isOther && !known.isRefusedBy(link);
    return { key: isReused ? `${key} ${digest}` : key, isReused };
  }

  #refuse(call: BrokeredCall, id: string, error: ErrorToSend): void {
    if (!call.isKept && !this.#refusals.take(call.worker)) return;
    call.refuse(errorFrame(id, error));
    // It may come again, and its answer may have to go by another link.
    if (call.isKept) this.#calls.refused(call);
  }

  #pulled(link: Link, mail: Mail): void {
    const part = this.#partFor(link, mail);
    if (part === undefined) return;
    const { from, about, id } = mail;
    link.tell({ id, ...placeOf(from), kind: mailKinds.chunk, about, body: part });
  }

  /** Undefined: nothing is sent now. */
  #partFor(link: Link, { from, about, body }: Mail): Buffer | undefined {
    const call = this.#calls.get(keyOf(from, about ?? ''));
    const answer = call?.response;
    const offset = answer && pulledOffset(body, answer.length);
    if (call === undefined || answer === undefined || offset === undefined) {
      return this.#refusals.take(from.mailbox) ? gonePart() : undefined;
    }
    if (!this.#pulls.take(link, call, answer, offset)) return undefined;
    this.#calls.pulled(call);
    return partBody(answer, offset);
  }
}

/**
 * Call ids of different workers, and of different credentials of one name, have nothing to do with each other. Two processes
 * of one worker with the same call id are two requests, each with an answer of its own; that the call runs once is decided
 * by the keys of the host. None of these has a space.
 */
function keyOf({ mailbox, credential = '', seat }: Sender, id: string): string {
  return `${mailbox} ${credential} ${seat} ${id}`;
}

function isSameSeat(one: WatchedSeat, other: WatchedSeat): boolean {
  const { worker, credential, seat } = other;
  return one.worker === worker && one.credential === credential && one.seat === seat;
}

/** What is told does not come again by itself; only its sender may repeat it. */
function callIdOf(mail: Mail): CallId {
  const id = callIdIn(mail);
  const ttlMs = mail.ttlMs ?? (mail.isKept ? undefined : 0);
  return { id, knownMs: knownMs(id, ttlMs), isAgain: isAgainLetter(mail) };
}

/** It would have no end. */
function isToListen(message: Message | WireError): boolean {
  return !(message instanceof WireError) && message.method === 'subscriptions/listen';
}

function messageIn(body: Buffer): Message | WireError {
  try {
    return scanMessage(body);
  } catch (error) {
    if (error instanceof WireError) return error;
    throw error;
  }
}
