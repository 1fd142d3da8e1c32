// Finds the instance of a config, and starts one if none runs. Of any number of `connect` that start at once
// one starts an instance, and the others wait for it.

import { join as pathOf } from 'node:path';
import { readOwnFile } from '../../kernel/bounded-file.ts';
import type { Clock, Random } from '../../kernel/clock.ts';
import { ignored } from '../../kernel/contain.ts';
import { Fault } from '../../kernel/fault.ts';
import { makePrivateFolder } from '../../kernel/private-folder.ts';
import type { Detached, DetachedEnd } from '../../supervise/process/start/start-detached.ts';
import { type Connected, join, TakesNoConnections } from '../control-client.ts';
import type { ClientFacts } from '../greeting.ts';
import { lockState, takeLock } from '../lock.ts';
import {
  endIn,
  foreignEndMs,
  holderIn,
  isAlive,
  type LockHolder,
  ownHolder,
} from '../lock-holder.ts';
import { assertOwnFolder } from '../own-path.ts';
import type { InstancePlace } from '../place.ts';
import {
  isSearchOver,
  usualStartPolicy as policy,
  type StartState,
  searchBegun,
  stepStart,
} from './start-policy.ts';

export interface Joining {
  readonly place: InstancePlace;
  readonly clock: Clock;
  readonly random: Random;
  readonly program: string;
  /** What the client tells of itself, as it is now. */
  readonly facts: () => ClientFacts;
  /** Starts an instance that writes to this file. Throws a Fault if it may not. */
  readonly start: (logFile: string) => Promise<Detached>;
  /** The client has gone: nothing is started for it. */
  readonly isOver: () => boolean;
  /** A request of the client waits. */
  readonly isWanted: () => boolean;
  /** How long an instance is waited for before one is started. */
  readonly graceMs: number;
}

/** A longer one is not looked through for the reason. */
const maxLogBytes = 16_777_216;
const lookMs = 25;
/** After `holdfast shutdown`, for whoever types the next command; less if a request waits. */
const reservedMs = 20_000;
const reservedWhileWantedMs = 2_000;
/** A `holdfast serve` that has ended is probably started again by whoever has started it. */
export const serveGraceMs = 2_000;

/** What came of the starts of one search for an instance. */
interface Starts {
  state: StartState;
  /** By the last look, if one that listens took no connection. */
  refusal: Fault | undefined;
  last: LastStart | undefined;
}

interface LastStart {
  readonly logFrom: number;
  end: DetachedEnd | undefined;
}

/** Throws a Fault if none can be had. */
export async function joinOrStart(joining: Joining): Promise<Connected> {
  const { clock, isOver, graceMs } = joining;
  const state = searchBegun(clock.now(), graceMs);
  const starts: Starts = { state, refusal: undefined, last: undefined };
  await makePrivateFolder(joining.place.folder);
  await assertOwnFolder(joining.place.folder);
  for (;;) {
    const found = await look(joining, starts);
    if (typeof found === 'object') return found;
    const mayStart =
      found === 'absent' && clock.now() >= starts.state.nextAt && !(await isReserved(joining));
    const started = mayStart ? await startedHere(joining, starts) : undefined;
    if (started) return started;
    if (isOver()) throw new Fault('cancelled', 'the client has gone');
    if (isSearchOver(starts.state, clock.now(), policy)) {
      throw starts.refusal ?? (await notStarted(joining, starts));
    }
    await pause(clock, lookMs);
  }
}

/**
 * One that does not listen yet, or no more, has the lock. And if somebody has just ended it with
 * `holdfast shutdown`, whoever wants to start another one in its place, such as one that listens on a port, must
 * not find that a window was faster.
 */
