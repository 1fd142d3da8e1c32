// The event log: events as lines of JSON in `events.jsonl` of the state directory, with a line of
// totals from time to time. Logging costs a call only a push to a list, and never fails it: records
// are collected for a few milliseconds and written together. A disk error is reported once for each
// kind of error; the records stay in memory (up to a limit, then the oldest are dropped), and
// writing is tried again. `log-file.ts` has the file itself, its rotation and its other writers.

import { join } from 'node:path';
import type { Clock } from '../kernel/clock.ts';
import { ignored } from '../kernel/contain.ts';
import { remedyFor } from '../kernel/disk-remedy.ts';
import { commonMembers, eventLine } from './event-line.ts';
import { type LogDamage, type LogFile, RotatedFile } from './log-file.ts';

/** `detail` is one line that names the file and says what to do. */
export interface EventLogProblem {
  readonly kind: 'torn' | 'damaged' | 'unwritable' | 'recovered' | 'dropped' | 'unsayable';
  /** The system's error code, where there is one. */
  readonly code: string | null;
  readonly detail: string;
}

export interface EventLogOptions {
  readonly clock: Clock;
  readonly report: (problem: EventLogProblem) => void;
  /** Added to every line, because several hosts share one log. */
  readonly common?: object;
  /** The totals so far; written as a separate line after every `aggregateEvery` records. */
  readonly aggregate?: () => object;
  readonly aggregateEvery?: number;
  /** How many records may wait while the disk fails. */
  readonly maxWaiting?: number;
}

const gatherMs = 50;
const retryMs = 1_000;
const maxBatchBytes = 65_536;

/** Opens the log in the state directory. Nothing is touched before the first record. */
export function openEventLog(
  stateDirectory: string,
  maxBytes: number,
  options: EventLogOptions,
): EventLog {
  const path = join(stateDirectory, 'events.jsonl');
  const onDamage = (damage: LogDamage) => {
    const kind = damage.kind === 'torn' ? damage.kind : 'damaged';
    options.report({ kind, code: null, detail: `${path} ${damageText(damage)}` });
  };
  const { clock } = options;
  return new EventLog(new RotatedFile({ path, maxBytes, clock, onDamage }), options);
}

function damageText(damage: LogDamage): string {
  switch (damage.kind) {
    case 'torn': {
      const cut = `ended in an unfinished line, left by a crash; ${damage.cutBytes} bytes are cut off`;
      if (damage.savedTo === null) return `${cut}: nothing needs to be done`;
      return `${cut} and kept in ${damage.savedTo}: look at it or delete it`;
    }
    case 'unreadable':
      return `has lines that cannot be read, ${damage.lines} of the last ones; they are skipped: delete them, or leave them`;
    case 'no-log':
      return `is not an event log and was moved to ${damage.movedTo}: look at it or delete it`;
  }
}

/** The same type as the health of a store. */
export type LogHealth = { readonly ok: true } | { readonly ok: false; readonly problem: string };

export class EventLog implements AsyncDisposable {
  readonly #file: LogFile;
  readonly #clock: Clock;
  readonly #report: (problem: EventLogProblem) => void;
  readonly #common: string;
  readonly #aggregate: (() => object) | undefined;
  readonly #aggregateEvery: number;
  readonly #maxWaiting: number;
  #records: object[] = [];
  /** Lines that are formatted but not written; at most one batch, unless the disk fails. */
  #lines: string[] = [];
  #sinceAggregate = 0;
  #dropped = 0;
  /** The kinds of failure that were reported and are not over; a handful. */
  readonly #said = new Set<string>();
  /** Why nothing can be written at present. */
  #problem: string | null = null;
  #timer: Disposable | undefined;
  #writing: Promise<void> = Promise.resolve();
  #closing: Promise<void> | undefined;

  constructor(file: LogFile, options: EventLogOptions) {
    this.#file = file;
    this.#clock = options.clock;
    this.#report = options.report;
    this.#common = commonMembers(options.common ?? {});
    this.#aggregate = options.aggregate;
    this.#aggregateEvery = options.aggregateEvery ?? 1_000;
    this.#maxWaiting = options.maxWaiting ?? 10_000;
  }

