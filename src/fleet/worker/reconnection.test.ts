// A worker's link that comes and goes in thousands of random orders, on a clock that the test moves: the shipped channel
// and its machine, with links that are played. What is checked holds in every order: one opening for all that wait, tries
// until one deadline is over, waits within their bounds and none after the last try, a refusal for good ends the waiting
// at once, every call settles, and a later call may try again.

import { describe, expect, it } from 'vitest';
import { Dice } from '../../../test/support/dice.ts';
import { type ManualClock, manualClock, settled } from '../../../test/support/manual-clock.ts';
import { BrokerError } from '../../broker/broker-error.ts';
import type { Link, MailReader, OpenLink } from '../../broker/contract.ts';
import { Channel } from './channel.ts';
import type { CallFailure } from './open-call.ts';
import { usualReconnection as policy } from './reconnection.ts';

/** From the first try until there is a link or nobody tries any more. */
interface Session {
  readonly from: number;
  readonly tries: { readonly at: number; failedAt: number | undefined }[];
  endedAt: number | undefined;
  isRefused: boolean;
}

interface World {
  readonly clock: ManualClock;
  readonly dice: Dice;
  readonly sessions: Session[];
  readonly broken: string[];
  opening: number;
  link: PlayedLink | undefined;
}

interface PlayedLink {
  readonly link: Link;
  readonly end: (why: BrokerError) => void;
  readonly come: MailReader;
}

/** A link that takes everything; what it has taken is answered by whatever link there is then. */
function playedLink(world: World): PlayedLink {
  const { clock, dice } = world;
  let end: (why: BrokerError) => void = () => {};
  let reply: MailReader = () => {};
  const ended = new Promise<BrokerError>((resolve) => {
    end = resolve;
  });
  const link: Partial<Link> = {
    ended,
    receive: async (kind, reader) => {
      if (kind === 'mcp-reply') reply = reader;
    },
    deliver: async ({ id, about }) => {
      const from = { mailbox: 'boss', seat: 's', role: null };
      const mail = { id, from, kind: 'mcp-reply', about, ttlMs: undefined, isKept: true };
      const body = Buffer.from('done');
      const later = (ms: number) =>
        clock.after(ms, () => {
          if (world.link === undefined) later(500);
          else world.link.come({ ...mail, body, ack: () => {}, setAside: () => {} });
        });
      later(dice.between(1, 4_000));
    },
    tell: () => {},
    present: async () => ['boss'],
    close: async () => end(new BrokerError('closed', 'closed')),
  };
  return { link: link as Link, end, come: (mail) => reply(mail) };
}

function opener(world: World): OpenLink {
  const { clock, dice, sessions, broken } = world;
  return (signal) =>
    new Promise((resolve, reject) => {
      const at = clock.now();
      const last = sessions.at(-1);
      const session: Session =
        last !== undefined && last.endedAt === undefined
          ? last
          : { from: at, tries: [], endedAt: undefined, isRefused: false };
      if (session !== last) sessions.push(session);
      if (world.opening > 0) broken.push(`two openings at once at ${at}`);
      if (world.link !== undefined) broken.push(`an opening beside a link at ${at}`);
      world.opening += 1;
      const attempt: Session['tries'][number] = { at, failedAt: undefined };
      session.tries.push(attempt);
      const over = () => {
        world.opening -= 1;
        attempt.failedAt = clock.now();
      };
      const fail = (reason: 'lost' | 'unauthorized' | 'closed') => {
        over();
        if (reason === 'unauthorized') {
          session.isRefused = true;
          session.endedAt = clock.now();
        }
        reject(new BrokerError(reason, 'as the test says'));
      };
      const isHanging = dice.chance(0.15);
      const timer = clock.after(dice.between(0, 2_500), () => {
        if (isHanging) return;
        signal.removeEventListener('abort', aborted);
        if (dice.chance(0.35)) {
          world.opening -= 1;
          session.endedAt = clock.now();
          world.link = playedLink(world);
          return resolve(world.link.link);
        }
        fail(dice.chance(0.15) ? 'unauthorized' : 'lost');
      });
      const aborted = () => {
        timer[Symbol.dispose]();
        session.endedAt = clock.now();
        fail('closed');
      };
      signal.addEventListener('abort', aborted, { once: true });
    });
}

