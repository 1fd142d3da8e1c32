// The book of what a power cut would take: bytes written since the file was last forced to the disk,
// and names made, changed or removed in a folder since the folder was. What was there when the process
// started counts as safe. `cut` takes it back, each folder and each file as far as chance will have it:
// of a folder's changes the later ones, of a file's new bytes the end, or zeros in its place.

import { basename, dirname, join } from 'node:path';

export class Unsynced {
  #real;
  #plan;
  /** Of each file written to: how many of its bytes are safe. */
  #safeBytes = new Map();
  /** Changes of names, in the order in which they happened. */
  #changes = [];
  #backups = 0;

  constructor(real, plan) {
    this.#real = real;
    this.#plan = plan;
  }

  /** Another name for what is at the path now, in case it has to come back; null if nothing is. */
  backup(path) {
    const { backups } = this.#plan;
    if (backups === null) return null;
    this.#backups += 1;
    const copy = join(backups, `${process.pid}-${this.#backups}-${basename(path)}`);
    try {
      this.#real.linkSync(path, copy);
      return copy;
    } catch {
      // Nothing is there, or it is a folder, which is never removed.
      return null;
    }
  }

  writing(path) {
    if (!this.#safeBytes.has(path)) this.#safeBytes.set(path, this.#sizeOf(path));
  }

  emptied(path) {
    this.#safeBytes.set(path, 0);
  }

  truncated(path, size) {
    const safe = this.#safeBytes.get(path);
    if (safe !== undefined) this.#safeBytes.set(path, Math.min(safe, size));
  }

  synced(path) {
    this.#safeBytes.delete(path);
  }

  created(path) {
    this.#safeBytes.set(path, 0);
    this.#changes.push({
      folder: dirname(path),
      undo: () => this.#real.rmSync(path, { force: true }),
      what: `made ${basename(path)}`,
    });
  }

  made(path) {
    const undo = () => this.#real.rmSync(path, { recursive: true, force: true });
    this.#changes.push({ folder: dirname(path), undo, what: `made folder ${basename(path)}` });
  }

  renamed(from, to, before) {
    const safe = this.#safeBytes.get(from);
    this.#safeBytes.delete(from);
    this.#safeBytes.delete(to);
    if (safe !== undefined) this.#safeBytes.set(to, safe);
    const undo = () => {
      this.#real.renameSync(to, from);
      if (before !== null) this.#real.linkSync(before, to);
      const moved = this.#safeBytes.get(to);
      if (moved !== undefined) this.#safeBytes.set(from, moved);
      this.#safeBytes.delete(to);
    };
    this.#changes.push({ folder: dirname(to), undo, what: `renamed to ${basename(to)}` });
  }

  removed(path, before) {
    this.#safeBytes.delete(path);
    if (before === null) return;
    const undo = () => this.#real.linkSync(before, path);
    this.#changes.push({ folder: dirname(path), undo, what: `removed ${basename(path)}` });
  }

  folderSynced(folder) {
    this.#changes = this.#changes.filter((change) => change.folder !== folder);
  }

  /** Takes back what was not forced to the disk, and says what. */
  cut() {
    const undone = [];
    const kept = new Map();
    for (const { folder } of this.#changes) kept.set(folder, (kept.get(folder) ?? 0) + 1);
    for (const [folder, count] of kept)
      kept.set(folder, Math.floor(this.#plan.chance() * (count + 1)));
    const lost = this.#changes.filter(({ folder }) => {
      const left = kept.get(folder) ?? 0;
      kept.set(folder, left - 1);
      return left <= 0;
    });
    for (const { undo, what } of lost.reverse()) {
      try {
        undo();
        undone.push(`not ${what}`);
      } catch {
        // It went with a folder that was taken back before it.
      }
    }
    for (const [path, safe] of this.#safeBytes) undone.push(...this.#tear(path, safe));
    return undone;
  }

  #tear(path, safe) {
    const size = this.#sizeOf(path);
    if (size <= safe) return [];
    const end = safe + Math.floor(this.#plan.chance() * (size - safe + 1));
    if (end === size) return [];
    const leavesZeros = this.#plan.chance() < 0.25;
    this.#real.truncateSync(path, end);
    if (leavesZeros) this.#real.truncateSync(path, size);
    return [`${basename(path)} ${leavesZeros ? 'zeros from' : 'cut at'} ${end} of ${size}`];
  }

  #sizeOf(path) {
    return this.#real.statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  }
}
