// A rollout with a played holder, over real links: whatever the successor, the link or the handing over does, exactly
// one of the two serves afterwards, and what happened is reported once.

import { type Duplex, duplexPair } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { settled } from '../../test/support/manual-clock.ts';
import { PlayedRollout, type PlayedSuccessor } from '../../test/support/played-rollout.ts';
import { linkOver } from './link.ts';
import type { RolloutReason } from './rollout-state.ts';
import { readSnapshot, snapshotVersion, writtenSnapshot } from './snapshot.ts';

describe('a rollout', () => {
  it('prepares, draws the fence, serves, and tells what went along', async () => {
    using played = new PlayedRollout();
    expect(await played.outcome()).toEqual({
      kind: 'rolled',
      ...{ from: '1.0.0', to: '2.0.0', holder: 42, tookMs: 0, pauseMs: 0 },
      ...{ servers: 2, sessions: 3, left: ['one stream'] },
    });
    expect(played.said).toEqual([
      'start',
      'prepare host',
      'fence',
      'take sockets',
      'serve',
      'former',
    ]);
    expect(played.results).toHaveLength(1);
    expect(played.heard).toEqual([{ again: false, shutdown: false }]);
    expect(played.formerLink?.isOpen).toBe(true);
    expect([played.isIncumbentServing, played.isSuccessorServing]).toEqual([false, true]);
  });

  it('says each step in a line, for whoever wants to see them', async () => {
    using played = new PlayedRollout();
    await played.outcome();
    expect(played.steps).toEqual([
      'rollout 1: a successor is started',
      'rollout 1: the successor is ready, nothing new begins here',
      // The JSON of its one part.
      'rollout 1: it is told in 3 bytes what it takes over',
      'rollout 1: the successor serves',
    ]);
  });

  it('is one for all who ask meanwhile', async () => {
    using played = new PlayedRollout();
    const both = [played.conductor.ask(), played.conductor.ask()];
    await settled();
    expect(await Promise.all(both)).toMatchObject([{ kind: 'rolled' }, { kind: 'rolled' }]);
    expect(played.said.filter((word) => word === 'start')).toHaveLength(1);
  });

  it('passes on the end of the instance that was asked for behind the fence', async () => {
    using played = new PlayedRollout();
    played.successor = played.real({ take: async () => played.conductor.shutdown() });
    await played.outcome();
    expect(played.heard).toEqual([{ again: false, shutdown: true }]);
  });
});

const silent: PlayedSuccessor = (stream) => void stream.resume();
const says =
  (...words: readonly object[]): PlayedSuccessor =>
  (stream) => {
    const link = linkOver(stream);
    for (const word of words) link.send('rollout', word);
  };
const ready = { say: 'ready', program: '2.0.0', pid: 7 };

describe('a successor that fails', () => {
  const failing: readonly (readonly [
    string,
    string,
    (played: PlayedRollout) => PlayedSuccessor,
  ])[] = [
    [
      'exits at once',
      'exited',
      () =>
        (_, { exit }) =>
          exit('exit code 1'),
    ],
    ['hangs', 'late', () => silent],
    [
      'refuses a snapshot of another instance',
      'refused',
      (played) => played.real({ instance: 'two' }),
    ],
    [
      'cannot prepare',
      'refused',
      (played) =>
        played.real({
          prepare: async () => {
            throw new Error('the config cannot be read');
          },
        }),
    ],
    ['says nonsense', 'link', () => says({ say: 'hello' })],
    ['is ready with nonsense', 'link', () => says({ say: 'ready', program: 7, pid: 'x' })],
    ['serves before the fence', 'link', () => says({ say: 'serving' })],
    ['writes what is no message', 'link', () => (stream) => void stream.write('hello\n'.repeat(9))],
    ['closes the link', 'link', () => (stream) => linkOver(stream)[Symbol.dispose]()],
  ];

  it.each(failing)('and %s leaves the incumbent serving (%s)', async (_, reason, successor) => {
    using played = new PlayedRollout();
    played.successor = successor(played);
    const result = await played.outcome();
    expect(result).toMatchObject({ kind: 'failed', cause: { reason } });
    expect(played.results).toEqual([result]);
    expect([played.isIncumbentServing, played.isSuccessorServing]).toEqual([true, false]);
    expect(played.said).not.toContain('fence');
    expect(played.caught).toEqual([]);
    // And nothing is left of it that could spoil the next one.
    played.successor = played.real();
    expect(await played.outcome()).toMatchObject({ kind: 'rolled' });
  });

  it('says why', async () => {
    using played = new PlayedRollout({ successor: (_, { exit }) => exit('exit code 9') });
    expect(await played.outcome()).toMatchObject({
      cause: {
        detail:
          'the new version has ended: exit code 9; what it said is in the standard error of the instance',
      },
    });
    played.successor = played.real({ instance: 'two' });
    expect(await played.outcome()).toMatchObject({
      cause: { detail: expect.stringContaining('another instance') },
    });
  });

  it('is given 15 seconds, and not tried again', async () => {
    using played = new PlayedRollout({ successor: silent, isAuto: true });
    played.conductor.files({ kind: 'changed', print: 'b' });
    await played.clock.advanceAsync(14_999);
    expect(played.results).toEqual([]);
    await played.clock.advanceAsync(1);
    expect(played.results).toHaveLength(1);
    played.conductor.files({ kind: 'changed', print: 'b' });
    await played.clock.advanceAsync(600_000);
    expect(played.said.filter((word) => word === 'start')).toHaveLength(1);
  });

  it('of another version of the snapshot is refused by what reads it', () => {
    const { head, pieces } = writtenSnapshot({ program: '1', instance: 'one' }, []);
    const older = { ...head, version: snapshotVersion - 1 };
    expect(() => readSnapshot(older, pieces, 'one')).toThrow(/version/);
  });
});

