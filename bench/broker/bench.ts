// The brokers: requests of 1 KB and their answers, between a requester, a broker and a responder as three processes.
// The embedded broker is compared with a relay that only passes WebSocket messages on, NATS with its own client. Then
// large results through a whole fleet (`large-results.ts`).

import { brokerGoals, Goals } from '../goals.ts';
import { inTurns, median, type Ratio, ratioOf, shownRatio } from '../ratios.ts';
import { startBrokers } from './brokers.ts';
import type { Loaded } from './end.ts';
import { End } from './ends.ts';
import { benchLargeResults } from './large-results.ts';
import { type WayName, wayNames } from './way.ts';

const bytes = 1_024;
const roundMs = 500;
const crowds = [1, 64] as const;

type Samples = ReadonlyMap<WayName, readonly Loaded[]>;

/** True if every goal is met. */
export async function benchBroker(rounds: number): Promise<boolean> {
  const goals = new Goals();
  await benchRequests(rounds, goals);
  await benchLargeResults(rounds, goals);
  return goals.allMet;
}

async function benchRequests(rounds: number, goals: Goals): Promise<void> {
  await using brokers = await startBrokers();
  await using requester = new End('requester');
  await using responder = new End('responder');
  for (const way of wayNames) {
    const order = { do: 'open', way, places: brokers.places } as const;
    // A queue of NATS exists when its reader has come.
    await responder.carryOut(order);
    await requester.carryOut(order);
  }
  for (const inFlight of crowds) {
    const run = async (way: WayName): Promise<Loaded> => {
      const loaded = await requester.carryOut({ do: 'load', way, inFlight, bytes, ms: roundMs });
      if (loaded === null) throw new Error('the requester has measured nothing');
      return loaded;
    };
    await inTurns(wayNames, 2, run);
    const samples = await inTurns(wayNames, rounds, run);
    show(`1 KB, ${inFlight} in flight, ${rounds} rounds of ${roundMs} ms`, samples);
    judge(goals, inFlight, samples);
  }
}

function judge(goals: Goals, inFlight: number, samples: Samples): void {
  const of = (own: WayName, base: WayName) => throughput(samples, own, base);
  const { told, kept } = brokerGoals;
  const title = `requests a second, ${inFlight} in flight,`;
  goals.atLeast(told, `embedded, told: ${title} of a bare relay`, of('embedded, told', 'bare ws'));
  goals.atLeast(kept, `embedded, kept: ${title} of a bare relay`, of('embedded, kept', 'bare ws'));
  goals.atLeast(told, `NATS, told: ${title} of bare NATS`, of('NATS, told', 'bare NATS'));
}

function throughput(samples: Samples, own: WayName, base: WayName): Ratio {
  const figures = (way: WayName) => (samples.get(way) ?? []).map(({ perSecond }) => perSecond);
  return ratioOf(figures(own), figures(base));
}

function show(title: string, samples: Samples): void {
  console.log(`\nbrokers, ${title}`);
  for (const way of wayNames) {
    const own = samples.get(way) ?? [];
    const perSecond = Math.round(median(own.map((one) => one.perSecond))).toLocaleString('en');
    const p50 = median(own.map((one) => one.p50Us)).toFixed(0);
    const base = way.includes('NATS') ? 'bare NATS' : 'bare ws';
    const ratio = shownRatio(throughput(samples, way, base));
    console.log(
      `  ${way.padEnd(15)} ${perSecond.padStart(7)} /s   p50 ${p50.padStart(6)} us   ${ratio} of ${base}`,
    );
  }
}
