// The simulated disk under the shipped store: slow at times, full, read-only or failing at others,
// with records that rot where they lie. A write that the host was killed in the middle of leaves the
// old file or the new one, as a rename does, or, on a disk that lies about what it has written, a torn
// one. What was done to which file is kept, so that a record that is missing can be told from one that
// was lost by the host.

import type { Disk } from '../../src/store/disk.ts';
import type { FaultKind } from './fault-injection.ts';
import type { Dice } from './random.ts';
import type { Tether } from './tether.ts';
import type { World } from './world.ts';

/** A change that is under way: what a crash may make of it. */
interface Pending {
  /** Of the process that has asked for it. */
  readonly tether: Tether;
  readonly name: string;
  readonly kind: 'write' | 'remove' | 'move';
  /** Of a write. */
  readonly bytes?: Buffer;
  readonly done: () => void;
}

const refusals = { EIO: 'disk-eio', ENOSPC: 'disk-enospc', EROFS: 'disk-erofs' } as const;
const root = '/sim/state';

export class SimDisk {
  readonly #world: World;
  readonly #files = new Map<string, Buffer>();
  readonly #pending = new Set<Pending>();
  /** Half-written files that a crash has left, with the wall time of the crash. */
  readonly #drafts = new Map<string, number>();
  readonly #harmed = new Set<string>();
  readonly #movedUntold = new Set<string>();
  #refusal = { code: '', until: 0 };
  #unreadable = 0;
  #harms = 0;

  constructor(world: World) {
    this.#world = world;
  }

  /** Has this file been damaged since it was last written? */
  isHarmed(name: string): boolean {
    return this.#harmed.has(name);
  }

  /** Was the host killed while it moved this file aside, before it could say so? */
  wasMovedUntold(name: string): boolean {
    return this.#movedUntold.has(name);
  }

  /** How often any file has been damaged so far. */
  get harms(): number {
    return this.#harms;
  }

  /** Is this text in the file, as far as anybody can tell without the host? */
  holds(name: string, text: string): boolean {
    return this.#files.get(name)?.includes(text) ?? false;
  }

  get isWriting(): boolean {
    return this.#pending.size > 0;
  }

  /** How many reads have failed so far. */
  get unreadable(): number {
    return this.#unreadable;
  }

  pathOf(name: string): string {
    return `${root}/${name}`;
  }

