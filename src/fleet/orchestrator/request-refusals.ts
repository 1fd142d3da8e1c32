// Why a request of a worker is not admitted, as its sender is told: nothing of it has run.

import { judgeEnvelope, missingEnvelope } from '../../downstream/clients/modern-envelope.ts';
import { tooMany } from '../../downstream/refusals.ts';
import { Fault } from '../../kernel/fault.ts';
import { rpcCodes } from '../../wire/eras.ts';
import type { ErrorToSend } from '../../wire/frames.ts';
import type { Message } from '../../wire/scan.ts';
import { usualCallBookLimits } from './call-book.ts';

export const nobody: ErrorToSend = {
  code: rpcCodes.refusedByHttp,
  message: 'Unauthorized: the credential of this worker names no role; make one with a role',
};

/** To its own sender: a call id of somebody else is not known to it. */
export function reused(id: string): ErrorToSend {
  const words = `the call id ${JSON.stringify(id)} was used with another request; use a new one for a new request`;
  const { record } = new Fault('conflict', words, { dispatched: 'no' });
  return { code: rpcCodes.invalidRequest, message: words, data: JSON.stringify(record) };
}

/** More than its share: the rest is for other workers. */
const busy: ErrorToSend = tooMany(
  `Too many requests: ${usualCallBookLimits.runningOfWorker} of this worker, or ${usualCallBookLimits.runningBytesOfWorker} bytes of them, are under way; wait for answers`,
);

/** Undefined if it is admitted. */
export function refusalOf(message: Message, hasRoom: boolean): ErrorToSend | undefined {
  if (!hasRoom) return busy;
  const verdict = judgeEnvelope(message);
  if (verdict.kind === 'none') return missingEnvelope(message);
  return verdict.kind === 'invalid' ? verdict.refusal : undefined;
}
