// A life of connections without a supervisor around it: what it says is written down, and whether
// anybody wants the server is a switch.

import { Fault } from '../../src/kernel/fault.ts';
import { Life, type LifeListener, type LifeShared } from '../../src/supervise/life.ts';
import { freshRestarts } from '../../src/supervise/restart-machine.ts';
import { Connector, type FakeConnection } from './fake-connection.ts';
import { manualClock, settled } from './manual-clock.ts';

export const lifePolicy = {
  restart: { max: 2, windowMs: 300_000, minDelayMs: 100, maxDelayMs: 5_000, healthyMs: 60_000 },
  startTimeoutMs: 30_000,
};

/** A life with everything around it; `wanted` is what its leases would say. */
export function bareLife() {
  const clock = manualClock(1_000);
  const connector = new Connector();
  const heard: string[] = [];
  const failures: Fault[] = [];
  /** Why waiters were turned away, once for all of them. */
  const refused: string[] = [];
  const world = { wanted: true };
  const listener: LifeListener<FakeConnection> = {
    starting: (generation) => heard.push(`starting ${generation}`),
    ready: (generation, _connection, startMs) => heard.push(`ready ${generation} in ${startMs}`),
    adopted: (generation) => heard.push(`adopted ${generation}`),
    startFailed: (generation, fault) => {
      heard.push(`start-failed ${generation} ${fault.code}`);
      failures.push(fault);
    },
    lost: (generation, cause) => heard.push(`lost ${generation} ${cause.code}`),
    stopping: (generation, reason) => heard.push(`stopping ${generation} ${reason}`),
    stopped: (generation, swept) => heard.push(`stopped ${generation} ${swept}`),
    news: (news, delayMs) => heard.push(`${news} ${delayMs}`),
    refusal: (why) => {
      refused.push(why);
      return failures.at(-1) ?? new Fault('unavailable', why);
    },
    isWanted: () => world.wanted,
  };
  const shared: LifeShared = { restarts: freshRestarts, generation: 0 };
  const life = new Life(
    'files',
    { clock, random: () => 0 },
    lifePolicy,
    connector.connect,
    listener,
    shared,
  );
  return { shared, clock, connector, heard, refused, listener, life, world };
}

/** The same with a connection that is ready. */
export async function readyLife() {
  const all = bareLife();
  const acquiring = all.life.acquire();
  all.connector.last.arrive();
  const connection = await acquiring;
  all.heard.length = 0;
  return { ...all, connection, first: all.connector.last };
}

/** What a promise came to so far. */
export async function outcomeOf(promise: Promise<unknown>): Promise<unknown> {
  const waiting = Symbol('waiting');
  const seen = promise.then(
    (value) => value,
    (error: unknown) => error,
  );
  await settled();
  const outcome = await Promise.race([seen, Promise.resolve(waiting)]);
  return outcome === waiting ? 'waiting' : outcome;
}
