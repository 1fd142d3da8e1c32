// How soon windows go on: twenty of them at one instance, which is killed; every next call has to be answered
// within three seconds, by one instance and one process of each server. Once with room on the disk, and once
// with a state directory on a disk that is full.

import { mkdirSync } from 'node:fs';
import { atMost, type Figure, fact } from '../../proof/report.ts';
import { GatewayHome } from '../../support/gateway-home.ts';
import { type KilledUnderWindows, killUnderWindows } from '../../support/many-windows.ts';
import { fillUp, mountSmallDisk, unmountSmallDisk } from '../../support/small-disk.ts';

export interface TwentyWindows {
  readonly figures: readonly Figure[];
  readonly findings: readonly string[];
}

const goalMs = 3000;
const name = 'slowest next call of 20 windows after kill -9, ms';
const fullName = 'the same with a full disk, ms';

export async function twentyWindows(): Promise<TwentyWindows> {
  const [roomy, full] = [await withRoom(), await withoutRoom()];
  const wrong = [roomy, full].flatMap((one) => (typeof one === 'string' ? [] : wrongIn(one)));
  return {
    figures: [
      atMost(name, Math.round(roomy.slowestMs), goalMs),
      typeof full === 'string'
        ? fact(fullName, full)
        : atMost(fullName, Math.round(full.slowestMs), goalMs),
    ],
    findings: wrong.map((what) => `[next-call] ${what}`),
  };
}

async function withRoom(): Promise<KilledUnderWindows> {
  await using home = await GatewayHome.create();
  return await killUnderWindows(home, 20);
}

/** In words, if it could not be tried. */
async function withoutRoom(): Promise<KilledUnderWindows | string> {
  await using home = await GatewayHome.create();
  mkdirSync(home.state, { mode: 0o700 });
  const refusal = mountSmallDisk(home.state);
  if (refusal !== undefined) return `not tried: ${refusal}`;
  try {
    fillUp(home.state);
    return await killUnderWindows(home, 20);
  } finally {
    unmountSmallDisk(home.state);
  }
}

function wrongIn({ before, after, children, left }: KilledUnderWindows): readonly string[] {
  const seen = JSON.stringify({ before, after, children, left });
  const two = ['one', 'other'];
  const right = JSON.stringify({ before: two, after: two, children: [1, 1], left: [] });
  return seen === right ? [] : [`twenty windows: ${seen}, not ${right}`];
}
