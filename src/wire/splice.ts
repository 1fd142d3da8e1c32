// Rewrites a frame without parsing it: the bytes between the edits are copied unchanged into one
// new buffer, and the scanned frame is never changed in place. Two operations can be applied to a
// frame: edits at spans, and replacing line breaks by spaces.

export interface Edit {
  readonly start: number;
  /** Equal to `start` to insert. */
  readonly end: number;
  readonly with: Buffer | string;
}

const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const space = 0x20;

/** The bytes with the edits made. They may come in any order but must not overlap. */
export function splice(bytes: Buffer, edits: readonly Edit[]): Buffer {
  const ordered = isOrdered(edits) ? edits : edits.toSorted(byPlace);
  let length = bytes.length;
  let done = 0;
  for (const edit of ordered) {
    if (edit.start < done || edit.end < edit.start || edit.end > bytes.length) {
      throw new RangeError(`edit ${edit.start}..${edit.end} overlaps or is out of bounds`);
    }
    length += lengthOf(edit.with) - (edit.end - edit.start);
    done = edit.end;
  }
  const out = Buffer.allocUnsafe(length);
  let from = 0;
  let to = 0;
  for (const edit of ordered) {
    to += bytes.copy(out, to, from, edit.start);
    to += typeof edit.with === 'string' ? out.write(edit.with, to) : edit.with.copy(out, to);
    from = edit.end;
  }
  bytes.copy(out, to, from);
  return out;
}

/**
 * The frame on one line. In a frame that was scanned, a raw CR or LF can only be space between
 * tokens, and a space means the same. The same buffer if there is none.
 */
export function oneLine(bytes: Buffer): Buffer {
  if (!bytes.includes(lineFeed) && !bytes.includes(carriageReturn)) return bytes;
  const copy = Buffer.from(bytes);
  spaceOutLineBreaks(copy, 0, copy.length);
  return copy;
}

/** Turns every CR and LF in the range into a space, in place: only for buffers of our own. */
export function spaceOutLineBreaks(bytes: Buffer, start: number, end: number): void {
  const feed = bytes.indexOf(lineFeed, start);
  const back = bytes.indexOf(carriageReturn, start);
  const first = Math.min(feed < 0 ? end : feed, back < 0 ? end : back);
  for (let at = first; at < end; at++) {
    const byte = bytes[at];
    if (byte === lineFeed || byte === carriageReturn) bytes[at] = space;
  }
}

function lengthOf(text: Buffer | string): number {
  return typeof text === 'string' ? Buffer.byteLength(text) : text.length;
}

function isOrdered(edits: readonly Edit[]): boolean {
  for (let index = 1; index < edits.length; index++) {
    if (byPlace(edits[index - 1] as Edit, edits[index] as Edit) > 0) return false;
  }
  return true;
}

/** An insertion comes before a replacement at the same place; insertions keep their order. */
function byPlace(one: Edit, other: Edit): number {
  return one.start - other.start || one.end - other.end;
}
