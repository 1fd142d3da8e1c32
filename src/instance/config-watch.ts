// Follows the files of a config while it is in use: the file itself, and those it names. Folders are
// watched, because editors replace files by renaming others onto them; a look of its own twice a second covers
// file systems that tell nothing, and notices that are missed. A change counts when two looks in a row find the
// same, so that a file that is still being written is not read: it is reported within `noticedMs` of the last
// write, whatever else is written in the folder, and while an earlier change is still being taken over. What a
// change means is for others to decide.

import { type FSWatcher, watch } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { dirname } from 'node:path';
import { stateOfFiles } from '../config/file-state.ts';
import type { Clock } from '../kernel/clock.ts';
import { ignored } from '../kernel/contain.ts';
import { errnoOf } from '../kernel/errno.ts';

export interface ConfigWatchParts {
  readonly clock: Clock;
  /** The files as they are now; asked again after each change. */
  readonly files: () => readonly string[];
  /** Something has changed, and is stable. Never rejects; it may be called again before it has resolved. */
  readonly changed: () => Promise<void>;
  /** How long it takes until a change is noticed of which nothing tells; absent: `slowMs`. */
  readonly slowMs?: number;
  /** The state of files, for tests; absent: that of the real ones. */
  readonly stateOf?: (files: readonly string[]) => Promise<string>;
}

/** After a hint, and between two looks at something that is changing. */
const settleMs = 100;
/** Without a hint. */
const slowMs = 500;
/**
 * A change is reported within this time of the last write, if the machine is not overloaded.
 * @internal for the test that measures it
 */
export const noticedMs = 1_000;

export class ConfigWatch implements Disposable {
  readonly #parts: ConfigWatchParts;
  /** One for each folder of the files. */
  #watchers = new Map<string, FSWatcher>();
  /** What the config in use was read from. */
  #used: string;
  /** What the last look has found. */
  #seen: string;
  #timer: Disposable | undefined;
  /** When the next look is due; monotonic. */
  #dueAt = Number.POSITIVE_INFINITY;
  #isLooking = false;
  /** There was a hint while it looked: what it has found may be old. */
  #isTouched = false;
  #isOver = false;

  /** `used` is the state of the files when they were read. They may have changed since then. */
  constructor(parts: ConfigWatchParts, used: string) {
    this.#parts = parts;
    this.#used = used;
    this.#seen = used;
    this.#follow();
    this.#lookIn(settleMs);
  }

  [Symbol.dispose](): void {
    this.#isOver = true;
    this.#timer?.[Symbol.dispose]();
    for (const watcher of this.#watchers.values()) watcher.close();
    this.#watchers.clear();
  }

  /** A folder says that something in it has changed. */
  touched(): void {
    if (this.#isLooking) this.#isTouched = true;
    // A look that is due sooner stays: in a folder with many changes there would be none otherwise.
    else if (this.#dueAt > this.#parts.clock.now() + settleMs) this.#lookIn(settleMs);
  }

  #lookIn(ms: number): void {
    if (this.#isOver) return;
    this.#timer?.[Symbol.dispose]();
    this.#dueAt = this.#parts.clock.now() + ms;
    this.#timer = this.#parts.clock.after(ms, () => this.#look().catch(ignored), true);
  }

  async #look(): Promise<void> {
    const { stateOf = stateOfFiles, files, slowMs: unhintedMs = slowMs } = this.#parts;
    this.#isLooking = true;
    this.#isTouched = false;
    let isStable = false;
    try {
      const state = await stateOf(files());
      isStable = state === this.#seen;
      this.#seen = state;
    } finally {
      this.#isLooking = false;
      this.#lookIn(isStable && !this.#isTouched ? unhintedMs : settleMs);
    }
    if (!isStable || this.#seen === this.#used || this.#isOver) return;
    this.#used = this.#seen;
    await this.#parts.changed();
    this.#follow();
  }

  /** The folders of the files, and of the files that links lead to. */
  #follow(): void {
    if (this.#isOver) return;
    foldersOf(this.#parts.files())
      .then((folders) => this.#watch(folders))
      .catch(ignored);
  }

  #watch(folders: ReadonlySet<string>): void {
    if (this.#isOver) return;
    for (const [folder, watcher] of this.#watchers) {
      if (folders.has(folder)) continue;
      watcher.close();
      this.#watchers.delete(folder);
    }
    for (const folder of folders) if (!this.#watchers.has(folder)) this.#watchOne(folder);
  }

  /** A folder that cannot be watched is looked at slowly. */
  #watchOne(folder: string): void {
    const forget = () => {
      this.#watchers.get(folder)?.close();
      this.#watchers.delete(folder);
    };
    try {
      const watcher = watch(folder, { persistent: false }, () => this.touched());
      watcher.on('error', forget);
      this.#watchers.set(folder, watcher);
    } catch (error) {
      if (errnoOf(error) === undefined) throw error;
    }
  }
}

async function foldersOf(files: readonly string[]): Promise<ReadonlySet<string>> {
  const real = await Promise.all(files.map((file) => realpath(file).catch(() => file)));
  return new Set([...files, ...real].map((file) => dirname(file)));
}
