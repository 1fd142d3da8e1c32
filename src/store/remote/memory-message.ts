// What a store holds in memory, as it goes to the next process of the same instance: in messages of a bounded size, each
// with values of one name. It goes over the link only, never into a file.

import { isRecord } from '../../kernel/json-values.ts';
import type { Moved, MovedPlace, MovedValue } from '../memory-store.ts';
import { isStoreName } from '../store.ts';
import { arrayIn, wrong } from './operation-message.ts';
import { PayloadReader, PayloadWriter } from './payload.ts';
import type { JsonValue } from './store-link.ts';

export interface MemoryMessage {
  readonly place: MovedPlace & { readonly last: number };
  readonly values: readonly JsonValue[];
  readonly payload: Buffer;
}

const maxMessageBytes = 4_194_304;
const maxValues = 1_000;

/** At least one for each name, so that its numbers go on. */
export function* memoryMessages({ values, ...place }: Moved): Iterable<MemoryMessage> {
  let writer = new PayloadWriter();
  let list: JsonValue[] = [];
  for (const value of values) {
    list.push('own' in value ? { ...value, own: { ...writer.add(value.own) } } : { ...value });
    if (list.length < maxValues && writer.length < maxMessageBytes) continue;
    yield { place, values: list, payload: writer.payload };
    writer = new PayloadWriter();
    list = [];
  }
  yield { place, values: list, payload: writer.payload };
}

export interface HeardMemory {
  readonly place: MovedPlace;
  readonly last: number;
  readonly values: readonly MovedValue[];
}

/** Throws a TypeError. */
export function memoryIn(head: Readonly<Record<string, unknown>>, payload: Buffer): HeardMemory {
  const { word, name, durability, last } = isRecord(head['place']) ? head['place'] : {};
  const isKnown = typeof durability === 'string' && durabilities.has(durability);
  const place = { word, name, durability } as MovedPlace;
  if (typeof word !== 'string' || !isKnown || !isCount(last)) throw wrong('place in memory');
  if (typeof name !== 'string' || !isStoreName(name)) throw wrong('place in memory');
  const isValue = shapes.get(word);
  if (isValue === undefined || (word === 'queue' && durability === 'forgetful')) {
    throw wrong('place in memory');
  }
  const reader = new PayloadReader(payload);
  const values = arrayIn(head['values']).map((given) => {
    const value = isRecord(given) ? given : {};
    const whole = 'own' in value ? { ...value, own: reader.take(value['own']) } : value;
    if (!isValue(whole)) throw wrong('value in memory');
    return whole as unknown as MovedValue;
  });
  reader.end();
  return { place, last, values };
}

const durabilities: ReadonlySet<string> = new Set(['durable', 'process', 'forgetful']);

type Given = Readonly<Record<string, unknown>>;

const shapes: ReadonlyMap<string, (value: Given) => boolean> = new Map([
  [
    'records',
    ({ key, own, version, leftMs }: Given) =>
      typeof key === 'string' && isOwn(own) && typeof version === 'string' && isLeft(leftMs),
  ],
  ['log', ({ sequence, own }: Given) => isCount(sequence) && isOwn(own)],
  [
    'queue',
    ({ id, own, attempt, isClaimed, leftMs }: Given) =>
      isCount(id) &&
      isCount(attempt) &&
      typeof own === 'string' &&
      typeof isClaimed === 'boolean' &&
      typeof leftMs === 'number',
  ],
  [
    'counter',
    ({ key, taken, leftMs }: Given) => typeof key === 'string' && isCount(taken) && isLeft(leftMs),
  ],
]);

function isOwn(value: unknown): boolean {
  return typeof value === 'string' || value instanceof Uint8Array;
}

function isLeft(value: unknown): boolean {
  return value === null || typeof value === 'number';
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}
