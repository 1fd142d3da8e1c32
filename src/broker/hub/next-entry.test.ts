// Which letters are written next, as a pure decision.

import { describe, expect, it } from 'vitest';
import { nextEntry, smallBytes } from './next-entry.ts';

const large = (to: string, name: string) => ({ to, name, bytes: 1_000_000 });
const small = (to: string, name: string) => ({ to, name, bytes: 100 });
const names = (letters: readonly { readonly name: string }[]) => letters.map(({ name }) => name);

describe('the next entry', () => {
  it('has small letters first, behind none that is for another mailbox, and then large ones in their order #fleet', () => {
    const waiting = [
      large('ann', 'a1'),
      large('ann', 'a2'),
      large('ann', 'a3'),
      small('bob', 'b1'),
      small('ann', 'a4'),
      small('bob', 'b2'),
    ];
    expect(names(nextEntry(waiting, 1_500_000))).toEqual(['b1', 'b2', 'a1', 'a2']);
    expect(names(nextEntry(waiting, 100_000_000))).toEqual(['b1', 'b2', 'a1', 'a2', 'a3', 'a4']);
  });

  it('has room for what waits longest, however many small letters there are #fleet', () => {
    const many = Array.from({ length: 1_000 }, (_, at) => ({
      ...small('bob', `b${at}`),
      bytes: smallBytes,
    }));
    const chosen = nextEntry([large('ann', 'a1'), ...many], 10 * smallBytes);
    expect(names(chosen)).toEqual(['b0', 'b1', 'b2', 'b3', 'b4', 'a1']);
  });
});
