// Sets and removes members of an object as edits of bytes, with correct commas for any combination
// of changes. All other members stay as they are written, in their order; new ones come last.

import type { EnvelopeKey } from './envelope-keys.ts';
import type { Member, ObjectSpan } from './span.ts';
import type { Edit } from './splice.ts';

/** JSON text to set a member to; null removes it. */
export type MemberChanges = Readonly<Partial<Record<EnvelopeKey, Buffer | string | null>>>;

/** The edits for these changes; for `splice`, together with edits elsewhere. */
export function memberEdits(object: ObjectSpan, changes: MemberChanges): Edit[] {
  const members = object.members();
  const edits: Edit[] = [];
  const removed = new Set<Member>();
  const added: [EnvelopeKey, Buffer | string][] = [];
  for (const [name, value] of Object.entries(changes)) {
    const key = name as EnvelopeKey;
    const member = object.find(key);
    if (value === null) {
      if (member !== undefined) removed.add(member);
    } else if (member === undefined) added.push([key, value]);
    else edits.push({ start: member.start, end: member.end, with: value });
  }
  for (const edit of removals(members, removed)) edits.push(edit);
  const place = members.at(-1)?.end ?? object.start + 1;
  let comma = members.length > removed.size ? ',' : '';
  for (const [key, value] of added) {
    edits.push({ start: place, end: place, with: `${comma}${JSON.stringify(key)}:` });
    edits.push({ start: place, end: place, with: value });
    comma = ',';
  }
  return edits;
}

/**
 * Each removed member is removed with the comma before it, or, before the first remaining member,
 * with the one after it.
 */
function removals(members: readonly Member[], removed: ReadonlySet<Member>): Edit[] {
  const edits: Edit[] = [];
  const firstKept = members.findIndex((member) => !removed.has(member));
  for (const [index, member] of members.entries()) {
    if (!removed.has(member)) continue;
    const before = members[index - 1];
    const after = members[index + 1];
    const isLeading = firstKept < 0 || index < firstKept;
    const start = isLeading || before === undefined ? member.keyStart - 1 : before.end;
    const end = isLeading && after !== undefined ? after.keyStart - 1 : member.end;
    edits.push({ start, end, with: '' });
  }
  return edits;
}
