// Goes through all values of a stream: for lists, to count what is live, and to remove what has been absent for long
// enough, with the parts of large values that nothing names.

import { type Cells, cellHeaders, deadStaysMs, isLive, untilOf } from './cells.ts';
import type { KeptStream } from './kept-stream.ts';
import type { StoredMessage } from './stored-message.ts';
import { namedValueId, valueIdOf } from './value-parts.ts';

const pageSize = 4_096;

/** The newest message of each token that was there during the reading. Rejects with a StoreError. */
export async function allMessages(
  stream: KeptStream,
  isHeadersOnly: boolean,
  replaced: (older: StoredMessage) => unknown = () => {},
): Promise<ReadonlyMap<string, StoredMessage>> {
  /** Bound: the messages of one stream, which is bounded. */
  const found = new Map<string, StoredMessage>();
  for (let from = 1; ; ) {
    const { messages, isEnd } = await stream.page({ from, limit: pageSize, isHeadersOnly });
    for (const message of messages) {
      const older = found.get(message.token);
      if (older !== undefined) replaced(older);
      found.set(message.token, message);
    }
    const last = messages.at(-1);
    if (isEnd || last === undefined) return found;
    from = last.sequence + 1;
  }
}

export interface Swept {
  readonly live: number;
  /** Absent, and not removed yet. */
  readonly dead: number;
  /** When the first of the live ones is over, in the shared time; infinity: never. */
  readonly firstEnd: number;
}

/** Rejects with a StoreError. */
export async function sweepCells(cells: Cells): Promise<Swept> {
  const { stream } = cells;
  const now = (await stream.open()).session.now();
  const replaced: StoredMessage[] = [];
  const all = await allMessages(stream, true, (older) => replaced.push(older));
  // Before what is absent: an older message must not come to light.
  await stream.erase(replaced);
  const over: StoredMessage[] = [];
  /** One for each large value, of those that were read. */
  const named = new Set<string>();
  let live = 0;
  let dead = 0;
  let firstEnd = Number.POSITIVE_INFINITY;
  for (const message of all.values()) {
    const id = namedValueId(message.headers.get(cellHeaders.parts));
    const isOld = message.storedAt < now - deadStaysMs;
    if (isLive(message, now)) {
      live += 1;
      firstEnd = Math.min(firstEnd, untilOf(message.headers) ?? firstEnd);
      if (id !== undefined) named.add(id);
    } else if (isOld) over.push(message);
    else dead += 1;
  }
  await stream.erase(over);
  await sweepParts(cells, named, now);
  return { live, dead, firstEnd };
}

/** What was stored just now may be named in a moment: a part is older than its record. */
async function sweepParts(
  { parts: { stream } }: Cells,
  named: ReadonlySet<string>,
  now: number,
): Promise<void> {
  if (!(await stream.isThere())) return;
  const all = [...(await allMessages(stream, true)).values()];
  const isOrphan = ({ token, storedAt }: StoredMessage) =>
    !named.has(valueIdOf(token)) && storedAt < now - deadStaysMs;
  await stream.erase(all.filter(isOrphan));
}
