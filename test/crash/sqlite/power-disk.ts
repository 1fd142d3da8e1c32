// A disk that loses its power: what it holds when everything that was not forced to it is undone, or some
// of it. A write that was under way when forcing it has failed may be lost for good, also if it is forced
// again later and that succeeds: systems take it for written. Names are on the disk when their folder was
// forced.

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Dice } from '../../support/dice.ts';
import type { Call } from './calls.ts';

/**
 * What of the unforced writes is on the disk: none of them; a random part; or a random part of which some
 * writes are torn at the borders of sectors.
 */
export const losses = ['all', 'some', 'torn'] as const;
export type Loss = (typeof losses)[number];

const sectorBytes = 512;

type Change = { readonly at: number; readonly bytes: Buffer } | { readonly length: number };

class Contents {
  forced: Buffer = Buffer.alloc(0);
  /** Since it was forced, in their order. */
  pending: Change[] = [];
}

export class PowerDisk {
  readonly #loss: Loss;
  readonly #dice: Dice;
  /** As the program sees the names. */
  #names = new Map<string, Contents>();
  #forcedNames = new Map<string, Contents>();

  constructor(loss: Loss, dice: Dice) {
    this.#loss = loss;
    this.#dice = dice;
  }

  /** A file that was on the disk before the first call. */
  hold(name: string, bytes: Buffer): void {
    const contents = new Contents();
    contents.forced = bytes;
    this.#names.set(name, contents);
    this.#forcedNames.set(name, contents);
  }

  apply(call: Call): void {
    switch (call.does) {
      case 'make':
        if (!this.#names.has(call.name)) this.#names.set(call.name, new Contents());
        return;
      case 'empty':
        this.#contents(call.name).pending.push({ length: 0 });
        return;
      case 'write':
        this.#contents(call.name).pending.push({ at: call.at, bytes: call.bytes });
        return;
      case 'truncate':
        this.#contents(call.name).pending.push({ length: call.length });
        return;
      case 'unlink':
        this.#names.delete(call.name);
        return;
      case 'rename':
        this.#names.set(call.to, this.#contents(call.name));
        this.#names.delete(call.name);
        return;
      case 'sync':
        return this.#force(this.#contents(call.name), call.hasFailed);
      case 'sync folder':
        if (!call.hasFailed) this.#forcedNames = new Map(this.#names);
        return;
      case 'tell':
        return;
    }
  }

  /** Writes into the folder what is left after a power cut now. */
  cut(folder: string): void {
    mkdirSync(folder);
    const isUnlinkKept = this.#loss !== 'all' && this.#dice.chance(0.5);
    const names = isUnlinkKept ? this.#names : this.#forcedNames;
    for (const [name, contents] of names) {
      const left = contents.pending.filter(() => this.#isKept());
      let disk = contents.forced;
      for (const change of left) disk = changed(disk, this.#torn(disk, change));
      writeFileSync(join(folder, name), disk, { mode: 0o600 });
    }
  }

  #contents(name: string): Contents {
    const found = this.#names.get(name) ?? new Contents();
    this.#names.set(name, found);
    return found;
  }

  #force(contents: Contents, hasFailed: boolean): void {
    const written = hasFailed ? contents.pending.filter(() => this.#isKept()) : contents.pending;
    for (const change of written) contents.forced = changed(contents.forced, change);
    contents.pending = [];
  }

  #isKept(): boolean {
    return this.#loss !== 'all' && this.#dice.chance(0.5);
  }

  /** The same, or with some of its sectors as they were. */
  #torn(disk: Buffer, change: Change): Change {
    if (this.#loss !== 'torn' || 'length' in change) return change;
    const { at, bytes } = change;
    const before = Buffer.alloc(bytes.length);
    if (at < disk.length) disk.copy(before, 0, at, at + bytes.length);
    const mixed = Buffer.from(bytes);
    let from = 0;
    while (from < bytes.length) {
      const to = Math.min(bytes.length, from + sectorBytes - ((at + from) % sectorBytes));
      if (this.#dice.chance(0.3)) before.copy(mixed, from, from, to);
      from = to;
    }
    return { at, bytes: mixed };
  }
}

function changed(disk: Buffer, change: Change): Buffer {
  if ('length' in change) {
    const cut = Buffer.alloc(change.length);
    disk.copy(cut);
    return cut;
  }
  const { at, bytes } = change;
  const grown = Buffer.alloc(Math.max(disk.length, at + bytes.length));
  disk.copy(grown);
  bytes.copy(grown, at);
  return grown;
}
