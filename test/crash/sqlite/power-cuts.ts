// Power cuts: the calls of one run are written down, and from them the disk is built as it was after each
// call, without what was not forced to it (`power-disk.ts`). What had been told by then must be there. The
// same with runs in which forcing has failed once.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Call, callsIn, countsIn } from './calls.ts';
import { History, type Told } from './judge.ts';
import { type SqliteOptions, sampled } from './options.ts';
import { losses, PowerDisk } from './power-disk.ts';
import { Reader } from './readings.ts';
import { type Workload, workload } from './workload.ts';
import { WrittenHome } from './written-home.ts';

export const powerCuts = 'database: power cuts';

export async function cutPower(options: SqliteOptions): Promise<void> {
  const { dice, signal } = options;
  const small = workload(dice.of('small'), { groups: 12, largest: 9_000, reopenAfter: [5] });
  const counts = await cutEverywhere(small, options, []);
  const syncs = Array.from({ length: counts.get('fsync') ?? 0 }, (_, at) => at + 1);
  for (const number of sampled(syncs, options)) {
    if (signal.aborted) return;
    await cutEverywhere(small, { ...options, every: options.every * 4 }, [
      `fsync:error=EIO:when=${number}`,
    ]);
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
): Promise<ReadonlyMap<string, number>> {
  const { node, build, tally, dice, signal } = options;
  using home = new WrittenHome();
  await home.write(work, { node, build, inject, isLogged: true });
  const log = home.calls();
  const calls = callsIn(log, home.folder, home.told);
  const moments = new Set(sampled([...calls.keys()], options));
  const disks = losses.map((loss) => [loss, new PowerDisk(loss, dice.of(loss))] as const);
  const told: Told[] = [];
  using reader = new Reader(node, build);
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-power-'));
  try {
    for (const [at, call] of calls.entries()) {
      if (signal.aborted) break;
      for (const [, disk] of disks) disk.apply(call);
      if (call.does === 'tell') told.push(JSON.parse(call.line));
      if (!moments.has(at)) continue;
      const history = new History(work, told);
      for (const [loss, disk] of disks) {
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

function wordsOf(call: Call): string {
  return 'name' in call ? `${call.does} ${call.name}` : call.does;
}
