// One request of a worker, from its admission until its answer need not be kept any more. The gateway answers it
// once; the answer is sent each time that the worker asks with the same call id, because a letter may come again
// and a worker may ask again. The letter is acknowledged when the broker has the answer, or when a later letter asks for
// the same. A letter whose time is over does not come again when its link has ended: what is not said by then is said by
// the next link.

import { BrokerError, type BrokerRefusal, isEndOfLink } from '../../broker/broker-error.ts';
import type { Link, Mail, Sender } from '../../broker/contract.ts';
import type { Reply, Underway } from '../../downstream/contract.ts';
import { saysUnrun } from '../../host/call/unrun-answer.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { Caught } from '../../kernel/contain.ts';
import type { Frame } from '../../wire/frames.ts';
import { joinPieces } from '../../wire/pieces.ts';
import { scanMessage } from '../../wire/scan.ts';
import { callIdIn, replyMs } from '../call-ids.ts';
import { mailKinds } from '../mail-kinds.ts';
import { parcelOf, parcelReply, partBytes } from '../parcel.ts';

export interface CallEnds {
  /** It has been answered, with so many bytes. */
  answered(call: BrokeredCall): void;
  /** There will be no answer. */
  withdrawn(call: BrokeredCall): void;
  /** Whether its answer, which was refused for now, is tried again: then it waits until `hasWaited`. */
  mayWait(call: BrokeredCall): boolean;
  hasWaited(call: BrokeredCall): void;
  /** Unexpected errors. */
  readonly caught: Caught;
}

/** An answer that the broker refuses for now is sent again after this. */
const againMs = 1_000;
const maxRefusals = 5;
/** An answer that says that nothing has run is no longer than this. */
const maxRefusalBytes = 64 * 1024;
/** What may be otherwise a moment later. */
const passing: ReadonlySet<BrokerRefusal> = new Set<BrokerRefusal>(['full', 'not_kept', 'absent']);

export class BrokeredCall implements Reply {
  readonly key: string;
  /** What it asks for; the same call id with another digest is another request. */
  readonly digest: string;
  readonly worker: string;
  readonly isKept: boolean;
  /** Of the request, as it was admitted. */
  readonly requestBytes: number;
  readonly #clock: Clock;
  readonly #ends: CallEnds;
  #link: Link;
  /** By which the letter below has come. */
  #cameBy: Link;
  /** The last letter that asked for it. */
  #mail: Mail;
  /** The same when it is done with. */
  #acknowledged: Mail | undefined;
  #underway: Underway | undefined;
  #answer: Buffer | undefined;
  #isOver = false;
  /** Its answer says that it has not run. */
  #isRefused = false;
  /** Its answer is being delivered: one at a time, however often it is asked for. */
  #isOnItsWay = false;
  /** The broker has the answer, or it is not tried again. */
  #isDelivered = false;
  /** How often its answer was refused for now. */
  #refusals = 0;

  constructor(
    { key, digest }: Pick<BrokeredCall, 'key' | 'digest'>,
    link: Link,
    mail: Mail,
    clock: Clock,
    ends: CallEnds,
  ) {
    this.key = key;
    this.digest = digest;
    this.worker = mail.from.mailbox;
    this.isKept = mail.isKept;
    this.requestBytes = mail.body.length;
    this.#link = link;
    this.#cameBy = link;
    this.#mail = mail;
    this.#clock = clock;
    this.#ends = ends;
  }

  /** Who has asked last. */
  get from(): Sender {
    return this.#mail.from;
  }

  get credential(): string | undefined {
    return this.#mail.from.credential;
  }

  get seat(): string {
    return this.#mail.from.seat;
  }

  get isAnswered(): boolean {
    return this.#answer !== undefined;
  }

  /** The whole response; undefined before it has come. */
  get response(): Buffer | undefined {
    return this.#answer;
  }

