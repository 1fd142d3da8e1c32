// From the parameters of a client's request to those of the request that goes on to its server. The
// client's own bytes are kept, where they stand; what belongs to the hop between the client and us
// (revision, identity and capabilities in `_meta`, the progress token, our idempotency key) is left
// out, because the next hop has its own, and names and addresses are given as the server knows them.
// `_meta` comes last. Nothing is copied here: the pieces are joined when they are written.

import type { Params } from '../upstream/connection.ts';
import type { EnvelopeKey } from '../wire/envelope-keys.ts';
import type { MemberChanges } from '../wire/member-edits.ts';
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
  // It names a task by our handle, which no server knows; requests about a task name it themselves.
  'io.modelcontextprotocol/related-task',
];

const noChanges: MemberChanges = {};

/** `edits` are further ones inside the values of members, by their place in the message. */
export function relayedParams(
  message: Message,
  changes: MemberChanges = noChanges,
  edits: readonly Edit[] = [],
): Params {
  const { bytes, paramsObject, meta } = message;
  if (paramsObject === undefined) return { members: '' };
  const pieces: Buffer[] = [];
  const add = (piece: Buffer) => {
    if (pieces.length > 0) pieces.push(comma);
    pieces.push(piece);
  };
  const changed = Object.keys(changes) as EnvelopeKey[];
  for (const member of paramsObject.members()) {
    if (isNamed(bytes, member, '_meta')) continue;
    const key = changed.find((name) => isNamed(bytes, member, name));
    if (key === undefined) add(carriedMember(bytes, member, edits));
    else setMember(add, key, changes[key]);
  }
  for (const key of changed) {
    if (paramsObject.find(key) === undefined) setMember(add, key, changes[key]);
  }
  const metaMembers = meta && carriedMeta(bytes, meta);
  return metaMembers ? { members: pieces, meta: metaMembers } : { members: pieces };
}

function setMember(
  add: (piece: Buffer) => void,
  key: EnvelopeKey,
  value: Buffer | string | null | undefined,
): void {
  if (value === null || value === undefined) return;
  const name = Buffer.from(`${JSON.stringify(key)}:`);
  add(Buffer.concat([name, typeof value === 'string' ? Buffer.from(value) : oneLine(value)]));
}

/** Key and value as they are written, on one line. */
function carriedMember(bytes: Buffer, member: Member, edits: readonly Edit[]): Buffer {
  const start = member.keyStart - 1;
  const written = bytes.subarray(start, member.end);
  if (edits.length === 0) return oneLine(written);
  const inside = edits.filter((edit) => edit.start >= start && edit.end <= member.end);
  const shifted = inside.map((edit) => ({
    start: edit.start - start,
    end: edit.end - start,
    with: edit.with,
  }));
  return oneLine(splice(written, shifted));
}

/** The members that are not this hop's; undefined if there are none. */
function carriedMeta(bytes: Buffer, meta: ObjectSpan): Buffer | undefined {
  const carried = meta.members().filter((member) => !isHopMember(bytes, member));
  if (carried.length === 0) return undefined;
  const pieces = carried.map(({ keyStart, end }) => bytes.subarray(keyStart - 1, end));
  return oneLine(Buffer.concat(pieces.flatMap((piece, at) => (at > 0 ? [comma, piece] : [piece]))));
}

const comma = Buffer.from(',');

function isHopMember(bytes: Buffer, member: Member): boolean {
  for (const key of hopKeys) if (isNamed(bytes, member, key)) return true;
  return false;
}

function isNamed(bytes: Buffer, member: Member, key: EnvelopeKey): boolean {
  const { keyStart, keyEnd, unescaped } = member;
  return unescaped === undefined ? spells(bytes, keyStart, keyEnd, key) : unescaped === key;
}
