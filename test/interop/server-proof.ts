// Real servers, each read alone and then all of them through one gateway: first when nothing is known
// of them (fresh), then by a new start of the gateway from what the first has kept, where no server
// may be started for it. Three kinds of clients read, because servers may tell them apart.

import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import { pathToFileURL } from 'node:url';
import { GatewayHome } from '../support/gateway-home.ts';
import { compare, type Differences } from './comparison.ts';
import { explained, statusOf } from './gateway-status.ts';
import { HttpPeer } from './peers/http-peer.ts';
import type { ClientKind, Peer } from './peers/peer.ts';
import { type Launch, StdioPeer } from './peers/stdio-peer.ts';
import { greet, type Reading, read } from './reading.ts';

/** A server that is compared: `launchOf` of the table, or one of the devDependencies. */
export interface Candidate {
  readonly name: string;
  readonly launch: Launch;
}

const everything = { roots: {}, sampling: {}, elicitation: { form: {}, url: {} } };

export const clientKinds = {
  'legacy, with roots, sampling and elicitation': { era: 'legacy', capabilities: everything },
  'legacy, without': { era: 'legacy', capabilities: {} },
  modern: { era: 'modern', capabilities: everything },
} as const satisfies Readonly<Record<string, ClientKind>>;

export type KindName = keyof typeof clientKinds;
export const kindNames = Object.keys(clientKinds) as readonly KindName[];

export interface ServerResult {
  readonly name: string;
  /** Undefined: it could not be read bare, and `failure` says why. */
  readonly bare: ReadonlyMap<KindName, Reading> | undefined;
  readonly failure?: string;
  readonly isModern: boolean;
}

export interface Comparison {
  readonly kind: KindName;
  readonly when: 'fresh' | 'kept';
  readonly differences: Differences;
}

export interface Limits {
  /** How long the gateway may take until all lists are there. */
  readonly freshMs: number;
  /** How long one server may take to be read bare. */
  readonly bareMs: number;
  /** How many are read bare at a time. */
  readonly atOnce: number;
}

/** How long a server may still change its lists after they were read, as some do when they start. */
const settleMs = 1_000;

/** A difference that stays this long is one, even if there would be more time. */
const steadyMs = 30_000;

export async function readBare(
  candidates: readonly Candidate[],
  folder: string,
  { bareMs, atOnce }: Limits,
  progress: (text: string) => void,
): Promise<readonly ServerResult[]> {
  const results = new Map<string, ServerResult>();
  const waiting = [...candidates];
  const work = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const result = await readOne(next, folder, bareMs);
      results.set(next.name, result);
      if (result.failure !== undefined) progress(`${next.name}: ${result.failure}`);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  return candidates.flatMap(({ name }) => results.get(name) ?? []);
}

async function readOne(
  { name, launch }: Candidate,
  folder: string,
  bareMs: number,
): Promise<ServerResult> {
  const readAs = async (kind: ClientKind) => {
    await using peer = new StdioPeer(launch, kind, pathToFileURL(folder).href);
    return await within(bareMs, readSettled(peer, kind));
  };
  const { modern: modernKind, ...legacyKinds } = clientKinds;
  // A server that does not answer like a modern one is read by the modern client as a legacy one.
  const modern = await readAs(modernKind).catch(() => undefined);
  try {
    const bare = new Map<KindName, Reading>();
    for (const [kindName, kind] of Object.entries(legacyKinds)) {
      bare.set(kindName as KindName, await readAs(kind));
    }
    const likest = modern ?? bare.get('legacy, with roots, sampling and elicitation');
    if (likest !== undefined) bare.set('modern', likest);
    return { name, bare, isModern: modern !== undefined };
  } catch (error) {
    return { name, bare: undefined, failure: wordsOf(error), isModern: modern !== undefined };
  }
}

async function readSettled(peer: Peer, kind: ClientKind): Promise<Reading> {
  const news = new EventTarget();
  peer.onListChanged(() => news.dispatchEvent(new Event('changed')));
  const greeting = await greet(peer, kind);
  for (;;) {
    const changed = eventWithin(settleMs, news);
    const reading = await read(peer, greeting);
    if (!(await changed)) return reading;
  }
}

/**
 * Through one gateway with all of them. A server that shows clients of different kinds different
 * things has a gateway of its own for each kind: until a kind has used a server it may be shown what
 * another was.
 */
export async function readThrough(
  candidates: readonly Candidate[],
  results: readonly ServerResult[],
  limits: Limits,
  progress: (text: string) => void,
): Promise<Through> {
  const readable = results.filter(({ bare }) => bare !== undefined);
  const varying = readable.filter(isVarying);
  const groups = [
    { members: readable.filter((one) => !varying.includes(one)), kinds: kindNames },
    ...kindNames.map((kind) => ({ members: varying, kinds: [kind] })),
  ];
  const found: Through[] = [];
  for (const { members, kinds } of groups) {
    const chosen = candidates.filter(({ name }) => members.some((one) => one.name === name));
    if (chosen.length === 0) continue;
    progress(`through the gateway: ${chosen.length} servers`);
    found.push(await readGroup(chosen, members, kinds, limits, progress));
  }
  return merged(found);
}

