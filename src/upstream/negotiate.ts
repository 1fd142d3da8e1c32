// The first exchange with a server: which era does this connection use? The era of the client that
// the connection is opened for is tried first, the other one if the server refuses. What its
// answers say about the eras is remembered; silence is not, because a server may only be slow to
// start, so a late answer still counts. A transport provides the two requests.

import type { Clock } from '../kernel/clock.ts';
import { Fault } from '../kernel/fault.ts';
import { type Era, envelopeKeys, modernVersion } from '../wire/eras.ts';
import type { Params } from '../wire/frames.ts';
import { classifyProbe, type ProbeOutcome } from './classify.ts';
import type { Greeting, RequestOptions } from './connection.ts';
import type { Exchange } from './exchange.ts';
import { accepted, answerTo, Refused, sendInitialize } from './initialize.ts';
import {
  answerWithin,
  type ModernVerdict,
  modernAnswer,
  modernGreeting,
  orSilence,
  probe,
  silence,
} from './probe.ts';

export interface Identity {
  readonly name: string;
  readonly version: string;
}

/** Which eras a server supports, as far as its own answers have shown; absent: not known. */
export interface EraKnowledge {
  readonly legacy?: boolean | undefined;
  readonly modern?: boolean | undefined;
}

/**
 * What is known about one server beyond this connection. Only answers are learnt, never silence.
 */
export interface EraMemory {
  known(): Promise<EraKnowledge>;
  learn(facts: EraKnowledge): void;
  /**
   * It exited, or stayed silent, when it was sent `initialize`. That is not an answer: only the
   * next start begins differently.
   */
  notInitialized(): void;
  /** Resolves when what was learnt so far is stored, or the disk takes too long. */
  kept(): Promise<void>;
}

export interface Talk {
  request(method: string, params: Params, era: Era, options?: RequestOptions): Exchange;
  /** Resolves when the next request may follow. */
  notify(method: string, params: Params): Promise<void>;
  /** What a failed exchange of the negotiation means on this transport. */
  outcomeOf(fault: Fault): ProbeOutcome;
  /** Whether the server reads our messages in the order in which we sent them. */
  readonly isOrdered: boolean;
}

/** How a connection begins. */
export interface NegotiationOptions {
  /** The era that is tried first: that of the client that the connection is opened for. */
  readonly first: Era;
  readonly known: EraKnowledge;
  readonly memory: Pick<EraMemory, 'learn' | 'notInitialized'>;
  readonly identity: Identity;
  readonly clock: Clock;
  /** How long the whole start may take. */
  readonly startTimeoutMs: number;
  /** The capabilities that we declare to a legacy server, as JSON. */
  readonly capabilities: string;
}

/** After this long without an answer to the probe, `initialize` is tried as well. */
const probeMs = 3_000;
/** The same for a server that has answered the probe before: it is only slow to start. */
const knownModernProbeMs = 15_000;
/**
 * After this long without an answer to `initialize`, or half of the time for the start, a server of unknown
 * era is probed as well: a start that ended before would never find out that the server is modern.
 */
const initializeMs = 15_000;
/**
 * How long a server that refused `initialize` has to answer the probe: it is running, perhaps slow.
 */
const probeAfterRefusalMs = 10_000;
/** How long a server that answered the probe late has to answer `initialize`. */
const lateAnswerGraceMs = 1_000;

/**
 * Thrown when the process has to be started again without `initialize`: it has answered the probe.
 */
export class InitializeEndedServer extends Error {
  override readonly name = 'InitializeEndedServer';
}

/** Thrown when the process has to be started again without the probe. */
export class ProbeEndedServer extends Error {
  override readonly name = 'ProbeEndedServer';
}

/** How the process is started again, once, after such a failed negotiation; else undefined. */
export function knowledgeAfter(error: unknown): EraKnowledge | undefined {
  if (error instanceof ProbeEndedServer) return { modern: false };
  if (error instanceof InitializeEndedServer) return { legacy: false, modern: true };
  return undefined;
}

/** The members of `_meta` in a modern request, except the client's capabilities. */
export function envelopeHead(identity: Identity): string {
  return (
    `${JSON.stringify(envelopeKeys.protocolVersion)}:${JSON.stringify(modernVersion)},` +
    `${JSON.stringify(envelopeKeys.clientInfo)}:${JSON.stringify(identity)},` +
    `${JSON.stringify(envelopeKeys.clientCapabilities)}:`
  );
}

