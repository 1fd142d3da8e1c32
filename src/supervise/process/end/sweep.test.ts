import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { below, type ProcessRow } from '../watch/process-table.ts';
import { claim } from './sweep.ts';

const self = 100;

function row(pid: number, more: Partial<ProcessRow> = {}): ProcessRow {
  const start = `born-${pid}`;
  return { pid, start, parent: 1, group: pid, session: pid, isZombie: false, ...more };
}

/** The host in the session of the user's shell, and some strangers. */
const machine = [
  row(1),
  row(50, { parent: 1 }),
  row(self, { parent: 50, session: 50 }),
  row(60, { parent: 50, session: 50 }),
  row(70),
];
const leader = row(200, { parent: self });
const known = [{ pid: 200, start: 'born-200' }];

function pids(rows: readonly ProcessRow[], marked: readonly number[] = [], of = known): number[] {
  return claim(rows, of, new Set(marked), self).map(({ pid }) => pid);
}

describe('what belongs to a tree', () => {
  it('is only what is known by pid and start time', () => {
    expect(pids([...machine, leader])).toEqual([200]);
  });

  it('is never another process that reuses the pid of one of ours', () => {
    const stranger = row(200, { start: 'born later', session: 200 });
    const hisChild = row(201, { parent: 200, session: 200 });
    expect(pids([...machine, stranger, hisChild])).toEqual([]);
  });

  it('is what descends from it, to any depth and in any order of pids', () => {
    const child = row(199, { parent: 200 });
    const grandchild = row(198, { parent: 199 });
    expect(pids([grandchild, child, ...machine, leader])).toEqual([198, 199, 200]);
  });

  it('is what shares a session with one of ours, although its parent is gone', () => {
    const orphan = row(300, { parent: 1, session: 200 });
    expect(pids([...machine, leader, orphan])).toEqual([200, 300]);
  });

  it('is what carries the mark, with its own session and children', () => {
    const stray = row(400);
    const rest = [row(401, { session: 400 }), row(402, { parent: 400, session: 402 })];
    expect(pids([...machine, stray, ...rest], [400], [])).toEqual([400, 401, 402]);
  });

  it('is never ourselves, nor the session of our user, nor pid 1, nor an unseen session', () => {
    const marked = row(500, { session: 50 });
    const unseen = row(501, { session: 0 });
    const foreign = row(502, { session: 0 });
    const rows = [...machine, marked, unseen, foreign];
    expect(pids(rows, [1, self, 500, 501], [])).toEqual([500, 501]);
  });

  it('holds every descendant of what it holds, in any forest', () => {
    const forest = fc.array(fc.nat(40), { minLength: 1, maxLength: 40 }).map((parents) =>
      // Each has an earlier one as its parent, or nobody of these.
      parents.map((parent, index) =>
        row(1000 + index, { parent: 1000 + (parent % (index + 1)) - 1 }),
      ),
    );
    fc.assert(
      fc.property(forest, fc.nat(39), (rows, chosen) => {
        const root = rows[chosen % rows.length] ?? row(1000);
        const expected = [root, ...below(root.pid, rows)].map(({ pid }) => pid).sort();
        expect(pids(rows, [], [root]).sort()).toEqual(expected);
      }),
    );
  });
});
