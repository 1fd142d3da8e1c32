import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { nearestNames } from './nearest-names.ts';

const tools = ['read_file', 'write_file', 'list_directory', 'git_log', 'git_diff'];

describe('the nearestNames known names', () => {
  it.each([
    ['a letter too few', 'read_fle', ['read_file']],
    ['a letter too many', 'git_logg', ['git_log']],
    ['a wrong letter', 'reed_file', ['read_file']],
    ['two letters swapped', 'git_dfif', ['git_diff']],
    ['another case', 'Git_Log', ['git_log']],
  ])('are found despite %s', (_, wrong, expected) => {
    expect(nearestNames(wrong, tools)).toEqual(expected);
  });

  it('are not found for a name that is another word', () => {
    expect(nearestNames('deploy', tools)).toEqual([]);
    expect(nearestNames('', ['a', 'b'])).toEqual([]);
    expect(nearestNames('x', ['a', 'b'])).toEqual([]);
    expect(nearestNames('git', ['svn', 'cvs'])).toEqual([]);
  });

  it('are at most three, the nearestNames first, then by the alphabet', () => {
    const known = ['tool_e', 'tool_d', 'tool_c', 'tool_b', 'tool_aa', 'tool_b'];
    expect(nearestNames('tool_a', known)).toEqual(['tool_aa', 'tool_b', 'tool_c']);
    expect(nearestNames('tool_d', known)[0]).toBe('tool_d');
  });

  it('are not searched for when a name is too different', () => {
    expect(nearestNames('x'.repeat(100_000), ['x'])).toEqual([]);
    expect(nearestNames('x', ['x'.repeat(100_000)])).toEqual([]);
  });

  it('contain every name that is one edit away', () => {
    const name = fc.string({ minLength: 3, maxLength: 20, unit: fc.constantFrom(...'abcde_') });
    fc.assert(
      fc.property(
        name,
        fc.nat(),
        fc.constantFrom('drop', 'double', 'change', 'swap'),
        (...slip) => {
          const [known, seed, kind] = slip;
          const at = seed % known.length;
          const [before, here, after] = [known.slice(0, at), known[at], known.slice(at + 1)];
          const wrong = {
            drop: `${before}${after}`,
            double: `${before}${here}${here}${after}`,
            change: `${before}x${after}`,
            swap: `${before}${after.slice(0, 1)}${here}${after.slice(1)}`,
          }[kind];
          expect(nearestNames(wrong, ['unrelated', known])).toContain(known);
        },
      ),
    );
  });
});
