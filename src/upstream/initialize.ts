// `initialize`, the handshake of the legacy era, in three steps: it is sent, its answer is read,
// and the answer is accepted. Only the last step tells the server that the connection is legacy, so
// that code that waits for two answers at once (negotiate) can still choose the other one.

import { Fault } from '../kernel/fault.ts';
import { isRecord } from '../kernel/json-values.ts';
import { valueOf as parsed } from '../wire/decode.ts';
import { latestLegacyVersion, legacyVersions } from '../wire/eras.ts';
import { noParams } from '../wire/frames.ts';
import type { Message } from '../wire/scan.ts';
import { classifyProbe, type ProbeOutcome } from './classify.ts';
import type { Greeting } from './connection.ts';
import type { Exchange } from './exchange.ts';
import type { NegotiationOptions, Talk } from './negotiate.ts';

/** The server answered `initialize` with an error, or with a status that means as much. */
export class Refused {
  readonly fault: Fault;

  constructor(fault: Fault) {
    this.fault = fault;
  }
}

export function sendInitialize(
  talk: Talk,
  { capabilities, identity }: NegotiationOptions,
): Exchange {
  const members =
    `"protocolVersion":${JSON.stringify(latestLegacyVersion)},"capabilities":${capabilities},` +
    `"clientInfo":${JSON.stringify(identity)}`;
  return talk.request('initialize', { members }, 'legacy');
}

export async function answerTo(talk: Talk, initializing: Exchange): Promise<Greeting | Refused> {
  let message: Message;
  try {
    message = await initializing.answer;
  } catch (error) {
    if (error instanceof Fault && isRefusal(talk.outcomeOf(error))) return new Refused(error);
    throw error;
  }
  if (message.kind !== 'result' || !message.result) return new Refused(refusedFault(message));
  const result = parsed(message.bytes, message.result);
  const version = isRecord(result) ? result['protocolVersion'] : undefined;
  if (!isRecord(result) || !isLegacyVersion(version)) {
    throw new Fault(
      'protocol_violation',
      `the server answered initialize with protocol version ${JSON.stringify(version)}, which Holdfast does not support`,
      { dispatched: 'yes' },
    );
  }
  return {
    era: 'legacy',
    protocolVersion: version,
    serverInfo: result['serverInfo'],
    capabilities: isRecord(result['capabilities']) ? result['capabilities'] : {},
    instructions: typeof result['instructions'] === 'string' ? result['instructions'] : undefined,
  };
}

/** The connection is legacy: the server is notified. */
export async function accepted(
  talk: Talk,
  greeting: Greeting,
  { memory }: NegotiationOptions,
): Promise<Greeting> {
  await talk.notify('notifications/initialized', noParams);
  memory.learn({ legacy: true });
  return greeting;
}

/** A status that says something about the request, not about a login or a broken backend. */
function isRefusal(outcome: ProbeOutcome): boolean {
  return outcome.kind === 'http-status' && classifyProbe(outcome).kind === 'legacy';
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
