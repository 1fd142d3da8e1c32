// A counter on a NATS server: what was taken of a key is a value that ends with its window. Takes of several
// processes compete for it; who loses looks again, after a short random delay if that happens often.

import type { Clock } from '../../kernel/clock.ts';
import {
  assertAmounts,
  type Counter,
  type CounterOptions,
  type Taken,
  type Window,
} from '../contract/counter.ts';
import { Lanes } from '../lanes.ts';
import { StoreError } from '../store-error.ts';
import { CellRoom } from './cell-room.ts';
import { type Cells, tellingTrouble } from './cells.ts';
import type { WordParts } from './word-parts.ts';

const tries = 64;
/** Before an attempt waits. */
const freeTries = 4;
const longestWaitMs = 50;

export function natsCounter(
  { changing, clock, random, damagedOne, full }: WordParts,
  cells: Cells,
  name: string,
  { maxEntries }: CounterOptions & { readonly maxEntries: number },
): Counter {
  const lanes = new Lanes();
  const room = new CellRoom(cells, name, maxEntries);

  const trouble = { damaged: () => damagedOne(name), full: () => full(name) };

  /** Something that is no count begins at zero. */
  const known = (taken: number | undefined): number => {
    if (taken === undefined) damagedOne(name);
    return taken ?? 0;
  };

  /** Undefined if another was faster. */
  const tryTake = async (
    key: string,
    amount: number,
    { limit, windowMs }: Window,
  ): Promise<Taken | undefined> => {
    const message = await cells.message(key);
    const { session } = await cells.stream.open();
    const now = session.now();
    const open = message && (await cells.read(key));
    // It was changed between the two readings.
    if (open !== undefined && open.sequence !== message?.sequence) return undefined;
    const taken = open === undefined ? 0 : known(takenIn(open.text));
    const left = Math.max(0, limit - taken);
    if (amount > left) {
      const canWait = amount <= limit && open !== undefined && open.expiresAt !== null;
      const retryAfterMs = canWait ? Math.max(1, Math.ceil((open.expiresAt ?? 0) - now)) : null;
      return { isTaken: false, left, retryAfterMs };
    }
    if (amount > 0) {
      if (open === undefined) await room.assertRoomFor(key);
      const ends = windowMs === null ? null : now + windowMs;
      const written = await cells.write(key, {
        text: JSON.stringify({ taken: taken + amount }),
        expiresAt: open === undefined ? ends : open.expiresAt,
        expected: message?.sequence ?? 0,
        replaces: message,
      });
      if (written === undefined) return undefined;
    }
    return { isTaken: true, left: left - amount };
  };

  const take = async (key: string, amount: number, window: Window): Promise<Taken> => {
    for (let tried = 0; tried < tries; tried += 1) {
      if (tried >= freeTries) await pause(clock, random() * longestWaitMs);
      const taken = await tryTake(key, amount, window);
      if (taken !== undefined) return taken;
    }
    throw new StoreError('not_kept', `too many take from one key of ${name} at once; try again`);
  };

  const reset = async (key: string): Promise<void> => {
    const cell = await cells.read(key);
    if (cell === undefined) return;
    await cells.writeRemoved(key, cell);
    room.freed();
  };

  return {
    take: async (key, amount, window) => {
      assertAmounts(amount, window.limit, window.windowMs);
      const told = () => tellingTrouble(() => take(key, amount, window), trouble);
      return await changing(() => lanes.run(key, told));
    },
    reset: (key) => changing(() => lanes.run(key, () => reset(key))),
  };
}

/** Undefined if it is no count. */
function takenIn(text: string): number | undefined {
  try {
    const { taken } = (JSON.parse(text) ?? {}) as { readonly taken?: unknown };
    return Number.isSafeInteger(taken) && Number(taken) >= 0 ? Number(taken) : undefined;
  } catch {
    return undefined;
  }
}

function pause(clock: Clock, ms: number): Promise<void> {
  return new Promise((resolve) => void clock.after(ms, resolve));
}
