// The requests of a worker to its orchestrator, over links that come and go (`link-keeper.ts`). A request that the
// broker has taken waits for its answer, which comes by whatever link there is then; one that it has not taken is sent
// again by the next link, with the same call id, so that it runs once. One whose letter is over is asked for once more
// when the process that has it may be gone: the next one knows how it ended, or that nobody can say it. Answers count only from the orchestrator that
// was asked; large ones are pulled (`downloads.ts`).

import { BrokerError, isEndOfLink } from '../../broker/broker-error.ts';
import type { Letter, Link, Mail, MailReader, OpenLink } from '../../broker/contract.ts';
import type { Clock, Random } from '../../kernel/clock.ts';
import { type Caught, contain } from '../../kernel/contain.ts';
import { againLetterId, askAgainMs } from '../call-ids.ts';
import { mailKinds } from '../mail-kinds.ts';
import { parcelIn, pullBody } from '../parcel.ts';
import { DoubtfulCalls } from './doubtful-calls.ts';
import { Downloads } from './downloads.ts';
import { type GivenUp, LinkKeeper } from './link-keeper.ts';
import type { CallFailure, CallListener, CallRequest, OpenCall } from './open-call.ts';
import { OrchestratorProcesses } from './orchestrator-processes.ts';
import { OrchestratorWatch } from './orchestrator-watch.ts';
import { type ReconnectionPolicy, usualReconnection } from './reconnection.ts';

export interface ChannelParts {
  readonly openLink: OpenLink;
  /** The mailbox of the orchestrator. */
  readonly to: string;
  readonly clock: Clock;
  readonly random: Random;
  /** The largest response that is taken. */
  readonly maxResponseBytes: number;
  /** The link was away, or another orchestrator process is there: something may not have been heard. */
  readonly missed: () => void;
  /** There is no link, or no orchestrator, and for now it is not waited for any more; everything that waited has failed. */
  readonly gaveUp: (cause: BrokerError) => void;
  /** Unexpected errors. */
  readonly caught: Caught;
  readonly policy?: ReconnectionPolicy;
}

export class Channel implements AsyncDisposable {
  readonly #parts: ChannelParts;
  /** By call id, until answered; bound: what the callers wait for. */
  readonly #calls = new Map<string, OpenCall>();
  readonly #keeper: LinkKeeper;
  readonly #downloads: Downloads;
  readonly #watch: OrchestratorWatch;
  readonly #doubtful: DoubtfulCalls;
  readonly #processes = new OrchestratorProcesses();
  #letters = 0;

