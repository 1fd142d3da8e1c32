// What an instance keeps, over its rollouts: whoever has the links to the process before and to the next one makes this,
// whoever opens the stores tells it of them. In files the former process writes nothing any more that could replace what
// the next one has written; everything else goes on over the link.

import type { StoreOperation, StoreOutcome } from '../sqlite/operation.ts';
import { StoreError } from '../store-error.ts';
import type { FormerStore } from './former-store.ts';
import { RemoteBackend } from './remote-backend.ts';
import type { StoreLink } from './store-link.ts';

interface HandsOver {
  handOver(link: StoreLink): Promise<void>;
}

interface EndsWriting {
  handOver(): Promise<void>;
}

export class StoreOverRollout {
  /** The process before; undefined: this is the first one. */
  readonly former: FormerStore | undefined;
  #database: HandsOver | undefined;
  #files: EndsWriting | undefined;

  constructor(former?: FormerStore) {
    this.former = former;
  }

  /** Opened with `former`, which it serves. */
  hasDatabase(database: HandsOver): void {
    this.#database = database;
  }

  hasFiles(files: EndsWriting): void {
    this.#files = files;
  }

  /** This process has nothing that the former one could use: what that one asks is refused. */
  hasNothing(): void {
    this.former?.serve({ operate: refused });
  }

  /**
   * Resolves when the next process has everything. Counts that are written into the store (`RoleBudgets.handOver`) have to
   * be handed over before.
   */
  async handOver(link: StoreLink): Promise<void> {
    await this.#files?.handOver();
    if (this.#database !== undefined) return await this.#database.handOver(link);
    // It may have one, by a changed config.
    new RemoteBackend(link).tellReleased();
  }
}

function refused(_: StoreOperation): Promise<StoreOutcome> {
  const detail = 'the process that has taken over has no database of its own any more';
  return Promise.reject(new StoreError('not_kept', detail));
}
