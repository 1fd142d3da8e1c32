// The servers behind the gateways, each with a character of its own: how many calls it takes at once,
// whether its hints are believed, how long it may take, how much it may fail, and how often a call to
// it orders a fault. All of them are the faulty fixture.

import { join } from 'node:path';
import type { Misbehaviour } from '../fixtures/servers/faulty/misbehaviour.ts';
import { faultyStdio } from '../support/faulty.ts';
import type { Era } from './dialects.ts';

export interface ServerSpec {
  readonly name: string;
  readonly transport: 'stdio' | 'http' | 'sse';
  readonly era: Era | 'both';
  readonly concurrency: number;
  readonly queue: number;
  readonly isTrusted: boolean;
  readonly callTimeoutMs: number;
  /** Restarts within ten minutes, after which it is ejected. */
  readonly restarts: number;
  /** How much of the traffic it gets. */
  readonly weight: number;
  /** How many of its calls order a fault. */
  readonly faultShare: number;
  /** Does it stop reading now and then, with large calls coming? */
  readonly isDeaf?: boolean;
  /** Does it get faults of its start, from its control file? */
  readonly isRough?: boolean;
  /** Does it ask its clients for their roots, and tell what it was told? */
  readonly isRooted?: boolean;
  /** Does it ask for them only in the middle of a call, on its stream? */
  readonly asksInCalls?: boolean;
  /** Where it is not as elsewhere. */
  readonly startTimeoutMs?: number;
  /** Is no harm done to it, so that no call of it fails as long as its gateway is not ended? */
  readonly isSpared?: boolean;
  /** What edits of the config do to it: nothing that its calls or its process would notice, or it goes and comes. */
  readonly edited?: 'not noticed' | 'goes and comes';
  /** Is it behind an instance that ends and is followed by another one? */
  readonly hasInstances?: boolean;
  /** Is it behind an orchestrator, and called by workers? */
  readonly isRemote?: boolean;
  /** Is it there for nobody who is tried here? */
  readonly isForbidden?: boolean;
  /** Do its tools and results say whose they are? */
  readonly isMarked?: boolean;
  /** Does it stay when its stdin ends, with a child in a session of its own? */
  readonly isStubborn?: boolean;
}

const plain = {
  transport: 'stdio',
  era: 'both',
  concurrency: 64,
  queue: 256,
  isTrusted: true,
  callTimeoutMs: 3000,
  restarts: 1_000_000,
  weight: 4,
  faultShare: 0.08,
} as const;

/** Their time is long: whatever happens to their calls is the work of their gateway. */
const spared = {
  ...plain,
  ...{ faultShare: 0, callTimeoutMs: 30_000, startTimeoutMs: 30_000, isSpared: true },
} as const;

/** The files that say when the serving process of a gateway was killed. */
export const sharedEnds = 'ends-shared.jsonl';
export const principalEnds = 'ends-principals.jsonl';

/** Behind the gateway that listens. */
export const sharedServers: readonly ServerSpec[] = [
  { ...spared, name: 'calm', weight: 14 },
  { ...plain, name: 'wide' },
  { ...plain, name: 'wary', era: 'legacy', isTrusted: false, concurrency: 8, queue: 64 },
  {
    ...plain,
    name: 'solo',
    concurrency: 1,
    queue: 48,
    callTimeoutMs: 2000,
    weight: 3,
    faultShare: 0.05,
  },
  { ...plain, name: 'deaf', isTrusted: false, weight: 1, callTimeoutMs: 4000, isDeaf: true },
  { ...plain, name: 'rough', weight: 3, callTimeoutMs: 2000, isRough: true },
  { ...plain, name: 'frail', weight: 1, restarts: 3, faultShare: 0.1 },
  { ...plain, name: 'web', transport: 'http', concurrency: 32 },
  {
    ...plain,
    name: 'old',
    transport: 'http',
    era: 'legacy',
    isTrusted: false,
    callTimeoutMs: 5000,
  },
  { ...plain, name: 'sse', transport: 'sse', era: 'legacy', weight: 2, faultShare: 0.06 },
];

/**
 * Behind the gateway that listens, and called only by clients that come for them: that such a server
 * asks is found out once, when its first clients come, so there are several.
 */
export const rootedServers: readonly ServerSpec[] = Array.from({ length: 8 }, (_, at) => ({
  ...plain,
  name: `roots${at + 1}`,
  era: at % 4 < 2 ? 'legacy' : 'both',
  isTrusted: at % 2 === 0,
  isRooted: true,
}));

