// The servers of a run and the policy of each, drawn from the seed: processes of both eras, one of
// them kept from the start, another one kept and never called, one that nobody calls and clients only
// list, and remote servers on all three transports, all but one with a restart budget. Times are short
// and limits low, so that minutes are enough for everything to happen. Also the host around them: the
// shipped one on the shipped store, given nothing but the world's five edges.

import type { ServerInput } from '../../src/config/config-input.ts';
import { configFromObject } from '../../src/config/load.ts';
import type { LoadedConfig } from '../../src/config/loaded.ts';
import type { ServerConfig } from '../../src/config/schema.ts';
import type { HostParts } from '../../src/host/host-parts.ts';
import type { Clock } from '../../src/kernel/clock.ts';
import { EventHub, type HostEvent } from '../../src/observe/events.ts';
import { KeyedRecords } from '../../src/policy/keyed-records.ts';
import type { KeyHolders } from '../../src/policy/keyed-wait.ts';
import { isStoredKey } from '../../src/policy/stored-key.ts';
import { FileStore } from '../../src/store/file-store.ts';
import { ownerStore } from '../../src/store/owner-store.ts';
import type { StoreProblem } from '../../src/store/problem.ts';
import type { StoreOverRollout } from '../../src/store/remote/store-over-rollout.ts';
import { sealedRecords } from '../../src/store/sealed-records.ts';
import { openMemoryInstead } from '../../src/store/sqlite/instance-store.ts';
import type { Store } from '../../src/store/store.ts';
import { type ConfigDraft, draftKeys, firstDraft, type RunConfig } from './config-changes.ts';
import type { Dice } from './random.ts';
import { frameBytes, type HostEdges } from './world.ts';

export interface Fleet {
  readonly names: readonly [string, ...string[]];
  /** The first config; with it the rules know each server's policy, which no later config changes. */
  readonly config: LoadedConfig['config'];
  readonly first: RunConfig;
  /** Does the config change in this run? Otherwise programs replace servers. */
  readonly isChanging: boolean;
  readonly keys: KeyPlace;
  configOf(draft: ConfigDraft): RunConfig;
  /** What a server's entry is, to register it again with another spec. */
  entry(name: string, variant: number): ServerInput;
  /** Do clients stand behind the host, as behind a gateway's? Then it keeps what servers list, and clients ask for lists. */
  readonly hasClients: boolean;
  readonly read: HostParts['readEntry'];
}

/** Where idempotency keys are: lost with the process, kept by the instance, or kept without their answers. */
export type KeyPlace = 'memory' | 'durable' | 'without-answers';

/** Nobody calls it: lists alone start it, so it is there only where clients ask for lists. */
export const listedOnly = 'listed';

/** Kept and never called: for minutes it has nothing to answer, whatever it prints. */
const uncalled = 'uncalled';

export function drawFleet(dice: Dice): Fleet {
  const policies = new Map<string, Readonly<Record<string, unknown>>>();
  const names = ['modern', 'legacy', 'pinned', 'remote', 'sessions', 'stream'] as const;
  const hasClients = dice.chance(0.25);
  const all = [...names, ...(hasClients ? [listedOnly] : []), uncalled];
  for (const name of all) policies.set(name, drawPolicy(dice, name));
  const isDual = dice.chance(0.5);
  const entry = (name: string, variant: number) => ({
    ...places[name as keyof typeof places](variant, isDual),
    ...policies.get(name),
  });
  const configOf = (draft: ConfigDraft): RunConfig => {
    const present = draft.order.flatMap((name) => {
      const drawn = draft.servers.get(name);
      if (drawn === undefined || drawn.presence === 'removed') return [];
      // What lists alone may start is never kept running, or its failures are not those of lists.
      const server = name === listedOnly ? { ...drawn, isLazy: undefined } : drawn;
      const own = entry(name, server.variant) as Readonly<Record<string, unknown>>;
      const tools = own['tools'] as Readonly<Record<string, unknown>>;
      return [[name, { ...own, ...draftKeys(server, tools) }] as const];
    });
    const input = { mcpServers: Object.fromEntries(present), maxIdle: draft.maxIdle };
    return { draft, input, loaded: loaded(input) };
  };
  const first = configOf(firstDraft(all, dice.pick([1, 3, 16])));
  const { config } = first.loaded;
  const isChanging = dice.chance(0.5);
  const keys = dice.pick(['memory', 'durable', 'durable', 'durable', 'without-answers'] as const);
  const read = entryReader();
  return { names, config, first, isChanging, keys, configOf, entry, hasClients, read };
}

/** The config's own rules for an entry. They are the same every time, and so is what they give. */
function entryReader(): HostParts['readEntry'] {
  const known = new Map<string, ServerConfig>();
  return (name, entry) => {
    const spelled = JSON.stringify([name, entry]);
    const config = known.get(spelled) ?? readEntry(name, entry);
    known.set(spelled, config);
    return config;
  };
}

function readEntry(name: string, entry: Readonly<Record<string, unknown>>): ServerConfig {
  return loaded({ mcpServers: { [name]: entry } }).config.mcpServers[name] as ServerConfig;
}

