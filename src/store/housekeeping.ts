// Keeping the store's folders clean: records whose time is over, and what crashes have left half-written.
// It never fails anybody: a disk that does not let it is one complaint. When to do it is the store's.

import type { Clock } from '../kernel/clock.ts';
import type { Disk } from './disk.ts';
import type { Complaints } from './problem.ts';
import type { StoredRecord } from './record.ts';
import type { RecordFiles } from './record-files.ts';
import { isStoreName } from './store.ts';

/** A file that is being written is renamed within a moment; one that stays has lost its writer. */
const leftoverAgeMs = 60_000;

export interface HousekeepingParts {
  readonly disk: Disk;
  readonly files: RecordFiles;
  readonly clock: Clock;
  readonly complaints: Complaints;
}

export class Housekeeping {
  readonly #parts: HousekeepingParts;

  constructor(parts: HousekeepingParts) {
    this.#parts = parts;
  }

  isAlive({ expiresAt }: StoredRecord): boolean {
    return expiresAt === null || this.#parts.clock.wallNow() < expiresAt;
  }

  /** Removes what was left half-written in a collection. */
  tidy(collection: string): Promise<void> {
    const { disk, clock } = this.#parts;
    return this.#unlessRefused(collection, () =>
      disk.tidy(collection, clock.wallNow() - leftoverAgeMs),
    );
  }

  /** Goes through everything; files that are waiting to be written are left alone. */
  sweep(isWaiting: (file: string) => boolean): Promise<void> {
    const { disk, files } = this.#parts;
    return this.#unlessRefused('', async () => {
      for (const collection of (await disk.list('')).filter(isStoreName)) {
        await this.tidy(collection);
        for (const file of (await files.list(collection)).files) {
          if (!isWaiting(file)) await this.#sweepOne(file);
        }
      }
    });
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
