// A server that the first start of a new host would reach is reached by this one too, whatever was seen
// of it before: one crash, or what it spoke until it was updated, must not make it unreachable until the
// host is restarted. Whole gateways on a virtual clock: kinds of servers, times they need to begin, times
// they are given, clients of both eras.

import { describe, expect, it } from 'vitest';
import { newGateway } from '../../test/support/fake-gateway.ts';
import type { ManualClock } from '../../test/support/manual-clock.ts';
import {
  ErrorAnswer,
  type Heard,
  type Script,
  type ScriptedChild,
  text,
  tool,
} from '../../test/support/scripted-server.ts';

type Manner = 'answers' | 'refuses' | 'ignores' | 'exits';

interface Kind {
  readonly initialize: Manner;
  readonly discover: Manner;
  /** How long each of its processes takes until it reads. */
  readonly slowMs: number;
}

const greeting = {
  initialize: {
    protocolVersion: '2025-11-25',
    capabilities: { tools: {} },
    serverInfo: { name: 's', version: '1' },
  },
  discover: { supportedVersions: ['2026-07-28'], capabilities: { tools: {} } },
};

/** A server whose processes read late, one message after the other; the first of them may crash. */
class Program {
  kind: Kind;
  clock: ManualClock | undefined;
  #crashes: number;
  /** When each process began: what comes before it reads is read then. */
  readonly #readsAt = new WeakMap<ScriptedChild, number>();

  constructor(kind: Kind, crashes: number) {
    this.kind = kind;
    this.#crashes = crashes;
  }

  get script(): Script {
    return {
      tools: [tool('a')],
      on: {
        initialize: (heard, child) => this.#asked('initialize', heard, child),
        'server/discover': (heard, child) => this.#asked('discover', heard, child),
        'tools/call': () => text('ran'),
      },
    };
  }

  #asked(question: 'initialize' | 'discover', heard: Heard, child: ScriptedChild): undefined {
    const clock = this.clock as ManualClock;
    const readsAt = this.#readsAt.get(child) ?? clock.now() + this.kind.slowMs;
    this.#readsAt.set(child, readsAt);
    clock.after(readsAt - clock.now(), () => this.#reads(question, heard, child));
    return undefined;
  }

  #reads(question: 'initialize' | 'discover', heard: Heard, child: ScriptedChild): void {
    if (question === 'initialize' && this.#crashes > 0) {
      this.#crashes -= 1;
      return child.exit();
    }
    const manner = this.kind[question];
    if (manner === 'exits') return child.exit();
    if (manner === 'answers') child.answer(heard, greeting[question]);
    if (manner === 'refuses') child.answer(heard, new ErrorAnswer({ code: -32601, message: 'no' }));
  }
}

interface Trial {
  readonly era: 'legacy' | 'modern';
  readonly startTimeoutMs: number;
  readonly isolation: 'auto' | 'shared' | 'client';
}

function newTrial(program: Program, { era, startTimeoutMs, isolation }: Trial) {
  const config = { s: { startTimeoutMs, isolation } };
  const { legacy, modern, clock, servers } = newGateway({ s: program.script }, { config });
  program.clock = clock;
  const peer = era === 'legacy' ? legacy() : modern();
  return { peer, clock, server: servers.s };
}

/** How many calls it takes until one is answered; each waits for its end. Infinity: none was. */
async function callsUntilReached(
  { peer, clock }: ReturnType<typeof newTrial>,
  most: number,
): Promise<number> {
  for (let calls = 1; calls <= most; calls += 1) {
    const reply = peer.request('tools/call', { name: 's__a', arguments: {} });
    while (reply.answers.length === 0) await clock.advanceAsync(5_000);
    if (reply.answers.join().includes('"ran"')) return calls;
  }
  return Number.POSITIVE_INFINITY;
}

const manners: readonly Manner[] = ['answers', 'refuses', 'ignores', 'exits'];

/** Every server that can be spoken to in some era, in time or late. */
const kinds: readonly Kind[] = manners.flatMap((initialize) =>
  manners
    .filter((discover) => initialize === 'answers' || discover === 'answers')
    .flatMap((discover) => [0, 4_000].map((slowMs) => ({ initialize, discover, slowMs }))),
);

const trials: readonly Trial[] = [5_000, 10_000, 14_000, 30_000].flatMap((startTimeoutMs) =>
  (['legacy', 'modern'] as const).flatMap((era) =>
    // The era of a client's own connection does not follow what becomes known of the server.
    (startTimeoutMs === 10_000 ? (['auto', 'client'] as const) : (['auto'] as const)).map(
      (isolation) => ({ era, startTimeoutMs, isolation }),
    ),
  ),
);

/** Fewer than the restart budget has by default: the server must be reached before it is ejected. */
const mostCalls = 4;

describe('a server that a new host would reach', () => {
  it.each(trials)(
    'is reached after a crash at initialize, or two: $era, $startTimeoutMs ms, $isolation #eras',
    async (trial) => {
      const failed: string[] = [];
      for (const kind of kinds) {
        if (!(await isReachedAtOnce(kind, trial))) continue;
        for (const crashes of [1, 2]) {
          const world = newTrial(new Program(kind, crashes), trial);
          const calls = await callsUntilReached(world, mostCalls);
          if (calls > mostCalls) failed.push(JSON.stringify({ kind, crashes }));
        }
      }
      expect(failed).toEqual([]);
    },
  );

  it.each(trials.filter(({ startTimeoutMs }) => startTimeoutMs === 10_000))(
    'is reached after an update, whatever it spoke before: $era, $isolation #eras',
    async (trial) => {
      const failed: string[] = [];
      for (const kind of kinds) {
        if (kind.slowMs > 0 || !(await isReachedAtOnce(kind, trial))) continue;
        for (const before of kinds) {
          if (before.slowMs === 0 && !(await isReachedUpdated(before, kind, trial))) {
            failed.push(JSON.stringify({ before, kind }));
          }
        }
      }
      expect(failed).toEqual([]);
    },
  );
});

async function isReachedAtOnce(kind: Kind, trial: Trial): Promise<boolean> {
  return (await callsUntilReached(newTrial(new Program(kind, 0), trial), 1)) === 1;
}

/** Is it reached when its program is replaced while it runs, and its process ends then? */
async function isReachedUpdated(before: Kind, after: Kind, trial: Trial): Promise<boolean> {
  const program = new Program(before, 0);
  const world = newTrial(program, trial);
  if ((await callsUntilReached(world, mostCalls)) > mostCalls) return true;
  program.kind = after;
  world.server.child.exit();
  // What its restarts have cost so far is forgotten.
  await world.clock.advanceAsync(30_000);
  return (await callsUntilReached(world, mostCalls)) <= mostCalls;
}