/**
 * The same for clients that tell their roots while a call of another runs. They ask only in calls, so that
 * nobody has told them any before, and nothing else happens to them.
 */
export const lateServers: readonly ServerSpec[] = [1, 2].flatMap((at) => {
  const asking = { ...plain, era: 'legacy', isRooted: true, asksInCalls: true } as const;
  const spared = { ...asking, isTrusted: false, callTimeoutMs: 10_000, faultShare: 0 };
  return [
    { ...spared, name: `late${at}` },
    { ...spared, name: `inner${at}`, transport: 'http' as const },
  ];
});

/** Behind the gateway of one stdio client; the names are its own, as its servers are. */
export function ownServers(client: string): readonly ServerSpec[] {
  return [
    { ...plain, name: `${client}wide` },
    { ...plain, name: `${client}solo`, isTrusted: false, concurrency: 1, queue: 32, weight: 2 },
    { ...plain, name: `${client}frail`, weight: 1, restarts: 2, faultShare: 0.15 },
    { ...plain, name: `${client}stays`, weight: 2, faultShare: 0.02, isStubborn: true },
    { ...spared, name: `${client}calm`, weight: 3 },
  ];
}

/** The one of them that asks for roots. */
export function ownRootedServer(client: string): ServerSpec {
  return { ...plain, name: `${client}roots`, era: 'legacy', isRooted: true };
}

/**
 * Behind the gateway that listens, whose config is edited. No harm is done to them, and their time is long:
 * whatever else happens to their calls is the work of an edit.
 */
export const editedServers: readonly ServerSpec[] = (
  [
    ['still', 'not noticed'],
    ['limited', 'not noticed'],
    ['veiled', 'not noticed'],
    ['guest', 'goes and comes'],
  ] as const
).map(([name, edited]) => ({
  ...{ ...plain, name, edited, faultShare: 0 },
  ...{ callTimeoutMs: 30_000, startTimeoutMs: 30_000 },
}));

const behindShared = new Set(
  [...sharedServers, ...rootedServers, ...lateServers, ...editedServers].map(({ name }) => name),
);

/** The tool that is hidden now and then, of the server that it is hidden of. */
export const veiledTool = 'get';

/** Behind the instance that windows share. The first is never harmed itself. */
export const windowServers: readonly ServerSpec[] = [
  { ...spared, name: 'wcalm' },
  { ...plain, name: 'wwide' },
  { ...plain, name: 'wwary', isTrusted: false, concurrency: 8, queue: 64 },
  { ...plain, name: 'wstays', weight: 2, faultShare: 0.02, isStubborn: true },
].map((spec) => ({ ...spec, hasInstances: true }));

/** Behind the orchestrator, for workers. The first is never harmed itself, and every worker may use it. */
export const remoteServers: readonly ServerSpec[] = [
  { ...spared, name: 'fcalm' },
  { ...plain, name: 'fwide', faultShare: 0.04 },
  { ...plain, name: 'fwary', isTrusted: false, concurrency: 8, queue: 64, faultShare: 0.04 },
  { ...plain, name: 'fshut', faultShare: 0, isForbidden: true },
].map((spec) => ({ ...spec, isRemote: true }));

/** Behind the gateway of principals with roles: whose they are stands in everything that they say. */
export const principalServers: readonly ServerSpec[] = [
  { ...plain, name: 'rdocs', faultShare: 0.03 },
  { ...plain, name: 'rfiles', era: 'legacy' as const, isTrusted: false, faultShare: 0.03 },
  { ...plain, name: 'rweb', transport: 'http' as const, concurrency: 32, faultShare: 0.03 },
  { ...spared, name: 'rcalm' },
].map((spec) => ({ ...spec, isMarked: true }));

/** The mailbox of the orchestrator, which is what workers name when they do not reach it. */
export const orchestratorName = 'boss';

/** How the fixture says whose work something is. */
export function markOf({ name, isMarked = false }: ServerSpec) {
  return isMarked ? { mark: name } : {};
}

/** How the fixture asks for roots. */
export function rootsOf({ isRooted = false, asksInCalls = false }: ServerSpec) {
  return { roots: isRooted && !asksInCalls, rootsInCalls: isRooted && asksInCalls };
}

