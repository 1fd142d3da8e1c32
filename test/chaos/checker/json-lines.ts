// Reads a file of JSON lines, one at a time and however long the file is. A line that is not a JSON
// object is handed on as torn, with its number: a process that is killed while it writes leaves such a
// line, and the reader decides what that means. Lines are cut on the byte 0x0A and nothing else:
// U+2028 inside a string is no end of a line, though node:readline takes it for one.

import { closeSync, openSync, readSync } from 'node:fs';

export type Line =
  | { readonly kind: 'object'; readonly number: number; readonly value: JsonObject }
  | { readonly kind: 'torn'; readonly number: number; readonly text: string };

export type JsonObject = { readonly [member: string]: unknown };

const CHUNK_BYTES = 1 << 20;

export function* jsonLines(file: string): Generator<Line> {
  let number = 0;
  for (const text of lines(file)) {
    number += 1;
    if (text !== '') yield lineOf(number, text);
  }
}

function lineOf(number: number, text: string): Line {
  try {
    const value: unknown = JSON.parse(text);
    if (isObject(value)) return { kind: 'object', number, value };
  } catch {
    // not JSON: torn, which is what the caller is told
  }
  return { kind: 'torn', number, text: text.slice(0, 80) };
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function* lines(file: string): Generator<string> {
  const descriptor = openSync(file, 'r');
  const chunk = Buffer.alloc(CHUNK_BYTES);
  let held: Buffer[] = [];
  try {
    for (let size = read(); size > 0; size = read()) {
      let start = 0;
      for (
        let end = chunk.indexOf(0x0a);
        end !== -1 && end < size;
        end = chunk.indexOf(0x0a, start)
      ) {
        const rest = chunk.subarray(start, end);
        yield held.length === 0 ? rest.toString() : Buffer.concat([...held, rest]).toString();
        held = [];
        start = end + 1;
      }
      if (start < size) held.push(Buffer.from(chunk.subarray(start, size)));
    }
    if (held.length > 0) yield Buffer.concat(held).toString();
  } finally {
    closeSync(descriptor);
  }

  function read(): number {
    return readSync(descriptor, chunk, 0, CHUNK_BYTES, null);
  }
}
