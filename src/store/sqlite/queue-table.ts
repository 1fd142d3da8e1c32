// A queue in the database. A claim is written before its worker gets the item: after a crash the item
// is free when the lease has ended, and not before.

import { StoreError } from '../store-error.ts';
import type { Row } from './driver.ts';
import type { QueueOperation } from './operation.ts';
import type { Tables } from './tables.ts';

type Put = Extract<QueueOperation, { readonly action: 'put' }>;

/** A claim as it is stored; its end is known to the caller. */
export interface StoredClaim {
  readonly id: string;
  readonly value: unknown;
  readonly attempt: number;
}

interface Item {
  readonly id: number;
  readonly text: string;
  readonly attempt: number;
}

export function queueResult(tables: Tables, operation: QueueOperation): unknown {
  const { name, now } = operation;
  switch (operation.action) {
    case 'put':
      return put(tables, operation);
    case 'claim':
      return claim(tables, name, now, operation.until);
    case 'ack':
      return remove(tables, name, held(tables, name, operation.claimId, now));
    case 'giveBack':
      return save(tables, name, held(tables, name, operation.claimId, now), operation.freeAt, 0);
    case 'extend':
      return save(tables, name, held(tables, name, operation.claimId, now), operation.until, 1);
    case 'size':
      return tables.count('queue', name);
  }
}

function put(tables: Tables, { name, text, freeAt, maxEntries }: Put): void {
  const size = tables.count('queue', name);
  if (size >= maxEntries) throw new StoreError('full', `the queue ${name} is full: ${size} wait`);
  const id = tables.next(`queue ${name}`);
  tables.counted('queue', name, 1);
  save(tables, name, { id, text, attempt: 0 }, freeAt, 0);
}

/** An item that is damaged is left where it is, and reported: those behind it are not held up. */
function claim(tables: Tables, name: string, now: number, until: number): StoredClaim | undefined {
  const row = firstGood(tables, name, now);
  if (row === undefined) return undefined;
  const { id, text, attempt } = itemIn(row);
  save(tables, name, { id, text, attempt: attempt + 1 }, until, 1);
  return { id: `${id}.${attempt + 1}`, value: JSON.parse(text), attempt: attempt + 1 };
}

function firstGood(tables: Tables, name: string, now: number): Row | undefined {
  const next = tables.select(
    'queue',
    'WHERE name = ? AND free <= ? AND id > ? ORDER BY id LIMIT 1',
  );
  for (let after = -1; ; ) {
    const row = next.get(name, now, after);
    if (row === undefined || tables.isGood('queue', row)) return row;
    after = Number(row['id']);
  }
}

/** The item of this claim, if the claim is still the one that holds it. */
function held(tables: Tables, name: string, claimId: string, now: number): Item {
  const [id, attempt] = claimId.split('.').map(Number);
  const row = tables
    .select('queue', 'WHERE name = ? AND id = ? AND attempt = ? AND is_claimed = 1 AND free > ?')
    .get(name, id ?? -1, attempt ?? -1, now);
  if (row === undefined) {
    throw new StoreError(
      'lost_claim',
      `this claim of an item of ${name} is over; another may hold the item`,
    );
  }
  tables.check('queue', row);
  return itemIn(row);
}

function itemIn({ id, text, attempt }: Row): Item {
  return { id: Number(id), text: String(text), attempt: Number(attempt) };
}

function save(
  tables: Tables,
  name: string,
  { id, text, attempt }: Item,
  free: number,
  isClaimed: 0 | 1,
): void {
  tables.save('queue', name, id, text, free, attempt, isClaimed);
}

function remove(tables: Tables, name: string, { id }: Item): void {
  tables.sql('DELETE FROM queue WHERE name = ? AND id = ?').run(name, id);
  tables.counted('queue', name, -1);
}
