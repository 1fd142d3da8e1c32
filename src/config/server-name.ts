// Which names a server may have. A name becomes half of `server__tool`, a word on a command line
// and part of a path in messages, so it is plain ASCII, contains no `/` and no `__`, and does not
// end in `_` (`a_` + `__` + `b` could be read in two ways). Names that differ only in case are
// refused too, because people confuse them. Other clients allow more; `safeNameFrom` finds a valid
// name for theirs.

export const maxServerNameLength = 64;

/** `_` only between other characters, and never twice in a row. */
export const serverNamePattern = /^[A-Za-z0-9](?:_?[A-Za-z0-9.-])*$/;

/** The name under which the gateway's own tools appear. */
export const reservedServerName = 'holdfast';

export const serverNameRule =
  'use 1 to 64 ASCII letters, digits, ".", "-" or single "_" between them, starting with a letter or digit';

const mostTries = 100;

export function isServerName(name: string): boolean {
  return name.length <= maxServerNameLength && serverNamePattern.test(name);
}

export function isReserved(name: string): boolean {
  return name.toLowerCase() === reservedServerName;
}

/** A valid name similar to `name` that is not in `taken` (which has lower-case names). */
export function safeNameFrom(name: string, taken: ReadonlySet<string>): string {
  const stem =
    name
      .replace(/[^A-Za-z0-9._-]+/g, '-')
      .replace(/__+/g, '_')
      .slice(0, maxServerNameLength - 4)
      .replace(/^[._-]+|[._-]+$/g, '') || 'server';
  let candidate = stem;
  for (let count = 2; taken.has(candidate.toLowerCase()); count += 1) {
    // Where so many share a name, searching for the next free number one by one would be slow.
    if (count === mostTries) count = Math.max(count, taken.size);
    const ending = `-${count}`;
    candidate = stem.slice(0, maxServerNameLength - ending.length) + ending;
  }
  return candidate;
}
