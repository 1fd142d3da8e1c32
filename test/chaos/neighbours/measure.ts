// How much healthy servers suffer from bad ones behind the same gateway, against the same bad ones
// merely running on the same machine. The two conditions take turns in equal slices, A B B A and so on,
// so that a slow minute of the machine falls on both. A: beside the gateway. B: behind it.

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { atMost, exactly, type Figure, fact } from '../../proof/report.ts';
import { faultyStdio } from '../../support/faulty.ts';
import { readLedger, readStarts } from '../../support/ledger.ts';
import { pauseMs } from '../client.ts';
import { configure, Gateway, type GatewayHome } from '../gateway.ts';
import { quantile } from '../tally.ts';
import { badCallTimeoutMs, badServers, noted, type Place, restartMs } from './bad-servers.ts';
import type { Probed, ProbeOrder } from './prober.ts';
import type { TroubleOrder } from './trouble.ts';

export interface NeighbourOptions {
  readonly home: GatewayHome;
  readonly seconds: number;
  readonly seed: number;
  readonly say: (line: string) => void;
}

const healthy = ['one', 'two', 'three'];
const perSecond = 100;
const turns: readonly Place[] = ['beside', 'behind', 'behind', 'beside'];
const rounds = 2;
/** Between two slices, for processes to go and come; not measured. */
const changeMs = 1500;

export async function measureNeighbours(options: NeighbourOptions): Promise<readonly Figure[]> {
  const { home, seconds, seed, say } = options;
  const folder = join(home.folder, 'neighbours');
  const configFile = configure(home, 'neighbours', entries(folder));
  const gateway = await Gateway.start(home, configFile);
  const trouble = companion('trouble.ts');
  const prober = companion('prober.ts');
  const probed: Record<Place, Probed[]> = { beside: [], behind: [] };
  const ms = (seconds * 1000) / (turns.length * rounds);
  try {
    await ask<Probed>(prober, probing(gateway.url, 2000)); // the first calls start the servers
    for (let round = 0; round < rounds; round += 1) {
      for (const place of turns) {
        const { url } = gateway;
        const order = { place, url, folder, ms: ms + changeMs, seed: `${seed}-${round}` };
        const driven = ask(trouble, order satisfies TroubleOrder);
        await pauseMs(changeMs);
        probed[place].push(await ask<Probed>(prober, probing(gateway.url, ms)));
        await driven;
        await pauseMs(changeMs);
      }
      say(`neighbours: round ${round + 1} of ${rounds}`);
    }
  } finally {
    await Promise.all([trouble, prober].map(dismiss));
    await gateway.stop();
  }
  return [...figuresOf(probed), ...sameness(folder)];
}

function figuresOf(probed: Record<Place, readonly Probed[]>): readonly Figure[] {
  const all = (place: Place) => probed[place].flatMap(({ latenciesMs }) => latenciesMs);
  const p99 = (place: Place) => quantile(all(place), 0.99);
  const failures = [...probed.beside, ...probed.behind].reduce((sum, one) => sum + one.failures, 0);
  return [
    fact(
      'calls to healthy servers, beside and behind',
      all('beside').length + all('behind').length,
    ),
    exactly('calls to healthy servers that failed', failures, 0),
    fact('p50 of healthy servers with bad ones beside, ms', quantile(all('beside'), 0.5)),
    fact('p50 of healthy servers with bad ones behind, ms', quantile(all('behind'), 0.5)),
    fact('p99 of healthy servers with bad ones beside, ms', p99('beside')),
    fact('p99 of healthy servers with bad ones behind, ms', p99('behind')),
    atMost('p99 of healthy servers, behind to beside', p99('behind') / p99('beside'), 2),
  ];
}

/** What shows that the bad servers had the same to bear in both places. */
function sameness(folder: string): readonly Figure[] {
  const files = (place: Place) => badServers.map(({ name }) => noted(folder, place, name));
  const count = (read: (place: Place) => number) => `${read('beside')} and ${read('behind')}`;
  const calls = (place: Place) =>
    files(place).reduce((sum, { ledger }) => sum + callsIn(ledger), 0);
  const starts = (place: Place) =>
    files(place).reduce((sum, file) => sum + readStarts(file.starts).length, 0);
  return [
    fact('calls that reached bad servers, beside and behind', count(calls)),
    fact('starts of bad servers, beside and behind', count(starts)),
  ];
}

function callsIn(ledger: string): number {
  return readLedger(ledger).filter(({ phase }) => phase === 'received').length;
}

/** The breaker stays closed, or the bad ones would be left alone and do no harm. */
function entries(folder: string): object {
  const good = healthy.map((name) => [name, { ...faultyStdio(), lazy: false }] as const);
  const bad = badServers.map(({ name }) => {
    const entry = {
      ...faultyStdio(noted(folder, 'behind', name)),
      keepAliveMs: 300,
      callTimeoutMs: badCallTimeoutMs,
      circuit: { threshold: 1_000_000, resetMs: 1000 },
      restart: { max: 1_000_000, windowMs: 600_000, minDelayMs: restartMs, maxDelayMs: restartMs },
      limits: { frameBytes: 2 * 1024 * 1024 },
    };
    return [name, entry] as const;
  });
  return Object.fromEntries([...good, ...bad]);
}

function probing(url: string, ms: number): ProbeOrder {
  return { url, servers: healthy, perSecond, ms };
}

function companion(file: string): ChildProcess {
  const path = fileURLToPath(new URL(file, import.meta.url));
  return fork(path, [], { execArgv: ['--import', 'tsx'] });
}

async function ask<T>(child: ChildProcess, order: object): Promise<T> {
  child.send(order);
  const [answer] = await Promise.race([
    once(child, 'message'),
    once(child, 'exit').then(() => {
      throw new Error(`${child.spawnargs.at(-1)} ended before it had answered`);
    }),
  ]);
  return answer as T;
}

async function dismiss(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  const ended = once(child, 'exit');
  child.disconnect();
  child.kill('SIGTERM');
  await ended;
}
