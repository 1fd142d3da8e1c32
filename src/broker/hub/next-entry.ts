// Which of the letters that wait for the disk are written with the next entry. Small letters go before large ones of other
// mailboxes, so that one mailbox into which much is sent does not keep the calls of others waiting; half of an entry is
// for the rest in the order in which it came, so that nothing waits for ever. Letters to one mailbox keep their order.

export interface WaitingLetter {
  /** The mailbox. */
  readonly to: string;
  readonly bytes: number;
}

/** Larger ones wait for their turn. */
export const smallBytes = 64 * 1024;

/** `entryBytes`: how much is in one entry; the last one may go beyond it. */
export function nextEntry<One extends WaitingLetter>(
  waiting: Iterable<One>,
  entryBytes: number,
): readonly One[] {
  const { early, passed } = smallFirst(waiting, entryBytes / 2);
  let bytes = early.reduce((sum, one) => sum + one.bytes, 0);
  const chosen = [...early];
  for (const one of passed) {
    if (bytes >= entryBytes) break;
    chosen.push(one);
    bytes += one.bytes;
  }
  return chosen;
}

/** Those that go first, and the others in their order. */
function smallFirst<One extends WaitingLetter>(waiting: Iterable<One>, mostBytes: number) {
  const early: One[] = [];
  const passed: One[] = [];
  /** Mailboxes for which something waits already. */
  const behind = new Set<string>();
  let bytes = 0;
  for (const one of waiting) {
    if (one.bytes <= smallBytes && bytes < mostBytes && !behind.has(one.to)) {
      early.push(one);
      bytes += one.bytes;
    } else {
      passed.push(one);
      behind.add(one.to);
    }
  }
  return { early, passed };
}
