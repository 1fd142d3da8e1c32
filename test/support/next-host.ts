// The next serving process of an instance, in the memory of a test: another host, whose monotonic clock began
// elsewhere, to which the first one is handed over. Everything that crosses is JSON and bytes, as between processes;
// the link is instant.

import type {
  HandedHost,
  HandOverTo,
  RestoredConnection,
} from '../../src/host/handover/handed-host.ts';
import type { HostState } from '../../src/host/handover/host-state.ts';
import type { StoreLink } from '../../src/store/remote/store-link.ts';
import { type AdoptedConnection, firstIdAfter } from '../../src/upstream/handed-connection.ts';
import { newGateway, type WorldOptions } from './fake-gateway.ts';
import { crossed } from './handed-over.ts';
import { ManualClock, settled } from './manual-clock.ts';
import { playedLink } from './played-link.ts';
import type { Script } from './scripted-server.ts';

export type World<Name extends string = string> = ReturnType<typeof newGateway<Name>>;

/** What crosses the link, with this end of it. */
export interface Crossing {
  readonly handed: HandedHost;
  readonly connections: Map<number, RestoredConnection>;
  /** Lines that the former has said to servers since. */
  readonly said: string[];
  readonly refused: string[];
  /** The end of the next process. */
  readonly link: StoreLink;
}

export async function crossing({ host }: Pick<World, 'host'>): Promise<Crossing> {
  const connections = new Map<number, RestoredConnection>();
  const said: string[] = [];
  const refused: string[] = [];
  const link = playedLink();
  const to: HandOverTo = {
    link: link.former,
    connection: ({ id, server, handed, rest }) => {
      let successor: AdoptedConnection | undefined;
      const waiting: Buffer[] = [];
      const former = {
        below: firstIdAfter(handed.state),
        get mayHaveCalls() {
          return rest.mayHaveCalls;
        },
        over: rest.whenEmpty(),
        heard: (line: Buffer) => rest.heard(line),
        lost: (fault: Parameters<typeof rest.lost>[0]) => rest.lost(fault),
      };
      connections.set(id, {
        handed: crossed(handed),
        former,
        adopted: (connection) => {
          successor = connection;
          for (const line of waiting) connection.writeForFormer(line);
        },
        refused: (why) => refused.push(`${server}: ${why.code}`),
      });
      return {
        write: (line) => {
          said.push(line.toString());
          if (successor) successor.writeForFormer(line);
          else waiting.push(line);
        },
      };
    },
  };
  host.handOverSpent(link.former);
  const { state, payload } = await host.handOver(to);
  const handed = { state: JSON.parse(JSON.stringify(state)) as HostState, payload };
  return { handed, connections, said, refused, link: link.next };
}

/** The next one, with the same servers and config unless others are given. */
export async function nextHost<Name extends string>(
  former: World<Name>,
  scripts: Readonly<Record<Name, Script>>,
  options: WorldOptions = {},
) {
  const crossed = await crossing(former);
  const start = 1_000_000 + Math.round(former.clock.now() / 2);
  const clock = new ManualClock(former.clock.wallNow(), start);
  const { store } = former;
  const next = newGateway(scripts, { store, ...options, former, clock });
  const { adopted, ended } = next.host.restore({
    ...crossed.handed,
    connections: crossed.connections,
    link: crossed.link,
  });
  const turn = async () => {
    await settled();
    await clock.advanceAsync(0);
    await settled();
  };
  await turn();
  await adopted;
  await turn();
  return { ...next, crossed, ended };
}
