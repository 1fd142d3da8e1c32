// Builds the parameters of the forwarded request from those of the client's request. The client's
// own bytes are used at their positions; what belongs to the hop between the client and us
// (version, identity and capabilities in `_meta`, the progress token, our idempotency key) is
// omitted, because the next hop has its own, and names and addresses are replaced by the server's.
// `_meta` comes last. Nothing is copied here: the pieces are joined when they are written.

import type { EnvelopeKey } from '../../wire/envelope-keys.ts';
import { envelopeKeys } from '../../wire/eras.ts';
import type { Params } from '../../wire/frames.ts';
import type { MemberChanges } from '../../wire/member-edits.ts';
import type { Piece } from '../../wire/pieces.ts';
import type { Message } from '../../wire/scan.ts';
import { type Member, type ObjectSpan, spells } from '../../wire/span.ts';
import { type Edit, oneLine, splice } from '../../wire/splice.ts';

/** Members of `_meta` that end at this hop. */
const hopKeys: readonly EnvelopeKey[] = [
  'progressToken',
  envelopeKeys.protocolVersion,
  envelopeKeys.clientInfo,
  envelopeKeys.clientCapabilities,
  envelopeKeys.logLevel,
  'holdfast/idempotencyKey',
  // It names a task by our handle, which is unknown to servers; requests about a task name it
  // themselves.
  envelopeKeys.relatedTask,
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
  const members = new Members();
  const changed = Object.keys(changes) as EnvelopeKey[];
  for (const member of paramsObject.members()) {
    if (isNamed(bytes, member, '_meta')) continue;
    const key = changed.find((name) => isNamed(bytes, member, name));
    if (key === undefined) members.carry(carriedMember(bytes, member, edits));
    else members.set(key, changes[key]);
  }
  for (const key of changed) {
    if (paramsObject.find(key) === undefined) members.set(key, changes[key]);
  }
  const pieces = members.end();
  const metaMembers = meta && carriedMeta(bytes, meta);
  return metaMembers ? { members: pieces, meta: metaMembers } : { members: pieces };
}

/**
 * The members of one object: forwarded members stay in their bytes, and the text between is one
 * piece.
 */
class Members {
  readonly #pieces: Piece[] = [];
  #text = '';

  carry(member: Buffer): void {
    this.#next();
    if (this.#text !== '') this.#pieces.push(this.#text);
    this.#text = '';
    this.#pieces.push(member);
  }

  set(key: EnvelopeKey, value: Buffer | string | null | undefined): void {
    if (value === null || value === undefined) return;
    this.#next();
    this.#text += `"${key}":`;
    if (typeof value === 'string') {
      this.#text += value;
    } else {
      this.#pieces.push(this.#text, oneLine(value));
      this.#text = '';
    }
  }

  end(): readonly Piece[] {
    if (this.#text !== '') this.#pieces.push(this.#text);
    return this.#pieces;
  }

  #next(): void {
    if (this.#pieces.length > 0 || this.#text !== '') this.#text += ',';
  }
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
