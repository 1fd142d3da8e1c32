// Kills around the hand-over of a database: whichever of the two processes dies, at whichever moment, everything that was
// acknowledged is there, nothing is there twice, and the one that lives says what it could not keep.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { buildFolder } from '../support/build.ts';
import { Dice } from '../support/dice.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { newFolder, openHere } from '../support/sqlite-place.ts';

const program = fileURLToPath(new URL('../fixtures/processes/handed-store.mjs', import.meta.url));
const durable = { durability: 'durable' } as const;

interface Line {
  readonly did: string;
  readonly key?: string;
  readonly sequence?: number;
  readonly reason?: string;
  readonly detail?: string;
}

class Life {
  readonly child: ChildProcess;
  readonly lines: Line[] = [];
  readonly over: Promise<unknown>;
  heard: (line: Line) => void = () => {};

  constructor(role: 'former' | 'next', file: string, socket: string) {
    const args = [program, buildFolder, role, file, socket];
    this.child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    const exited = once(this.child, 'exit');
    const output = this.child.stdout;
    if (output === null) throw new Error('it has no output');
    const reading = createInterface({ input: output });
    reading.on('line', (text) => {
      const line = JSON.parse(text) as Line;
      this.lines.push(line);
      this.heard(line);
    });
    this.over = Promise.all([exited, once(reading, 'close')]);
  }

  /** Resolves after so many lines of this kind. */
  said(did: string, times = 1): Promise<void> {
    return new Promise((resolve) => {
      let left = times;
      this.heard = (line) => {
        if (line.did === did) left -= 1;
        if (left === 0) resolve();
      };
    });
  }

  kill(): void {
    this.child.kill('SIGKILL');
  }
}

/** What was acknowledged is there, once. */
async function judge(file: string, lives: readonly Life[]): Promise<void> {
  const lines = lives.flatMap((life) => life.lines);
  const { store, problems } = openHere(file, new ManualClock());
  expect(problems.filter(({ detail }) => !detail.includes('is undone'))).toEqual([]);
  const put = new Set((await store.records('things', durable).entries()).map(({ key }) => key));
  const acknowledged = lines.filter(({ did }) => did === 'put').map(({ key }) => key ?? '');
  expect(acknowledged.filter((key) => !put.has(key))).toEqual([]);
  const log = store.log('events', durable);
  const entries = new Map<unknown, number>();
  for (let from = 0; ; ) {
    const page = await log.read({ from, limit: 1_000 });
    if (page.length === 0) break;
    for (const { sequence, value } of page) {
      expect(entries.has(value)).toBe(false);
      entries.set(value, sequence);
    }
    from = (page.at(-1)?.sequence ?? 0) + 1;
  }
  const appended = lines.filter(({ did }) => did === 'appended');
  expect(appended.filter(({ key, sequence }) => entries.get(key) !== sequence)).toEqual([]);
  const taken = lines.filter(({ did }) => did === 'taken').length;
  const counter = store.counter('counts', durable);
  const { left } = await counter.take('all', 0, { limit: 1_000_000, windowMs: null });
  expect(1_000_000 - left).toBeGreaterThanOrEqual(taken);
  // Three lanes of two processes may have had one take under way each.
  expect(1_000_000 - left).toBeLessThanOrEqual(taken + 6);
  await store.close();
  const reported = lines.filter(
    ({ did, detail }) => did === 'reported' && !detail?.includes('gone'),
  );
  expect(reported).toEqual([]);
}

type Moment = (former: Life, next: Life) => Promise<void>;

async function around(moment: Moment, killed: 'former' | 'next' | 'both'): Promise<void> {
  const folder = newFolder();
  const [file, socket] = [join(folder, 'state.db'), join(folder, 'socket')];
  const former = new Life('former', file, socket);
  await former.said('taken', 5);
  const next = new Life('next', file, socket);
  try {
    await killedAt(moment, killed, former, next);
  } finally {
    former.kill();
    next.kill();
  }
  await Promise.all([former.over, next.over]);
  await judge(file, [former, next]);
}

async function killedAt(
  moment: Moment,
  killed: 'former' | 'next' | 'both',
  former: Life,
  next: Life,
): Promise<void> {
  await moment(former, next);
  if (killed !== 'next') former.kill();
  if (killed !== 'former') next.kill();
  if (killed === 'former') {
    // It goes on, with the database to itself.
    const before = next.lines.length;
    await next.said('taken', 5);
    expect(next.lines.length).toBeGreaterThan(before);
    next.kill();
    expect(former.lines.filter(({ did }) => did === 'refused')).toEqual([]);
  }
  expect(next.lines.filter(({ did }) => did === 'refused')).toEqual([]);
  if (killed === 'next') {
    const isHandedOver = former.lines.some(({ did }) => did === 'handing');
    if (!isHandedOver) former.kill();
    await former.over;
    const refused = former.lines.filter(({ did }) => did === 'refused');
    if (isHandedOver)
      expect(refused.map(({ reason }) => reason)).toEqual(Array(3).fill('not_kept'));
  }
}

const dice = new Dice('store kills');
const moments: readonly (readonly [string, Moment])[] = [
  ['when the hand-over begins', (former) => former.said('handing')],
  ['when the former has handed it over', (former) => former.said('handed')],
  ['when the next has heard of it', (_, next) => next.said('released')],
  ['at the first change of the next', (_, next) => next.said('put')],
  [
    'some changes later',
    async (former, next) => {
      await next.said('put');
      await former.said('taken', dice.between(1, 40));
    },
  ],
  ['some more of the next later', (_, next) => next.said('taken', dice.between(1, 40))],
];

describe.each(moments)('a kill %s #kept-or-refused', (_, moment) => {
  it.each(['former', 'next', 'both'] as const)(
    'of the process (%s) loses nothing that was acknowledged, and nothing is there twice',
    (killed) => around(moment, killed),
  );
});
