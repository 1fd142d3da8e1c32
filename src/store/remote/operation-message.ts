// Operations and their outcomes as they go from one process of an instance to another, and the check of what comes: the
// other process may be of another version. What is none of these is a TypeError, which ends the link.

import { isRecord } from '../../kernel/json-values.ts';
import { ownValue } from '../../kernel/own-value.ts';
import { isBytes } from '../contract/bytes.ts';
import type { Damage, StoreOperation, StoreOutcome } from '../sqlite/operation.ts';
import { isStoreName } from '../store.ts';
import { isStoreRefusal } from '../store-error.ts';
import { PayloadReader, PayloadWriter } from './payload.ts';
import type { JsonValue } from './store-link.ts';

export interface Packed {
  readonly list: JsonValue;
  readonly payload: Buffer;
}

export function packedOperations(operations: readonly StoreOperation[]): Packed {
  const writer = new PayloadWriter();
  const list = operations.map((operation) =>
    'text' in operation ? { ...operation, text: writer.add(operation.text) } : operation,
  );
  return { list: list as unknown as JsonValue, payload: writer.payload };
}

/** Throws a TypeError. */
export function operationsIn(list: unknown, payload: Buffer): readonly StoreOperation[] {
  const reader = new PayloadReader(payload);
  const operations = arrayIn(list).map((one) => operationIn(one, reader));
  reader.end();
  return operations;
}

type Check = (value: unknown) => boolean;

const isText: Check = (value) => typeof value === 'string';
const isNumber: Check = (value) => typeof value === 'number';
const isNumberOrNull: Check = (value) => value === null || typeof value === 'number';
/** It is taken from the payload. */
const isPart: Check = isRecord;

const written = { key: isText, text: isPart, expiresAt: isNumberOrNull, maxEntries: isNumber };

/** The members of each operation, besides those that all have. */
const members: ReadonlyMap<string, Readonly<Record<string, Check>>> = new Map(
  Object.entries({
    'records get': { key: isText },
    'records put': written,
    'records putIfAbsent': written,
    'records compareAndSet': { ...written, version: isText },
    'records remove': { key: isText },
    'records entries': { prefix: isText },
    'records isWhole': {},
    'log append': { text: isPart, maxEntries: isNumber },
    'log read': { from: isNumber, limit: isNumber },
    'log trim': { before: isNumber },
    'log range': {},
    'queue put': { text: isPart, freeAt: isNumber, maxEntries: isNumber },
    'queue claim': { until: isNumber },
    'queue ack': { claimId: isText },
    'queue giveBack': { claimId: isText, freeAt: isNumber },
    'queue extend': { claimId: isText, until: isNumber },
    'queue size': {},
    'counter take': {
      ...{ key: isText, amount: isNumber, limit: isNumber },
      ...{ windowMs: isNumberOrNull, maxEntries: isNumber },
    },
    'counter reset': { key: isText },
  }),
);

function operationIn(given: unknown, reader: PayloadReader): StoreOperation {
  const { word, action, name, now, durability } = isRecord(given) ? given : {};
  const expected = members.get(`${String(word)} ${String(action)}`);
  const isWhere =
    durability === undefined || durability === 'process' || durability === 'forgetful';
  if (!isRecord(given) || expected === undefined || !isWhere) throw wrong('operation');
  if (typeof name !== 'string' || !isStoreName(name) || typeof now !== 'number') {
    throw wrong('operation');
  }
  const checked = Object.entries(expected).map(([member, check]) => {
    const value = ownValue(given, member);
    if (!check(value)) throw wrong('operation');
    return [member, check === isPart ? reader.take(value) : value] as const;
  });
  const where = durability === undefined ? {} : { durability };
  return { word, action, name, now, ...where, ...Object.fromEntries(checked) } as StoreOperation;
}

export function packedOutcomes(outcomes: readonly StoreOutcome[]): Packed {
  const writer = new PayloadWriter();
  const list = outcomes.map((outcome) =>
    outcome.ok
      ? { ...outcome, value: mapped(outcome.value, (held) => partOf(held, writer)) }
      : outcome,
  );
  return { list: list as unknown as JsonValue, payload: writer.payload };
}

/** Throws a TypeError. */
export function outcomesIn(list: unknown, payload: Buffer, count: number): readonly StoreOutcome[] {
  const reader = new PayloadReader(payload);
  const outcomes = arrayIn(list).map((one) => outcomeIn(one, reader));
  reader.end();
  if (outcomes.length !== count) throw wrong('list of outcomes');
  return outcomes;
}

function outcomeIn(given: unknown, reader: PayloadReader): StoreOutcome {
  if (!isRecord(given)) throw wrong('outcome');
  const { ok, value, reason, detail, code, isStored, damaged } = given;
  const found = damaged === undefined ? {} : { damaged: arrayIn(damaged).map(damageIn) };
  if (ok === true) {
    const taken = mapped(value, (held) => valueIn(held, reader));
    return { ok, value: taken, ...(isStored === true && { isStored }), ...found };
  }
  if (ok !== false || !isStoreRefusal(reason) || typeof detail !== 'string') throw wrong('outcome');
  return { ok, reason, detail, ...(typeof code === 'string' && { code }), ...found };
}

function damageIn(given: unknown): Damage {
  const { table, name, key } = isRecord(given) ? given : {};
  if (typeof table !== 'string' || typeof name !== 'string' || typeof key !== 'string') {
    throw wrong('outcome');
  }
  return { table, name, key };
}

/**
 * Where a value of a caller can be in what an operation has given: in an entry, in a list of entries, or in the entry
 * that is there instead of one that was put. Everything else is JSON of our own.
 */
function mapped(given: unknown, to: (value: unknown) => unknown): unknown {
  if (Array.isArray(given)) return given.map((one) => mapped(one, to));
  if (!isRecord(given)) return given;
  if ('value' in given) return { ...given, value: to(given['value']) };
  return 'entry' in given ? { ...given, entry: mapped(given['entry'], to) } : given;
}

/** Bytes go behind the head, everything else into it. */
function partOf(value: unknown, writer: PayloadWriter): unknown {
  return isBytes(value) ? { part: writer.add(value) } : { json: value };
}

function valueIn(given: unknown, reader: PayloadReader): unknown {
  if (!isRecord(given)) throw wrong('value');
  return 'part' in given ? reader.take(given['part']) : given['json'];
}

export function arrayIn(given: unknown): readonly unknown[] {
  if (!Array.isArray(given)) throw wrong('list');
  return given;
}

export function wrong(what: string): TypeError {
  return new TypeError(`a message of a store has no ${what} of this version`);
}
