// A record on disk of the processes that this host has started: a small private file per instance,
// from which the next start learns which processes to sweep if both the host and its reaper die. It
// is written as a whole and renamed into place. A record that cannot be written is reported once
// and tried again with the next change: it is the last of three safety measures, not a reason to
// refuse work.

import { readFileSync, readlinkSync } from 'node:fs';
import { rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { errnoOf } from '../../../kernel/errno.ts';
import { makePrivateFolder } from '../../../kernel/private-folder.ts';
import type { ProcessIdentity } from '../watch/process-table.ts';

export interface InstanceFile {
  readonly version: 1;
  readonly instance: string;
  /** Pids are meaningful only within one boot of one machine and one pid namespace. */
  readonly boot: string;
  readonly pidNamespace: string;
  /** The process that has them now: a later one sweeps them when it is gone. */
  readonly host: ProcessIdentity;
  /** The pid-holder that has started them; absent: the host has. As long as it lives, only it and its serving process end them. */
  readonly holder?: ProcessIdentity | undefined;
  /** The start of the oldest process that may have started one of them; absent: of the host. */
  readonly since?: string | undefined;
  readonly processes: readonly ProcessIdentity[];
  readonly cgroups: readonly string[];
}

export function recordsDir(stateDir: string): string {
  return join(stateDir, 'instances');
}

/** Identifies this boot, as far as the machine tells. */
export function bootId(procDir: string): string {
  try {
    return readFileSync(`${procDir}/sys/kernel/random/boot_id`, 'latin1').trim();
  } catch {
    // Without it only the start times distinguish a record from that of another boot.
    return '';
  }
}

export function pidNamespaceId(procDir: string): string {
  try {
    return readlinkSync(`${procDir}/self/ns/pid`);
  } catch {
    return '';
  }
}

export interface RecordOptions {
  readonly stateDir: string | null;
  readonly instance: string;
  readonly procDir: string;
  readonly host: ProcessIdentity;
  readonly holder?: ProcessIdentity | undefined;
  readonly notice: (message: string) => void;
}

export class InstanceRecord implements AsyncDisposable {
  readonly #options: RecordOptions;
  readonly #file: string | null;
  /** Our children, until they are swept. */
  readonly #processes = new Set<ProcessIdentity>();
  /** Theirs, until they are swept. */
  readonly #cgroups = new Set<string>();
  #writing: Promise<void> = Promise.resolve();
  #isDirty = false;
  #hasFailed = false;
  #isOver = false;
  #wasHandedOver = false;

  constructor(options: RecordOptions) {
    this.#options = options;
    const { stateDir, instance } = options;
    this.#file = stateDir === null ? null : join(recordsDir(stateDir), `${instance}.json`);
  }

  /**
   * Records that this host is alive, before it has any process: its marker alone finds stray
   * processes.
   */
  open(): Promise<void> {
    this.#save();
    return this.#writing;
  }

  add(leader: ProcessIdentity, cgroups: readonly string[]): void {
    this.#processes.add(leader);
    for (const dir of cgroups) this.#cgroups.add(dir);
    this.#save();
  }

  remove(leader: ProcessIdentity, cgroups: readonly string[]): void {
    this.#processes.delete(leader);
    for (const dir of cgroups) this.#cgroups.delete(dir);
    this.#save();
  }

  /** Another process goes on with it: this one writes no more. */
  async handOver(): Promise<void> {
    this.#isOver = true;
    this.#wasHandedOver = true;
    await this.#writing;
  }

  /** After an orderly end nothing needs to be recorded: later changes write no new file. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    await this.#writing;
    if (this.#file === null || this.#wasHandedOver) return;
    try {
      await rm(this.#file, { force: true });
    } catch (error) {
      // No living process can be confused with what it names: the next start removes it.
      this.#complain('remove', error);
    }
  }

  /** Changes at the same moment share a write. */
  #save(): void {
    if (this.#file === null || this.#isDirty || this.#isOver) return;
    this.#isDirty = true;
    const file = this.#file;
    this.#writing = this.#writing.then(() => this.#write(file));
  }

  async #write(file: string): Promise<void> {
    this.#isDirty = false;
    const { instance, procDir, host, holder } = this.#options;
    const content: InstanceFile = {
      version: 1,
      instance,
      boot: bootId(procDir),
      pidNamespace: pidNamespaceId(procDir),
      host,
      holder,
      // Its children may be older than the host.
      since: holder?.start,
      processes: [...this.#processes].map(({ pid, start }) => ({ pid, start })),
      cgroups: [...this.#cgroups],
    };
    try {
      await makePrivateFolder(dirname(file));
      await writeFile(`${file}.new`, JSON.stringify(content), { mode: 0o600 });
      await rename(`${file}.new`, file);
      this.#hasFailed = false;
    } catch (error) {
      if (!this.#hasFailed) this.#complain('write', error);
      this.#hasFailed = true;
    }
  }

  #complain(what: 'write' | 'remove', error: unknown): void {
    const code = errnoOf(error);
    if (code === undefined) throw error;
    const meanwhile = 'until it works, processes are not recorded for cleanup after a crash';
    this.#options.notice(`cannot ${what} ${this.#file} (${code}): ${meanwhile}`);
  }
}