  constructor(parts: ChannelParts) {
    const { openLink, to, clock, random, policy, missed, gaveUp, caught } = parts;
    this.#parts = parts;
    this.#downloads = new Downloads((call, offset) =>
      this.#tell(mailKinds.pull, call, pullBody(offset), call.announcement?.from.seat),
    );
    this.#keeper = new LinkKeeper({
      ...{ openLink, clock, random, policy, caught },
      prepare: (link) => this.#receive(link),
      ready: () => this.#ready(),
      returned: missed,
      lost: () => this.#lost(),
      gaveUp: (why, cause) => {
        this.#failAll(why, cause);
        if (why !== 'closed') gaveUp(cause);
      },
    });
    this.#doubtful = new DoubtfulCalls({
      clock,
      calls: () => this.#calls.values(),
      hasLink: () => this.#keeper.link !== undefined,
      sendAgain: (call) => this.#sendAgain(call),
    });
    this.#watch = new OrchestratorWatch({
      ...{ to, clock, caught, patienceMs: (policy ?? usualReconnection).totalMs },
      calls: () => this.#calls.values(),
      present: () => this.#keeper.link?.present(),
      giveUp: ({ id }) => this.#fail(id, 'not_taken', absent(to)),
      gaveUp: () => gaveUp(absent(to)),
      looks: () => this.#looks(),
    });
  }

  send(request: CallRequest, listener: CallListener): void {
    const { clock } = this.#parts;
    const { id, ttlMs } = request;
    const call: OpenCall = {
      ...request,
      listener,
      letterId: this.#newLetterId(id),
      endsAt: ttlMs === undefined ? undefined : clock.now() + ttlMs,
      isSent: false,
      isTaken: false,
      mayHaveArrived: false,
      isAskedAgain: false,
      isDoubtful: false,
      download: undefined,
      announcement: undefined,
      answerUntil: 0,
      absence: undefined,
    };
    this.#calls.set(id, call);
    this.#keeper.need();
    this.#watch.begin();
  }

  /** The same call may be sent more than once by one process, by the key of a client: each time it is another letter. */
  #newLetterId(id: string): string {
    this.#letters += 1;
    return `${id}.${this.#letters}`;
  }

  /** The answer is not wanted any more; the orchestrator hears of it if it may have the request. */
  cancel(id: string): void {
    const call = this.#take(id);
    if (call?.mayHaveArrived) this.#tell(mailKinds.cancel, call, Buffer.alloc(0));
  }

  /** Held: large answers wait at the orchestrator. */
  hold(isHeld: boolean): void {
    this.#downloads.hold(isHeld);
  }

  /** What listens at the orchestrator ends there, too: it need not find out that nobody is here. */
  async close(): Promise<void> {
    for (const call of this.#calls.values()) {
      if (!call.isKept && call.isSent) this.#tell(mailKinds.cancel, call, Buffer.alloc(0));
    }
    this.#watch[Symbol.dispose]();
    await this.#keeper.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #receive(link: Link): Promise<void> {
    const contained = (handle: MailReader) => (mail: Mail) =>
      contain(() => handle(mail), this.#parts.caught);
    await link.receive(
      mailKinds.reply,
      contained((mail) => this.#replied(link, mail)),
    );
    const told: readonly (readonly [string, MailReader])[] = [
      [mailKinds.news, (mail) => this.#news(mail)],
      [mailKinds.chunk, (mail) => this.#part(mail)],
      [mailKinds.here, (mail) => this.#here(mail)],
    ];
    for (const [kind, handle] of told) await link.receive(kind, contained(handle), true);
  }

  #ready(): void {
    for (const call of this.#calls.values()) this.#transmit(call);
    this.#doubtful.ask();
    // Answers may have been announced while the link was being opened.
    this.#downloads.pull();
  }

  #looks(): boolean {
    if (this.#calls.size === 0 || this.#keeper.isClosed) return false;
    // A part may have been refused on its way.
    this.#downloads.askAgain((download) => download.lookIfStale());
    this.#downloads.pull();
    this.#doubtful.ask();
    return true;
  }

  #lost(): void {
    for (const call of this.#calls.values()) call.isSent = false;
    // Another process may be there when we are back, and has said so to those that were there.
    this.#doubtful.doubt();
    this.#downloads.askAgain();
  }

  #failAll(why: GivenUp, cause: BrokerError): void {
    for (const { id } of [...this.#calls.values()]) this.#fail(id, why, cause);
  }

  #transmit(call: OpenCall): void {
    const { link } = this.#keeper;
    if (call.isSent || call.isTaken || link === undefined) return;
    if (call.isKept && this.#isLate(call)) {
      return this.#fail(call.id, 'not_taken', new BrokerError('lost', lateWords));
    }
    const hadArrived = call.mayHaveArrived;
    call.isSent = true;
    call.mayHaveArrived = true;
    call.listener.sent();
    const letter = this.#letter(mailKinds.request, call, call.body);
    const notTaken = (why: unknown) => this.#notTaken(call, why, hadArrived);
    if (!call.isKept) return link.tell(letter, notTaken);
    const taken = () => {
      call.isTaken = true;
    };
    link.deliver(letter).then(taken, notTaken).catch(this.#parts.caught);
  }

  #isLate({ endsAt }: OpenCall): boolean {
    return endsAt !== undefined && endsAt <= this.#parts.clock.now();
  }

  /** The loss of the link is dealt with where it is noticed; anything else is the answer to this request. */
  #notTaken(call: OpenCall, error: unknown, hadArrived: boolean): void {
    if (!(error instanceof BrokerError)) throw error;
    const { reason } = error;
    if (isEndOfLink(error)) return;
    if (reason !== 'not_kept') call.mayHaveArrived = hadArrived;
    if (reason !== 'absent') return this.#fail(call.id, 'not_taken', error);
    call.isSent = false;
    if (this.#calls.get(call.id) === call) this.#watch.isAway(call);
  }

  #letter(kind: string, { id, letterId, endsAt }: OpenCall, body: Buffer): Letter {
    const { to, clock } = this.#parts;
    const ttlMs = endsAt === undefined ? undefined : Math.max(1, endsAt - clock.now());
    return { id: letterId, to, kind, about: id, ttlMs, body };
  }

  #tell(kind: string, call: OpenCall, body: Buffer, seat?: string): void {
    const toAll = kind === mailKinds.cancel;
    this.#keeper.link?.tell({ ...this.#letter(kind, call, body), seat, toAll });
  }

  #fail(id: string, reason: CallFailure['reason'], cause: BrokerError): void {
    const call = this.#take(id);
    const isAnswered = reason === 'damaged' || reason === 'gone';
    const dispatched = isAnswered ? 'yes' : call?.mayHaveArrived ? 'maybe' : 'no';
    call?.listener.failed({ reason, cause, dispatched });
  }

  #take(id: string): OpenCall | undefined {
    const call = this.#calls.get(id);
    this.#calls.delete(id);
    if (call === undefined) return undefined;
    this.#watch.isThere(call);
    this.#downloads.end(call);
    return call;
  }

  /** The request that this is about, if it comes from the orchestrator that was asked. */
  #asked({ from, about }: Mail): OpenCall | undefined {
    return from.mailbox === this.#parts.to ? this.#calls.get(about ?? '') : undefined;
  }

  #replied(link: Link, mail: Mail): void {
    const call = this.#asked(mail);
    // Late, or not for us: nobody waits for it.
    if (call === undefined) return mail.ack();
    const parcel = parcelIn(mail.body, this.#parts.maxResponseBytes);
    if (parcel === undefined) return this.#answered(call, mail.body, mail);
    if (parcel === 'damaged') return this.#damaged(call, mail);
    call.answerUntil = this.#parts.clock.now() + (mail.ttlMs ?? 0);
    this.#downloads.begin(call, parcel, mail);
    if (link === this.#keeper.link) this.#downloads.pull();
  }

  #part(mail: Mail): void {
    const call = this.#asked(mail);
    const { announcement } = call ?? {};
    if (call === undefined || announcement === undefined) return;
    const pulled = this.#downloads.take(call, mail.body);
    if (pulled === 'gone') this.#askAgain(call, announcement);
    else if (pulled === 'damaged') this.#damaged(call, announcement);
    else if (pulled !== undefined) this.#answered(call, pulled, announcement);
    this.#downloads.pull();
  }

  /** The orchestrator has it no longer: the same call id gets the same answer once more. */
  #askAgain(call: OpenCall, announcement: Mail): void {
    const now = this.#parts.clock.now();
    const isTooLate = call.isKept && now >= call.answerUntil;
    if (call.isAskedAgain || isTooLate) return this.#gone(call, announcement);
    if (call.isKept) call.endsAt = Math.min(now + askAgainMs, call.answerUntil);
    announcement.ack();
    call.isAskedAgain = true;
    this.#downloads.pause(call);
    this.#sendAgain(call);
  }

  #sendAgain(call: OpenCall): void {
    // The broker may still know the letter that was sent before.
    call.letterId = againLetterId(this.#newLetterId(call.id));
    call.isDoubtful = false;
    call.isTaken = false;
    call.isSent = false;
    this.#transmit(call);
  }

  #answered(call: OpenCall, response: Buffer, mail: Mail): void {
    this.#take(call.id);
    mail.ack();
    call.listener.answered(response);
  }

  #gone(call: OpenCall, mail: Mail): void {
    mail.ack();
    this.#fail(call.id, 'gone', new BrokerError('absent', 'the answer is not kept any more'));
  }

  #damaged(call: OpenCall, mail: Mail): void {
    mail.ack();
    this.#fail(call.id, 'damaged', new BrokerError('bad_letter', 'the answer cannot be read'));
  }

  #news(mail: Mail): void {
    this.#asked(mail)?.listener.news(mail.body);
  }

  /** What was told to a process that is gone is told again; what it had taken is asked for. */
  #here(mail: Mail): void {
    if (mail.from.mailbox !== this.#parts.to) return;
    const come = this.#processes.heard(mail.from.seat, mail.body.toString('latin1'));
    if (come === 'known') return;
    if (come === 'process') this.#doubtful.doubt();
    for (const call of this.#calls.values()) {
      this.#watch.isThere(call);
      if (!call.isKept) call.isSent = false;
      this.#transmit(call);
    }
    this.#doubtful.ask();
    this.#parts.missed();
  }
}

const lateWords = 'the broker has not taken the call in its time';

function absent(to: string): BrokerError {
  return new BrokerError(
    'absent',
    `${to} is not connected to the broker: start it where its servers are (holdfast serve --broker URL --as ${to}), or check the name`,
  );
}
