// Damage to the files of a database that was killed: bytes flipped and sectors lost in every page and in
// every frame of the log, files cut short, emptied and removed. What is read afterwards is right, and what
// is missing is reported.

import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sideBySide } from '../side-by-side.ts';
import { type SqliteOptions, sampled } from './options.ts';
import { Reader } from './readings.ts';
import { workload } from './workload.ts';
import { companions, WrittenHome } from './written-home.ts';

export const damagedFiles = 'database: damaged files';

interface Harm {
  readonly name: string;
  /** Which of the files: the end of its name. */
  readonly end: string;
  readonly to: (path: string, bytes: Buffer) => void;
}

const pageBytes = 4_096;
const walHeaderBytes = 32;
const frameHeaderBytes = 24;
const sectorBytes = 512;

export async function harmBytes(options: SqliteOptions): Promise<void> {
  const { node, build, tally, dice, signal } = options;
  const work = workload(dice, { groups: 24, largest: 9_000, reopenAfter: [13], isClosed: false });
  using home = new WrittenHome();
  await home.write(work, { node, build, isTraced: false });
  const history = home.history(work);
  const steps = work.groups.flat().length;
  if (history.done !== steps) throw new Error(`${history.done} of ${steps} steps were done`);
  const harms = companions.flatMap((end) => sampled(harmsTo(end, home.bytes(end)), options));
  await sideBySide(harms, async (queue) => {
    using reader = new Reader(node, build);
    for (const harm of queue) {
      if (signal.aborted) return;
      const folder = mkdtempSync(join(tmpdir(), 'holdfast-harm-'));
      try {
        const file = home.copyTo(folder);
        harm.to(`${file}${harm.end}`, home.bytes(harm.end));
        tally.tried(damagedFiles);
        tally.found(history.judge(await reader.read(file), true), `database, ${harm.name}`);
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    }
  });
}

function harmsTo(end: string, bytes: Buffer): readonly Harm[] {
  if (bytes.length === 0) return [];
  const places = Array.from({ length: bytes.length }, (_, at) => at);
  const flips = places.filter((at) => isWorthFlipping(end, at, bytes.length));
  const sectors = places.filter((at) => at % sectorBytes === 0);
  const cuts = places.filter((at) => at % pageBytes === 0 || (end === '-wal' && isFrameAt(at)));
  const name = `state.db${end}`;
  return [
    ...flips.map((at) => ({
      name: `bit ${at % 8} of byte ${at} of ${name} flipped`,
      end,
      to: (path: string) =>
        writeFileSync(
          path,
          changedAt(bytes, at, (byte) => byte ^ (1 << (at % 8))),
        ),
    })),
    ...sectors.flatMap((at) =>
      [0, 0xff].map((fill) => ({
        name: `sector at ${at} of ${name} filled with ${fill}`,
        end,
        to: (path: string) =>
          writeFileSync(
            path,
            Buffer.from(bytes).fill(fill, at, Math.min(bytes.length, at + sectorBytes)),
          ),
      })),
    ),
    ...[...cuts, ...cuts.map((at) => at + 100)].map((at) => ({
      name: `${name} cut at ${at}`,
      end,
      to: (path: string) => truncateSync(path, Math.min(at, bytes.length)),
    })),
    { name: `${name} removed`, end, to: (path) => rmSync(path) },
  ];
}

/** Every byte of a header, and of the rest so many that every part of a page is hit. */
function isWorthFlipping(end: string, at: number, length: number): boolean {
  if (length < pageBytes || at % 13 === 0) return true;
  if (end !== '-wal') return at % pageBytes < 100;
  return at < walHeaderBytes || (at - walHeaderBytes) % (pageBytes + frameHeaderBytes) < 32;
}

function isFrameAt(at: number): boolean {
  return (at - walHeaderBytes) % (pageBytes + frameHeaderBytes) === 0;
}

function changedAt(bytes: Buffer, at: number, change: (byte: number) => number): Buffer {
  const changed = Buffer.from(bytes);
  changed[at] = change(changed[at] ?? 0);
  return changed;
}
