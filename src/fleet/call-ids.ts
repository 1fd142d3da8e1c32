// Call ids of workers, and how long an orchestrator has to know one. A call id is what a letter is about: a letter that
// asks for the same call once more has an id of its own, because a broker takes the same id for the same letter. Call
// ids that are made from an idempotency key of a client are the same for every process of the worker, and are known as
// long as such a key. Any other is known for as long as its letter may come again, its worker may ask for its answer again, and
// a margin for clocks that differ.

import { createHash } from 'node:crypto';
import type { Mail } from '../broker/contract.ts';
import { clientKeyMs } from '../policy/idempotency.ts';

/**
 * How long an answer is kept by the broker for a worker that is away. Until then the worker may ask for it again by
 * the same call id.
 */
export const replyMs = 600_000;

const marginMs = 60_000;
const keyed = 'key-';

/** The same for every process of the worker that uses this key. */
export function callIdOf(key: string): string {
  return `${keyed}${createHash('sha256').update(key).digest('hex')}`;
}

/** The call that a letter asks for. */
export function callIdIn({ about, id }: Pick<Mail, 'about' | 'id'>): string {
  return about ?? id;
}

/** How long a letter that asks for an answer once more is of use. */
export const askAgainMs = 60_000;

const again = '.again';

/** Of a letter that asks only for the outcome of a call that was sent before: nothing is begun by it. */
export function againLetterId(letterId: string): string {
  return `${letterId}${again}`;
}

export function isAgainLetter({ id }: Pick<Mail, 'id'>): boolean {
  return id.endsWith(again);
}

/** `ttlMs`: how long its letter may still come; undefined: for ever. */
export function knownMs(id: string, ttlMs: number | undefined): number {
  if (ttlMs === undefined || id.startsWith(keyed)) return clientKeyMs;
  return Math.min(clientKeyMs, ttlMs + replyMs + marginMs);
}
