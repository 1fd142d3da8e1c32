// The requests of a worker to its orchestrator, over links that come and go. A request that the broker has taken
// waits for its answer, which comes by whatever link there is then; one that it has not taken is sent again by the
// next link, with the same call id, so that it runs once. When a link ends, the next is opened if anything waits
// (`reconnection.ts` decides when, and when to give up). Answers count only from the orchestrator that was asked.

import { BrokerError, isEndOfLink } from '../../broker/broker-error.ts';
import type { Letter, Link, Mail, MailReader, OpenLink } from '../../broker/contract.ts';
import type { Clock, Random } from '../../kernel/clock.ts';
import { type Caught, contain, ignored } from '../../kernel/contain.ts';
import { mailKinds } from '../mail-kinds.ts';
import { parcelIn, partIn, pullBody } from '../parcel.ts';
import { Download } from './download.ts';
import type { CallFailure, CallListener, CallRequest, OpenCall } from './open-call.ts';
import {
  type Reconnection,
  type ReconnectionEffect,
  type ReconnectionEvent,
  type ReconnectionPolicy,
  stepReconnection,
  usualReconnection,
} from './reconnection.ts';

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
  /** For people: why there is no link. */
  readonly report: (why: BrokerError) => void;
  /** Unexpected errors. */
  readonly caught: Caught;
  readonly policy?: ReconnectionPolicy;
}

/** How soon it is noticed that an orchestrator has gone, before it is waited for. */
const lookEveryMs = 5_000;

export class Channel implements AsyncDisposable {
  readonly #parts: ChannelParts;
  /** By call id, until answered; bound: what the callers wait for. */
  readonly #calls = new Map<string, OpenCall>();
  #state: Reconnection = { is: 'broken' };
  #link: Link | undefined;
  #opening: AbortController | undefined;
  #timer: Disposable | undefined;
  #limit: Disposable | undefined;
  #looking: Disposable | undefined;
  #lastRefusal = 'there is no link to the broker';
  #incarnation: string | undefined;

  constructor(parts: ChannelParts) {
    this.#parts = parts;
  }

  send(request: CallRequest, listener: CallListener): void {
    const { clock } = this.#parts;
    const { id, ttlMs } = request;
    const call: OpenCall = {
      ...request,
      listener,
      endsAt: ttlMs === undefined ? undefined : clock.now() + ttlMs,
      isSent: false,
      isTaken: false,
      mayHaveArrived: false,
      isAskedAgain: false,
      download: undefined,
      announcement: undefined,
      absence: undefined,
    };
    this.#calls.set(id, call);
    this.#need();
    this.#lookLater();
  }

  /** The answer is not wanted any more; the orchestrator hears of it if it may have the request. */
  cancel(id: string): void {
    const call = this.#take(id);
    if (call?.mayHaveArrived) this.#tell(mailKinds.cancel, call, Buffer.alloc(0));
  }

  async close(): Promise<void> {
    this.#looking?.[Symbol.dispose]();
    this.#happen({ is: 'close' });
    await this.#link?.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  // --- links ---------------------------------------------------------------------------------

  #need(): void {
    this.#happen({ is: 'needed', at: this.#parts.clock.now() });
  }

  #happen(event: ReconnectionEvent): void {
    const policy = this.#parts.policy ?? usualReconnection;
    const [state, effects] = stepReconnection(this.#state, event, policy);
    this.#state = state;
    for (const effect of effects) this.#do(effect);
  }

  #do(effect: ReconnectionEffect): void {
    const { clock } = this.#parts;
    switch (effect.do) {
      case 'open':
        return this.#open();
      case 'wait':
        this.#timer = clock.after(effect.ms, () => this.#happen({ is: 'elapsed' }));
        return;
      case 'limit':
        this.#limit = clock.after(effect.ms, () => this.#happen({ is: 'deadline' }));
        return;
      case 'release':
        this.#stopTimers();
        for (const call of this.#calls.values()) this.#transmit(call);
        return;
      case 'abandon':
        this.#stopTimers();
        this.#opening?.abort();
        return;
      case 'fail':
        return this.#failAll(effect.why);
    }
  }

