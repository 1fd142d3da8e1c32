// The next serving process goes on with a host: it is read whole before anything of it is used. Servers that are
// run or reached as before take over their connections at once; what belongs to no server of the present config is
// ended in order, and a server that is run in another way now is started only then.

import type { Shelf } from '../../cache/key.ts';
import { ignored } from '../../kernel/contain.ts';
import { Fault, faultFrom } from '../../kernel/fault.ts';
import { adoptConnection } from '../../upstream/adopt-connection.ts';
import type { ConnectionListener } from '../../upstream/connection.ts';
import type { StdioConnectionParts } from '../../upstream/stdio/stdio-parts.ts';
import type { HostParts } from '../host-parts.ts';
import type { PipelineParts } from '../pipeline-parts.ts';
import { agedBy } from './aged-state.ts';
import type { RestoredConnection, RestoredHost, Restoring } from './handed-host.ts';
import { HandedTasks } from './handed-tasks.ts';
import { type HandedCounts, type HostState, hostStateFrom } from './host-state.ts';

/** Throws a Fault, and then nothing has changed. */
export function restoreHost(
  parts: PipelineParts,
  given: HostParts,
  { state: written, payload, connections, link }: RestoredHost,
): Restoring & Pick<HostState, 'uptimeMs'> {
  const handed = hostStateFrom(written);
  const { writtenAt } = handed;
  const now = given.machineNow?.();
  const passedMs = writtenAt === undefined || now === undefined ? 0 : now - writtenAt;
  const state = agedBy(handed, passedMs);
  const { registry, roleBudgets } = parts;
  const left = new Map(connections);
  const ending: Promise<unknown>[] = [];
  const adopting: Promise<void>[] = [];
  const entries = [...entriesIn(state, payload)];
  registry.startsAgainOfRemoved = state.startsAgain;
  addCounts(parts, state.counts);
  // What is spent comes over the link, and later what calls of the former add.
  if (link !== undefined) {
    roleBudgets.takeOver(link, (key) => parts.restoredClients.find(key));
  }
  // What another program has said under this name is nothing that this one has said.
  const usable = new Set(
    state.servers.flatMap((one) => (registry.get(one.name)?.takesResultsOf(one) ? [one.name] : [])),
  );
  parts.cache.restore(
    entries.filter(({ server }) => usable.has(server)),
    state.cache,
  );
  const tasks = new HandedTasks(parts, state.tasks, link);
  for (const one of state.servers) {
    const server = registry.get(one.name);
    const take = (id: number) => {
      const connection = left.get(id);
      left.delete(id);
      return connection;
    };
    if (server) adopting.push(server.restore(one, take, tasks));
    const ids = one.slots.flatMap(({ connection }) => connection ?? []);
    const unused = ids.flatMap((id) => take(id) ?? []);
    const ended = Promise.all(unused.map((each) => endConnection(given, one.name, each)));
    ending.push(ended);
    if (unused.length > 0) registry.endsHanded(one.name, ended.then(ignored));
  }
  for (const connection of left.values()) connection.refused?.(unnamed());
  return {
    uptimeMs: state.uptimeMs,
    adopted: Promise.all(adopting).then(ignored),
    ended: Promise.all(ending).then(ignored),
  };
}

export function addCounts(
  { traffic, ownTraffic }: PipelineParts,
  { traffic: all, byPrincipal }: HandedCounts,
): void {
  traffic.add(all);
  for (const [id, own] of byPrincipal) ownTraffic.of(id).add(own);
}

function* entriesIn({ cache }: HostState, payload: Buffer) {
  let at = 0;
  for (const { length, shelf, ...entry } of cache.entries) {
    yield { ...entry, shelf: shelf as Shelf, bytes: payload.subarray(at, at + length) };
    at += length;
  }
  if (at !== payload.length) {
    throw new Fault('internal', 'cached results were handed over that are not those of the state');
  }
}

/**
 * A process is taken over and stopped as one that is removed: what was begun may end before. What is at an address is
 * left to whoever restores the host: it is told to nobody how that is reached.
 */
async function endConnection(
  { edges, identity }: HostParts,
  server: string,
  { handed, former, mayBegin, refused, adopted }: RestoredConnection,
): Promise<void> {
  try {
    await mayBegin;
    if (handed.child === undefined)
      throw new Fault('unavailable', `${server} is not used any more`);
    const { clock, spawn, adopt } = edges;
    const { greeting } = handed.state;
    const parts: StdioConnectionParts = {
      ...{ server, clock, spawn, identity, ...(adopt && { adopt }) },
      ...{ frameBytes, startTimeoutMs, capabilities: '{}', first: greeting.era, eras: noEras },
      spec: { ...nothingRun, name: server },
    };
    const take = edges.adoptConnection ?? adoptConnection;
    const connection = await take(parts, handed, deaf, former);
    adopted?.(connection);
    await connection.close('removed');
  } catch (error) {
    refused?.(faultFrom(error));
  }
}

/** Of a server whose settings are not known any more: as the defaults are. */
const frameBytes = 16_777_216;
const startTimeoutMs = 30_000;
const noEras = {
  known: () => Promise.resolve({}),
  kept: () => Promise.resolve(),
  learn: ignored,
  notInitialized: ignored,
};
const nothingRun = {
  ...{ command: '', args: [], env: {}, inheritEnv: [], cwd: '/' },
  ...{ memoryMb: null, processes: null },
};
const deaf: ConnectionListener = {
  lost: ignored,
  ended: ignored,
  lastWords: ignored,
  notification: ignored,
  asked: ignored,
  missed: ignored,
  noise: ignored,
};

function unnamed(): Fault {
  return new Fault('internal', 'a connection was handed over that belongs to no server');
}
