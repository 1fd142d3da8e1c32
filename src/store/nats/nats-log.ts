// A log on a NATS server: a stream whose sequence numbers are those of the log. The server bounds it.

import { type Log, type LogEntry, readLimits } from '../contract/log.ts';
import { jsonText } from '../store.ts';
import { StoreError } from '../store-error.ts';
import type { KeptStream } from './kept-stream.ts';
import type { WordParts } from './word-parts.ts';

/** For headers, of what a server takes in one message. */
const headroomBytes = 4_096;
const mostBytes = 1_048_576;
const token = 'entry';

export function natsLog({ during, changing }: WordParts, stream: KeptStream, name: string): Log {
  const append = async (text: string): Promise<number> => {
    const { session } = await stream.open();
    const most = Math.min(mostBytes, session.maxPayload - headroomBytes);
    if (Buffer.byteLength(text) > most) {
      throw new StoreError('too_large', `an entry of ${name} has at most ${most} bytes`);
    }
    const sequence = await stream.publish({ token, body: text });
    if (sequence === undefined) throw new StoreError('not_kept', `${name} has no number for it`);
    return sequence;
  };

  const read = async (from: number, limit: number): Promise<readonly LogEntry[]> => {
    for (let start = from; ; ) {
      const { messages, isEnd } = await stream.page({ from: start, limit });
      const good = messages.flatMap(({ sequence, body }) => entryOf(sequence, body.toString()));
      // A page is empty only at the end.
      if (good.length > 0 || isEnd) return good;
      start = (messages.at(-1)?.sequence ?? start) + 1;
    }
  };

  const range = async () => {
    const { first, last } = await stream.state();
    return { first, next: last + 1 };
  };

  const trim = async (before: number): Promise<void> => {
    const { next } = await range();
    // A purge up to a number that is not there yet would skip the numbers before it.
    if (before > 1) await stream.purgeBefore(Math.min(before, next));
  };

  return {
    append: (value) => changing(async () => append(jsonText(value))),
    read: ({ from = 0, limit = readLimits.usual } = {}) =>
      during(() => read(from, Math.min(limit, readLimits.most))),
    trim: (before) => changing(() => trim(before)),
    range: () => during(range),
  };
}

function entryOf(sequence: number, text: string): readonly LogEntry[] {
  try {
    return [{ sequence, value: JSON.parse(text) }];
  } catch {
    // It is none of ours.
    return [];
  }
}