describe('a successor that is lost behind the fence', () => {
  const losing: readonly (readonly [
    string,
    RolloutReason,
    (played: PlayedRollout) => PlayedSuccessor,
  ])[] = [
    [
      'exits',
      'exited',
      () =>
        (stream, { exit }) => {
          const link = linkOver(stream);
          link.send('rollout', ready);
          link.on('snapshot.yours', () => exit('killed by SIGSEGV'));
        },
    ],
    ['hangs', 'late', () => says(ready)],
    [
      'cannot take over',
      'refused',
      (played) =>
        played.real({
          take: async () => {
            throw new Error('no descriptors left');
          },
        }),
    ],
  ];
  const times = (played: PlayedRollout, word: string) =>
    played.said.filter((one) => one === word).length;

  it.each(losing)(
    'and %s is followed by another one that takes over (%s)',
    async (_, reason, first) => {
      using played = new PlayedRollout();
      const lost = first(played);
      played.successor = (...run) => {
        played.successor = played.real();
        lost(...run);
      };
      expect(await played.outcome()).toMatchObject({ kind: 'rolled', servers: 2 });
      expect(played.lost).toMatchObject([{ reason }]);
      expect([times(played, 'start'), times(played, 'fence'), times(played, 'former')]).toEqual([
        2, 1, 1,
      ]);
      expect([played.isIncumbentServing, played.isSuccessorServing]).toEqual([false, true]);
      expect(played.results).toMatchObject([{ kind: 'rolled' }]);
      expect(played.caught).toEqual([]);
    },
  );

  it('is followed by three others, and then nobody has what was handed over', async () => {
    using played = new PlayedRollout({ successor: says(ready) });
    expect(await played.outcome()).toMatchObject({ kind: 'failed', cause: { reason: 'late' } });
    expect([times(played, 'start'), times(played, 'fence'), times(played, 'giveUp')]).toEqual([
      4, 1, 1,
    ]);
    expect(played.lost).toHaveLength(3);
  });

  it('is followed by none if handing over never ends, and this process is not left as it is then', async () => {
    using played = new PlayedRollout();
    played.handingOver = () => new Promise(() => {});
    const asked = played.conductor.ask();
    await played.clock.advanceAsync(120_000);
    expect(await asked).toMatchObject({ kind: 'failed', cause: { reason: 'late' } });
    expect([times(played, 'start'), times(played, 'fence'), times(played, 'giveUp')]).toEqual([
      1, 1, 1,
    ]);
    expect(played.caught).toEqual([]);
  });

  it('was told the same as the one that follows it, and what it has said is not heard', async () => {
    using played = new PlayedRollout();
    const told: unknown[] = [];
    const hears = (stream: Duplex) => {
      const link = linkOver(stream);
      link.on('part', (head) => told.push(head));
      link.send('answer', { from: told.length });
      return link;
    };
    played.successor = (stream, { exit }) => {
      played.successor = (second, { claim }) => {
        const link = hears(second);
        link.on('snapshot.yours', () => {
          if (claim()) link.send('rollout', { say: 'serving' });
        });
        link.send('rollout', ready);
      };
      const link = hears(stream);
      link.on('snapshot.yours', () => exit('killed by SIGKILL'));
      link.send('rollout', ready);
    };
    expect(await played.outcome()).toMatchObject({ kind: 'rolled' });
    expect(told).toEqual([{ is: 'said at the fence' }, { is: 'said at the fence' }]);
    expect(played.answers).toEqual([{ from: 1 }]);
  });
});

