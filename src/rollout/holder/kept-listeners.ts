// The listening sockets of an instance, by name: the holder keeps a copy of each, so that a connection that comes
// while one serving process ends and another starts waits in the kernel and is not refused. One that the present
// serving process has neither opened nor asked for is closed when it serves.

import type { RawHandle } from './raw-handle.ts';

interface Kept {
  readonly handle: RawHandle;
  /** The ordinal of the serving process that has used it last. */
  usedBy: number;
}

/** An instance has two or three. */
const maxListeners = 16;

export class KeptListeners {
  /** Each until a serving process serves that does not use it. */
  readonly #kept = new Map<string, Kept>();

  /** False if there are too many: the handle is closed. */
  keep(name: string, handle: RawHandle, usedBy: number): boolean {
    const earlier = this.#kept.get(name);
    if (earlier === undefined && this.#kept.size >= maxListeners) {
      handle.close();
      return false;
    }
    earlier?.handle.close();
    this.#kept.set(name, { handle, usedBy });
    return true;
  }

  take(name: string, usedBy: number): RawHandle | undefined {
    const kept = this.#kept.get(name);
    if (kept === undefined) return undefined;
    kept.usedBy = Math.max(kept.usedBy, usedBy);
    return kept.handle;
  }

  closeAll(): void {
    for (const { handle } of this.#kept.values()) handle.close();
    this.#kept.clear();
  }

  /** From now on this one serves. */
  tidy(serving: number): void {
    for (const [name, { handle, usedBy }] of this.#kept) {
      if (usedBy >= serving) continue;
      handle.close();
      this.#kept.delete(name);
    }
  }
}
