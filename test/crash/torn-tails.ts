// Torn tails: the files of the gateway cut at every byte of their last three records, filled up with
// zeros as a power cut may leave them, or with one bit changed, and then opened by the shipped code.
// What was before the damage is there, the damage is reported with the file and what to do, and what
// is damaged is set aside, never thrown away.

import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Dice } from '../support/dice.ts';
import { hurriedClock as clock } from './hurried-clock.ts';
import type { Shipped } from './shipped.ts';
import type { Violation } from './subjects/subject.ts';
import type { Tally } from './tally.ts';

export interface TornOptions {
  readonly shipped: Shipped;
  readonly tally: Tally;
  readonly dice: Dice;
  /** Every how manieth byte is tried; 1 is all of them. */
  readonly every: number;
  readonly signal: AbortSignal;
}

export async function tearFiles(options: TornOptions): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-torn-'));
  try {
    await tearRecords(folder, options);
    await tearLog(folder, options);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The ways in which bytes are damaged, each with a name that says how. */
function* damages(bytes: Buffer, from: number, { every, dice }: TornOptions) {
  for (let at = from; at < bytes.length; at += every) {
    yield { how: `cut at ${at}`, bytes: bytes.subarray(0, at), at };
  }
  for (let at = from; at < bytes.length; at += 7 * every) {
    const zeros = Buffer.alloc(bytes.length - at);
    yield { how: `zeros from ${at}`, bytes: Buffer.concat([bytes.subarray(0, at), zeros]), at };
  }
  for (let flips = Math.ceil(200 / every); flips > 0; flips -= 1) {
    const changed = Buffer.from(bytes);
    const at = dice.between(from, bytes.length - 1);
    const bit = dice.between(0, 7);
    changed.writeUInt8(changed.readUInt8(at) ^ (1 << bit), at);
    yield { how: `bit ${bit} of byte ${at} changed`, bytes: changed, at };
  }
}

// --- records --------------------------------------------------------------------------------

/** One of each kind, as long as real ones are. */
const values: Readonly<Record<string, unknown>> = {
  tokens: {
    id: 'local',
    hash: 'ab'.repeat(32),
    name: 'the local user',
    role: null,
    expiresAt: null,
  },
  verdicts: { legacy: true, modern: false, classes: 'alike', asksAtStart: false },
  catalogues: {
    version: 2,
    classes: [
      {
        era: 'legacy',
        features: [],
        lists: { tools: `[${'{"name":"tool","x":1.0},'.repeat(20)}{}]` },
      },
    ],
  },
};

async function tearRecords(folder: string, options: TornOptions): Promise<void> {
  const { shipped, tally, signal } = options;
  const store = join(folder, 'store');
  const problems: string[] = [];
  const open = () =>
    shipped.openFilesStore(store, { clock, report: ({ detail }) => problems.push(detail) });
  for (const [name, value] of Object.entries(values)) {
    await using first = open();
    const kind = { durability: name === 'tokens' ? 'durable' : 'forgetful' } as const;
    // What stands beside it must not be touched.
    for (const key of ['before', 'it', 'behind']) await first.records(name, kind).put(key, value);
    const file = join(store, shipped.fileOf(name, 'it'));
    const whole = readFileSync(file);
    for (const { how, bytes } of damages(whole, 0, options)) {
      if (signal.aborted) return;
      tally.tornOffsets += 1;
      problems.length = 0;
      writeFileSync(file, bytes);
      await using store = open();
      const records = store.records(name, kind);
      const read = (await records.get('it'))?.value;
      const others = await Promise.all(['before', 'behind'].map((key) => records.get(key)));
      const found = judgeRecord({ file, bytes, read, problems });
      if (others.some((other) => JSON.stringify(other?.value) !== JSON.stringify(value))) {
        found.push({ wrong: 'lost', text: 'a record beside a damaged one cannot be read' });
      }
      tally.found(found, `record of ${name}, ${how}`);
      rmSync(`${file}.damaged`, { force: true });
      writeFileSync(file, whole);
    }
  }
}

interface Opened {
  readonly file: string;
  /** What had been put there. */
  readonly bytes: Buffer;
  readonly read: unknown;
  readonly problems: readonly string[];
}

function judgeRecord({ file, bytes, read, problems }: Opened): Violation[] {
  const found: Violation[] = [];
  if (read !== undefined) found.push({ wrong: 'phantom', text: 'a damaged record was read' });
  const aside = `${file}.damaged`;
  if (!existsSync(aside) || !readFileSync(aside).equals(bytes)) {
    found.push({ wrong: 'emptied', text: `${file} was not set aside as it was` });
  }
  const isTold = problems.some((line) => line.includes(file) && line.includes('delete it'));
  if (!isTold) found.push({ wrong: 'unreported', text: `told was: ${problems.join(' | ')}` });
  return found;
}

// --- the log --------------------------------------------------------------------------------

async function tearLog(folder: string, options: TornOptions): Promise<void> {
  const { shipped, tally, signal } = options;
  const file = join(folder, 'events.jsonl');
  const problems: string[] = [];
  const write = async (records: readonly object[]) => {
    const report = ({ detail }: { readonly detail: string }) => void problems.push(detail);
    await using log = shipped.openEventLog(folder, 1_000_000, { clock, report });
    for (const record of records) log.append(record);
  };
  await write(Array.from({ length: 9 }, (_, n) => eventLike(n)));
  const whole = readFileSync(file);
  const lines = whole.toString().split('\n').slice(0, -1);
  const from = Buffer.byteLength(`${lines.slice(0, -3).join('\n')}\n`);
  for (const { how, bytes } of damages(whole, from, options)) {
    if (signal.aborted) return;
    tally.tornOffsets += 1;
    problems.length = 0;
    rmSync(`${file}.damaged`, { force: true });
    writeFileSync(file, bytes);
    await write([eventLike(99)]);
    const after = readFileSync(file, 'utf8');
    tally.found(judgeLog({ file, before: bytes.toString(), after, problems }), `event log, ${how}`);
  }
}

function eventLike(number: number): object {
  const call = { request: number, tool: 'hello', latencyMs: 1.25, attempts: 1, outcome: 'ok' };
  return { at: 1_800_000_000_000 + number, kind: 'call', server: 'files', ...call };
}

interface Mended {
  readonly file: string;
  readonly before: string;
  readonly after: string;
  readonly problems: readonly string[];
}

function judgeLog({ file, before, after, problems }: Mended): readonly Violation[] {
  const found: Violation[] = [];
  const kept = before.slice(0, before.lastIndexOf('\n') + 1);
  const added = `${JSON.stringify(eventLike(99))}\n`;
  if (after !== kept + added) {
    found.push({ wrong: 'lost', text: `the log is not what was whole and the new line: ${after}` });
  }
  const isDamaged = kept !== before || kept.split('\n').slice(0, -1).some(isUnreadable);
  if (isDamaged && !problems.some((line) => line.includes(file))) {
    found.push({ wrong: 'unreported', text: `told was: ${problems.join(' | ')}` });
  }
  const tail = before.slice(kept.length).replace(/\0+$/, '');
  const isLine = tail === '' || tail.startsWith('{');
  if (!isLine && !existsSync(`${file}.damaged`)) {
    found.push({ wrong: 'emptied', text: `${tail.length} bytes that are no line were cut` });
  }
  return found;
}

function isUnreadable(line: string): boolean {
  try {
    return typeof JSON.parse(line) !== 'object';
  } catch {
    return true;
  }
}