describe('a link that is cut', () => {
  /** Passes on so many pieces of either direction, then ends like a process that was killed. */
  function cutAfter(pieces: number, stream: Duplex, cut: () => void): Duplex {
    const [near, far] = duplexPair();
    let left = pieces;
    const pass = (from: Duplex, to: Duplex) =>
      from.on('data', (chunk) => {
        left -= 1;
        if (left < 0) cut();
        else to.write(chunk);
      });
    pass(stream, far);
    pass(far, stream);
    stream.on('close', () => far.destroy());
    return near;
  }

  it('leaves exactly one that serves, wherever it is cut', async () => {
    const kinds: string[] = [];
    let lost = 0;
    for (let pieces = 0; kinds.length < 100; pieces += 1) {
      using played = new PlayedRollout();
      const real = played.real();
      let isCut = false;
      played.successor = (stream, run) => {
        const cut = () => {
          isCut = true;
          stream.destroy();
        };
        // Whoever comes after it is not cut.
        played.successor = played.real();
        real(cutAfter(pieces, stream, cut), run);
      };
      const result = await played.outcome();
      kinds.push(result.kind);
      expect(played.results, `after ${pieces}`).toEqual([result]);
      const serving = [played.isIncumbentServing, played.isSuccessorServing];
      expect(serving, `after ${pieces}`).toEqual(
        result.kind === 'rolled' ? [false, true] : [true, false],
      );
      expect(played.caught).toEqual([]);
      lost += played.lost.length;
      if (!isCut) break;
    }
    expect(kinds.filter((kind) => kind === 'failed').length).toBeGreaterThan(1);
    expect(kinds.at(-1)).toBe('rolled');
    expect(lost).toBeGreaterThan(1);
    // The last word of the successor was lost: the holder knows that it serves.
    expect(kinds.filter((kind) => kind === 'rolled').length).toBeGreaterThan(1);
  });
});

describe('an incumbent that cannot hand over', () => {
  it('serves on when the fence cannot be drawn', async () => {
    const refused = async () => {
      throw new Error('no');
    };
    using played = new PlayedRollout({ handOver: { fence: refused } });
    expect(await played.outcome()).toMatchObject({ cause: { reason: 'hand_over' } });
    expect(played.said).toEqual(['start', 'prepare host', 'abandon']);
    expect(played.isIncumbentServing).toBe(true);
  });

  it('is told when handing over takes too long, and serves on', async () => {
    let isGivenUp = false;
    using played = new PlayedRollout({
      handOver: {
        fence: (_, givenUp) =>
          new Promise((_resolve, reject) => {
            givenUp.addEventListener('abort', () => {
              isGivenUp = true;
              reject(new Error('given up'));
            });
          }),
      },
    });
    expect(await played.outcome()).toMatchObject({ cause: { reason: 'late' } });
    expect(isGivenUp).toBe(true);
    expect(played.results).toHaveLength(1);
  });

  it('starts nothing when it has too much to tell', async () => {
    const parts = Array.from({ length: 1_001 }, (_, at) => ({ name: `p${at}`, data: null }));
    using played = new PlayedRollout({ handOver: { prepare: async () => parts } });
    expect(await played.outcome()).toMatchObject({ kind: 'failed' });
    expect(played.said).not.toContain('start');
  });
});

describe('a holder that fails', () => {
  it.each([
    ['refuses', async () => ({ kind: 'refused', detail: 'not permitted' }) as const],
    [
      'fails',
      async () => {
        throw new Error('the channel is closed');
      },
    ],
  ])('and %s to start a successor leaves the incumbent serving', async (_, startSuccessor) => {
    using played = new PlayedRollout({ holder: { startSuccessor } });
    expect(await played.outcome()).toMatchObject({ kind: 'failed', cause: { reason: 'start' } });
    expect(played.results).toHaveLength(1);
    expect(played.isIncumbentServing).toBe(true);
  });

  it('and does not confirm the end of a successor holds nobody up', async () => {
    using played = new PlayedRollout({
      successor: silent,
      holder: { abandon: () => new Promise(() => {}) },
    });
    expect(await played.outcome()).toMatchObject({ kind: 'failed', cause: { reason: 'late' } });
  });
});
