// From the parameters of a client's request to those of the request that goes on to its server. The
// client's own bytes are kept; what belongs to the hop between the client and us (revision, identity
// and capabilities in `_meta`, the progress token, our idempotency key) is left out, because the next
// hop has its own, and names and addresses are given as the server knows them. `_meta` comes last.

import type { Params } from '../upstream/connection.ts';
import type { EnvelopeKey } from '../wire/envelope-keys.ts';
import { type MemberChanges, memberEdits } from '../wire/member-edits.ts';
import type { Message } from '../wire/scan.ts';
import { type Member, type ObjectSpan, spells } from '../wire/span.ts';
import { type Edit, oneLine, splice } from '../wire/splice.ts';

/** Members of `_meta` that end at this hop. */
const hopKeys: readonly EnvelopeKey[] = [
  'progressToken',
  'io.modelcontextprotocol/protocolVersion',
  'io.modelcontextprotocol/clientInfo',
  'io.modelcontextprotocol/clientCapabilities',
  'io.modelcontextprotocol/logLevel',
  'holdfast/idempotencyKey',
];

/** `edits` are further ones inside the parameters, by their place in the message. */
export function relayedParams(
  message: Message,
  changes: MemberChanges,
  edits: readonly Edit[] = [],
): Params {
  const { bytes, paramsObject, meta } = message;
  if (paramsObject === undefined) return { members: '' };
  const all = [...memberEdits(paramsObject, { ...changes, _meta: null }), ...edits];
  const inside = within(bytes, paramsObject.start + 1, paramsObject.end - 1, all);
  // Space alone is no member: what is added to it must not begin with a comma.
  const members = isBlank(inside) ? '' : inside;
  const metaMembers = meta && carriedMeta(bytes, meta);
  return metaMembers ? { members, meta: metaMembers } : { members };
}

function within(bytes: Buffer, start: number, end: number, edits: readonly Edit[]): Buffer {
  const shifted = edits.map((edit) => ({
    start: edit.start - start,
    end: edit.end - start,
    with: edit.with,
  }));
  return oneLine(splice(bytes.subarray(start, end), shifted));
}

function isBlank(bytes: Buffer): boolean {
  for (const byte of bytes) if (byte !== 0x20 && byte !== 0x09) return false;
  return true;
}

/** The members that are not this hop's; undefined if there are none. */
function carriedMeta(bytes: Buffer, meta: ObjectSpan): Buffer | undefined {
  const carried = meta.members().filter((member) => !isHopMember(bytes, member));
  if (carried.length === 0) return undefined;
  const pieces = carried.map(({ keyStart, end }) => bytes.subarray(keyStart - 1, end));
  return oneLine(Buffer.concat(pieces.flatMap((piece, at) => (at > 0 ? [comma, piece] : [piece]))));
}

const comma = Buffer.from(',');

function isHopMember(bytes: Buffer, { keyStart, keyEnd, unescaped }: Member): boolean {
  for (const key of hopKeys) {
    const isIt = unescaped === undefined ? spells(bytes, keyStart, keyEnd, key) : unescaped === key;
    if (isIt) return true;
  }
  return false;
}
