// Records on a NATS server: one stream for each name, one message for each key. A conditional change names the
// sequence of the message that it replaces, so that of any number at once the server takes one.

import type {
  ConditionalPut,
  PutOptions,
  RecordEntry,
  Records,
  RecordsOptions,
  Version,
} from '../contract/records.ts';
import { Lanes } from '../lanes.ts';
import { jsonText } from '../store.ts';
import { CellRoom } from './cell-room.ts';
import { allMessages } from './cell-sweep.ts';
import {
  type Cell,
  type Cells,
  type CellWrite,
  cellHeaders,
  isLive,
  tellingTrouble,
  unreadable,
} from './cells.ts';
import type { StoredMessage } from './stored-message.ts';
import type { WordParts } from './word-parts.ts';

/** Others change the same key all the time: then somebody else gets forward. */
const tries = 64;

export function natsRecords(
  { during, changing, watch, unreadable: tellUnreadable, damagedOne, full }: WordParts,
  cells: Cells,
  name: string,
  { durability, maxEntries, shape = () => true }: RecordsOptions & { readonly maxEntries: number },
): Records {
  const lanes = new Lanes();
  const room = durability === 'forgetful' ? undefined : new CellRoom(cells, name, maxEntries);
  const trouble = { damaged: () => damagedOne(name), full: () => full(name) };
  /** What may be lost at any time is read anew; nobody has to do anything. */
  const told = <T>(work: () => Promise<T>) =>
    durability === 'forgetful' ? work() : tellingTrouble(work, trouble);
  const change = <T>(key: string, work: () => Promise<T>) =>
    changing(() => lanes.run(key, () => told(work)));

  const entryOf = async (cell: Cell): Promise<RecordEntry> => {
    const value = parsed(cell.text);
    const { incarnation, session } = await cells.stream.open();
    if (value === undefined || !shape(value)) throw unreadable(name);
    const left =
      cell.expiresAt === null ? {} : { leftMs: Math.max(0, cell.expiresAt - session.now()) };
    return { key: cell.key, value, version: `${incarnation}.${cell.sequence}`, ...left };
  };

  const find = async (key: string): Promise<RecordEntry | undefined> => {
    const cell = await cells.read(key);
    return cell && (await entryOf(cell));
  };

  /** Undefined if another is there than was expected. */
  const write = async (
    key: string,
    text: string,
    { ttlMs }: PutOptions = {},
    how: Pick<CellWrite, 'expected' | 'replaces'> = {},
  ): Promise<Version | undefined> => {
    await room?.assertRoomFor(key);
    const { session, incarnation } = await cells.stream.open();
    const expiresAt = ttlMs === undefined ? null : session.now() + ttlMs;
    const sequence = await cells.write(key, { text, expiresAt, ...how });
    return sequence === undefined ? undefined : `${incarnation}.${sequence}`;
  };

  const put = async (
    key: string,
    text: string,
    options: PutOptions | undefined,
  ): Promise<Version> => {
    const replaces = await cells.message(key);
    return (await write(key, text, options, { replaces })) ?? '';
  };

  const putIfAbsent = async (
    key: string,
    text: string,
    options: PutOptions | undefined,
  ): Promise<ConditionalPut> => {
    // Most keys are new: the first attempt looks at nothing.
    let replaces: StoredMessage | undefined;
    for (let tried = 0; tried < tries; tried += 1) {
      const expected = replaces?.sequence ?? 0;
      const version = await write(key, text, options, { expected, replaces });
      if (version !== undefined) return { isPut: true, version };
      const entry = await find(key);
      if (entry !== undefined) return { isPut: false, entry };
      replaces = await cells.message(key);
    }
    return { isPut: false, entry: await find(key) };
  };

  const compareAndSet = async (
    key: string,
    version: Version,
    text: string,
    options: PutOptions | undefined,
  ): Promise<ConditionalPut> => {
    const replaces = await cells.read(key);
    const entry = replaces && (await entryOf(replaces));
    if (replaces === undefined || entry?.version !== version) return { isPut: false, entry };
    const how = { expected: replaces.sequence, replaces };
    const put = await write(key, text, options, how);
    return put === undefined
      ? { isPut: false, entry: await find(key) }
      : { isPut: true, version: put };
  };

  const remove = async (key: string): Promise<void> => {
    const message = await cells.message(key);
    const { session } = await cells.stream.open();
    if (message === undefined || !isLive(message, session.now())) return;
    await cells.writeRemoved(key, message);
    room?.freed();
  };

  /** The parts of a large value are gone if it was replaced in this moment. */
  const isStillThere = async ({ token, sequence, headers }: StoredMessage): Promise<boolean> =>
    !headers.has(cellHeaders.parts) || (await cells.stream.last(token))?.sequence === sequence;

  const entries = async (prefix: string): Promise<readonly RecordEntry[]> => {
    const { session } = await cells.stream.open();
    const found: RecordEntry[] = [];
    let unread = 0;
    for (const message of (await allMessages(cells.stream, false)).values()) {
      if (!isLive(message, session.now())) continue;
      const cell = await cells.cellIn(message);
      if (cell === undefined) {
        if (await isStillThere(message)) unread += 1;
        continue;
      }
      if (!cell.key.startsWith(prefix)) continue;
      const value = parsed(cell.text);
      if (value !== undefined && shape(value)) found.push(await entryOf(cell));
      else unread += 1;
    }
    // What may be lost at any time is read anew; nobody has to do anything.
    if (unread > 0 && durability !== 'forgetful') tellUnreadable(name, unread);
    return found.sort((one, other) => (one.key < other.key ? -1 : 1));
  };

  return {
    get: (key) => during(() => told(() => find(key))),
    put: (key, value, options) => change(key, async () => put(key, jsonText(value), options)),
    putIfAbsent: (key, value, options) =>
      change(key, async () => putIfAbsent(key, jsonText(value), options)),
    compareAndSet: (key, version, value, options) =>
      change(key, async () => compareAndSet(key, version, jsonText(value), options)),
    remove: (key) => change(key, () => remove(key)),
    entries: (prefix = '') => during(() => entries(prefix)),
    isWhole: () => during(() => cells.stream.isWhole()),
    watch: (prefix, heard) => watch(cells.stream, prefix, heard),
  };
}

/** Undefined if it is not JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
