// One parked call. It consists of rounds: each begins with a request of its client (the first with
// the call itself, later with answers) and has one outcome, the next question or the end of the
// call, which every request for that round gets, however often. What a server asks in one turn is
// shown together. A client that does not return, or disconnects while it waits, ends the call.

import { hash, randomBytes } from 'node:crypto';
import type { ClientAnswer, Question } from '../../host/connections/caller.ts';
import type { Clock } from '../../kernel/clock.ts';
import { contain } from '../../kernel/contain.ts';
import { faultFrom } from '../../kernel/fault.ts';
import { canonicalText } from '../../wire/canonical.ts';
import { valueOf as parsed } from '../../wire/decode.ts';
import { rpcCodes } from '../../wire/eras.ts';
import { memberEdits } from '../../wire/member-edits.ts';
import { objectAt } from '../../wire/parts.ts';
import type { Message } from '../../wire/scan.ts';
import { memberKey } from '../../wire/span.ts';
import { oneLine, splice } from '../../wire/splice.ts';
import type { Incoming } from '../incoming.ts';
import type { Seal } from './seal.ts';

/** How long a client may take to answer. */
const answerMs = 600_000;
/** How long an outcome is kept for a client that asks for it again. */
const keptMs = 60_000;

/** How often a call may ask, and how much at a time. */
export const maxRounds = 64;
export const maxAsked = 64;

/** Writes the outcome of a round to every request for it. */
export type Deliver = (to: Incoming) => void;

interface Asked {
  readonly key: string;
  readonly method: string;
  readonly params: Buffer;
  readonly answer: (answer: ClientAnswer) => void;
}

interface Round {
  readonly outcome: Promise<Deliver>;
  readonly settle: (deliver: Deliver) => void;
  waiting: number;
}

/** The content of the sealed state that a client returns. */
export interface ParkedState {
  readonly parked: string;
  readonly round: number;
  readonly principal: string;
  /** The replica that has the call, where there are several. */
  readonly at?: string | undefined;
}

export interface ParkedCallEdges {
  /** This replica, where there are several. */
  readonly replica?: string | undefined;
  readonly clock: Clock;
  readonly seal: Seal;
  /** Called with an unexpected error. */
  readonly caught: (error: unknown) => void;
}

export class ParkedCall {
  readonly id = randomBytes(16).toString('base64url');
  readonly fingerprint: string;
  /** Its idempotency key, if it has one. */
  readonly key: unknown;
  /** The request that began it. */
  readonly caller: Incoming;
  readonly #clock: Clock;
  readonly #seal: Seal;
  readonly #replica: string | undefined;
  readonly #caught: (error: unknown) => void;
  readonly #forget: () => void;
  /** At most `maxRounds`, until the call is forgotten. */
  readonly #rounds: Round[] = [newRound()];
  #current: Incoming;
  /** Questions that the client has been shown, and those for its next round; at most `maxAsked` each. */
  #shown: readonly Asked[] = [];
  #asked: Asked[] = [];
  #isPresenting = false;
  #hasEnded = false;
  #hasBeenGivenUp = false;
  #count = 0;
  #expiry: Disposable | undefined;

  constructor(caller: Incoming, edges: ParkedCallEdges, forget: (call: ParkedCall) => void) {
    this.caller = caller;
    this.#current = caller;
    this.#clock = edges.clock;
    this.#seal = edges.seal;
    this.#replica = edges.replica;
    this.#caught = edges.caught;
    this.#forget = () => forget(this);
    this.fingerprint = requestFingerprint(caller);
    this.key = idempotencyKeyOf(caller.message);
    this.#wait(caller, 0);
  }

