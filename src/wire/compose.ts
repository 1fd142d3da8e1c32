// Frames of our own making. What they carry (params, a result, error data) is JSON text that was
// checked before, and goes in verbatim; only line breaks between its tokens become spaces, because
// a frame is a line. Each frame is written into one buffer, and ends in its newline.

import type { Id } from './decode.ts';
import { spaceOutLineBreaks } from './splice.ts';

/** JSON text that has been checked, as bytes or as a string. */
export type JsonText = Buffer | string;

export function requestFrame(id: number, method: string, params: JsonText | undefined): Buffer {
  const head = `{"jsonrpc":"2.0","id":${id},"method":${quoted(method)}`;
  return params === undefined
    ? around(head, '', '}\n')
    : around(`${head},"params":`, params, '}\n');
}

export function notificationFrame(method: string, params: JsonText | undefined): Buffer {
  const head = `{"jsonrpc":"2.0","method":${quoted(method)}`;
  return params === undefined
    ? around(head, '', '}\n')
    : around(`${head},"params":`, params, '}\n');
}

export function resultFrame(id: Id, result: JsonText): Buffer {
  return around(`{"jsonrpc":"2.0","id":${idText(id)},"result":`, result, '}\n');
}

export function errorFrame(id: Id | null, code: number, message: string, data?: JsonText): Buffer {
  const error = `{"code":${code},"message":${quoted(message)}`;
  const head = `{"jsonrpc":"2.0","id":${idText(id)},"error":${error}`;
  return data === undefined ? around(head, '', '}}\n') : around(`${head},"data":`, data, '}}\n');
}

/** The params of a tools/call: not a frame yet, and not made one line. */
export function toolCallParams(
  name: string,
  args: JsonText | undefined,
  meta: string | undefined,
): Buffer {
  const head = `{"name":${quoted(name)}${args === undefined ? '' : ',"arguments":'}`;
  return around(head, args ?? '', meta === undefined ? '}' : `,"_meta":${meta}}`);
}

/** One buffer: our text, then the JSON that is carried, on one line, then our text again. */
function around(before: string, carried: JsonText, after: string): Buffer {
  if (typeof carried === 'string') return encoded(before, carried, after);
  const beforeBytes = Buffer.byteLength(before);
  const carriedEnd = beforeBytes + carried.length;
  const out = Buffer.allocUnsafe(carriedEnd + Buffer.byteLength(after));
  out.write(before, 0);
  carried.copy(out, beforeBytes);
  out.write(after, carriedEnd);
  spaceOutLineBreaks(out, beforeBytes, carriedEnd);
  return out;
}

function encoded(before: string, carried: string, after: string): Buffer {
  const text = before + carried + after;
  const bytes = Buffer.byteLength(text);
  if (bytes === text.length) {
    // All ASCII: one character is one byte, and writing Latin-1 is a plain copy.
    const out = Buffer.allocUnsafe(bytes);
    out.write(text, 'latin1');
    spaceOutLineBreaks(out, before.length, bytes - after.length);
    return out;
  }
  const out = Buffer.from(escapeLoneSurrogates(text));
  const start = Buffer.byteLength(before);
  spaceOutLineBreaks(out, start, out.length - Buffer.byteLength(after));
  return out;
}

/** UTF-8 has no half characters; written raw they would all become U+FFFD. Escaped they survive. */
function escapeLoneSurrogates(text: string): string {
  return text.replace(/\p{Surrogate}/gu, (half) => `\\u${half.charCodeAt(0).toString(16)}`);
}

function idText(id: Id | null): string {
  return typeof id === 'string' ? quoted(id) : String(id);
}

/** A JSON string; the plain ones, nearly all, without calling the serialiser. */
function quoted(text: string): string {
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code < 0x20 || code > 0x7e || code === 0x22 || code === 0x5c) return JSON.stringify(text);
  }
  return `"${text}"`;
}
