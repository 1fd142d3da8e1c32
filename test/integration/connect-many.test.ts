// Twenty `holdfast connect` at once: one instance, and one process of each server that is used. The instance
// is killed: the next call of each window is answered, by one new instance, and nothing of the old one is
// left. The same with a state directory on a disk that is full from the beginning. How long the next calls
// take is a figure of `npm run chaos`.

import { mkdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { GatewayHome } from '../support/gateway-home.ts';
import { killUnderWindows } from '../support/many-windows.ts';
import { fillUp, mountSmallDisk, unmountSmallDisk } from '../support/small-disk.ts';

const right = { before: ['one', 'other'], after: ['one', 'other'], children: [1, 1], left: [] };

describe('twenty windows at once', () => {
  it('share one instance and one process of each server that is used, also after a kill -9 of it #one-instance #no-orphans', async () => {
    await using home = await GatewayHome.create();
    expect(await killUnderWindows(home, 20)).toMatchObject({ ...right, startedBy: 'connect' });
  });

  it('do so with a full disk, too #one-instance #no-orphans', async ({ skip }) => {
    await using home = await GatewayHome.create();
    mkdirSync(home.state, { mode: 0o700 });
    const refusal = mountSmallDisk(home.state);
    if (refusal !== undefined) return skip(`a full disk was not tried: ${refusal}`);
    try {
      fillUp(home.state);
      expect(await killUnderWindows(home, 20)).toMatchObject({ ...right, startedBy: 'connect' });
    } finally {
      unmountSmallDisk(home.state);
    }
  });
});
