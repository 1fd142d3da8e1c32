// A disk in memory that fails on demand, with the system's own kind of error, and the store on files on
// such a disk as a subject of the store suite.

import type { Disk } from '../../src/store/disk.ts';
import { FileStore } from '../../src/store/file-store.ts';
import type { StoreSubject } from './store-suite/subject.ts';

export class FakeDisk implements Disk {
  readonly files = new Map<string, Buffer>();
  /** The error code with which each operation fails, while it is set. */
  readonly failing: Partial<Record<'read' | 'replace' | 'remove' | 'setAside' | 'list', string>> =
    {};
  writes = 0;

  pathOf(name: string): string {
    return `/state/${name}`;
  }
  async read(name: string): Promise<Buffer | undefined> {
    this.#failIf('read');
    return this.files.get(name);
  }
  async replace(name: string, bytes: Buffer): Promise<void> {
    this.#failIf('replace');
    this.writes += 1;
    this.files.set(name, bytes);
  }
  async remove(name: string): Promise<void> {
    this.#failIf('remove');
    this.files.delete(name);
  }
  async setAside(name: string): Promise<string> {
    this.#failIf('setAside');
    const bytes = this.files.get(name);
    this.files.delete(name);
    if (bytes !== undefined) this.files.set(`${name}.damaged`, bytes);
    return `${name}.damaged`;
  }
  async list(folder: string): Promise<readonly string[]> {
    this.#failIf('list');
    const start = folder === '' ? '' : `${folder}/`;
    const names = [...this.files.keys()].filter((name) => name.startsWith(start));
    return [...new Set(names.map((name) => name.slice(start.length).split('/')[0] ?? ''))];
  }
  async tidy(_folder: string, _before: number): Promise<void> {}

  #failIf(operation: keyof FakeDisk['failing']): void {
    const code = this.failing[operation];
    if (code !== undefined) throw Object.assign(new Error(operation), { errno: -1, code });
  }
}

export const onFakeDisk: StoreSubject = {
  offers: { records: ['durable', 'forgetful'], logs: [], queues: [], counters: [] },
  boundsRecords: false,
  outlivesClosing: true,
  place: () => {
    const disk = new FakeDisk();
    return {
      open: (clock) => new FileStore({ disk, clock, report: () => {} }),
      refuse: (isRefusing) => {
        for (const operation of ['replace', 'remove'] as const) {
          if (isRefusing) disk.failing[operation] = 'ENOSPC';
          else delete disk.failing[operation];
        }
      },
    };
  },
};
