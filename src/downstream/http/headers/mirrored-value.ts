// The value of a header that mirrors a part of the body: as it stands, or, where a header cannot
// carry it, in base64 with a marker (`=?base64?…?=`). A marker without its other half is plain text;
// a marked value that is not canonical base64 of UTF-8 is no value at all.

import { isUtf8 } from 'node:buffer';

const prefix = '=?base64?';
const suffix = '?=';
const canonical = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** What the header says; undefined if it is marked and broken. */
export function mirroredValue(header: string): string | undefined {
  if (!header.startsWith(prefix) || !header.endsWith(suffix)) return header;
  const inside = header.slice(prefix.length, -suffix.length);
  if (!canonical.test(inside)) return undefined;
  const bytes = Buffer.from(inside, 'base64');
  return isUtf8(bytes) ? bytes.toString('utf8') : undefined;
}