function checkSessions({ sessions, broken }: World, failures: readonly Failure[]): void {
  for (const { from, tries } of sessions) {
    for (const [at, one] of tries.entries()) {
      const before = tries[at - 1]?.failedAt;
      if (before === undefined) continue;
      const longest = Math.min(policy.firstWaitMs * 2 ** (at - 1), policy.longestWaitMs);
      const waited = one.at - before;
      const isLast = one.at === from + policy.totalMs - policy.lastTryMs;
      const isBounded = waited <= longest && (isLast || waited >= Math.floor(longest * 0.8));
      if (!isBounded) broken.push(`a wait of ${waited} ms before try ${at + 1}`);
    }
  }
  for (const { at, why, session } of failures) {
    if (session === undefined || why.reason === 'closed') continue;
    const lasted = at - session.from;
    if (lasted > policy.totalMs) broken.push(`a call failed after ${lasted} ms`);
    const isEarly = why.reason === 'exhausted' && lasted < policy.totalMs - policy.lastTryMs;
    if (isEarly) broken.push(`given up after ${lasted} ms and ${session.tries.length} tries`);
    // No wait after the last try: it fails when that has failed.
    const lastFailed = session.tries.at(-1)?.failedAt ?? at;
    if (why.reason === 'exhausted' && at !== lastFailed)
      broken.push(`failed ${at - lastFailed} ms after the last try`);
    if (why.reason === 'refused' && at !== lastFailed)
      broken.push(`a refusal was waited out for ${at - lastFailed} ms`);
  }
}

interface Failure {
  readonly at: number;
  readonly why: CallFailure;
  readonly session: Session | undefined;
}

async function lived(seed: number): Promise<readonly string[]> {
  const clock = manualClock(1_000);
  const dice = new Dice(`reconnection ${seed}`);
  const world: World = { clock, dice, sessions: [], broken: [], opening: 0, link: undefined };
  const failures: Failure[] = [];
  let open = 0;
  let calls = 0;
  const channel = new Channel({
    openLink: opener(world),
    to: 'boss',
    clock,
    random: () => dice.throw(),
    maxResponseBytes: 1_000,
    missed: () => {},
    gaveUp: () => {
      const session = world.sessions.at(-1);
      if (session) session.endedAt ??= clock.now();
    },
    caught: (error) => void world.broken.push(String(error)),
  });
  const call = () => {
    calls += 1;
    open += 1;
    const request = { id: `c${calls}`, body: Buffer.from('x'), isKept: true, ttlMs: undefined };
    channel.send(request, {
      sent: () => {},
      news: () => {},
      answered: () => {
        open -= 1;
      },
      failed: (why) => {
        open -= 1;
        const session = world.sessions.at(-1);
        if (session) session.endedAt ??= clock.now();
        // Refused by the end of its link: nobody has tried anything since.
        const isOfSession = session?.endedAt === clock.now();
        failures.push({ at: clock.now(), why, session: isOfSession ? session : undefined });
      },
    });
  };
  const loseLink = async () => {
    const lost = world.link;
    world.link = undefined;
    lost?.end(new BrokerError(dice.chance(0.1) ? 'unauthorized' : 'lost', 'as the test says'));
    await settled();
  };
  for (let step = 0; step < 40; step += 1) {
    const doing = dice.throw();
    if (doing < 0.4) call();
    else if (doing < 0.55) await loseLink();
    else await clock.advanceAsync(dice.between(1, 6_000));
  }
  await clock.advanceAsync(300_000);
  if (open > 0) world.broken.push(`${open} calls have not settled`);
  checkSessions(world, failures);
  await channel.close();
  return world.broken.map((text) => `seed ${seed}: ${text}`);
}

describe('a link of a worker that comes and goes', () => {
  it('is opened once for all, within one deadline and its bounds, in 1,000 random orders #broker-once #backoff', async () => {
    const broken: string[] = [];
    for (let seed = 1; seed <= 1_000 && broken.length < 10; seed += 1) {
      for (const text of await lived(seed)) broken.push(text);
    }
    expect(broken).toEqual([]);
  }, 120_000);
});