/** The whole of them for one request. */
export function fullEnvelope(head: string, options: RequestOptions | undefined): string {
  const { capabilities = '{}', logLevel } = options ?? {};
  if (logLevel === undefined) return head + capabilities;
  return `${head}${capabilities},${JSON.stringify(envelopeKeys.logLevel)}:${JSON.stringify(logLevel)}`;
}

export function modernEnvelope(identity: Identity, capabilities = '{}'): string {
  return envelopeHead(identity) + capabilities;
}

export async function negotiate(talk: Talk, opening: NegotiationOptions): Promise<Greeting> {
  const { first, known } = opening;
  // It answered neither the last time, so the stored facts do not help.
  const isUnknown = known.legacy === false && known.modern === false;
  if (isUnknown) return negotiate(talk, { ...opening, known: {} });
  const isLegacyFirst = first === 'legacy' ? known.legacy !== false : known.modern === false;
  return isLegacyFirst ? legacyFirst(talk, opening) : modernFirst(talk, opening);
}

// --- legacy first --------------------------------------------------------------------------

/**
 * `initialize`; a server that refuses it, or is silent, is asked whether it supports the modern
 * era.
 */
async function legacyFirst(talk: Talk, opening: NegotiationOptions): Promise<Greeting> {
  const { clock, known, memory, startTimeoutMs } = opening;
  // A server that has used this era before is only slow; one that does not know the probe may exit
  // because of it.
  const isInDoubt = known.legacy === undefined && known.modern !== false;
  const isModern = isInDoubt && known.modern === true;
  const initializing = sendInitialize(talk, opening);
  const meeting = answerTo(talk, initializing).catch((error: unknown) => {
    if (isInDoubt && isExit(talk, error)) memory.notInitialized();
    throw isModern && isExit(talk, error) ? new InitializeEndedServer('', { cause: error }) : error;
  });
  const waitMs = Math.min(isModern ? probeMs : initializeMs, startTimeoutMs / 2);
  const said = isInDoubt ? await orSilence(clock, waitMs, meeting) : await meeting;
  if (said === silence) return afterSilentInitialize(talk, opening, initializing, meeting);
  if (!(said instanceof Refused)) return accepted(talk, said, opening);
  const outcome = await answerWithin(talk, probe(talk), clock, probeAfterRefusalMs);
  const verdict = classifyProbe(outcome);
  if (verdict.kind !== 'modern') throw said.fault;
  memory.learn({ legacy: false, modern: true });
  return modernGreeting(verdict.discovery);
}

/** The probe follows while `initialize` stays open; whichever is answered decides. */
async function afterSilentInitialize(
  talk: Talk,
  opening: NegotiationOptions,
  initializing: Exchange,
  meeting: Promise<Greeting | Refused>,
): Promise<Greeting> {
  const { clock, memory } = opening;
  const probing = probe(talk);
  const modern = modernAnswer(probing, memory);
  const isProbed = await Promise.race([meeting.then(() => false), modern.then(() => true)]).catch(
    (error: unknown) => {
      // It was only slow, and exited because of the probe.
      throw isExit(talk, error) ? new ProbeEndedServer('', { cause: error }) : error;
    },
  );
  const said = isProbed ? await orSilence(clock, lateAnswerGraceMs, meeting) : await meeting;
  if (said !== silence && !(said instanceof Refused)) {
    if (!talk.isOrdered) probing.cancel(otherEra());
    return accepted(talk, said, opening);
  }
  if (said instanceof Refused) {
    const outcome = await answerWithin(talk, probing, clock, probeAfterRefusalMs);
    if (classifyProbe(outcome).kind !== 'modern') throw said.fault;
  }
  // Silence decides nothing, because its answer to `initialize` may have been lost: it is not
  // stored.
  if (said instanceof Refused) memory.learn({ legacy: false });
  else memory.notInitialized();
  initializing.cancel(otherEra());
  return modernGreeting((await modern).discovery);
}

// --- modern first --------------------------------------------------------------------------

