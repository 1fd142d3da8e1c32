// The list of impossible cells is closed, and says why.

import { describe, expect, it } from 'vitest';
import { impossible, neverImpossible } from './impossible.ts';
import { features } from './matrix.ts';

describe('the list of impossible cells', () => {
  it.each(impossible.map((one) => [one.feature, one] as const))(
    '"%s" names a feature and quotes the specification',
    (_name, one) => {
      expect(features.map(({ name }) => name)).toContain(one.feature);
      expect(one.sentence).toMatch(/MUST NOT|MUST be|Remove|is returned as/);
      expect(one.source).toMatch(/^https:/);
    },
  );

  it('holds nothing that has a form in both eras #all-of-mcp', () => {
    expect(impossible.filter(({ feature }) => neverImpossible.test(feature))).toEqual([]);
  });

  it('leaves every feature at least one cell, and every pair of eras most features #all-of-mcp', () => {
    for (const client of ['legacy', 'modern'] as const) {
      for (const server of ['legacy', 'modern'] as const) {
        const gone = impossible.filter(({ between }) =>
          between.some(([from, to]) => from === client && to === server),
        );
        expect(gone.length).toBeLessThan(features.length / 4);
      }
    }
    expect(impossible.every(({ between }) => between.length < 4)).toBe(true);
  });
});
