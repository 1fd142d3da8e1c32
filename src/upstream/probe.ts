// The probe of the modern era, `server/discover`: it is sent, waited for, and its answer is read.
// negotiate.ts decides what follows from an answer, or from none.

import type { Clock } from '../kernel/clock.ts';
import { ignored } from '../kernel/contain.ts';
import { Fault } from '../kernel/fault.ts';
import { isRecord } from '../kernel/json-values.ts';
import { valueOf as parsed } from '../wire/decode.ts';
import { envelopeKeys, modernVersion } from '../wire/eras.ts';
import { noParams } from '../wire/frames.ts';
import type { Message } from '../wire/scan.ts';
import { classifyProbe, type ProbeOutcome, type ProbeVerdict } from './classify.ts';
import type { Greeting } from './connection.ts';
import type { Exchange } from './exchange.ts';
import type { EraMemory, Talk } from './negotiate.ts';

export type ModernVerdict = Extract<ProbeVerdict, { readonly kind: 'modern' }>;

/** Never resolves if the probe is answered otherwise, or not at all. */
export function modernAnswer(
  probing: Exchange,
  memory: Pick<EraMemory, 'learn'>,
): Promise<ModernVerdict> {
  return new Promise((resolve, reject) => {
    const heard = (message: Message) => {
      const verdict = classifyProbe(outcomeOf(message));
      if (verdict.kind !== 'modern') return;
      memory.learn({ modern: true });
      resolve(verdict);
    };
    probing.answer.then(heard, ignored).catch(reject);
  });
}

/** It stays open when it is no longer waited for, so that a late answer still counts. */
export function probe(talk: Talk): Exchange {
  return talk.request('server/discover', noParams, 'modern', { background: true });
}

export async function answerWithin(
  talk: Talk,
  probing: Exchange,
  clock: Clock,
  waitMs: number,
): Promise<ProbeOutcome> {
  const answer = probing.answer.then(outcomeOf, (error: unknown) => {
    if (error instanceof Fault) return talk.outcomeOf(error);
    throw error;
  });
  const outcome = await orSilence(clock, waitMs, answer);
  return outcome === silence ? { kind: 'silence' } : outcome;
}

export const silence = Symbol('silence');

export async function orSilence<T>(
  clock: Clock,
  waitMs: number,
  answer: Promise<T>,
): Promise<T | typeof silence> {
  let deadline: Disposable | undefined;
  const waiting = new Promise<typeof silence>((resolve) => {
    deadline = clock.after(waitMs, () => resolve(silence));
  });
  try {
    return await Promise.race([answer, waiting]);
  } finally {
    deadline?.[Symbol.dispose]();
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

export function modernGreeting(discovery: Readonly<Record<string, unknown>>): Greeting {
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