  #stopTimers(): void {
    this.#timer?.[Symbol.dispose]();
    this.#limit?.[Symbol.dispose]();
  }

  #open(): void {
    const opening = new AbortController();
    this.#opening = opening;
    this.#opened(opening.signal).catch((error: unknown) => {
      if (!(error instanceof BrokerError)) return this.#parts.caught(error);
      if (opening.signal.aborted) return;
      this.#lastRefusal = error.message;
      const { clock, random, report } = this.#parts;
      if (error.isPermanent) report(error);
      const { isPermanent } = error;
      this.#happen({ is: 'failed', at: clock.now(), isPermanent, random: random() });
    });
  }

  async #opened(signal: AbortSignal): Promise<void> {
    const link = await this.#parts.openLink(signal);
    try {
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
      if (signal.aborted) throw new BrokerError('closed', 'not needed any more');
    } catch (error) {
      await link.close();
      throw error;
    }
    const wasThere = this.#link !== undefined;
    this.#link = link;
    link.ended.then((why) => this.#lost(link, why)).catch(ignored);
    this.#happen({ is: 'opened' });
    if (wasThere) this.#parts.missed();
  }

  #lost(link: Link, why: BrokerError): void {
    if (link !== this.#link) return;
    this.#lastRefusal = why.message;
    for (const call of this.#calls.values()) {
      call.isSent = false;
      call.download?.askAgain();
    }
    if (why.isPermanent) this.#parts.report(why);
    this.#happen({ is: 'lost' });
    if (this.#calls.size > 0) this.#need();
  }

  #failAll(why: 'refused' | 'exhausted' | 'closed'): void {
    for (const { id } of [...this.#calls.values()]) this.#fail(id, why, this.#lastRefusal);
  }

  // --- requests ------------------------------------------------------------------------------

  #transmit(call: OpenCall): void {
    const link = this.#link;
    if (call.isSent || call.isTaken || link === undefined) return;
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

  /** The loss of the link is dealt with where it is noticed; anything else is the answer to this request. */
  #notTaken(call: OpenCall, error: unknown, hadArrived: boolean): void {
    if (!(error instanceof BrokerError)) throw error;
    const { reason } = error;
    if (isEndOfLink(error)) return;
    if (reason !== 'not_kept') call.mayHaveArrived = hadArrived;
    if (reason === 'absent') return this.#awaitOrchestrator(call);
    this.#fail(call.id, 'not_taken', error.message);
  }

  /** It says so when it comes; for so long, and no longer, it is waited for. */
  #awaitOrchestrator(call: OpenCall): void {
    call.isSent = false;
    this.#limitAbsence(call);
  }

  #limitAbsence(call: OpenCall): void {
    const { clock, policy = usualReconnection, to } = this.#parts;
    if (call.isListening || this.#calls.get(call.id) !== call) return;
    const giveUp = () => this.#fail(call.id, 'not_taken', `${to} is not connected to the broker`);
    call.absence ??= clock.after(policy.totalMs, giveUp);
  }

  /** An orchestrator that has gone says nothing: as long as something waits for it, the broker is asked. */
  #lookLater(): void {
    this.#looking ??= this.#parts.clock.after(
      lookEveryMs,
      () => {
        this.#looking = undefined;
        this.#look().catch(this.#parts.caught);
      },
      true,
    );
  }

  async #look(): Promise<void> {
    if (this.#calls.size === 0 || this.#state.is === 'closed') return;
    this.#lookLater();
    // Without a link, or if it ends now, that is dealt with elsewhere.
    const present = await this.#link?.present().catch(ignored);
    if (present === undefined) return;
    const isThere = present.includes(this.#parts.to);
    for (const call of this.#calls.values()) {
      if (!isThere) this.#limitAbsence(call);
      else if (call.isSent) this.#endAbsence(call);
    }
  }

  #endAbsence(call: OpenCall): void {
    call.absence?.[Symbol.dispose]();
    call.absence = undefined;
  }

  #letter(kind: string, { id, endsAt }: OpenCall, body: Buffer): Letter {
    const { to, clock } = this.#parts;
    const ttlMs = endsAt === undefined ? undefined : Math.max(1, endsAt - clock.now());
    return { id, to, kind, about: id, ttlMs, body };
  }

  #tell(kind: string, call: OpenCall, body: Buffer, seat?: string): void {
    const toAll = kind === mailKinds.cancel;
    this.#link?.tell({ ...this.#letter(kind, call, body), seat, toAll });
  }

  #fail(id: string, reason: CallFailure['reason'], detail: string): void {
    const call = this.#take(id);
    const dispatched = call?.mayHaveArrived ? 'maybe' : 'no';
    call?.listener.failed({ reason, detail, dispatched });
  }

  #take(id: string): OpenCall | undefined {
    const call = this.#calls.get(id);
    this.#calls.delete(id);
    if (call !== undefined) this.#endAbsence(call);
    return call;
  }

  // --- answers -------------------------------------------------------------------------------

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
    if (!call.download?.isOf(parcel)) call.download = new Download(parcel);
    call.announcement = mail;
    call.download.askAgain();
    if (link === this.#link) this.#pull(call);
  }

  #pull(call: OpenCall): void {
    for (const offset of call.download?.next() ?? []) {
      this.#tell(mailKinds.pull, call, pullBody(offset), call.announcement?.from.seat);
    }
  }

  #part(mail: Mail): void {
    const call = this.#asked(mail);
    const { download, announcement } = call ?? {};
    if (call === undefined || download === undefined || announcement === undefined) return;
    const part = partIn(mail.body);
    if (part === 'gone') return this.#askAgain(call, announcement);
    if (part === 'damaged' || !download.put(part.offset, part.bytes)) {
      return this.#damaged(call, announcement);
    }
    const { result } = download;
    if (result === undefined) return this.#pull(call);
    if (result === 'damaged') return this.#damaged(call, announcement);
    this.#answered(call, result, announcement);
  }

  /** The orchestrator has it no longer: the same call id gets the same answer once more. */
  #askAgain(call: OpenCall, announcement: Mail): void {
    announcement.ack();
    if (call.isAskedAgain) return this.#damaged(call, announcement);
    call.isAskedAgain = true;
    call.download = undefined;
    call.announcement = undefined;
    call.isTaken = false;
    call.isSent = false;
    this.#transmit(call);
  }

  #answered(call: OpenCall, response: Buffer, mail: Mail): void {
    this.#take(call.id);
    mail.ack();
    call.listener.answered(response);
  }

  #damaged(call: OpenCall, mail: Mail): void {
    mail.ack();
    this.#fail(call.id, 'damaged', 'the answer cannot be read');
  }

  #news(mail: Mail): void {
    this.#asked(mail)?.listener.news(mail.body);
  }

  /** What was told to a process that is gone is told again. */
  #here(mail: Mail): void {
    if (mail.from.mailbox !== this.#parts.to) return;
    const incarnation = `${mail.from.seat} ${mail.body.toString('latin1')}`;
    if (this.#incarnation === incarnation) return;
    this.#incarnation = incarnation;
    for (const call of this.#calls.values()) {
      this.#endAbsence(call);
      if (!call.isKept) call.isSent = false;
      this.#transmit(call);
    }
    this.#parts.missed();
  }
}
