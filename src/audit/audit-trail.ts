// The audit log of one process: takes records, and writes them in their order by one writer. A record that
// is only `noted` costs its caller a push to a list: records are gathered for a moment and written
// together, and if the disk fails they wait, up to a limit. A record that is `kept` resolves when it is on
// the disk; those that come while the disk is busy are written together by the next write. What could not
// be written is counted, and the log itself says so as soon as it can be written again.

import { type Clock, within } from '../kernel/clock.ts';
import { type Caught, contain, ignored } from '../kernel/contain.ts';
import { remedyFor } from '../kernel/disk-remedy.ts';
import { errnoOf } from '../kernel/errno.ts';
import type { AuditRecord, LostRecord } from './audit-record.ts';
import { type Denial, Denials } from './denials.ts';

/** Where the records go. */
export interface AuditSink {
  append(records: readonly AuditRecord[], isSynced: boolean): Promise<void>;
  close(last: AuditRecord): Promise<void>;
}

/** A record could not be kept; the message says why and what helps. */
export class NotAudited extends Error {
  /** Nobody waits for it any more, but it may still be written. */
  readonly isPending: boolean;
  /** Too many wait already, because the disk does not take them. */
  readonly isFull: boolean;

  constructor(message: string, { isPending = false, isFull = false } = {}) {
    super(message);
    this.isPending = isPending;
    this.isFull = isFull;
  }
}

export interface AuditTrailOptions {
  readonly clock: Clock;
  /** Opens the log when the first record has come; again after it failed. */
  readonly open: () => Promise<AuditSink>;
  /** Names the log in messages. */
  readonly folder: string;
  /** One line for each problem that begins or ends. */
  readonly report: (line: string) => void;
  readonly process: string;
  /** An unexpected error, which costs one record. */
  readonly caught: Caught;
  /** How many records may wait while the disk fails or hangs: so many that are noted, and so many that are kept. */
  readonly maxWaiting?: number;
}

export interface AuditHealth {
  /** Why nothing can be written now; null if it can. */
  readonly problem: string | null;
  /** Records that were not written, since the process began. */
  readonly lost: number;
  /** Calls that were refused because their record could not be kept. */
  readonly refused: number;
}

interface Entry {
  readonly record: AuditRecord;
  /** Of a record that somebody waits for. */
  readonly settle?: (error: NotAudited | undefined) => void;
}

const gatherMs = 20;
const retryMs = 1_000;
const maxBatch = 1_000;
/** A disk that has not written in this time counts as one that fails. */
const keepMs = 10_000;

export class AuditTrail implements AsyncDisposable {
  readonly #options: AuditTrailOptions;
  readonly #maxWaiting: number;
  readonly #denials: Denials;
  /** At most `maxBatch`, for `gatherMs`. */
  #denied: Denial[] = [];
  #deniedTimer: Disposable | undefined;
  #waiting: Entry[] = [];
  /** Of those, the ones that are to be kept; also when nobody waits for them any more. */
  #toKeep = 0;
  #sink: AuditSink | undefined;
  #working: Promise<void> | undefined;
  #timer: Disposable | undefined;
  #problem: string | null = null;
  #lost = 0;
  #refused = 0;
  /** Of both, what the log itself does not say yet. */
  #untold = { records: 0, refused: 0 };
  #closing: Promise<void> | undefined;

  constructor(options: AuditTrailOptions) {
    this.#options = options;
    this.#maxWaiting = options.maxWaiting ?? 10_000;
    this.#denials = new Denials({ clock: options.clock, write: (record) => this.note(record) });
  }

