// Reads what call_tool was asked to call, from bytes. The inner arguments belong to the called
// tool: they are located, never parsed, and forwarded as they were written. The object around them
// must follow the rule of every envelope, no duplicate key and no key written with escapes, so that
// the authorized tool is the named tool. The gateway decides whether the tool exists.

import { textOf } from '../wire/decode.ts';
import { objectAt } from '../wire/parts.ts';
import type { ObjectSpan, Span } from '../wire/span.ts';
import { refusals, WireError } from '../wire/wire-error.ts';
import { quoted } from './line-words.ts';
import { type Invalid, invalid } from './own-arguments.ts';

export interface CallQuestion {
  readonly kind: 'call';
  /** The tool's name for the client. */
  readonly name: string;
  /** An object in the same bytes; undefined if there is none. */
  readonly arguments: Span | undefined;
}

const tool = 'call_tool';
const example = '{"name": "…", "arguments": {…}}';

/** Of a scanned frame; the span is that of `params.arguments`, if it exists. */
export function readCallTool(bytes: Buffer, span: Span | undefined): CallQuestion | Invalid {
  try {
    const object = span && objectAt(bytes, span);
    if (object) return callIn(bytes, object);
    return invalid(tool, `the arguments must be an object: ${example}`);
  } catch (error) {
    if (!(error instanceof WireError)) throw error;
    return invalid(tool, `the arguments were refused: ${refusals[error.reason].says}`);
  }
}

function callIn(bytes: Buffer, object: ObjectSpan): CallQuestion | Invalid {
  const strange = object.keys().find((key) => key !== 'name' && key !== 'arguments');
  if (strange !== undefined) {
    return invalid(
      tool,
      `there is no argument ${quoted(strange)}; what the called tool takes goes inside "arguments": ${example}`,
    );
  }
  const nameSpan = object.get('name');
  const name = nameSpan && textOf(bytes, nameSpan);
  if (name === undefined || name === '') {
    const found = nameSpan === undefined ? 'is missing' : `is ${kindAt(bytes, nameSpan)}`;
    return invalid(
      tool,
      `the argument "name" ${found}; it must be the name of a tool as returned by search_tools`,
    );
  }
  const args = object.get('arguments');
  if (args !== undefined && bytes[args.start] !== openBrace) {
    return invalid(
      tool,
      `the argument "arguments" is ${kindAt(bytes, args)}; it must be an object, written as such: ${example}`,
    );
  }
  return { kind: 'call', name, arguments: args };
}

const openBrace = 0x7b;

function kindAt(bytes: Buffer, span: Span): string {
  switch (bytes[span.start]) {
    case openBrace:
      return 'an object';
    case 0x5b: // [
      return 'a list';
    case 0x22: // "
      return span.end - span.start === 2 ? 'an empty text' : 'a text';
    case 0x6e: // n
      return 'null';
    case 0x74: // t
    case 0x66: // f
      return 'true or false';
    default:
      return 'a number';
  }
}
