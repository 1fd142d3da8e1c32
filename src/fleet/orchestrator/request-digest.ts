// What a letter of a worker asks for, as a short text: two letters about one call id are the same request if their digests
// are equal. Method and parameters count; spacing, the order of keys, the JSON-RPC id and `_meta` do not, because they are
// about the transmission and may differ where a client sends again.

import { hash } from 'node:crypto';
import { canonicalText } from '../../wire/canonical.ts';
import type { Message } from '../../wire/scan.ts';
import { memberKey } from '../../wire/span.ts';
import { WireError } from '../../wire/wire-error.ts';

/** Of what is no message only the same bytes are the same. */
export function digestOf(message: Message | WireError, body: Buffer): string {
  const asked = message instanceof WireError ? body : partsOf(message);
  return hash('sha256', asked, 'base64url');
}

function partsOf({ bytes, method, params, paramsObject }: Message): string {
  const members = paramsObject?.members().map((member) => ({
    key: memberKey(bytes, member),
    // With a key twice in it, only the same bytes are the same.
    text: canonicalText(bytes, member) ?? bytes.toString('utf8', member.start, member.end),
  }));
  const texts = members
    ?.filter(({ key }) => key !== '_meta')
    .map(({ key, text }) => `${JSON.stringify(key)}:${text}`)
    .sort();
  const others = params === undefined ? '' : bytes.toString('utf8', params.start, params.end);
  return JSON.stringify([method, texts ?? others]);
}
