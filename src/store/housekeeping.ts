// Cleans the store's folders: expired records, and temporary files that crashes left. It never
// fails an operation: a disk that refuses it is reported once. The store decides when to run it.

import type { Clock } from '../kernel/clock.ts';
import type { Disk } from './disk.ts';
import type { Complaints } from './problem.ts';
import type { StoredRecord } from './record.ts';
import type { RecordFiles } from './record-files.ts';
import { isStoreName } from './store.ts';

/** A temporary file is renamed within a moment; one that stays has lost its writer. */
const leftoverAgeMs = 60_000;

export interface HousekeepingParts {
  readonly disk: Disk;
  readonly files: RecordFiles;
  readonly clock: Clock;
  readonly complaints: Complaints;
}

/** Nothing else is done with the records of a collection meanwhile. */
type InTurn = (collection: string, work: () => Promise<void>) => Promise<void>;

export class Housekeeping {
  readonly #parts: HousekeepingParts;
  #isStopped = false;

  constructor(parts: HousekeepingParts) {
    this.#parts = parts;
  }

  isAlive({ expiresAt }: StoredRecord): boolean {
    return expiresAt === null || this.#parts.clock.wallNow() < expiresAt;
  }

  /** Removes temporary files of a collection. */
  tidy(collection: string): Promise<void> {
    const { disk, clock } = this.#parts;
    return this.#unlessRefused(collection, () =>
      disk.tidy(collection, clock.wallNow() - leftoverAgeMs),
    );
  }

  /** The store is being closed: a sweep under way ends with the file that it is at. */
  stop(): void {
    this.#isStopped = true;
  }

  /** Checks all records, those of each collection in its turn; files with pending changes are skipped. */
  sweep(isWaiting: (file: string) => boolean, inTurn: InTurn): Promise<void> {
    return this.#unlessRefused('', async () => {
      for (const collection of (await this.#parts.disk.list('')).filter(isStoreName)) {
        if (this.#isStopped) return;
        await inTurn(collection, () => this.#sweepAll(collection, isWaiting));
      }
    });
  }

  async #sweepAll(collection: string, isWaiting: (file: string) => boolean): Promise<void> {
    await this.tidy(collection);
    for (const file of (await this.#parts.files.list(collection)).files) {
      if (this.#isStopped) return;
      if (!isWaiting(file)) await this.#sweepOne(file);
    }
  }

  async #sweepOne(file: string): Promise<void> {
    const { files } = this.#parts;
    const reading = await files.read(file);
    if (reading.kind === 'damaged') await files.quarantine(file);
    if (reading.kind === 'record' && !this.isAlive(reading.record)) await files.write(file, null);
  }

  async #unlessRefused(name: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      const { complaints, disk } = this.#parts;
      complaints.failure('unreadable', disk.pathOf(name), error);
    }
  }
}
