// Making the acquaintance of a server: the modern probe first, `initialize` if it says nothing
// modern, and the verdict remembered, so that the question is asked once per server and not once
// per start. A transport gives the two verbs; how it carries them is its own business.

import type { Clock } from '../kernel/clock.ts';
import { Fault } from '../kernel/fault.ts';
import { valueOf as parsed } from '../wire/decode.ts';
import {
  type Era,
  envelopeKeys,
  latestLegacyVersion,
  legacyVersions,
  modernVersion,
} from '../wire/eras.ts';
import type { Message } from '../wire/scan.ts';
import { classifyProbe, isRecord, type ProbeOutcome } from './classify.ts';
import { type Greeting, noParams, type Params, type RequestOptions } from './connection.ts';
import type { Exchange } from './exchange.ts';

export interface Identity {
  readonly name: string;
  readonly version: string;
}

/** Remembered eras, by what makes a server the same server. */
export interface Verdicts {
  get(specHash: string): Promise<Era | undefined>;
  put(specHash: string, era: Era): Promise<void>;
}

export interface Talk {
  request(method: string, params: Params, era: Era): Exchange;
  /** Resolves when the next request may follow. */
  notify(method: string, params: Params): Promise<void>;
  /** What a failed exchange of the probe means on this transport. */
  outcomeOf(fault: Fault): ProbeOutcome;
}

/** A silent server is taken for a legacy one after this long. */
const probeMs = 3000;

/** Raised when the process has to be started again without the probe. */
export class ProbeEndedServer extends Error {
  override readonly name = 'ProbeEndedServer';
}

/** The members that a modern request carries in `_meta`, up to what the client can do. */
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

export async function negotiate(
  talk: Talk,
  remembered: Era | undefined,
  identity: Identity,
  clock: Clock,
  capabilities = '{}',
): Promise<Greeting> {
  if (remembered !== 'legacy') {
    const verdict = classifyProbe(await probe(talk, clock));
    if (verdict.kind === 'modern') return modernGreeting(verdict.discovery);
    if (verdict.kind === 'fault') throw verdict.fault;
    if (verdict.kind === 'legacy-afresh') throw new ProbeEndedServer();
  }
  return initialize(talk, identity, capabilities);
}

async function probe(talk: Talk, clock: Clock): Promise<ProbeOutcome> {
  const exchange = talk.request('server/discover', noParams, 'modern');
  let isSilent = false;
  using _deadline = clock.after(probeMs, () => {
    isSilent = true;
    exchange.cancel(new Fault('timeout', 'no answer to server/discover'));
  });
  try {
    return outcomeOf(await exchange.answer);
  } catch (error) {
    if (isSilent) return { kind: 'silence' };
    if (error instanceof Fault) return talk.outcomeOf(error);
    throw error;
  }
}

function outcomeOf(message: Message): ProbeOutcome {
  if (message.kind === 'result' && message.result) {
    return { kind: 'result', result: parsed(message.bytes, message.result) };
  }
  const error = message.error ? parsed(message.bytes, message.error) : undefined;
  const code = isRecord(error) && typeof error['code'] === 'number' ? error['code'] : 0;
  return { kind: 'rpc-error', code, data: isRecord(error) ? error['data'] : undefined };
}

function modernGreeting(discovery: Readonly<Record<string, unknown>>): Greeting {
  const meta = discovery['_meta'];
  return {
    era: 'modern',
    protocolVersion: modernVersion,
    serverInfo: isRecord(meta) ? meta[envelopeKeys.serverInfo] : undefined,
    capabilities: isRecord(discovery['capabilities']) ? discovery['capabilities'] : {},
    instructions:
      typeof discovery['instructions'] === 'string' ? discovery['instructions'] : undefined,
  };
}

async function initialize(talk: Talk, identity: Identity, capabilities: string): Promise<Greeting> {
  const members =
    `"protocolVersion":${JSON.stringify(latestLegacyVersion)},"capabilities":${capabilities},` +
    `"clientInfo":${JSON.stringify(identity)}`;
  const message = await talk.request('initialize', { members }, 'legacy').answer;
  if (message.kind !== 'result' || !message.result) throw refusedFault(message);
  const result = parsed(message.bytes, message.result);
  const version = isRecord(result) ? result['protocolVersion'] : undefined;
  if (!isRecord(result) || !isLegacyVersion(version)) {
    throw new Fault(
      'protocol_violation',
      `the server answered initialize with protocol version ${JSON.stringify(version)}, which holdfast does not speak`,
      { dispatched: 'yes' },
    );
  }
  await talk.notify('notifications/initialized', noParams);
  return {
    era: 'legacy',
    protocolVersion: version,
    serverInfo: result['serverInfo'],
    capabilities: isRecord(result['capabilities']) ? result['capabilities'] : {},
    instructions: typeof result['instructions'] === 'string' ? result['instructions'] : undefined,
  };
}

function refusedFault(message: Message): Fault {
  const error = message.error ? parsed(message.bytes, message.error) : undefined;
  const text = isRecord(error) ? `${error['code']} ${error['message']}` : 'an unreadable error';
  return new Fault('protocol_violation', `the server refused initialize: ${text}`, {
    dispatched: 'yes',
  });
}

function isLegacyVersion(version: unknown): version is string {
  return (legacyVersions as readonly unknown[]).includes(version);
}
