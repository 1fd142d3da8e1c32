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

const count = z.int().min(0);
const ms = z.number().min(0);
const text = z.string();
const era = z.enum(['legacy', 'modern']);
const kind = z.enum(['tools', 'prompts', 'resources', 'resourceTemplates', 'skills']);

const aim = z.object({
  era,
  features: z.array(text),
  owner: text.nullable(),
  folder: text.nullable(),
});

const phase = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('idle'), waitMs: ms }),
  z.object({ kind: z.literal('ready'), forMs: ms }),
  z.object({ kind: z.literal('cooling'), waitMs: ms }),
  z.object({ kind: z.literal('ejected') }),
]);

const supervisor = z.object({
  life: z.object({ generation: count, phase }),
  leases: z.object({ pinned: z.boolean(), idleMs: ms.nullable() }),
  hasStarted: z.boolean(),
});

/** Who has used the connection: it decides which client a message of the server can be for. */
const users = z.object({
  client: text.nullable(),
  isClaimed: z.boolean(),
  isMixed: z.boolean(),
  principal: text.nullable(),
  hasManyPrincipals: z.boolean(),
});

const slot = z.object({
  /** The number of its connection among those that are handed over; null: it has none. */
  connection: count.nullable(),
  isShared: z.boolean(),
  owner: text.nullable(),
  sharingOwner: text.nullable(),
  aim,
  clientEra: era,
  isDuplicate: z.boolean(),
  isSpent: z.boolean(),
  roots: z.object({ key: text, kind: z.enum(['result', 'error']), json: text }).nullable(),
  former: z.object({ owner: text, generation: count }).nullable(),
  users: users.nullable(),
  /** The addresses that a legacy server was asked to report on. */
  told: z.array(text),
  supervisor,
});

const fault = z.custom<TimedFaultRecord>(isTimedFault).nullable();

const standing = z.object({
  folder: text.nullable(),
  breaker: z.object({
    kind: z.enum(['closed', 'open', 'half_open']),
    epoch: count,
    failures: count,
    leftMs: ms,
  }),
  restarts: z.object({
    failedAgoMs: z.array(ms),
    shortAgoMs: z.array(ms),
    streak: count,
    ejected: z.boolean(),
  }),
  generation: count,
  startsAgain: count,
  lastFault: fault,
});

const list = z.object({
  kind,
  /** The definitions as the server wrote them, as one array. */
  text,
  leftOut: count,
  scope: z.enum(['public', 'private']),
  holdsMs: ms,
  isStale: z.boolean(),
  /** Null: until the server reports a change. */
  staleInMs: ms.nullable(),
});

const catalogue = z.object({
  aim,
  greeting: z
    .object({
      era,
      protocolVersion: text,
      serverInfo: z.unknown().optional(),
      capabilities: z.custom<Record<string, unknown>>(isRecord),
      instructions: text.nullable(),
    })
    .nullable(),
  lists: z.array(list),
  /** Whether its tools are known to be those of the present process. */
  isOffered: z.boolean(),
  isRead: z.boolean(),
  isGreeted: z.boolean(),
  readKinds: z.array(kind),
  announced: z.array(kind),
  shownAgoMs: ms.nullable(),
});

const facts = z.object({
  now: z.custom<Facts>(isFacts),
  shownAt: z.custom<Ages>(
    (value) => isRecord(value) && Object.values(value).every(Number.isFinite),
  ),
  basis: z.object({
    hasNotInitialized: z.boolean(),
    isDoubted: z.boolean(),
    hasFailed: z.boolean(),
    serial: count,
  }),
});

const server = z.object({
  name: text,
  /** Of what is run or reached: with another one its connections are not used. */
  spec: text,
  lazy: z.boolean(),
  isolation: z.enum(['auto', 'client', 'shared']),
  asks: z.boolean(),
  /** The place of the slot that was used last. */
  current: count,
  slots: z.array(slot).min(1),
  standings: z.array(standing).min(1),
  facts,
  starts: z.object({
    startMs: ms.nullable(),
    listedAt: ms.nullable(),
    late: z.array(kind),
    listed: z.array(kind),
  }),
  catalogues: z.array(catalogue),
  noise: z.array(z.tuple([text, count])),
  stderr: z.array(text),
  secrets: z.array(z.object({ name: text, value: text })),
});

const counters = z.object({
  requests: count,
  successes: count,
  errorResults: count,
  responseErrors: count,
  transportFaults: count,
  cancelled: count,
  retries: count,
  totalMs: ms,
  maxMs: ms,
  lastMs: ms,
  generation: count.nullable(),
});

const traffic = z.object({
  begun: count,
  all: counters,
  calls: counters,
  other: counters,
  operations: z.array(z.tuple([text, counters])),
  lastFault: fault,
});

const counts = z.object({
  traffic,
  byPrincipal: z.array(z.tuple([text, traffic])),
});

const task = z.object({
  /** The number of its connection. */
  connection: count,
  server: text,
  tool: text.nullable(),
  era,
  client: text,
  principal: z.object({ id: text, role: text.nullable() }),
  token: count,
  progressToken: text.nullable(),
  serial: count,
  taskId: text,
  isOver: z.boolean(),
  isHeld: z.boolean(),
  description: text.nullable(),
  leftMs: ms,
});

const cache = z.object({
  hits: count,
  misses: count,
  /** The least recently used first; the bytes of each follow each other in the payload. */
  entries: z.array(z.object({ id: text, server: text, shelf: text, ttlMs: ms, length: count })),
});

const hostState = z.object({
  version: z.literal(hostStateVersion),
  instance: z.string().regex(/^[0-9a-f]{16}$|^test$/),
  /** Which process of the instance has written it, counted from 1. */
  generation: z.int().min(1),
  uptimeMs: ms,
  /** Restarts of servers that were removed. */
  startsAgain: count,
  servers: z.array(server),
  counts,
  tasks: z.object({ next: z.int().min(1), begun: z.array(task) }),
  cache,
});

export type HostState = z.infer<typeof hostState>;
export type ServerState = z.infer<typeof server>;
export type SlotState = z.infer<typeof slot>;
export type CatalogueState = z.infer<typeof catalogue>;
export type ListState = z.infer<typeof list>;
export type AimState = z.infer<typeof aim>;
export type HandedCounts = z.infer<typeof counts>;

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
  return readAs(hostState, value, 'the state of a host');
}

/** The same for what a former has counted since. */
export function countsFrom(value: unknown): HandedCounts {
  return readAs(counts, value, 'the counts of a host');
}

function readAs<T>(schema: z.ZodType<T>, value: unknown, what: string): T {
  const read = schema.safeParse(value);
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  const place = issue?.path.join('.') ?? '';
  throw new Fault('internal', `${what} was handed over that cannot be read: ${place}`);
}
