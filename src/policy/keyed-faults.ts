// What a caller with an idempotency key is told instead of a result: that the key is none, that it left, and how an earlier
// call with the same key has ended.

import { Fault, type FaultRecord, faultFrom } from '../kernel/fault.ts';
import type { KeyedRecord } from './idempotency.ts';

const maxKeyLength = 255;

export function gaveUp(dispatched: 'no' | 'maybe', reason: unknown): Fault {
  return new Fault('cancelled', 'the caller stopped waiting', { dispatched }, reason);
}

/** An internal error says nothing about how far the request got, so it counts as dispatched. */
export function terminalFault(thrown: unknown): Fault {
  if (thrown instanceof Fault) return thrown;
  return faultFrom(thrown).with({ dispatched: 'maybe' });
}

export function replayed(found: KeyedRecord, key: string, fingerprint: string): Buffer {
  if (found.fingerprint !== fingerprint) {
    throw new Fault(
      'conflict',
      `idempotency key ${quoted(key)} was used with another request; use a new key for a new request`,
    );
  }
  const { outcome } = found;
  switch (outcome.kind) {
    case 'result':
      return outcome.bytes;
    case 'fault':
      throw new Fault(outcome.record.code, outcome.record.detail, outcome.record);
    case 'begun':
      throw unknown(`the call with idempotency key ${quoted(key)} was begun and has no answer yet`);
    case 'dropped':
      throw unknown(
        `the answer of the call with idempotency key ${quoted(key)} is no longer kept`,
        {
          answerDropped: true,
        },
      );
  }
}

/** It waited for a call that another process has, and does not know how that has ended. */
export function lostSight(key: string, cause: unknown): Fault {
  const what = `the call with idempotency key ${quoted(key)} was begun elsewhere, and how it ended cannot be said now`;
  return new Fault(
    'outcome_unknown',
    `${what}; it was not repeated: send it again under the same key, or check its effect`,
    { dispatched: 'maybe' },
    cause,
  );
}

/** It has run, and its answer is kept where it cannot be reached. */
export function notReadNow(cause: unknown): Fault {
  return new Fault(
    'outcome_unknown',
    'the call has run, and its answer is kept but cannot be read now; it was not repeated: send it again under the same key, or check its effect',
    { dispatched: 'yes' },
    cause,
  );
}

/** Of a call whose outcome is asked for by its id. */
export function notKnown(): Fault {
  return unknown('nothing is known any more of this call, which was sent before', {}, 'again');
}

/** The caller chose its characters; the message must stay one line. */
function quoted(key: string): string {
  return JSON.stringify(key);
}

function unknown(
  what: string,
  more: Pick<FaultRecord, 'answerDropped'> = {},
  how = 'under a new key',
): Fault {
  return new Fault(
    'outcome_unknown',
    `${what}; it was not repeated: check its effect before you send it ${how}`,
    { dispatched: 'maybe', ...more },
  );
}

export function isKey(key: unknown): key is string {
  return typeof key === 'string' && key.length >= 1 && key.length <= maxKeyLength;
}

export function badKey(key: unknown): Fault {
  const given = typeof key === 'string' ? `has ${key.length}` : `is ${kindOf(key)}`;
  return new Fault(
    'invalid_request',
    `an idempotency key is a text of 1 to ${maxKeyLength} characters, this one ${given}`,
  );
}

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}