const stubborn: readonly Misbehaviour[] = [{ kind: 'ignore-eof' }, { kind: 'setsid-child' }];

/** The files that a server writes, and the one that it reads. */
export function filesOf(folder: string, { name }: ServerSpec) {
  return {
    ledger: join(folder, `ledger-${name}.jsonl`),
    starts: join(folder, `starts-${name}.jsonl`),
    children: join(folder, `children-${name}.jsonl`),
    control: join(folder, `control-${name}.json`),
  };
}

/**
 * So long stays a process that must not be replaced: a client that reads its answer late, on a busy machine,
 * still believes that it is in use.
 */
const steadyMs = 10_000;

/** Its entry in the config. A server at an address has to listen there already. */
export function entryOf(spec: ServerSpec, folder: string, url: string | undefined): object {
  const { transport, era, concurrency, queue, isTrusted, callTimeoutMs, restarts } = spec;
  const isProcess = transport === 'stdio';
  const faults = spec.isStubborn === true ? stubborn : [];
  return {
    ...(isProcess
      ? faultyStdio({ ...filesOf(folder, spec), era, faults, ...rootsOf(spec), ...markOf(spec) })
      : { type: transport, url }),
    // Said of servers at addresses too: by default they are left alone for up to five minutes.
    restart: { max: restarts, windowMs: 600_000, minDelayMs: 20, maxDelayMs: 300 },
    trusted: isTrusted,
    keepAliveMs: spec.edited === 'not noticed' ? steadyMs : 1500,
    startTimeoutMs: spec.startTimeoutMs ?? 4000,
    callTimeoutMs,
    concurrency,
    queue,
    circuit: { threshold: 5, resetMs: 700 },
    limits: { frameBytes: 2 * 1024 * 1024 },
    tools: { set: { replay: 'safe' }, ...safeReads(spec) },
  };
}

/**
 * Where a list may not be readable after the server came back (it starts wrong, or its process goes on), a
 * hint that stands in the list cannot make a repetition safe: there the operator says so.
 */
function safeReads({ isTrusted, isRough, transport }: ServerSpec): object {
  if (!isTrusted || (isRough !== true && transport === 'stdio')) return {};
  return { echo: { replay: 'safe' }, get: { replay: 'safe' } };
}

function hiddenOf({ name }: ServerSpec): readonly string[] {
  return name === 'veiled' ? [veiledTool] : [];
}

/** The tools of the fixture that are called. */
export const toolNames = ['echo', 'get', 'set', 'add', 'append', 'slow', 'roots'] as const;

/** Is it there for some, or at some times, only? */
function mayGo({ edited, isMarked, isForbidden }: ServerSpec): boolean {
  return edited === 'goes and comes' || isMarked === true || isForbidden === true;
}

/** The file that says when what serves it was ended; none for that of a client's own gateway. */
function endsOf(spec: ServerSpec): object {
  if (spec.isRemote === true) return { ends: 'remote.jsonl', reachedBy: orchestratorName };
  if (spec.hasInstances === true) return { ends: 'instances.jsonl' };
  if (spec.isMarked === true) return { ends: principalEnds };
  return behindShared.has(spec.name) ? { ends: sharedEnds } : {};
}

/** What the checker has to know of it. */
export function factsOf(spec: ServerSpec): object {
  const { name, transport, concurrency, queue, isTrusted, isRooted = false } = spec;
  const tools = {
    echo: { isSafe: isTrusted },
    get: { isSafe: isTrusted },
    set: { isSafe: true },
    add: { isSafe: false },
    append: { isSafe: false },
    slow: { isSafe: false },
    ...(spec.isMarked === true ? { cached: { isSafe: isTrusted, isKept: isTrusted } } : {}),
    ...(isRooted ? { roots: { isSafe: isTrusted, isKept: isTrusted, tellsRoots: true } } : {}),
  };
  return {
    name,
    transport: transport === 'stdio' ? 'stdio' : 'http',
    concurrency,
    queue,
    tools,
    // Clients of both eras and of several classes are in front of those that are shared.
    hasSeveral: sharedServers.includes(spec) || isRooted || spec.isMarked === true,
    hasInstances: spec.hasInstances === true || spec.isRemote === true,
    ...endsOf(spec),
    isSteady: spec.edited === 'not noticed',
    isSpared: spec.isSpared === true,
    mayBeUnknown: mayGo(spec) ? Object.keys(tools) : hiddenOf(spec),
  };
}
