// A disk for the audit log in memory: it fails on demand with the system's own kind of error, and can be
// made to wait, so that a test sees what happens meanwhile.

import type { AuditDisk, AuditFile } from '../../src/audit/audit-disk.ts';

export class FakeAuditDisk implements AuditDisk {
  readonly files = new Map<string, Buffer>();
  /** The error code with which writing fails, while it is set. */
  failing: string | undefined;
  /** How many bytes of a write that fails are there nevertheless. */
  tornBytes = 0;
  /** What a write waits for, while it is set. */
  held: Promise<void> | undefined;
  /** The file that somebody takes away after the next write; nothing afterwards. */
  moveAfterWrite: string | undefined;
  /** Files that can only be appended to. */
  readonly appendOnly = new Set<string>();
  /** How many files are open. */
  opened = 0;
  syncs = 0;
  writes = 0;

  async list(folder: string): Promise<readonly string[]> {
    const inside = [...this.files.keys()].filter((path) => path.startsWith(`${folder}/`));
    return [...new Set(inside.map((path) => path.slice(folder.length + 1).split('/')[0] ?? ''))];
  }

  async read(path: string): Promise<Buffer> {
    return this.#bytes(path);
  }

  async readEnd(path: string, maxBytes: number) {
    const bytes = this.#bytes(path);
    return { size: bytes.length, end: bytes.subarray(Math.max(0, bytes.length - maxBytes)) };
  }

  async open(path: string): Promise<AuditFile> {
    if (!this.files.has(path)) this.files.set(path, Buffer.alloc(0));
    this.opened += 1;
    return {
      append: async (bytes) => {
        await this.held;
        this.writes += 1;
        const kept = this.failing === undefined ? bytes : bytes.subarray(0, this.tornBytes);
        this.files.set(path, Buffer.concat([this.#bytes(path), kept]));
        this.#fail();
        if (this.moveAfterWrite !== undefined) this.files.delete(this.moveAfterWrite);
        this.moveAfterWrite = undefined;
      },
      sync: async () => {
        this.syncs += 1;
      },
      cut: async (size) => {
        if (this.failing === 'EIO') this.#fail();
        if (this.appendOnly.has(path)) throw systemError('EPERM');
        if (this.files.has(path)) this.files.set(path, this.#bytes(path).subarray(0, size));
      },
      isInPlace: async () => this.files.has(path),
      isAsLeft: async (size) => this.files.get(path)?.length === size,
      close: async () => {
        this.opened -= 1;
      },
    };
  }

  #bytes(path: string): Buffer {
    const bytes = this.files.get(path);
    if (bytes === undefined) throw systemError('ENOENT');
    return bytes;
  }

  #fail(): void {
    if (this.failing !== undefined) throw systemError(this.failing);
  }

  /** The lines of all files of a track, as values. */
  records(folder: string): readonly Record<string, unknown>[] {
    const paths = [...this.files.keys()].filter((path) => path.startsWith(`${folder}/`)).sort();
    return paths
      .flatMap((path) => this.#bytes(path).toString('utf8').split('\n'))
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  }
}

function systemError(code: string): Error {
  return Object.assign(new Error(code), { errno: -1, code });
}