  /** Takes a record, which must not change afterwards. Ignored after the log was closed. */
  append(record: object): void {
    if (this.#closing !== undefined) return;
    this.#records.push(record);
    if (this.#records.length > this.#maxWaiting) {
      this.#records.shift();
      this.#dropped += 1;
    }
    this.#timer ??= this.#wakeIn(gatherMs);
  }

  health(): LogHealth {
    return this.#problem === null ? { ok: true } : { ok: false, problem: this.#problem };
  }

  /** Writes the records taken so far, if the disk allows; never rejects because of the disk. */
  flush(): Promise<void> {
    const written = this.#writing.then(() => this.#write());
    // An unexpected error of a write must not stop the log.
    this.#writing = written.catch(ignored);
    return written;
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#closing ??= this.#end();
    return this.#closing;
  }

  async #end(): Promise<void> {
    await this.flush();
    if (this.#sinceAggregate > 0) this.#addAggregate();
    await this.flush();
    this.#timer?.[Symbol.dispose]();
    const lost = this.#lines.length + this.#records.length + this.#dropped;
    if (lost > 0) this.#say('dropped', null, `${lost} events could not be written and are lost`);
    await this.#file[Symbol.asyncDispose]();
  }

  #wakeIn(ms: number): Disposable {
    return this.#clock.after(ms, () => this.flush().catch(ignored), true);
  }

  async #write(): Promise<void> {
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
    this.#gather();
    for (;;) {
      const batch = this.#lines.splice(0, batchLength(this.#lines));
      if (batch.length === 0) return;
      const appended = await this.#file.append(Buffer.from(batch.join('')));
      if (appended.kind === 'failed') {
        this.#lines = [...unwritten(batch, appended.writtenBytes), ...this.#lines];
        this.#failed(appended);
        return;
      }
      this.#recovered();
      this.#admitLoss();
    }
  }

  /** The log records which events are missing from it, as soon as it can. */
  #admitLoss(): void {
    if (this.#dropped === 0) return;
    this.#addLine({ at: this.#clock.wallNow(), kind: 'events-dropped', count: this.#dropped });
    this.#dropped = 0;
  }

  /** Turns records into lines. */
  #gather(): void {
    const records = this.#records;
    this.#records = [];
    for (const record of records) {
      this.#addLine(record);
      this.#sinceAggregate += 1;
      if (this.#sinceAggregate >= this.#aggregateEvery) this.#addAggregate();
    }
    const excess = this.#lines.length - this.#maxWaiting;
    if (excess > 0) this.#dropped += this.#lines.splice(0, excess).length;
    if (this.#dropped === 0) return;
    this.#say(
      'dropped',
      null,
      'events happen faster than they can be written; the oldest are lost',
    );
  }

  #addAggregate(): void {
    this.#sinceAggregate = 0;
    if (this.#aggregate !== undefined) this.#addLine(this.#aggregate);
  }

  /**
   * A record that cannot be serialised is an internal error; it must not fail the call it
   * describes.
   */
  #addLine(record: object | (() => object)): void {
    try {
      const told = typeof record === 'function' ? record() : record;
      this.#lines.push(eventLine(told, this.#common));
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      this.#say('unsayable', null, `an event could not be serialised: ${reason}`);
    }
  }

  #failed({ code, file }: { readonly code: string; readonly file: string }): void {
    const remedy = `${remedyFor(code)}, or set telemetry.eventLog to false`;
    const place = file === this.#file.path ? '' : ` because of ${file}`;
    const text = `events cannot be written (${code})${place} and are kept in memory: ${remedy}`;
    this.#problem = `${this.#file.path}: ${text}`;
    this.#say('unwritable', code, text);
    // Records that came meanwhile have scheduled a write; a failing disk gets more time.
    this.#timer?.[Symbol.dispose]();
    this.#timer = this.#closing === undefined ? this.#wakeIn(retryMs) : undefined;
  }

  #recovered(): void {
    if (this.#problem === null) return;
    this.#problem = null;
    this.#said.clear();
    const detail = `${this.#file.path}: events are written again`;
    this.#report({ kind: 'recovered', code: null, detail });
  }

  #say(kind: 'unwritable' | 'dropped' | 'unsayable', code: string | null, text: string): void {
    const topic = `${kind} ${code}`;
    if (this.#said.has(topic)) return;
    this.#said.add(topic);
    this.#report({ kind, code, detail: `${this.#file.path}: ${text}` });
  }
}

/** How many of the lines form one batch. */
function batchLength(lines: readonly string[]): number {
  let bytes = 0;
  const end = lines.findIndex((line) => {
    bytes += Buffer.byteLength(line);
    return bytes > maxBatchBytes;
  });
  return end === -1 ? lines.length : end;
}

/** The lines that were not written completely. */
function unwritten(lines: readonly string[], writtenBytes: number): readonly string[] {
  let bytes = 0;
  const first = lines.findIndex((line) => {
    bytes += Buffer.byteLength(line);
    return bytes > writtenBytes;
  });
  return first === -1 ? [] : lines.slice(first);
}