  get health(): AuditHealth {
    return { problem: this.#problem, lost: this.#lost, refused: this.#refused };
  }

  /** Written soon. */
  note(record: AuditRecord): void {
    if (this.#closing !== undefined) return;
    this.#waiting.push({ record });
    this.#dropOldest();
    this.#timer ??= this.#wakeIn(this.#pauseMs);
  }

  /**
   * Written soon, and those of one principal with a limit: further ones are counted (denials.ts). The record is made
   * later than now, so that no answer of this moment takes longer for it.
   */
  noteDenied(denial: Denial): void {
    if (this.#closing !== undefined) return;
    this.#denied.push(denial);
    if (this.#denied.length >= maxBatch) this.#takeDenied();
    else this.#deniedTimer ??= this.#options.clock.after(gatherMs, () => this.#takeDenied(), true);
  }

  #takeDenied(): void {
    this.#deniedTimer?.[Symbol.dispose]();
    this.#deniedTimer = undefined;
    const denied = this.#denied;
    this.#denied = [];
    for (const denial of denied) {
      contain(
        () => this.#denials.add(denial),
        (error) => this.#missing(error),
      );
    }
  }

  /** A record could not be made; the log says that it has one less. */
  #missing(error: unknown): void {
    this.#lost += 1;
    this.#untold.records += 1;
    this.#options.caught(error);
  }

  /** Resolves when it is on the disk. Rejects with `NotAudited` if that cannot be done. */
  keep(record: AuditRecord): Promise<void> {
    if (this.#closing !== undefined)
      return Promise.reject(new NotAudited('the audit log is closed'));
    if (this.#toKeep >= this.#maxWaiting) return this.#refuseFull();
    return new Promise<void>((resolve, reject) => {
      let isOver = false;
      const settle = (error: NotAudited | undefined) => {
        if (isOver) return;
        isOver = true;
        late[Symbol.dispose]();
        if (error === undefined) return resolve();
        this.#refused += 1;
        this.#untold.refused += 1;
        reject(error);
      };
      const late = this.#options.clock.after(keepMs, () =>
        settle(new NotAudited(this.#slow(), { isPending: true })),
      );
      this.#waiting.push({ record, settle });
      this.#toKeep += 1;
      this.#work();
    });
  }

  #refuseFull(): Promise<never> {
    const { folder } = this.#options;
    const why = `${this.#toKeep} lines wait for the disk of the audit log ${folder}, which is the limit: check the disk`;
    this.#refused += 1;
    this.#untold.refused += 1;
    this.#troubled(why);
    return Promise.reject(new NotAudited(why, { isFull: true }));
  }

  #troubled(why: string): void {
    const isNew = this.#problem === null;
    this.#problem ??= why;
    if (isNew) this.#options.report(why);
  }

  #slow(): string {
    return `the disk of the audit log ${this.#options.folder} did not take a line within ${keepMs / 1_000} s: check the disk`;
  }

  #wakeIn(ms: number): Disposable {
    const wake = () => {
      // What is written just now is followed by what has come meanwhile, and sets the next time.
      this.#timer = undefined;
      this.#work();
    };
    return this.#options.clock.after(ms, wake, true);
  }

  #work(): void {
    if (this.#working !== undefined) return;
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
    this.#working = this.#writeAll()
      // `#writeAll` handles what the disk does; anything else must not stop the log.
      .catch((error: unknown) => this.#failed([], error))
      .finally(() => {
        this.#working = undefined;
        if (this.#waiting.some(({ settle }) => settle)) this.#work();
        else if (this.#waiting.length > 0) this.#timer ??= this.#wakeIn(this.#pauseMs);
      });
    this.#working.catch(ignored);
  }

  get #pauseMs(): number {
    return this.#problem === null ? gatherMs : retryMs;
  }

  async #writeAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, maxBatch);
      this.#toKeep -= batch.filter(({ settle }) => settle !== undefined).length;
      const admission = this.#admission();
      try {
        this.#sink ??= await this.#options.open();
        const isSynced = batch.some(({ settle }) => settle !== undefined);
        await this.#sink.append([...admission, ...batch.map(({ record }) => record)], isSynced);
      } catch (error) {
        this.#failed(batch, error);
        return;
      }
      this.#tell(admission);
      for (const { settle } of batch) settle?.(undefined);
      this.#recovered();
    }
  }

  /** What is missing before the next record. */
  #admission(): readonly LostRecord[] {
    const { records, refused } = this.#untold;
    if (records === 0 && refused === 0) return [];
    return [{ kind: 'lost', at: this.#options.clock.wallNow(), records, refused }];
  }

  /** It is in the log now; more may have been lost meanwhile. */
  #tell([told]: readonly LostRecord[]): void {
    const { records, refused } = this.#untold;
    if (told === undefined) return;
    this.#untold = { records: records - told.records, refused: refused - told.refused };
  }

  /** Those that somebody waits for are given up, the others wait. */
  #failed(batch: readonly Entry[], error: unknown): void {
    const why = this.#reason(error);
    const isNew = this.#problem === null;
    this.#problem = why;
    for (const { settle } of batch) settle?.(new NotAudited(why));
    this.#waiting = [...batch.filter(({ settle }) => settle === undefined), ...this.#waiting];
    this.#dropOldest();
    if (isNew) this.#options.report(why);
  }

  #reason(error: unknown): string {
    const { folder } = this.#options;
    const code = errnoOf(error);
    if (code !== undefined) {
      const { path = folder } = error as { readonly path?: string };
      return `the audit log cannot be written: ${path} (${code}): ${remedyFor(code)}`;
    }
    const words = error instanceof Error ? error.message : String(error);
    return `the audit log ${folder} cannot be written: ${words}`;
  }

  /** Records that are to be kept are not dropped: no more are taken than there is room for. */
  #dropOldest(): void {
    while (this.#waiting.length - this.#toKeep > this.#maxWaiting) {
      const at = this.#waiting.findIndex(({ settle }) => settle === undefined);
      if (at < 0) return;
      this.#waiting.splice(at, 1);
      this.#lost += 1;
      this.#untold.records += 1;
      this.#troubled(this.#slow());
    }
  }

  #recovered(): void {
    if (this.#problem === null) return;
    this.#problem = null;
    this.#options.report(`the audit log ${this.#options.folder} is written again`);
  }

  [Symbol.asyncDispose](): Promise<void> {
    if (this.#closing === undefined) {
      this.#takeDenied();
      this.#denials.flush();
    }
    // A disk that hangs does not hold up the end.
    this.#closing ??= within(this.#options.clock, keepMs, this.#end());
    return this.#closing;
  }

  async #end(): Promise<void> {
    while (this.#working !== undefined) await this.#working;
    this.#timer?.[Symbol.dispose]();
    // What waits is tried once more.
    await this.#writeAll();
    this.#timer?.[Symbol.dispose]();
    this.#lost += this.#waiting.length;
    if (this.#waiting.length > 0) {
      const told = `${this.#waiting.length} records of the audit log could not be written and are lost`;
      this.#options.report(told);
    }
    this.#waiting = [];
    const { clock, process } = this.#options;
    try {
      await this.#sink?.close({ kind: 'stop', at: clock.wallNow(), process });
    } catch (error) {
      this.#options.report(this.#reason(error));
    }
  }
}
