// What one serving process writes down of its host for the next one, as JSON: of each server its supervision,
// what was learnt of it, what it lists, and its connections; and the counts, the budgets and the cached results
// of the host. Times are ages, or what is left of them: the next process has another monotonic clock. What comes
// over the link is validated here as a whole before any of it is used.

import { z } from 'zod';
import { Fault, faultTable } from '../../kernel/fault.ts';
import { isRecord } from '../../kernel/json-values.ts';
import { type Ages, type Facts, isFacts } from '../servers/server-facts.ts';
import type { TimedFaultRecord } from '../status.ts';

/** Of the state; a process of another version of Holdfast refuses what it does not know. */
export const hostStateVersion = 1;

const countShape = z.int().min(0);
const msShape = z.number().min(0);
const textShape = z.string();
const eraShape = z.enum(['legacy', 'modern']);
const kindShape = z.enum(['tools', 'prompts', 'resources', 'resourceTemplates', 'skills']);

const aimShape = z.object({
  era: eraShape,
  features: z.array(textShape),
  owner: textShape.nullable(),
  folder: textShape.nullable(),
});

const phaseShape = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('idle'), waitMs: msShape }),
  z.object({ kind: z.literal('ready'), forMs: msShape }),
  z.object({ kind: z.literal('cooling'), waitMs: msShape }),
  z.object({ kind: z.literal('ejected') }),
]);

const supervisorShape = z.object({
  life: z.object({ generation: countShape, phase: phaseShape }),
  leases: z.object({ pinned: z.boolean(), idleMs: msShape.nullable() }),
  hasStarted: z.boolean(),
});

/** Who has used the connection: it decides which client a message of the server can be for. */
const usersShape = z.object({
  client: textShape.nullable(),
  isClaimed: z.boolean(),
  isMixed: z.boolean(),
  principal: textShape.nullable(),
  hasManyPrincipals: z.boolean(),
});

const slotShape = z.object({
  /** The number of its connection among those that are handed over; null: it has none. */
  connection: countShape.nullable(),
  isShared: z.boolean(),
  owner: textShape.nullable(),
  sharingOwner: textShape.nullable(),
  aim: aimShape,
  clientEra: eraShape,
  isDuplicate: z.boolean(),
  isSpent: z.boolean(),
  roots: z
    .object({ key: textShape, kind: z.enum(['result', 'error']), json: textShape })
    .nullable(),
  former: z.object({ owner: textShape, generation: countShape }).nullable(),
  users: usersShape.nullable(),
  /** The addresses that a legacy server was asked to report on. */
  told: z.array(textShape),
  supervisor: supervisorShape,
});

const faultShape = z.custom<TimedFaultRecord>(isTimedFault).nullable();

const standingShape = z.object({
  folder: textShape.nullable(),
  breaker: z.object({
    kind: z.enum(['closed', 'open', 'half_open']),
    epoch: countShape,
    failures: countShape,
    leftMs: msShape,
  }),
  restarts: z.object({
    failedAgoMs: z.array(msShape),
    shortAgoMs: z.array(msShape),
    streak: countShape,
    ejected: z.boolean(),
  }),
  generation: countShape,
  startsAgain: countShape,
  lastFault: faultShape,
});

const listShape = z.object({
  kind: kindShape,
  /** The definitions as the server wrote them, as one array. */
  text: textShape,
  leftOut: countShape,
  scope: z.enum(['public', 'private']),
  holdsMs: msShape,
  isStale: z.boolean(),
  /** Null: until the server reports a change. */
  staleInMs: msShape.nullable(),
});

const catalogueShape = z.object({
  aim: aimShape,
  greeting: z
    .object({
      era: eraShape,
      protocolVersion: textShape,
      serverInfo: z.unknown().optional(),
      capabilities: z.custom<Record<string, unknown>>(isRecord),
      instructions: textShape.nullable(),
    })
    .nullable(),
  lists: z.array(listShape),
  /** Whether its tools are known to be those of the present process. */
  isOffered: z.boolean(),
  isRead: z.boolean(),
  isGreeted: z.boolean(),
  readKinds: z.array(kindShape),
  announced: z.array(kindShape),
  shownAgoMs: msShape.nullable(),
});

const factsShape = z.object({
  now: z.custom<Facts>(isFacts),
  shownAt: z.custom<Ages>(
    (value) => isRecord(value) && Object.values(value).every(Number.isFinite),
  ),
  basis: z.object({
    hasNotInitialized: z.boolean(),
    isDoubted: z.boolean(),
    hasFailed: z.boolean(),
    serial: countShape,
  }),
});

