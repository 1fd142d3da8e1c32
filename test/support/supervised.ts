// A supervisor with nothing real around it: connections that a test makes and loses, a clock that a
// test moves, and every event written down.

import { EventHub, type HostEvent } from '../../src/observe/events.ts';
import { ServerStanding } from '../../src/supervise/standing.ts';
import { Supervisor, type SupervisorPolicy } from '../../src/supervise/supervisor.ts';
import { Connector, type FakeConnection } from './fake-connection.ts';
import { manualClock, settled } from './manual-clock.ts';

const usual: SupervisorPolicy = {
  restart: { max: 5, windowMs: 300_000, minDelayMs: 100, maxDelayMs: 5_000, healthyMs: 60_000 },
  circuit: { threshold: 5, resetMs: 30_000, probeMs: 90_000 },
  keepAliveMs: 300_000,
  startTimeoutMs: 30_000,
};

export function supervised(changes: Partial<SupervisorPolicy> = {}) {
  const clock = manualClock(1_000);
  const connector = new Connector();
  const events: HostEvent[] = [];
  const connected: FakeConnection[] = [];
  const hub = new EventHub(() => clock.wallNow());
  hub.subscribe((event) => events.push(event));
  const policy = { ...usual, ...changes };
  const standing = new ServerStanding(clock, policy.circuit, (circuit) =>
    hub.emit({ kind: 'circuit', server: 'files', circuit }),
  );
  const supervisor = new Supervisor<FakeConnection>({
    server: 'files',
    clock,
    random: () => 0,
    events: hub,
    policy,
    standing,
    connect: connector.connect,
    connected: (connection) => connected.push(connection),
  });
  const kinds = () => events.map(({ kind }) => kind);
  return { clock, connector, supervisor, connected, events, kinds };
}

/** The same, started by a call that holds it still. */
export async function heldAndReady(changes: Partial<SupervisorPolicy> = {}) {
  const all = supervised(changes);
  all.supervisor.leases.hold();
  const acquiring = all.supervisor.acquire();
  all.connector.last.arrive();
  const connection = await acquiring;
  await settled();
  all.events.length = 0;
  return { ...all, connection };
}