  /** The disk as one life of the host sees it: after its end no answer comes. */
  for(tether: Tether): Disk {
    return {
      pathOf: (name) => this.pathOf(name),
      read: (name) => this.#read(tether, name),
      replace: (name, bytes) =>
        this.#change({
          tether,
          name,
          kind: 'write',
          bytes,
          done: () => this.#write(name, bytes),
        }),
      remove: (name) =>
        this.#change({ tether, name, kind: 'remove', done: () => this.#remove(name) }),
      setAside: async (name) => {
        const moved = `${name}.damaged`;
        const done = () => this.#move(name, moved);
        await this.#change({ tether, name, kind: 'move', done });
        return moved;
      },
      list: async (folder) => {
        await this.moment(tether);
        if (this.#world.faults.occurs('disk-unreadable')) throw systemError('EIO');
        return this.#list(folder);
      },
      tidy: async (folder, before) => {
        await this.moment(tether);
        for (const [name, at] of this.#drafts) {
          if (name.startsWith(`${folder}/`) && at < before) this.#tidy(name);
        }
      },
    };
  }

  /** A process of the host is killed: what it was writing is there, or not, or in pieces. */
  crash(killed: Tether): void {
    const { dice, faults } = this.#world;
    for (const change of this.#pending) {
      const { tether, name, kind, bytes, done } = change;
      if (tether !== killed) continue;
      this.#pending.delete(change);
      if (kind === 'move') this.#movedUntold.add(name);
      if (bytes && faults.occurs('torn-write')) {
        this.#harm(name, bytes);
      } else if (dice.chance(0.5)) done();
      else if (bytes) this.#leaveDraft(name, bytes);
    }
  }

  // --- reading -----------------------------------------------------------------------------

  async #read(tether: Tether, name: string): Promise<Buffer | undefined> {
    await this.moment(tether);
    const { faults } = this.#world;
    if (faults.occurs('disk-unreadable')) {
      this.#unreadable += 1;
      throw systemError('EIO');
    }
    const bytes = this.#files.get(name);
    if (bytes && faults.occurs('disk-rot')) this.#harm(name, bytes);
    return this.#files.get(name);
  }

  #harm(name: string, bytes: Buffer): void {
    this.#files.set(name, damaged(bytes, this.#world.dice));
    this.#harmed.add(name);
    this.#harms += 1;
    this.#world.trace.add(`disk: ${name} is damaged`);
  }

  #list(folder: string): string[] {
    const start = folder === '' ? '' : `${folder}/`;
    const below = [...this.#files.keys()].filter((name) => name.startsWith(start));
    return [...new Set(below.map((name) => name.slice(start.length).split('/')[0] ?? ''))];
  }

  // --- writing -----------------------------------------------------------------------------

  async #change(change: Pending): Promise<void> {
    this.#pending.add(change);
    await this.moment(change.tether);
    this.#pending.delete(change);
    const code = this.refused();
    if (code === '') return change.done();
    // It may be there all the same, and only its folder could not be forced to the disk.
    if (this.#world.dice.chance(0.2)) change.done();
    throw systemError(code);
  }

  /** The code it refuses a change with, or nothing. A disk that refuses goes on refusing for a while. */
  refused(): string {
    const { clock, dice, faults } = this.#world;
    if (clock.now() < this.#refusal.until) return this.#refusal.code;
    for (const [code, kind] of Object.entries(refusals) as [string, FaultKind][]) {
      if (!faults.occurs(kind)) continue;
      this.#refusal = { code, until: clock.now() + dice.between(0, 15_000) };
      return code;
    }
    return '';
  }

  #write(name: string, bytes: Buffer): void {
    this.#files.set(name, bytes);
    this.#harmed.delete(name);
  }

  #remove(name: string): void {
    this.#files.delete(name);
    this.#harmed.delete(name);
  }

  /** The place stays a harmed one: what belongs there is gone. */
  #move(name: string, moved: string): void {
    const bytes = this.#files.get(name);
    if (bytes) this.#files.set(moved, bytes);
    this.#files.delete(name);
  }

  #leaveDraft(name: string, bytes: Buffer): void {
    const { clock, dice } = this.#world;
    const draft = `${name}.${this.#drafts.size}.tmp`;
    this.#files.set(draft, bytes.subarray(0, dice.between(0, bytes.length)));
    this.#drafts.set(draft, clock.wallNow());
  }

  #tidy(draft: string): void {
    this.#files.delete(draft);
    this.#drafts.delete(draft);
  }

  /** How long something takes on it. */
  moment(tether: Tether): Promise<void> {
    const { dice, faults } = this.#world;
    if (faults.occurs('disk-slow')) return tether.pause(dice.between(500, 3_000));
    // Mostly what is asked for lies in the system's own memory.
    return dice.chance(0.7) ? Promise.resolve() : tether.pause(dice.between(0, 2));
  }
}

/** What is left of a record: its beginning, nothing, zeros after the beginning, or one wrong bit. */
function damaged(bytes: Buffer, dice: Dice): Buffer {
  const place = dice.between(0, bytes.length - 1);
  const form = dice.between(0, 3);
  if (form === 0) return bytes.subarray(0, place);
  if (form === 1) return Buffer.alloc(0);
  const copy = Buffer.from(bytes);
  if (form === 2) copy.fill(0, place);
  else copy[place] = (copy[place] ?? 0) ^ (1 << dice.between(0, 7));
  return copy;
}

function systemError(code: string): Error {
  return Object.assign(new Error(code), { code, errno: -1 });
}