  ask({ message, withdrawn }: Question): Promise<ClientAnswer> {
    const { bytes, params, method = '' } = message;
    if (this.#hasBeenGivenUp) return Promise.resolve(refusal('the client has left'));
    if (this.#rounds.length > maxRounds || this.#asked.length >= maxAsked) {
      return Promise.resolve(refusal('too many questions in one call'));
    }
    return new Promise((resolve) => {
      const key = `q${++this.#count}`;
      const embedded = params ? bytes.subarray(params.start, params.end) : Buffer.from('{}');
      const answer = (given: ClientAnswer) => {
        withdrawn.removeEventListener('abort', gone);
        resolve(given);
      };
      const gone = () => {
        this.#asked = this.#asked.filter((asked) => asked.key !== key);
        resolve(refusal('withdrawn'));
      };
      withdrawn.addEventListener('abort', gone);
      this.#asked.push({ key, method, params: asEmbedded(embedded), answer });
      this.#present();
    });
  }

  /** What was asked in one turn is shown together. */
  #present(): void {
    if (this.#isPresenting || this.#shown.length > 0) return;
    this.#isPresenting = true;
    const show = () => {
      this.#isPresenting = false;
      if (this.#hasEnded || this.#asked.length === 0) return;
      this.#shown = this.#asked;
      this.#asked = [];
      const deliver = this.#inputRequired(this.#shown, this.#rounds.length);
      const round = this.#rounds.at(-1);
      this.#rounds.push(newRound());
      round?.settle(deliver);
      this.#expiry = this.#clock.after(answerMs, () => this.giveUp(), true);
    };
    const failed = (error: unknown) => {
      this.#caught(error);
      this.giveUp();
    };
    queueMicrotask(() => contain(show, failed));
  }

  #inputRequired(shown: readonly Asked[], round: number): Deliver {
    const requests = shown.map(
      ({ key, method, params }) =>
        `${JSON.stringify(key)}:{"method":${JSON.stringify(method)},"params":${params.toString('utf8')}}`,
    );
    const principal = this.caller.principal.id;
    const at = this.#replica;
    const state = this.#seal.close({ parked: this.id, round, principal, at } satisfies ParkedState);
    const result =
      `{"resultType":"input_required","inputRequests":{${requests.join(',')}},` +
      `"requestState":${JSON.stringify(state)}}`;
    return (to) => to.result(result);
  }

  resume(incoming: Incoming, number: number): void {
    const round = this.#rounds[number];
    if (!round) return incoming.error({ code: rpcCodes.invalidParams, message: 'unknown round' });
    const isFirst = number === this.#rounds.length - 1 && this.#shown.length > 0;
    if (isFirst) {
      const answers = this.#answersIn(incoming);
      // Not everything was answered: the same question again, under the same state.
      if (!answers) return this.#inputRequired(this.#shown, number)(incoming);
      this.#expiry?.[Symbol.dispose]();
      this.#shown = [];
      this.#current = incoming;
      incoming.about = this.caller.about;
      incoming.allowedAt = this.caller.allowedAt;
      this.caller.continuedBy(incoming);
      for (const give of answers) give();
      if (this.#asked.length > 0) this.#present();
    }
    this.#wait(incoming, number);
  }

  /** The key of its client. */
  get client(): string {
    return this.caller.client.key;
  }

  get principal(): string {
    return this.caller.principal.id;
  }

  /** Its client has a question, and is expected with the answer. */
  get isAsking(): boolean {
    return this.#shown.length > 0;
  }

  /** Gives the same questions to another request for the same call. False if there are none. */
  askAgain(incoming: Incoming): boolean {
    if (this.#shown.length === 0) return false;
    this.#inputRequired(this.#shown, this.#rounds.length - 1)(incoming);
    return true;
  }

  /** Undefined if an answer is missing. */
  #answersIn({ message }: Incoming): readonly (() => void)[] | undefined {
    const { bytes, paramsObject } = message;
    const span = paramsObject?.find('inputResponses');
    const responses = span && objectAt(bytes, span);
    const given = new Map(
      responses?.members().map((member) => [memberKey(bytes, member), member] as const),
    );
    const answers: (() => void)[] = [];
    for (const { key, answer } of this.#shown) {
      const response = given.get(key);
      if (!response) return undefined;
      const json = oneLine(Buffer.from(bytes.subarray(response.start, response.end)));
      answers.push(() => answer({ kind: 'result', json }));
    }
    return answers;
  }

  #wait(incoming: Incoming, number: number): void {
    const round = this.#rounds[number];
    if (!round) return;
    incoming.isCarried = true;
    round.waiting += 1;
    const { cancelSignal } = incoming;
    const left = () => {
      round.waiting -= 1;
      const isLast = round.waiting === 0 && number === this.#rounds.length - 1;
      if (isLast) this.giveUp(cancelSignal.reason);
    };
    if (cancelSignal.aborted) return left();
    cancelSignal.addEventListener('abort', left);
    const failed = (error: unknown) => {
      this.#caught(error);
      const { message } = faultFrom(error);
      contain(() => incoming.error({ code: rpcCodes.internalError, message }), this.#caught);
    };
    round.outcome.then((deliver) => deliver(incoming)).catch(failed);
  }

  ended(deliver: Deliver): void {
    this.#hasEnded = true;
    this.#expiry?.[Symbol.dispose]();
    const round = this.#rounds.at(-1);
    round?.settle(deliver);
    // Pending questions have nothing left to wait for.
    this.#refuse('the call has ended');
    if (this.#hasBeenGivenUp || this.#rounds.length === 1) return this.#forget();
    this.#expiry = this.#clock.after(keptMs, this.#forget, true);
  }

  /** Its client will not return. */
  get hasBeenGivenUp(): boolean {
    return this.#hasBeenGivenUp;
  }

  /** Of the requests that are kept with it: the first, and the one with which its client returned last. */
  get requestBytes(): number {
    const { message } = this.caller;
    const last = this.#current === this.caller ? 0 : this.#current.message.bytes.length;
    return message.bytes.length + last;
  }

  /** Its outcome is not kept any longer. */
  forget(): void {
    this.#expiry?.[Symbol.dispose]();
    this.#forget();
  }

  /** The client will not return: the server is notified, with the reason if it has cancelled. */
  giveUp(reason?: unknown): void {
    this.#hasBeenGivenUp = true;
    this.#expiry?.[Symbol.dispose]();
    this.#forget();
    // Requests that wait at the shutdown get the outcome of the call.
    if (this.#current.isDismissed) this.caller.isDismissed = true;
    else this.#current.cancel();
    this.caller.cancelSignal.abort(reason);
    this.#refuse('the client has not answered');
  }

  #refuse(message: string): void {
    const json = JSON.stringify({ code: rpcCodes.internalError, message });
    const open = [...this.#shown, ...this.#asked];
    this.#shown = [];
    this.#asked = [];
    for (const { answer } of open) answer({ kind: 'error', json });
  }
}

function newRound(): Round {
  let settle: (deliver: Deliver) => void = () => {};
  const outcome = new Promise<Deliver>((resolve) => {
    settle = resolve;
  });
  return { outcome, settle, waiting: 0 };
}

/** Members of a legacy request that have no meaning inside a result. */
function asEmbedded(params: Buffer): Buffer {
  const object = objectAt(params, { start: 0, end: params.length });
  if (!object) return Buffer.from('{}');
  const edits = memberEdits(object, { _meta: null, task: null, elicitationId: null });
  return oneLine(splice(params, edits));
}

/** Any value: the pipeline refuses an invalid key. */
export function idempotencyKeyOf({ bytes, meta }: Message): unknown {
  const span = meta?.find('holdfast/idempotencyKey');
  return span && parsed(bytes, span);
}

/** What makes a follow-up the same request, as a digest: it is kept with a call, and arguments may have megabytes. */
export function requestFingerprint({ message }: Incoming): string {
  const { bytes, paramsObject, method } = message;
  const parts = (['name', 'uri', 'arguments'] as const).map((key) => {
    const span = paramsObject?.find(key);
    if (!span) return '';
    // Written otherwise it is still the same request; with a key twice only the same bytes are.
    return canonicalText(bytes, span) ?? bytes.toString('utf8', span.start, span.end);
  });
  return hash('sha256', JSON.stringify([method, ...parts]), 'base64url');
}

function refusal(message: string): ClientAnswer {
  const error = { code: rpcCodes.internalError, message };
  return { kind: 'error', json: JSON.stringify(error) };
}
