// Members of a request that are decided on, such as the name of a tool, are passed on to the server, and some
// servers ignore the case of keys: for these `Name` beside `name` is a second name, which nobody has
// authorised. A request with such a member is refused.

import type { EnvelopeKey } from '../wire/envelope-keys.ts';
import { memberKey, type ObjectSpan } from '../wire/span.ts';
import { WireError } from '../wire/wire-error.ts';

/** What a decision, a route or a translation between eras depends on. */
const decided: readonly EnvelopeKey[] = [
  ...(['name', 'uri', 'ref', 'type', 'taskId', 'cursor', 'level', '_meta'] as const),
  ...(['arguments', 'task', 'inputResponses', 'requestState', 'notifications'] as const),
];

const byFolded: ReadonlyMap<string, string> = new Map(decided.map((key) => [folded(key), key]));

/** In bytes: one character for each of the longest key, each written as two escapes. Folding makes no text shorter. */
const longestLookAlike =
  decided.reduce((longest, { length }) => Math.max(longest, length), 0) * '\\ud835\\udc5b'.length;

/** Throws if some reader could take one member of the object for another. */
export function assertOneReading(bytes: Buffer, object: ObjectSpan | undefined): void {
  for (const member of object?.members() ?? []) {
    // A key from outside may have megabytes, and folding can make it many times as long.
    if (member.keyEnd - member.keyStart > longestLookAlike) continue;
    const key = memberKey(bytes, member);
    const meant = byFolded.get(folded(key));
    if (meant !== undefined && meant !== key) {
      throw new WireError('look-alike-key', member.keyStart);
    }
  }
}

/** Readers that ignore case fold beyond ASCII: the Kelvin sign is a k. */
function folded(key: string): string {
  return key.normalize('NFKC').toLowerCase();
}
