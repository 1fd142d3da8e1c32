// Answers of another Holdfast, as a server or as an orchestrator, that say that the call has not run: it was refused
// before it was sent to whoever runs it. A server that says so of a call of its own is believed: nobody else is concerned.

import { isRecord } from '../../kernel/json-values.ts';
import { booleanOf, valueOf as parsed } from '../../wire/decode.ts';
import type { Message } from '../../wire/scan.ts';

/** A result with a fault in its `_meta`, or an error with a fault as its data. */
export function saysUnrun(message: Message): boolean {
  const { bytes, error, resultObject } = message;
  if (error !== undefined) {
    const value = parsed(bytes, error);
    return isRecord(value) && isUnrun(value['data']);
  }
  const isError = resultObject?.get('isError');
  const meta = resultObject?.get('_meta');
  if (isError === undefined || meta === undefined) return false;
  if (booleanOf(bytes, isError) !== true) return false;
  const value = parsed(bytes, meta);
  return isRecord(value) && isUnrun(value['holdfast/fault']);
}

/** The record of a fault: what became of the call is not known. */
export function isUnknown(record: unknown): boolean {
  return isRecord(record) && record['code'] === 'outcome_unknown';
}

/** The record of a fault, of a call that was not dispatched. */
export function isUnrun(record: unknown): boolean {
  return isRecord(record) && typeof record['code'] === 'string' && record['dispatched'] === 'no';
}
