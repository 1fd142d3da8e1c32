// The whole of it: rounds in which a crowd reads and rounds in which it does not, in turn, each with a
// gateway of its own that is told to end while the crowd is still there; sessions that were left; a
// client on stdio that stops. A round without reading is compared with one with reading, so that the
// load is the same.

import { setTimeout as pause } from 'node:timers/promises';
import { quantile } from '../chaos/tally.ts';
import { atMost, exactly, type Figure, fact, type Report } from '../proof/report.ts';
import { LeanSocket } from '../support/gateway-lean-socket.ts';
import { Crowd, type Flood, openSession } from './crowd.ts';
import { stoppedStdio } from './stopped-stdio.ts';
import { drainMs, World } from './world.ts';

export interface SlowClientsOptions {
  /** So many of each kind. */
  readonly clients: number;
  readonly sessions: number;
  readonly rounds: number;
  /** How often a list changes for the sessions that were left. */
  readonly changes: number;
  readonly progress: (text: string) => void;
}

const flood: Flood = { pieces: 128, bytes: 65_536, answerBytes: 6_291_456 };
/** The gateway gathers news of one kind for 20 ms. */
const changeEveryMs = 25;
const allowedMb = 150;

/** What was seen of all rounds of one kind, the worst of each. */
interface Seen {
  readonly latenciesMs: number[];
  readonly problems: string[];
  grownMb: number;
  closed: number;
  endedMs: number;
  badCodes: number;
}

export async function slowClients(options: SlowClientsOptions): Promise<Report> {
  const { clients, sessions, rounds, changes, progress } = options;
  const [reading, never] = [newSeen(), newSeen()];
  for (let round = 1; round <= rounds; round += 1) {
    for (const doRead of [true, false]) {
      progress(
        `round ${round}: ${clients} clients of each kind ${doRead ? 'read' : 'do not read'}`,
      );
      await oneRound(clients, doRead, doRead ? reading : never);
    }
  }
  progress(`${sessions} sessions are left, and ${changes} changes told`);
  const leftMb = await leftSessions(sessions, changes);
  progress('a client on stdio stops reading');
  const stdio = await stoppedStdio(flood, clients);
  const endMs = drainMs + 6_000;
  return {
    title: 'slow clients',
    figures: [
      fact('clients of each of seven kinds', clients),
      ...figuresOf(reading, never),
      exactly('gateways that did not end with exit code 0', reading.badCodes + never.badCodes, 0),
      atMost('longest end after SIGTERM, ms', Math.round(never.endedMs), endMs),
      fact('sessions that were left', sessions),
      atMost(`memory with them and ${changes} changes, MiB more`, Math.round(leftMb), allowedMb),
      atMost('stdio client that stops: memory, MiB more', Math.round(stdio.grownMb), allowedMb),
      exactly('stdio client that stops: exit code after SIGTERM', stdio.code ?? -1, 0),
      atMost('stdio client that stops: end after SIGTERM, ms', Math.round(stdio.endedMs), endMs),
    ],
    findings: [...reading.problems, ...never.problems],
  };
}

function figuresOf(reading: Seen, never: Seen): Figure[] {
  const p99 = ({ latenciesMs }: Seen) => quantile(latenciesMs, 0.99);
  return [
    fact('memory with a crowd that reads, MiB more', Math.round(reading.grownMb)),
    atMost('memory with a crowd that does not, MiB more', Math.round(never.grownMb), allowedMb),
    fact('connections closed for what waited, at least', never.closed),
    fact('healthy calls beside them', never.latenciesMs.length),
    fact('p99 of healthy calls, crowd reads, ms', p99(reading)),
    fact('p99 of healthy calls, crowd does not, ms', p99(never)),
    atMost('p99, not reading to reading', p99(never) / p99(reading), 2),
  ];
}

async function oneRound(clients: number, doRead: boolean, seen: Seen): Promise<void> {
  await using world = await World.start();
  const atRestMb = await awake(world);
  const crowds: Crowd[] = [];
  const { latenciesMs, problems } = await world.probing(async () => {
    crowds.push(await Crowd.gather({ port: world.port, clients, doRead, flood }));
    await world.call('flood__update', { times: flood.pieces, bytes: flood.bytes });
    await world.quiet();
  });
  const grownMb = world.takeHighestMb() - atRestMb;
  const { code, stderr, ms } = await world.end();
  for (const crowd of crowds) crowd[Symbol.dispose]();
  seen.latenciesMs.push(...latenciesMs);
  seen.problems.push(...problems.map((problem) => `a healthy client was not served: ${problem}`));
  seen.grownMb = Math.max(seen.grownMb, grownMb);
  seen.closed += closedIn(stderr);
  seen.endedMs = Math.max(seen.endedMs, ms);
  if (code !== 0) seen.badCodes += 1;
}

/** How much memory sessions take that nobody uses, while there is news for them. */
async function leftSessions(count: number, changes: number): Promise<number> {
  await using world = await World.start();
  const atRestMb = await awake(world);
  const socket = await LeanSocket.open(world.port);
  for (let n = 0; n < count; n += 1) await openSession(world.port, socket);
  socket.close();
  await world.call('flood__change', { times: changes, everyMs: changeEveryMs });
  return world.takeHighestMb() - atRestMb;
}

/** Both servers run, and a client has been served for a moment; the memory then. */
async function awake(world: World): Promise<number> {
  await world.call('flood__echo', { text: 'awake' });
  await world.probing(() => pause(500));
  return world.takeHighestMb();
}

function newSeen(): Seen {
  return { latenciesMs: [], problems: [], grownMb: 0, closed: 0, endedMs: 0, badCodes: 0 };
}

/** The gateway says so at every power of ten. */
function closedIn(stderr: string): number {
  const told = [...stderr.matchAll(/; (a|\d+) connections? (was|were) closed/g)];
  return told.reduce((most, [, count]) => Math.max(most, Number(count === 'a' ? 1 : count)), 0);
}