async function isReserved({ place, clock, isWanted }: Joining): Promise<boolean> {
  const { text, writtenAt } = await lockState(place.folder);
  const isRecent = (at: number, ms: number) => {
    const ago = clock.wallNow() - at;
    return ago >= 0 && ago < ms;
  };
  const holder = holderIn(text);
  if (holder !== undefined) {
    const isThere = await isAlive(holder);
    if (isThere !== undefined) return isThere;
    if (holder.isEnding) return isRecent(writtenAt, foreignEndMs);
  }
  const end = endIn(text);
  if (end === undefined) return false;
  const { endedAt, isAsked, startedBy } = end;
  if (isAsked) return isRecent(endedAt, isWanted() ? reservedWhileWantedMs : reservedMs);
  return startedBy === 'serve' && isRecent(endedAt, serveGraceMs);
}

/** One that is ending is waited for: the next one needs its lock and its database. */
async function look(
  { place, clock, program, facts }: Joining,
  starts: Starts,
): Promise<Connected | 'absent' | 'ending'> {
  starts.refusal = undefined;
  try {
    const found = await join({ path: place.socket, clock, program, as: 'client', facts });
    return found ?? 'absent';
  } catch (error) {
    if (error instanceof Fault && error.code === 'draining') return 'ending';
    if (error instanceof TakesNoConnections) {
      starts.refusal = error;
      return 'ending';
    }
    throw error;
  }
}

/** Undefined if somebody else is starting one, or it is not there yet. */
async function startedHere(joining: Joining, starts: Starts): Promise<Connected | undefined> {
  const { place, clock, program, start } = joining;
  const folder = pathOf(place.folder, 'starting');
  await makePrivateFolder(folder);
  const self = await ownHolder(program, clock.wallNow());
  const isHeld = async (holder: LockHolder) =>
    // For one in another container, only the time can tell.
    (await isAlive(holder)) ?? clock.wallNow() - holder.since < policy.totalMs + policy.startMs;
  const attempt = await takeLock(folder, self, isHeld);
  if (attempt.kind === 'held') return undefined;
  try {
    // It may have been started since the look above.
    const running = await look(joining, starts);
    if (typeof running === 'object') return running;
    if (running !== 'absent') return undefined;
    return await whenItListens(joining, await start(logOf(place)), starts);
  } finally {
    await attempt.lock.release();
  }
}

/** Undefined if another has to be looked for: it has ended, and not by its own fault. */
async function whenItListens(
  joining: Joining,
  started: Detached,
  starts: Starts,
): Promise<Connected | undefined> {
  const { clock, random, isOver } = joining;
  const giveUpAt = clock.now() + policy.startMs;
  const last: LastStart = { logFrom: started.logFrom, end: undefined };
  starts.last = last;
  started.ended
    .then((end) => {
      last.end = end;
    })
    .catch(ignored);
  while (clock.now() < giveUpAt && !isOver()) {
    const found = await look(joining, starts);
    if (typeof found === 'object') return found;
    const { end } = last;
    if (end !== undefined) {
      const ended = { end, at: clock.now(), random: random() };
      const [state, what] = stepStart(starts.state, ended, policy);
      starts.state = state;
      if (what === 'again') return undefined;
      throw await notStarted(joining, starts);
    }
    await pause(clock, lookMs);
  }
  return undefined;
}

export function logOf({ folder }: InstancePlace): string {
  return pathOf(folder, 'instance.log');
}

async function notStarted({ place }: Joining, { last }: Starts): Promise<Fault> {
  const log = logOf(place);
  const { error = null, signal = null } = last?.end ?? {};
  const said = last === undefined ? '' : await lastLine(log, last.logFrom);
  const killed = signal === null ? '' : `its process was ended by ${signal}; `;
  const own = said === '' ? `${killed}see ${log}` : said;
  const why = error === null ? own : `its process could not be created (${error})`;
  return new Fault('unavailable', `no instance of ${place.config} could be started: ${why}`);
}

/** What was written before belongs to other instances. */
async function lastLine(file: string, from: number): Promise<string> {
  const bytes = await readOwnFile(file, maxLogBytes).catch(() => Buffer.alloc(0));
  return bytes.subarray(from).toString('utf8').trim().split('\n').at(-1) ?? '';
}

async function pause(clock: Clock, ms: number): Promise<void> {
  await new Promise<void>((resolve) => void clock.after(ms, resolve));
}
