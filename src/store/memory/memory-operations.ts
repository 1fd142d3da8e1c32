// Operations of a database, run by a store in memory: where there is no database, and for what is not durable. So what is
// in memory goes to the next process of an instance in the same way as what is in the database.

import type { Clock } from '../../kernel/clock.ts';
import type { PutOptions } from '../contract/records.ts';
import type { MemoryStore } from '../memory-store.ts';
import type { Backend } from '../sqlite/backend.ts';
import type {
  CounterOperation,
  LogOperation,
  QueueOperation,
  RecordOperation,
  StoredText,
  StoreOperation,
  StoreOutcome,
} from '../sqlite/operation.ts';
import { StoreError } from '../store-error.ts';

export interface MemoryPlace {
  readonly memory: MemoryStore;
  readonly clock: Clock;
}

/** In the place of a database. Closing it leaves the memory as it is. */
export function memoryBackend(place: MemoryPlace): Backend {
  return {
    apply: (operations) => Promise.all(operations.map((one) => memoryOutcome(place, one))),
    close: async () => {},
  };
}

/** Never rejects because of what the store refuses. */
export async function memoryOutcome(
  place: MemoryPlace,
  operation: StoreOperation,
): Promise<StoreOutcome> {
  try {
    return { ok: true, value: await result(place, operation) };
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    return { ok: false, reason: error.reason, detail: error.message };
  }
}

function result(place: MemoryPlace, operation: StoreOperation): Promise<unknown> {
  switch (operation.word) {
    case 'records':
      return recordsResult(place, operation);
    case 'log':
      return logResult(place, operation);
    case 'queue':
      return queueResult(place, operation);
    case 'counter':
      return counterResult(place, operation);
  }
}

async function recordsResult(
  { memory, clock }: MemoryPlace,
  operation: RecordOperation,
): Promise<unknown> {
  // What has expired is absent at once, and is removed when there is no room.
  if (operation.action === 'sweep') return undefined;
  const records = memory.records(operation.name, optionsOf(operation));
  switch (operation.action) {
    case 'get':
      return await records.get(operation.key);
    case 'put':
      return await records.put(operation.key, valueIn(operation.text), ttlOf(clock, operation));
    case 'putIfAbsent': {
      const { key, text } = operation;
      return await records.putIfAbsent(key, valueIn(text), ttlOf(clock, operation));
    }
    case 'compareAndSet': {
      const { key, version, text } = operation;
      return await records.compareAndSet(key, version, valueIn(text), ttlOf(clock, operation));
    }
    case 'remove':
      return await records.remove(operation.key);
    case 'entries':
      return await records.entries(operation.prefix);
    case 'isWhole':
      return await records.isWhole();
  }
}

async function logResult({ memory }: MemoryPlace, operation: LogOperation): Promise<unknown> {
  const log = memory.log(operation.name, optionsOf(operation));
  switch (operation.action) {
    case 'append':
      return await log.append(valueIn(operation.text));
    case 'read':
      return await log.read(operation);
    case 'trim':
      return await log.trim(operation.before);
    case 'range':
      return await log.range();
  }
}

async function queueResult(
  { memory, clock }: MemoryPlace,
  operation: QueueOperation,
): Promise<unknown> {
  const options = optionsOf(operation);
  const { durability } = options;
  if (durability === 'forgetful') throw new StoreError('unsupported', 'a queue forgets nothing');
  const queue = memory.queue(operation.name, { ...options, durability });
  const msUntil = (end: number) => Math.max(0, end - clock.wallNow());
  switch (operation.action) {
    case 'put':
      return await queue.put(JSON.parse(operation.text), { delayMs: msUntil(operation.freeAt) });
    case 'claim': {
      const claim = await queue.claim(msUntil(operation.until));
      return claim && { id: claim.id, value: claim.value, attempt: claim.attempt };
    }
    case 'ack':
      return await queue.ack(operation.claimId);
    case 'giveBack':
      return await queue.giveBack(operation.claimId, { delayMs: msUntil(operation.freeAt) });
    case 'extend':
      await queue.extend(operation.claimId, msUntil(operation.until));
      return undefined;
    case 'size':
      return await queue.size();
  }
}

async function counterResult(
  { memory }: MemoryPlace,
  operation: CounterOperation,
): Promise<unknown> {
  const counter = memory.counter(operation.name, optionsOf(operation));
  if (operation.action === 'reset') return await counter.reset(operation.key);
  return await counter.take(operation.key, operation.amount, operation);
}

function optionsOf(operation: StoreOperation) {
  const { durability = 'durable' as const } = operation;
  return 'maxEntries' in operation
    ? { durability, maxEntries: operation.maxEntries }
    : { durability };
}

function valueIn(text: StoredText): unknown {
  return typeof text === 'string' ? JSON.parse(text) : text;
}

function ttlOf(clock: Clock, { expiresAt }: { readonly expiresAt: number | null }): PutOptions {
  return expiresAt === null ? {} : { ttlMs: Math.max(0, expiresAt - clock.wallNow()) };
}
