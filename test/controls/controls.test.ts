// The short form of `npm run controls`: every planted bug still fits the code as it is built now and
// leaves a program, and the quickest ones to find are really found.

import { readFileSync } from 'node:fs';
import { transformSync } from 'esbuild';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { tryPatch } from './control.ts';
import { type FinderName, patches } from './patches.ts';
import { ScratchBuild } from './scratch-build.ts';

/** One for each finder: a copy takes longer than everything that is done with it here. */
const builds = new Map<FinderName, ScratchBuild>();

function buildFor(finder: FinderName): ScratchBuild {
  const build = builds.get(finder) ?? new ScratchBuild(finder);
  builds.set(finder, build);
  return build;
}

afterAll(() => {
  for (const build of builds.values()) build[Symbol.dispose]();
});

describe('a planted bug', () => {
  it.each(patches)('fits what is built, and leaves a program: $id', (patch) => {
    const build = buildFor(patch.foundBy);
    try {
      const loader = patch.foundBy === 'tests' ? 'ts' : 'js';
      for (const file of build.plant(patch)) {
        expect(() => transformSync(readFileSync(file), { loader })).not.toThrow();
      }
    } finally {
      build.restore();
    }
  });

  it('that does not fit any more is refused by its name', () => {
    const build = buildFor('simulation');
    onTestFinished(() => build.restore());
    const [patch] = patches.filter(({ id }) => id === 'two-probes');
    if (patch === undefined) throw new Error('there is no such patch');
    build.plant(patch);
    expect(() => build.plant(patch)).toThrow('the patch two-probes does not fit');
  });

  const quick = ['reused-key', 'unguarded-call', 'shared-cache', 'anybodys-task'];
  it.each(patches.filter(({ id }) => quick.includes(id)))('is found: $id', async (patch) => {
    expect(await tryPatch(patch)).toMatchObject({ isFound: true });
  });
});
