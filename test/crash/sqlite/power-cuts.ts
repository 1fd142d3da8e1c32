// Power cuts: the calls of one run are written down, and from them the disk is built as it was after each
// call, without what was not forced to it (`power-disk.ts`). What had been told by then must be there. The
// same with runs in which forcing has failed once, and with one that begins with a database that has lost the
// end of its log: when that is noted, nothing else may be said to be missing. What is lost is drawn several
// times at each moment, and most often while the file is made.

import { mkdtempSync, rmSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { headerOf } from '../../../src/store/sqlite/wal-check.ts';
import { type Call, callsIn, countsIn } from './calls.ts';
import { History, type Told } from './judge.ts';
import { type SqliteOptions, sampled } from './options.ts';
import { type Loss, losses, PowerDisk } from './power-disk.ts';
import { Reader } from './readings.ts';
import { later, type Workload, workload } from './workload.ts';
import { companions, WrittenHome } from './written-home.ts';

export const powerCuts = 'database: power cuts';

const runsAfterLoss = 6;
/** What is lost is drawn so often at each moment; and at the moments of the first change, in which the file is made. */
const draws = 3;
const drawsAtFirst = 20;

export async function cutPower(options: SqliteOptions): Promise<void> {
  const { dice, signal } = options;
  const small = workload(dice.of('small'), { groups: 12, largest: 9_000, reopenAfter: [5] });
  const counts = await cutEverywhere(small, options, []);
  const first = workload(dice.of('first'), { groups: 1, largest: 300, isClosed: false });
  await cutEverywhere(first, closely(options), [], { draws: drawsAtFirst });
  const syncs = Array.from({ length: counts.get('fsync') ?? 0 }, (_, at) => at + 1);
  for (const number of sampled(syncs, options)) {
    if (signal.aborted) return;
    await cutEverywhere(small, { ...options, every: options.every * 4 }, [
      `fsync:error=EIO:when=${number}`,
    ]);
  }
  // The first change after a loss is the one that matters: a few short runs, closely looked at.
  for (let run = 0; run < runsAfterLoss && !signal.aborted; run += 1) {
    const own = dice.of(`after a loss ${run}`);
    const after = workload(own, { groups: 2, largest: 9_000, isClosed: false });
    await cutEverywhere(after, { ...closely(options), dice: own }, [], { prepare: loseEnd });
  }
  // So large that the log is merged into the database and begun again while it is open.
  const large = workload(dice.of('large'), { groups: 60, largest: 120_000, isClosed: false });
  await cutEverywhere(large, { ...options, every: options.every * 10 }, []);
}

/** How often each call was made. */
async function cutEverywhere(
  work: Workload,
  options: SqliteOptions,
  inject: readonly string[],
  { prepare = nothing, draws: drawn = draws }: Moments = {},
): Promise<ReadonlyMap<string, number>> {
  const { node, build, tally, dice, signal } = options;
  using home = new WrittenHome();
  const disks = losses.map((loss) => [loss, new PowerDisk(loss, dice.of(loss))] as const);
  const before = await prepare(home, options);
  const isBegun = before.told.length > 0;
  for (const end of isBegun ? companions : []) {
    for (const [, disk] of disks) disk.hold(`state.db${end}`, home.bytes(end));
  }
  const own = later(work, before.groups.flat().length);
  const whole = { ...own, groups: [...before.groups, ...own.groups] };
  await home.write(own, { node, build, inject, isLogged: true });
  const log = home.calls();
  const calls = callsIn(log, home.folder, home.told);
  const moments = new Set(sampled([...calls.keys()], options));
  const told: Told[] = [...before.told];
  // A loss is said until its number is on the disk, whatever its user does with the note.
  let isNoted = !isBegun;
  using reader = new Reader(node, build);
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-power-'));
  try {
    for (const [at, call] of calls.entries()) {
      if (signal.aborted) break;
      for (const [, disk] of disks) disk.apply(call);
      if (call.does === 'tell') told.push(JSON.parse(call.line));
      if (call.does === 'sync' && call.name === 'state.db-acknowledged') isNoted = true;
      if (!moments.has(at) || !isNoted) continue;
      const history = new History(whole, told);
      for (const [loss, disk] of drawnFrom(disks, drawn)) {
        const image = join(folder, `${at}-${loss}`);
        disk.cut(image);
        const reading = await reader.read(join(image, 'state.db'));
        tally.tried(powerCuts);
        const where = `database, power cut after call ${at} (${wordsOf(call)}), lost: ${loss}, ${inject}`;
        tally.found(history.judge(reading, false), where);
        rmSync(image, { recursive: true });
      }
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return countsIn(log, home.folder, home.told);
}

/** Short runs, of which more moments are looked at. */
function closely(options: SqliteOptions): SqliteOptions {
  return { ...options, every: Math.max(1, Math.floor(options.every / 10)) };
}

interface Moments {
  readonly prepare?: Prepare;
  readonly draws?: number;
}

/** Where everything is lost, there is nothing to draw. */
function drawnFrom(disks: readonly Disk[], drawn: number): readonly Disk[] {
  return disks.flatMap((one) => (one[0] === 'all' ? [one] : Array<Disk>(drawn).fill(one)));
}

type Disk = readonly [Loss, PowerDisk];

/** What was written before, and told of it. */
type Prepare = (
  home: WrittenHome,
  options: SqliteOptions,
) => Promise<{ readonly groups: Workload['groups']; readonly told: readonly Told[] }>;

const nothing: Prepare = async () => ({ groups: [], told: [] });

/** The last change of the log is gone; so nothing that was told by then must be there. */
const loseEnd: Prepare = async (home, { node, build, dice }) => {
  const first = workload(dice.of('before'), { groups: 6, largest: 300, isClosed: false });
  await home.write(first, { node, build, isTraced: false });
  const frames = [...(headerOf(home.bytes('-wal'))?.frames() ?? [])];
  const ends = frames.filter(({ isCommit }) => isCommit).map(({ end }) => end);
  truncateSync(`${home.file}-wal`, ends.at(-2) ?? 0);
  return { groups: first.groups, told: home.lines().map((line) => ({ ...line, isWell: false })) };
};

function wordsOf(call: Call): string {
  return 'name' in call ? `${call.does} ${call.name}` : call.does;
}
