// The arguments of a call as the one JSON object that is sent. Text and bytes are validated before
// anything is started and then sent unchanged, except that a line break between tokens becomes a
// space; values are serialised once, here.

import { Fault } from '../../kernel/fault.ts';
import { isRecord } from '../../kernel/json-values.ts';
import { checkValue, isObjectText } from '../../wire/json-text.ts';
import { oneLine } from '../../wire/splice.ts';
import { refusals, WireError } from '../../wire/wire-error.ts';

export function argumentsFromText(args: string | Uint8Array): Buffer {
  const bytes = typeof args === 'string' ? bytesOf(args) : asBuffer(args);
  try {
    checkValue(bytes);
  } catch (error) {
    if (!(error instanceof WireError)) throw error;
    throw new Fault(
      'invalid_request',
      `the arguments are not JSON: ${refusals[error.reason].says} (at byte ${error.offset}); give one JSON object such as {"path":"."}`,
    );
  }
  if (!isObjectText(bytes)) throw notAnObject();
  return oneLine(bytes);
}

export function argumentsFromValue(args: unknown): string {
  if (args === undefined) return '{}';
  if (!isRecord(args)) throw notAnObject();
  try {
    const text: string | undefined = JSON.stringify(args);
    if (text?.startsWith('{')) return text;
  } catch (error) {
    throw new Fault(
      'invalid_request',
      `the arguments cannot be written as JSON: ${error instanceof Error ? error.message : error}`,
    );
  }
  throw notAnObject();
}

const replacement = Buffer.from('\ufffd');

/** Half of a surrogate pair has no UTF-8 form: it would silently become another character. */
function bytesOf(text: string): Buffer {
  const bytes = Buffer.from(text);
  if (bytes.includes(replacement) && /\p{Surrogate}/u.test(text)) {
    throw new Fault(
      'invalid_request',
      'the arguments hold half a surrogate pair, which is no character; write it as an escape such as \\ud800',
    );
  }
  return bytes;
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes)
    ? bytes
    : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function notAnObject(): Fault {
  return new Fault('invalid_request', 'the arguments must be one JSON object');
}