const serverShape = z.object({
  name: textShape,
  /** Of what is run or reached: with another one its connections are not used. */
  spec: textShape,
  /** Of what its entry says about results: with another one those that are cached are not used. */
  results: textShape.optional(),
  lazy: z.boolean(),
  isolation: z.enum(['auto', 'client', 'shared']),
  asks: z.boolean(),
  /** The place of the slot that was used last. */
  current: countShape,
  slots: z.array(slotShape).min(1),
  standings: z.array(standingShape).min(1),
  facts: factsShape,
  starts: z.object({
    startMs: msShape.nullable(),
    listedAt: msShape.nullable(),
    late: z.array(kindShape),
    listed: z.array(kindShape),
  }),
  catalogues: z.array(catalogueShape),
  noise: z.array(z.tuple([textShape, countShape])),
  stderr: z.array(textShape),
  secrets: z.array(z.object({ name: textShape, value: textShape })),
});

const countersShape = z.object({
  requests: countShape,
  successes: countShape,
  errorResults: countShape,
  responseErrors: countShape,
  transportFaults: countShape,
  cancelled: countShape,
  retries: countShape,
  totalMs: msShape,
  maxMs: msShape,
  lastMs: msShape,
  generation: countShape.nullable(),
});

const trafficShape = z.object({
  begun: countShape,
  all: countersShape,
  calls: countersShape,
  other: countersShape,
  operations: z.array(z.tuple([textShape, countersShape])),
  lastFault: faultShape,
});

const countsShape = z.object({
  traffic: trafficShape,
  byPrincipal: z.array(z.tuple([textShape, trafficShape])),
});

const taskShape = z.object({
  /** The number of its connection. */
  connection: countShape,
  server: textShape,
  tool: textShape.nullable(),
  era: eraShape,
  client: textShape,
  principal: z.object({ id: textShape, role: textShape.nullable() }),
  token: countShape,
  progressToken: textShape.nullable(),
  serial: countShape,
  taskId: textShape,
  isOver: z.boolean(),
  isHeld: z.boolean(),
  description: textShape.nullable(),
  leftMs: msShape,
});

const cacheShape = z.object({
  hits: countShape,
  misses: countShape,
  /** The least recently used first; the bytes of each follow each other in the payload. */
  entries: z.array(
    z.object({
      id: textShape,
      server: textShape,
      shelf: textShape,
      ttlMs: msShape,
      length: countShape,
    }),
  ),
});

const hostStateShape = z.object({
  version: z.literal(hostStateVersion),
  instance: z.string().regex(/^[0-9a-f]{16}$|^test$/),
  /** Which process of the instance has written it, counted from 1. */
  generation: z.int().min(1),
  uptimeMs: msShape,
  /** By the clock of the machine; absent: written by a version that does not say it. */
  writtenAt: msShape.optional(),
  /** Restarts of servers that were removed. */
  startsAgain: countShape,
  servers: z.array(serverShape),
  counts: countsShape,
  tasks: z.object({ next: z.int().min(1), begun: z.array(taskShape) }),
  cache: cacheShape,
});

export type HostState = z.infer<typeof hostStateShape>;
export type ServerState = z.infer<typeof serverShape>;
export type SlotState = z.infer<typeof slotShape>;
export type CatalogueState = z.infer<typeof catalogueShape>;
export type ListState = z.infer<typeof listShape>;
export type AimState = z.infer<typeof aimShape>;
export type HandedCounts = z.infer<typeof countsShape>;

function isTimedFault(value: unknown): value is TimedFaultRecord {
  if (!isRecord(value)) return false;
  const { at, code, server: name, detail, dispatched, attempts, retryable } = value;
  return (
    [at, attempts].every(Number.isFinite) &&
    [name, detail].every((one) => typeof one === 'string') &&
    typeof code === 'string' &&
    Object.hasOwn(faultTable, code) &&
    (dispatched === 'no' || dispatched === 'maybe' || dispatched === 'yes') &&
    typeof retryable === 'boolean'
  );
}

/** Throws a Fault for everything that the same version would not have written. */
export function hostStateFrom(value: unknown): HostState {
  return readAs(hostStateShape, value, 'the state of a host');
}

/** The same for what a former has counted since. */
export function countsFrom(value: unknown): HandedCounts {
  return readAs(countsShape, value, 'what a host has counted');
}

/** The same for a task that a call of a former has become since. */
export function taskFrom(value: unknown): z.infer<typeof taskShape> {
  return readAs(z.object({ task: taskShape }), value, 'a task').task;
}

function readAs<T>(schema: z.ZodType<T>, value: unknown, what: string): T {
  const read = schema.safeParse(value);
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  const place = issue?.path.join('.') ?? '';
  throw new Fault('internal', `${what} was handed over that cannot be read: ${place}`);
}