async function modernFirst(talk: Talk, opening: NegotiationOptions): Promise<Greeting> {
  const { clock, known, memory } = opening;
  const probing = probe(talk);
  // That it exited at `initialize` does not show that it knows the probe: only its answers do.
  const waitMs = known.modern === true ? knownModernProbeMs : probeMs;
  const outcome = await answerWithin(talk, probing, clock, waitMs);
  if (outcome.kind === 'silence') return afterSilence(talk, opening, probing);
  const verdict = classifyProbe(outcome);
  if (verdict.kind === 'fault') throw verdict.fault;
  if (verdict.kind === 'legacy-afresh') throw new ProbeEndedServer();
  if (verdict.kind === 'modern') {
    memory.learn({ modern: true });
    return modernGreeting(verdict.discovery);
  }
  if (isAnswer(outcome)) memory.learn({ modern: false });
  const meeting = await answerTo(talk, sendInitialize(talk, opening));
  if (meeting instanceof Refused) throw meeting.fault;
  return accepted(talk, meeting, opening);
}

/**
 * The probe has not been answered: the server may be slow, or silent about unknown methods.
 * `initialize` follows while the probe stays open; whichever is answered decides.
 */
async function afterSilence(
  talk: Talk,
  opening: NegotiationOptions,
  probing: Exchange,
): Promise<Greeting> {
  const { clock, memory } = opening;
  const late: LateProbe = { isAnswered: false };
  let grace: Disposable | undefined;
  let isOver = false;
  const lateModern = new Promise<ModernVerdict>((resolve, reject) => {
    const heard = (verdict: ModernVerdict) => {
      late.isAnswered = true;
      if (!isOver) grace = clock.after(lateAnswerGraceMs, () => resolve(verdict));
    };
    modernAnswer(probing, memory).then(heard).catch(reject);
  });
  try {
    return await decided(talk, opening, probing, late, lateModern);
  } finally {
    isOver = true;
    grace?.[Symbol.dispose]();
  }
}

interface LateProbe {
  /** It has turned out to be modern. */
  isAnswered: boolean;
}

/** Whichever is answered first: `initialize`, or the probe, which may be sent a second time. */
async function decided(
  talk: Talk,
  opening: NegotiationOptions,
  probing: Exchange,
  late: LateProbe,
  lateModern: Promise<ModernVerdict>,
): Promise<Greeting> {
  const { clock, memory } = opening;
  const initializing = sendInitialize(talk, opening);
  const meeting = answerTo(talk, initializing).catch((error: unknown) => {
    if (!isExit(talk, error)) throw error;
    // It read the probe late and exited because of it, unless it has answered it: then it exited
    // because of `initialize`.
    if (!late.isAnswered) throw new ProbeEndedServer('', { cause: error });
    memory.notInitialized();
    throw new InitializeEndedServer('', { cause: error });
  });
  const first = await Promise.race([meeting, lateModern]);
  if ('kind' in first) {
    // It is no longer waited for: an answer now must not make this a legacy connection.
    initializing.cancel(otherEra());
    return modernGreeting(first.discovery);
  }
  if (!(first instanceof Refused)) {
    // It read the probe before `initialize` and answers only the latter: it does not know the
    // probe.
    if (talk.isOrdered && !probing.isSettled) memory.learn({ modern: false });
    // Elsewhere it occupies a connection of its own, which must not stay open for nothing.
    if (!talk.isOrdered) probing.cancel(otherEra());
    return accepted(talk, first, opening);
  }
  const again = answerWithin(talk, probe(talk), clock, probeAfterRefusalMs).then(classifyProbe);
  const verdict = await Promise.race([again, lateModern]);
  if (verdict.kind !== 'modern') throw first.fault;
  memory.learn({ legacy: false, modern: true });
  return modernGreeting(verdict.discovery);
}

function isExit(talk: Talk, error: unknown): boolean {
  return error instanceof Fault && talk.outcomeOf(error).kind === 'exit';
}

function otherEra(): Fault {
  return new Fault('cancelled', 'the server uses the other protocol era');
}

/** A response that began well and then broke off, or was not MCP, says nothing about the era. */
function isAnswer(outcome: ProbeOutcome): boolean {
  return outcome.kind !== 'http-status' || outcome.status >= 400;
}
