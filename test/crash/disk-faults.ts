// Disks that fail: every kind of write refused with EIO, ENOSPC, EROFS or EMFILE while the gateway is
// used. No call fails for it; the gateway's own status says that the disk fails and which file it was;
// and when the disk works again it says so, and everything that was kept in memory is written.

import { FailedCall } from './asking.ts';
import { isShown, recovers, sameToken, useIt, whatIsKept } from './failing-disk.ts';
import type { Failure, Operation } from './injected-faults/plan.ts';
import { DidNotStart, LivedInHome } from './lived-in-home.ts';
import type { Shipped } from './shipped.ts';
import { sideBySide } from './side-by-side.ts';
import type { Violation } from './subjects/subject.ts';
import type { Tally } from './tally.ts';

export interface FaultOptions {
  readonly shipped: Shipped;
  readonly tally: Tally;
  readonly signal: AbortSignal;
  /** Only every so manieth case; 1 is all of them. */
  readonly every: number;
}

/** What each of them is refused to do. */
const refusals: Readonly<Record<string, readonly Operation[]>> = {
  EIO: ['write', 'datasync', 'rename', 'folder sync', 'truncate'],
  ENOSPC: ['open', 'write', 'mkdir'],
  EROFS: ['open', 'rename', 'remove', 'mkdir', 'chmod'],
  EMFILE: ['open'],
};

const places: Readonly<Record<string, readonly string[]>> = {
  tokens: ['store/tokens'],
  catalogues: ['store/catalogues'],
  verdicts: ['store/verdicts'],
  'event log': ['events.jsonl'],
  instances: ['instances'],
  everything: ['store', 'events.jsonl', 'instances'],
};

/** Single operations on which some disks fail alone. */
const alone: readonly Operation[] = ['open', 'write', 'datasync', 'close', 'rename', 'folder sync'];

interface Case {
  readonly kind: string;
  readonly fail: Failure;
}

function cases(): readonly Case[] {
  const broad = Object.entries(refusals).flatMap(([code, ops]) =>
    Object.entries(places).map(([kind, under]) => ({
      kind,
      fail: { under, ops, code, times: null },
    })),
  );
  const narrow = alone.flatMap((op) =>
    Object.entries(places)
      .filter(([kind]) => kind !== 'instances' && canFail(kind, op))
      .map(([kind, under]) => ({ kind, fail: { under, ops: [op], code: 'EIO', times: null } })),
  );
  return [...broad, ...narrow];
}

/** The log is not forced to the disk and not closed while it is written. */
function canFail(kind: string, op: Operation): boolean {
  return kind !== 'event log' || op === 'open' || op === 'write';
}

export async function failDisks(options: FaultOptions): Promise<void> {
  const { shipped, tally, signal, every } = options;
  const chosen = cases().filter((_, number) => number % every === 0);
  await sideBySide(chosen, async (queue, lane) => {
    using home = new LivedInHome(shipped, `faults${lane}`);
    await home.settle();
    for (const one of queue) {
      if (signal.aborted) break;
      tally.diskFaults += 1;
      const { fail, kind } = one;
      const where = `${fail.code} of ${fail.ops?.join(', ')} in ${kind}`;
      tally.found(await tryOne(home, one, shipped, tally), where);
    }
    tally.starts += home.home.starts;
  });
}

async function tryOne(
  home: LivedInHome,
  one: Case,
  shipped: Shipped,
  tally: Tally,
): Promise<readonly Violation[]> {
  home.restore();
  home.newServer();
  const isFirstStart = one.fail.under.some((place) => 'store/tokens'.startsWith(place));
  if (isFirstStart) home.home.wipe('store/tokens');
  home.home.faultPlan.set({ fail: one.fail });
  try {
    return await suffer(home, one, shipped, tally);
  } catch (error) {
    if (error instanceof DidNotStart) return [{ wrong: 'start', text: error.message }];
    if (error instanceof FailedCall) return [{ wrong: 'call', text: error.message }];
    throw error;
  } finally {
    home.home.faultPlan.set({});
  }
}

async function suffer(
  home: LivedInHome,
  { kind, fail }: Case,
  shipped: Shipped,
  tally: Tally,
): Promise<readonly Violation[]> {
  const found: Violation[] = [];
  const { life, client } = await home.visit();
  try {
    await useIt(client, tally);
    // The record against orphans is no part of the status: it is said once, when it fails.
    if (kind !== 'instances')
      found.push(
        ...(await isShown(
          client,
          fail.under.map((place) => home.home.inState(place)),
        )),
      );
    else if (!life.stderr.includes(home.home.inState('instances'))) {
      found.push({ wrong: 'unreported', text: `said was: ${life.stderr}` });
    }
    home.home.faultPlan.set({});
    found.push(...(await recovers(client)));
    const { code, stderr } = await life.process.stop();
    if (code !== 0) found.push({ wrong: 'start', text: `it ended with ${code}: ${stderr}` });
    found.push(...whatIsKept(home, shipped), ...(await sameToken(home)));
  } finally {
    await life.kill();
    life[Symbol.dispose]();
  }
  return found;
}