  /** The gateway has taken the request; it may have answered already. */
  taken(underway: Underway | undefined): void {
    if (this.isAnswered || this.#isOver) return;
    this.#underway = underway;
  }

  /** The same call once more: a letter that came again, or a worker that has lost its link. */
  askedAgain(link: Link, mail: Mail): void {
    const earlier = this.#mail;
    this.#link = link;
    this.#cameBy = link;
    this.#mail = mail;
    // The later one comes again if this process ends: the earlier one takes a place of others for nothing.
    earlier.ack();
    this.#refusals = 0;
    this.#isDelivered = false;
    if (this.isAnswered) this.#deliver();
  }

  /** It was answered with: it has not run; and its letter, which came by this link, is done with. */
  isRefusedBy(link: Link): boolean {
    return this.#isRefused && this.#isDelivered && this.#cameBy === link;
  }

  /** The link before has ended: what is still to be said goes by this one. */
  goOnBy(link: Link): void {
    this.#link = link;
    if (this.isAnswered && !this.#isDelivered) this.#deliver();
  }

  cancel(): void {
    if (this.isAnswered || this.#isOver) return;
    this.#underway?.cancel();
    this.withdrawn();
  }

  send(frame: Frame): void {
    if (this.#isOver || this.isAnswered) return;
    const { id, from } = this.#mail;
    const body = joinPieces(frame);
    // While there is no link, news reach nobody.
    const about = callIdIn(this.#mail);
    this.#link.tell({ id, ...placeOf(from), kind: mailKinds.news, about, body });
  }

  answer(frame: Frame): void {
    if (this.#isOver || this.isAnswered) return;
    const answer = joinPieces(frame);
    this.#answer = answer;
    this.#underway = undefined;
    this.#ends.answered(this);
    if (isRefusal(answer)) this.#refused();
    this.#deliver();
  }

  /** The answer to a request that was not admitted: nothing of it has run. */
  refuse(frame: Frame): void {
    this.#answer = joinPieces(frame);
    this.#refused();
    this.#deliver();
  }

  /**
   * The letter is acknowledged first: it must not come again, and run, when its worker has been told that it has not; and
   * where the worker then asks anew, that must not be taken for the same letter.
   */
  #refused(): void {
    this.#isRefused = true;
    this.#acknowledge(this.#mail);
  }

  withdrawn(): void {
    if (this.#isOver || this.isAnswered) return;
    this.#isOver = true;
    this.#acknowledge(this.#mail);
    this.#ends.withdrawn(this);
  }

  #deliver(): void {
    const answer = this.#answer;
    if (answer === undefined || this.#isOnItsWay) return;
    const link = this.#link;
    const mail = this.#mail;
    const { id, from } = mail;
    const body = answer.length > partBytes ? parcelReply(parcelOf(answer)) : answer;
    const letter = {
      id,
      ...placeOf(from),
      kind: mailKinds.reply,
      about: callIdIn(mail),
      ttlMs: replyMs,
      body,
    };
    if (!mail.isKept) {
      link.tell(letter);
      return this.#done(mail);
    }
    this.#isOnItsWay = true;
    link
      .deliver(letter)
      .then(
        () => this.#delivered(mail),
        (error: unknown) => this.#notDelivered(error, link, mail),
      )
      .catch(this.#ends.caught);
  }

  #delivered(mail: Mail): void {
    this.#isOnItsWay = false;
    // It was asked for again meanwhile, perhaps by another process of the worker.
    if (mail === this.#mail) this.#done(mail);
    else this.#deliver();
  }

  #done(mail: Mail): void {
    this.#isDelivered = true;
    this.#acknowledge(mail);
  }

  #acknowledge(mail: Mail): void {
    if (mail === this.#acknowledged) return;
    mail.ack();
    if (mail !== this.#mail) return;
    this.#acknowledged = bodyless(mail);
    this.#mail = this.#acknowledged;
  }

  #notDelivered(error: unknown, link: Link, mail: Mail): void {
    this.#isOnItsWay = false;
    if (!(error instanceof BrokerError)) throw error;
    if (link !== this.#link || mail !== this.#mail) return this.#deliver();
    const { reason } = error;
    // It goes by the next link.
    if (isEndOfLink(error)) return;
    this.#refusals += 1;
    // A worker that reads nothing must not keep the letters of others waiting; it may still ask again.
    const isLast = !passing.has(reason) || this.#refusals >= maxRefusals;
    if (isLast || !this.#ends.mayWait(this)) return this.#done(mail);
    const again = () => {
      this.#ends.hasWaited(this);
      if (mail === this.#mail && !this.#isDelivered) this.#deliver();
    };
    this.#clock.after(againMs, again, true);
  }
}

/** Where a worker is answered: the next credential of its name gets nothing of it. */
export function placeOf({ mailbox, seat, credential }: Sender) {
  return { to: mailbox, seat, credential } as const;
}

/** The text is looked for first, because nearly every answer is none. */
function isRefusal(answer: Buffer): boolean {
  if (answer.length > maxRefusalBytes || !answer.includes('"dispatched":"no"')) return false;
  return saysUnrun(scanMessage(answer));
}

/** Who has asked is known for as long as the answer; the request itself, which may be large, is not kept with it. */
function bodyless(mail: Mail): Mail {
  return { ...mail, body: Buffer.alloc(0), ack: () => {}, setAside: () => {} };
}