const places = {
  modern: (variant: number) => ({ command: 'sim', args: ['modern', `v${variant}`] }),
  legacy: (variant: number) => ({ command: 'sim', args: ['legacy', `v${variant}`] }),
  pinned: (variant: number) => ({ command: 'sim', args: ['both', `v${variant}`], lazy: false }),
  remote: (variant: number, isDual: boolean) => ({
    url: `http://remote-${variant}.sim/${isDual ? 'both' : 'modern'}`,
  }),
  sessions: (variant: number) => ({ url: `http://sessions-${variant}.sim/legacy` }),
  stream: (variant: number) => ({ type: 'sse', url: `http://stream-${variant}.sim/sse` }),
  listed: () => ({ command: 'sim', args: ['both'] }),
  uncalled: () => ({ command: 'sim', args: ['both'], lazy: false }),
} as const;

function drawPolicy(dice: Dice, name: string): Readonly<Record<string, unknown>> {
  const restart = {
    max: dice.between(1, 6),
    windowMs: dice.pick([20_000, 60_000]),
    minDelayMs: dice.pick([50, 200]),
    maxDelayMs: dice.pick([1_000, 5_000]),
  };
  return {
    trusted: name !== 'legacy' && name !== 'sessions',
    keepAliveMs: dice.pick([0, 1_000, 15_000]),
    startTimeoutMs: dice.between(6_000, 15_000),
    callTimeoutMs: dice.between(3_000, 20_000),
    maxCallMs: 30_000,
    concurrency: dice.pick([1, 3, 64]),
    queue: dice.pick([0, 2, 64]),
    circuit: { threshold: dice.between(1, 4), resetMs: dice.between(500, 8_000) },
    limits: { frameBytes },
    tools: {
      secret: { hidden: true },
      // The operator's word: on one server `set` may be repeated, and nowhere else.
      ...(name === 'legacy' ? { set: { replay: 'safe' } } : {}),
      ...(dice.chance(0.4) ? { read: { cacheMs: dice.pick([0, 2_000, 30_000]) } } : {}),
    },
    ...(name === 'remote' ? {} : { restart }),
  };
}

/** Does the operator or the server's word allow a second execution? */
export function isSafe(name: string, config: ServerConfig, tool: string): boolean {
  return (tool === 'read' && config.trusted) || isOperatorsWord(name, tool);
}

export function isOperatorsWord(name: string, tool: string): boolean {
  return name === 'legacy' && tool === 'set';
}

/** Who is told what the host says of itself. */
export interface HostAudience {
  heard(event: HostEvent): void;
  complained(problem: StoreProblem): void;
}

/** What a process of the host has of the others of its instance. */
export interface Neighbours {
  readonly holders: KeyHolders;
  readonly over: StoreOverRollout;
  /** Resolves when it may use what the process before had; absent: at once. */
  readonly serving?: Promise<unknown>;
}

/** What the host is given: the world's five edges, and what is said about it in words. */
export function partsFor(
  edges: HostEdges,
  fleet: Fleet,
  { config, disabled }: LoadedConfig,
  audience: HostAudience,
  { holders, over, serving }: Neighbours,
): HostParts & { readonly keyed: KeyedRecords } {
  const { clock, random, spawn, adopt, leave, http, disk, machineNow } = edges;
  const events = new EventHub(() => clock.wallNow());
  events.subscribe((event) => audience.heard(event));
  const report = (problem: StoreProblem) => audience.complained(problem);
  const files = new FileStore({ disk, clock, report });
  const { former } = over;
  const database =
    fleet.keys === 'memory'
      ? openMemoryInstead({ clock, report, former })
      : edges.database({ report, former, ...(serving && { openAfter: serving }) });
  over.hasFiles(files);
  over.hasDatabase(database);
  const store = fleet.keys === 'memory' ? files : ownerStore(files, database);
  return {
    keyed: keyedStore(database, clock, fleet.keys, holders),
    edges: { clock, random, spawn, adopt, http },
    leave,
    machineNow,
    store,
    config,
    configFile: null,
    disabled,
    identity: { name: 'holdfast', version: '0.0.0' },
    instance: '51b0000000000001',
    startedBy: 'simulation',
    hasClients: fleet.hasClients,
    events,
    readEntry: fleet.read,
    readConfig: loaded,
    release: async () => void (await Promise.all([files.close(), database.close()])),
  };
}

/** As an instance keeps them. */
function keyedStore(
  store: Store,
  clock: Clock,
  place: KeyPlace,
  replicas: KeyHolders,
): KeyedRecords {
  const keys = store.records('keys', { durability: 'durable', shape: isStoredKey });
  const answers =
    place === 'without-answers'
      ? store.records('key-answers-in-memory', { durability: 'process' })
      : sealedRecords(store.records(answersName, { durability: 'durable' }), answersName, secret);
  return new KeyedRecords({ clock, keys, answers: () => Promise.resolve(answers), replicas });
}

export const answersName = 'key-answers';
const secret = Buffer.alloc(32, 7);

function loaded(input: unknown): LoadedConfig {
  return configFromObject(input, { baseDir: '/sim', env: { HOME: '/sim' } });
}