export interface Through {
  readonly comparisons: readonly Comparison[];
  /** Servers that ran although their lists were kept. */
  readonly started: readonly string[];
}

function isVarying({ bare }: ServerResult): boolean {
  const shown = [...(bare?.values() ?? [])].map(({ lists }) => JSON.stringify(lists));
  return new Set(shown).size > 1;
}

/** One comparison for each kind of client and each of fresh and kept. */
function merged(found: readonly Through[]): Through {
  const all = found.flatMap(({ comparisons }) => comparisons);
  const comparisons = (['fresh', 'kept'] as const).flatMap((when) =>
    kindNames.map((kind) => {
      const own = all.filter((one) => one.when === when && one.kind === kind);
      return { when, kind, differences: new Map(own.flatMap((one) => [...one.differences])) };
    }),
  );
  return { comparisons, started: found.flatMap(({ started }) => started) };
}

async function readGroup(
  chosen: readonly Candidate[],
  members: readonly ServerResult[],
  kinds: readonly KindName[],
  { freshMs }: Limits,
  progress: (text: string) => void,
): Promise<Through> {
  const entries = chosen.map(({ name, launch }) => [name, { ...launch, startTimeoutMs: freshMs }]);
  await using home = await GatewayHome.create({ mcpServers: Object.fromEntries(entries) });
  await mkdir(home.file('root'));
  const rootUri = pathToFileURL(home.file('root')).href;
  const comparisons: Comparison[] = [];
  {
    await using gateway = await home.serve();
    for (const kind of kinds) {
      progress(`fresh, ${kind}`);
      const differences = await readUntilEqual(gateway.url, kind, rootUri, members, freshMs);
      comparisons.push({
        kind,
        when: 'fresh',
        differences: await explained(gateway.url, differences),
      });
    }
  }
  await using again = await home.serve();
  let started: readonly string[] | undefined;
  for (const kind of kinds) {
    progress(`kept, ${kind}`);
    await using peer = new HttpPeer(again.url, clientKinds[kind], rootUri);
    const reading = await read(peer, await greet(peer, clientKinds[kind]));
    const bare = bareOf(members, kind);
    const differences = compare(bare, reading, clientKinds[kind].era);
    comparisons.push({ kind, when: 'kept', differences });
    // The first kind's lists were read for it; a later one may have been shown the same ones, and
    // its own be still unknown.
    started ??= await needlesslyStarted(again.url, members);
  }
  return { comparisons, started: started ?? [] };
}

/** What a server refused to list cannot be kept, and is asked again: that is no fault. */
async function needlesslyStarted(
  url: string,
  members: readonly ServerResult[],
): Promise<readonly string[]> {
  const complete = members.filter(({ bare }) => ![...(bare?.values() ?? [])].some(hasRefusal));
  const running = (await statusOf(url)).filter(
    ({ name, state }) => state !== 'idle' && complete.some((one) => one.name === name),
  );
  return running.map(({ name, state }) => `${name} is ${state}`);
}

function hasRefusal({ lists }: Reading): boolean {
  return Object.values(lists).some(({ refusal }) => refusal !== undefined);
}

function bareOf(results: readonly ServerResult[], kind: KindName): ReadonlyMap<string, Reading> {
  return new Map(
    results.flatMap(({ name, bare }) => {
      const reading = bare?.get(kind);
      return reading === undefined ? [] : [[name, reading] as const];
    }),
  );
}

/** The first list may be incomplete, and a client is told when it is not: it reads until it is equal. */
async function readUntilEqual(
  url: string,
  kindName: KindName,
  rootUri: string,
  members: readonly ServerResult[],
  freshMs: number,
): Promise<Differences> {
  const kind = clientKinds[kindName];
  const bare = bareOf(members, kindName);
  const until = performance.now() + freshMs;
  let [last, since] = ['', performance.now()];
  for (;;) {
    // A client learns instructions when it connects: a new one each time.
    await using peer = new HttpPeer(url, kind, rootUri);
    const news = new EventTarget();
    peer.onListChanged(() => news.dispatchEvent(new Event('changed')));
    const greeting = await greet(peer, kind);
    const changed = eventWithin(settleMs, news);
    const differences = compare(bare, await read(peer, greeting), kind.era);
    const now = performance.now();
    const shown = JSON.stringify([...differences]);
    if (shown !== last) [last, since] = [shown, now];
    if (differences.size === 0 || now > until || now - since > steadyMs) return differences;
    await changed;
  }
}

/** True if it happens within the time. */
async function eventWithin(ms: number, target: EventTarget): Promise<boolean> {
  const signal = AbortSignal.timeout(ms);
  try {
    await once(target, 'changed', { signal });
    return true;
  } catch {
    return false;
  }
}

async function within<T>(ms: number, work: Promise<T>): Promise<T> {
  const timeout = AbortSignal.timeout(ms);
  const late = once(timeout, 'abort').then(() => {
    throw new Error(`not read within ${ms} ms`);
  });
  return await Promise.race([work, late]);
}

export function wordsOf(error: unknown): string {
  const [first = '', ...rest] = String(error instanceof Error ? error.message : error).split('\n');
  return rest.length > 0 ? `${first} …` : first;
}
