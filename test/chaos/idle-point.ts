// A moment of rest, made the same each time: every server has answered and then ended for want of
// work, or is ejected; no client is connected and no session is left. What the gateway keeps of the servers' output,
// a thousand lines for each, is full: otherwise it would be chance whether that happens before or between two such
// points. What the gateway holds then, descriptors and memory, is what it keeps; between two points it must not grow.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { request } from 'undici';
import { writeControl } from '../support/faulty.ts';
import { workingPid } from '../support/serving-process.ts';
import { until } from '../support/until.ts';
import { type Client, pauseMs } from './client.ts';
import { HttpClient } from './client-http.ts';
import { modernHeaders, requestFrame } from './dialects.ts';
import type { Fleet } from './fleet.ts';
import { dataIn, type HeapData } from './heap-data.ts';
import { History } from './history.ts';
import { heapSnapshot, lookIntoHeap } from './inspector.ts';
import { descriptorsOf } from './process-list.ts';
import { filesOf, sharedServers } from './servers.ts';
import { lastingZombies } from './survivors.ts';
import type { Tally } from './tally.ts';

export interface IdlePoint {
  /** What each is open on. */
  readonly descriptors: readonly string[];
  readonly heapBytes: number;
  /** Of the heap, what is not compiled code; absent: nobody has looked. */
  readonly data: HeapData | undefined;
  readonly bufferBytes: number;
  readonly zombies: readonly string[];
  /** Errors of our own, as the gateway counts them. */
  readonly internalErrors: number;
}

const healMs = 60_000;
const restMs = 30_000;
/** A connection that is kept for a next request, on either side, is given up by then. */
const quietMs = 7000;

export interface IdlePointOptions {
  readonly fleet: Fleet;
  readonly tally: Tally;
  /** Of the client that wakes the servers once more. */
  readonly name: string;
  /** Look at the whole heap. */
  readonly isCompared: boolean;
  /** Write down the whole heap, for whoever wants to know what has grown. */
  readonly hasSnapshot: boolean;
}

export async function idlePoint(options: IdlePointOptions): Promise<IdlePoint> {
  const { fleet, tally, name } = options;
  const { gateway, folder } = fleet;
  const { url } = gateway;
  const history = new History(folder, name);
  const client = new HttpClient({ url, era: 'modern', history, tally });
  await heal(folder, client);
  await client.leave(healMs);
  await until(() => isAtRest(url), 'every server to be at rest', restMs).catch(
    async (error: Error) => {
      const { status } = await health(url, 'full');
      const restless = status?.servers.filter((server) => !isResting(server));
      throw new Error(`${error.message}, but ${JSON.stringify(restless)}`);
    },
  );
  const isQuiet = () => hasNoConnection(workingPid(gateway.pid));
  // One that is still there then is counted.
  await until(isQuiet, 'kept connections to be given up', quietMs).catch(() => {});
  const zombies = await lastingZombies(gateway.pid);
  const descriptors = descriptorsOf(workingPid(gateway.pid));
  const { usedBytes: heapBytes, bufferBytes } = await lookIntoHeap(gateway.inspector);
  const isLookedAt = options.isCompared || options.hasSnapshot;
  const data = isLookedAt ? await leastData(options) : undefined;
  const { status } = await health(url, 'full');
  const internalErrors = status?.internalErrors ?? Number.NaN;
  return { descriptors, heapBytes, data, bufferBytes, zombies, internalErrors };
}

/** Something may be under way at a look, such as a list that is being written: what is kept is there at each. */
const looks = 3;
const betweenLooksMs = 1000;

async function leastData({ fleet, name, hasSnapshot }: IdlePointOptions): Promise<HeapData> {
  const { gateway, folder } = fleet;
  let least: HeapData | undefined;
  for (let look = 0; look < looks; look += 1) {
    if (look > 0) await pauseMs(betweenLooksMs);
    const snapshot = await heapSnapshot(gateway.inspector);
    const data = dataIn(snapshot);
    if (least !== undefined && data.bytes >= least.bytes) continue;
    least = data;
    if (hasSnapshot) writeFileSync(join(folder, `${name}.heapsnapshot`), snapshot);
  }
  if (least === undefined) throw new Error('nobody has looked at the heap');
  return least;
}

/** More than a thousand lines are kept of it, though of each piece that is read at once only 200 are. */
const manyLines = { kind: 'stderr-flood', bytes: 1_000_000, lineBytes: 100 } as const;

/** No more faults; each server is called until it answers again, unless it is ejected for good. */
async function heal(folder: string, client: Client): Promise<void> {
  await Promise.all(
    sharedServers.map(async (spec) => {
      await writeControl(filesOf(folder, spec).control, []);
      const isWell = async () => {
        const seen = await client.call({ server: spec.name, tool: 'echo', args: {} });
        return seen?.kind === 'result' || seen?.fault?.code === 'ejected';
      };
      await until(isWell, `${spec.name} to answer again`, healMs);
      const { name: server, transport } = spec;
      const fault = { fault: manyLines, shows: 'received' } as const;
      if (transport === 'stdio') await client.call({ server, tool: 'echo', args: {}, fault });
    }),
  );
}

function hasNoConnection(pid: number): boolean {
  const ends = descriptorsOf(pid).filter((one) => one.startsWith('tcp '));
  return ends.every((one) => one.endsWith(` state ${listening}`));
}

/** As the kernel writes it. */
const listening = '0A';

const restingStates = ['idle', 'ejected', 'disabled'];

async function isAtRest(url: string): Promise<boolean> {
  const { servers } = await health(url);
  const isQuiet = Object.entries(servers).every(
    ([state, count]) => count === 0 || restingStates.includes(state),
  );
  if (isQuiet) return true;
  const { status } = await health(url, 'full');
  return status?.servers.every(isResting) ?? false;
}

/** An old connection that hung may have opened the circuit after the server was well: it waits for a call then. */
function isResting({ state, pid, circuit }: ServerRow): boolean {
  if (restingStates.includes(state)) return true;
  return state === 'degraded' && pid === null && circuit === 'half_open';
}

interface ServerRow {
  readonly state: string;
  readonly pid: number | null;
  readonly circuit: string;
}

interface Health {
  readonly servers: Readonly<Record<string, number>>;
  /** Only if asked for. */
  readonly status?: {
    readonly servers: readonly ServerRow[];
    readonly internalErrors: number;
  };
}

/** Asked on a connection of its own, which is gone with the answer. */
async function health(url: string, detail: 'concise' | 'full' = 'concise'): Promise<Health> {
  const name = 'holdfast__health_snapshot';
  const params = { name, arguments: { render: 'json', detail } };
  const headers = modernHeaders('tools/call', name);
  const body = requestFrame('modern', 1, 'tools/call', params);
  const { body: answer } = await request(url, { method: 'POST', headers, body, reset: true });
  const { result } = (await answer.json()) as { result: { structuredContent: Health } };
  return result.structuredContent;
}
