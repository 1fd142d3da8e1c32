// A disk that is really full, and one that is really read-only: a small tmpfs under the state directory.
// Only root can mount one; where that is not allowed, a line says so and nothing is shown.

import { mkdirSync, rmSync } from 'node:fs';
import { fillUp, mount, mountSmallDisk, unmountSmallDisk } from '../support/small-disk.ts';
import { FailedCall } from './asking.ts';
import { isShown, recovers, sameToken, useIt, whatIsKept } from './failing-disk.ts';
import { DidNotStart, LivedInHome } from './lived-in-home.ts';
import type { Shipped } from './shipped.ts';
import type { Violation } from './subjects/subject.ts';
import type { Tally } from './tally.ts';

export interface FullDiskOptions {
  readonly shipped: Shipped;
  readonly tally: Tally;
  readonly progress: (text: string) => void;
}

/** What came of it, in a word for the report. */
export async function fillDisk({ shipped, tally, progress }: FullDiskOptions): Promise<string> {
  using home = new LivedInHome(shipped, 'full');
  const { state } = home.home;
  mkdirSync(state, { mode: 0o700 });
  const refusal = mountSmallDisk(state);
  if (refusal !== undefined) {
    progress(`a full disk was not tried: ${refusal}`);
    return `not tried: ${refusal}`;
  }
  home.home.isMounted = true;
  try {
    await home.settle();
    tally.found(await isFull(home, shipped, tally), 'a disk that is full');
    tally.found(await isReadOnly(home, shipped, tally), 'a disk that is read-only');
  } finally {
    tally.starts += home.home.starts;
    unmountSmallDisk(state);
  }
  return 'tried, full and read-only';
}

function isFull(home: LivedInHome, shipped: Shipped, tally: Tally): Promise<readonly Violation[]> {
  const fill = () => void fillUp(home.home.state);
  return tryOut(home, shipped, tally, fill, () => rmSync(home.home.inState('filler')));
}

function isReadOnly(home: LivedInHome, shipped: Shipped, tally: Tally) {
  const remount = (how: string) => mount(['-o', `remount,${how}`, home.home.state]);
  return tryOut(
    home,
    shipped,
    tally,
    () => void remount('ro'),
    () => void remount('rw'),
  );
}

async function tryOut(
  home: LivedInHome,
  shipped: Shipped,
  tally: Tally,
  harm: () => void,
  mend: () => void,
): Promise<readonly Violation[]> {
  home.restore();
  home.newServer();
  tally.diskFaults += 1;
  const found: Violation[] = [];
  harm();
  let isMended = false;
  try {
    const { life, client, token } = await home.visit();
    if (token !== null) found.push({ wrong: 'lost', text: 'another token was made and printed' });
    await useIt(client, tally);
    found.push(...(await isShown(client, [home.home.state])), ...(await commandTells(home)));
    mend();
    isMended = true;
    found.push(...(await recovers(client)));
    await life.process.stop();
    life[Symbol.dispose]();
    return [...found, ...whatIsKept(home, shipped), ...(await sameToken(home))];
  } catch (error) {
    if (error instanceof DidNotStart) return [{ wrong: 'start', text: error.message }];
    if (error instanceof FailedCall) return [{ wrong: 'call', text: error.message }];
    throw error;
  } finally {
    if (!isMended) mend();
  }
}

/** `holdfast status` sees the same disk by itself. */
async function commandTells(home: LivedInHome): Promise<readonly Violation[]> {
  const { stdout, stderr } = await home.home.command(['status', '--json']);
  if (stdout === '') return [{ wrong: 'silent', text: `holdfast status said: ${stderr}` }];
  const { disk } = JSON.parse(stdout) as { disk: { ok: boolean } };
  return disk.ok ? [{ wrong: 'silent', text: 'holdfast status says that the disk is well' }] : [];
}
