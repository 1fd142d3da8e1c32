// How much of a heap is data of the program, read from a snapshot of it, and what holds it. Compiled code is part of
// the heap, too: V8 goes on compiling and optimizing functions for minutes, which says nothing about what the program
// keeps. Buffers outside of the heap are measured separately.

import { HeapSnapshot } from './heap-snapshot.ts';

export interface HeapData {
  readonly bytes: number;
  /** By the way from a root to the data, shortened to its first steps. */
  readonly holders: ReadonlyMap<string, Held>;
}

export interface Held {
  readonly count: number;
  readonly bytes: number;
}

const notData = new Set(['code', 'native']);
/** They keep nothing. */
const notHolding = new Set(['weak', 'shortcut']);
/** Of the way to something: enough to see which member of which object of ours holds it. */
const maxSteps = 20;

export function dataIn(text: string): HeapData {
  const heap = new HeapSnapshot(text);
  const ways = waysIn(heap);
  const holders = new Map<string, { count: number; bytes: number }>();
  let bytes = 0;
  for (let node = 0; node < heap.count; node += 1) {
    if (notData.has(heap.kind(node))) continue;
    const size = heap.bytes(node);
    bytes += size;
    const way = ways[node] ?? 'nothing';
    const held = holders.get(way) ?? { count: 0, bytes: 0 };
    holders.set(way, { count: held.count + 1, bytes: held.bytes + size });
  }
  return { bytes, holders };
}

/** By node: the shortest way to it. */
function waysIn(heap: HeapSnapshot): readonly (string | undefined)[] {
  const ways: (string | undefined)[] = new Array(heap.count);
  const steps = new Uint8Array(heap.count);
  ways[0] = '';
  const reached = [0];
  for (const from of reached) {
    for (const { kind, name, to } of heap.edges(from)) {
      if (notHolding.has(kind) || ways[to] !== undefined) continue;
      const way = ways[from] ?? '';
      const isFull = (steps[from] ?? 0) >= maxSteps;
      ways[to] = isFull ? way : `${way} > ${stepOf(name)} ${labelOf(heap, to)}`;
      steps[to] = Math.min(maxSteps, (steps[from] ?? 0) + 1);
      reached.push(to);
    }
  }
  return ways;
}

function stepOf(name: string): string {
  return name === '' ? '[]' : `.${withoutNumbers(name)}`;
}

const named = new Set(['object', 'closure', 'native', 'synthetic']);

function labelOf(heap: HeapSnapshot, node: number): string {
  const kind = heap.kind(node);
  return named.has(kind) ? withoutNumbers(heap.name(node)) : kind;
}

/** Alike for the tenth and the eleventh of a kind. */
function withoutNumbers(text: string): string {
  return text.slice(0, 60).replace(/\d+/g, '#');
}

/** What holds more than before, or less, as lines for a person; the largest difference first. */
export function growthText(before: HeapData, after: HeapData): string {
  const none = { count: 0, bytes: 0 };
  const ways = new Set([...before.holders.keys(), ...after.holders.keys()]);
  const rows = [...ways].map((way) => {
    const [was, is] = [before.holders.get(way) ?? none, after.holders.get(way) ?? none];
    return { way, bytes: is.bytes - was.bytes, count: is.count - was.count, was, is };
  });
  const changed = rows.filter(({ bytes }) => bytes !== 0);
  changed.sort((one, other) => Math.abs(other.bytes) - Math.abs(one.bytes));
  const lines = changed.slice(0, maxRows).map(({ way, bytes, count, was, is }) => {
    return `${bytes}\t${count}\t${was.bytes}\t${is.bytes}\t${way}`;
  });
  return `${['bytes more\tobjects more\tbytes before\tbytes after\theld by', ...lines].join('\n')}\n`;
}

const maxRows = 200;
