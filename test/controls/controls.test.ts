// The smoke form of `npm run controls`: every planted bug still fits the code as it is built now and
// leaves a program, and the quickest ones to find are really found.

import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { transformSync } from 'esbuild';
import { describe, expect, it } from 'vitest';
import { tryPatch } from './control.ts';
import { patches } from './patches.ts';
import { ScratchBuild } from './scratch-build.ts';

describe('a planted bug', () => {
  it.each(patches)('fits what is built, and leaves a program: $id', (patch) => {
    using build = new ScratchBuild(patch.foundBy);
    for (const file of build.plant(patch)) {
      if (patch.foundBy === 'tests') {
        expect(() => transformSync(readFileSync(file), { loader: 'ts' })).not.toThrow();
        continue;
      }
      const { status, stderr } = spawnSync(process.execPath, ['--check', file]);
      expect(String(stderr)).toBe('');
      expect(status).toBe(0);
    }
  });

  it('that does not fit any more is refused by its name', () => {
    using build = new ScratchBuild('simulation');
    const [patch] = patches.filter(({ id }) => id === 'two-probes');
    if (patch === undefined) throw new Error('there is no such patch');
    build.plant(patch);
    expect(() => build.plant(patch)).toThrow('the patch two-probes does not fit');
  });

  const quick = ['replay-after-maybe', 'coerced-id', 'shared-cache'];
  it.each(patches.filter(({ id }) => quick.includes(id)))('is found: $id', async (patch) => {
    expect(await tryPatch(patch)).toMatchObject({ isFound: true });
  });
});
