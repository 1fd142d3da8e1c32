// The whole of it: rounds in which a crowd reads and rounds in which it does not, in turn; sessions
// that were left; a client on stdio that stops; and the end, with all of them still there. A round
// without reading is compared with one with reading, so that the load is the same.

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
  readonly progress: (text: string) => void;
}

const flood: Flood = { pieces: 64, bytes: 65_536, answerBytes: 4_194_304 };
const changes = 300;
/** The gateway gathers news of one kind for 20 ms. */
const changeEveryMs = 25;
const allowedMb = 150;

interface Seen {
  readonly latenciesMs: number[];
  highestMb: number;
  closed: number;
  size: number;
}

export async function slowClients(options: SlowClientsOptions): Promise<Report> {
  const { clients, sessions, rounds, progress } = options;
  const findings: string[] = [];
  await using world = await World.start();
  await world.call('flood__echo', { text: 'awake' });
  await world.probing(() => pause(500));
  const atRestMb = world.takeHighestMb();
  const reading = newSeen();
  const never = newSeen();
  for (let round = 1; round <= rounds; round += 1) {
    for (const doRead of [true, false]) {
      progress(
        `round ${round}: ${clients} clients of each kind ${doRead ? 'read' : 'do not read'}`,
      );
      const seen = doRead ? reading : never;
      findings.push(...(await oneRound(world, clients, doRead, seen)));
    }
  }
  progress(`${sessions} sessions are left, and ${changes} changes told`);
  world.takeHighestMb();
  await leaveSessions(world.port, sessions);
  await world.call('flood__change', { times: changes, everyMs: changeEveryMs });
  const leftMb = world.takeHighestMb();
  progress('a client on stdio stops reading');
  const stdio = await stoppedStdio(flood, clients);
  progress('the end, with a crowd that does not read');
  using _crowd = await Crowd.gather({ port: world.port, clients, doRead: false, flood });
  const { code, ms } = await world.end();
  return {
    title: 'slow clients',
    figures: [
      fact('clients of each kind', clients),
      ...figuresOf(atRestMb, reading, never),
      fact('sessions that were left', sessions),
      atMost('memory with them and 300 changes, MiB more', leftMb - atRestMb, allowedMb),
      atMost('memory of a gateway whose stdio client stops, MiB more', stdio.grownMb, allowedMb),
      exactly('exit code of that gateway after SIGTERM', stdio.code ?? -1, 0),
      atMost('its end after SIGTERM, ms', Math.round(stdio.endedMs), drainMs + 6_000),
      exactly('exit code after SIGTERM with all clients there', code ?? -1, 0),
      atMost('the end after SIGTERM, ms', Math.round(ms), drainMs + 6_000),
    ],
    findings,
  };
}

function figuresOf(atRestMb: number, reading: Seen, never: Seen): Figure[] {
  const p99 = ({ latenciesMs }: Seen) => quantile(latenciesMs, 0.99);
  return [
    fact('memory at rest, MiB', Math.round(atRestMb)),
    fact('memory with a crowd that reads, MiB more', Math.round(reading.highestMb - atRestMb)),
    atMost(
      'memory with a crowd that does not read, MiB more',
      never.highestMb - atRestMb,
      allowedMb,
    ),
    fact('connections that were closed', `${never.closed} of ${never.size}`),
    fact('healthy calls beside them', never.latenciesMs.length),
    fact('p99 of healthy calls, crowd reads, ms', p99(reading)),
    fact('p99 of healthy calls, crowd does not read, ms', p99(never)),
    atMost('p99, not reading to reading', p99(never) / p99(reading), 2),
  ];
}

async function oneRound(
  world: World,
  clients: number,
  doRead: boolean,
  seen: Seen,
): Promise<readonly string[]> {
  world.takeHighestMb();
  const { latenciesMs, problems } = await world.probing(async () => {
    using crowd = await Crowd.gather({ port: world.port, clients, doRead, flood });
    await world.call('flood__update', { times: flood.pieces, bytes: flood.bytes });
    await world.quiet();
    seen.closed += crowd.closed;
    seen.size += crowd.size;
  });
  seen.latenciesMs.push(...latenciesMs);
  seen.highestMb = Math.max(seen.highestMb, world.takeHighestMb());
  return problems.map((problem) => `a healthy client was not served: ${problem}`);
}

async function leaveSessions(port: number, count: number): Promise<void> {
  const socket = await LeanSocket.open(port);
  for (let n = 0; n < count; n += 1) await openSession(port, socket);
  socket.close();
}

function newSeen(): Seen {
  return { latenciesMs: [], highestMb: 0, closed: 0, size: 0 };
}
