import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { EventLog, type EventLogOptions, type EventLogProblem } from './event-log.ts';
import type { Appended, LogFile } from './log-file.ts';

/** A file in memory that takes only so many bytes of a batch while `failure` is set. */
class FakeFile implements LogFile {
  readonly path = '/state/events.jsonl';
  readonly batches: string[] = [];
  failure: { readonly code: string; readonly takes: number; readonly file?: string } | undefined;
  attempts = 0;
  isClosed = false;

  async append(lines: Buffer): Promise<Appended> {
    this.attempts += 1;
    if (this.failure === undefined) {
      this.batches.push(lines.toString());
      return { kind: 'all' };
    }
    const { code, takes, file = this.path } = this.failure;
    // A fragment at the end is mended by the real file; here only whole lines count.
    const whole = lines.subarray(0, lines.subarray(0, takes).lastIndexOf(0x0a) + 1);
    if (whole.length > 0) this.batches.push(whole.toString());
    const writtenBytes = Math.min(takes, lines.length);
    return { kind: 'failed', writtenBytes, code, file };
  }
  async [Symbol.asyncDispose](): Promise<void> {
    this.isClosed = true;
  }
  get records(): { n?: number; kind?: string; count?: number }[] {
    return this.batches.flatMap((batch) =>
      batch
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line)),
    );
  }
}

function setUp(options: Partial<EventLogOptions> = {}) {
  const file = new FakeFile();
  const clock = new ManualClock();
  const problems: EventLogProblem[] = [];
  const report = (problem: EventLogProblem) => void problems.push(problem);
  const log = new EventLog(file, { clock, report, ...options });
  const appendAll = (...numbers: number[]) => {
    for (const n of numbers) log.append({ n });
  };
  return { file, clock, problems, log, appendAll };
}
const kindsOf = (problems: readonly EventLogProblem[]) => problems.map(({ kind }) => kind);

describe('the event log', () => {
  it('gathers what happens within a few milliseconds into one write', async () => {
    const { file, clock, log, appendAll } = setUp();
    appendAll(1, 2, 3);
    expect(file.attempts).toBe(0);
    clock.advance(5);
    await log.flush();
    expect(file.batches).toEqual(['{"n":1}\n{"n":2}\n{"n":3}\n']);
  });

  it('shows a disk that fails as its health, with the file and the remedy, until it works', async () => {
    const { file, log, appendAll } = setUp();
    expect(log.health()).toEqual({ ok: true });
    file.failure = { code: 'ENOSPC', takes: 0 };
    appendAll(1);
    await log.flush();
    expect(log.health()).toEqual({
      ok: false,
      problem:
        '/state/events.jsonl: events cannot be written (ENOSPC) and are kept in memory: free space on that disk, or set telemetry.eventLog to false',
    });
    file.failure = undefined;
    await log.flush();
    expect(log.health()).toEqual({ ok: true });
    expect(file.records).toEqual([{ n: 1 }]);
  });

  it('names another file where that is the trouble', async () => {
    const { file, log, appendAll, problems } = setUp();
    file.failure = { code: 'EISDIR', takes: 0, file: '/state/events.jsonl.1' };
    appendAll(1);
    await log.flush();
    expect(problems[0]?.detail).toContain('because of /state/events.jsonl.1');
    expect(problems[0]?.detail).toContain('move it away');
  });

  it('writes at once when it is asked to', async () => {
    const { file, log, clock, appendAll } = setUp();
    appendAll(1);
    await log.flush();
    expect(file.records).toEqual([{ n: 1 }]);
    expect(clock.waiting).toBe(0);
  });

  it('cuts a rush into batches, between lines', async () => {
    const { file, log } = setUp();
    for (let n = 0; n < 100; n += 1) log.append({ n, pad: 'x'.repeat(2_000) });
    await log.flush();
    expect(file.batches.length).toBeGreaterThan(1);
    expect(file.batches.every((batch) => batch.length <= 65_536 && batch.endsWith('\n'))).toBe(
      true,
    );
    expect(file.records.map(({ n }) => n)).toEqual(Array.from({ length: 100 }, (_, n) => n));
  });

  it('writes the rest when it ends, and ignores what comes later', async () => {
    const { file, log, clock, appendAll } = setUp();
    appendAll(1);
    await Promise.all([log[Symbol.asyncDispose](), log[Symbol.asyncDispose]()]);
    appendAll(2);
    expect(file.records).toEqual([{ n: 1 }]);
    expect(file.isClosed).toBe(true);
    expect(clock.waiting).toBe(0);
  });
});

describe('the aggregates in the event log', () => {
  it('stand after every so many records and at the end', async () => {
    const aggregate = () => ({ kind: 'aggregate' });
    const { file, log, appendAll } = setUp({ aggregate, aggregateEvery: 2 });
    appendAll(1, 2, 3, 4, 5);
    await log[Symbol.asyncDispose]();
    expect(file.records.map(({ n, kind }) => n ?? kind)).toEqual([
      1,
      2,
      'aggregate',
      3,
      4,
      'aggregate',
      5,
      'aggregate',
    ]);
  });

  it('are not written when nothing has happened since the last', async () => {
    const { file, log, appendAll } = setUp({
      aggregate: () => ({ kind: 'aggregate' }),
      aggregateEvery: 1,
    });
    appendAll(1);
    await log[Symbol.asyncDispose]();
    expect(file.records).toHaveLength(2);
  });

  it('that cannot be made do not hold up the records', async () => {
    const aggregate = () => {
      throw new Error('a defect');
    };
    const { file, log, problems, appendAll } = setUp({ aggregate, aggregateEvery: 1 });
    appendAll(1, 2);
    await log.flush();
    expect(file.records).toEqual([{ n: 1 }, { n: 2 }]);
    expect(kindsOf(problems)).toEqual(['unsayable']);
  });
});

describe('the event log on a failing disk', () => {
  it('says so once for each kind of error, and keeps the records', async () => {
    const { file, log, problems, clock, appendAll } = setUp();
    file.failure = { code: 'ENOSPC', takes: 0 };
    appendAll(1);
    await log.flush();
    appendAll(2);
    await log.flush();
    file.failure = { code: 'EIO', takes: 0 };
    await log.flush();
    expect(problems.map(({ code }) => code)).toEqual(['ENOSPC', 'EIO']);
    expect(problems[0]?.detail).toMatch(/^\/state\/events\.jsonl: .*ENOSPC.*telemetry\.eventLog/);
    file.failure = undefined;
    clock.advance(1_000);
    await log.flush();
    expect(file.records).toEqual([{ n: 1 }, { n: 2 }]);
    expect(kindsOf(problems)).toEqual(['unwritable', 'unwritable', 'recovered']);
  });

  it('is not asked again with every record, only once a second', async () => {
    const { file, clock, log, appendAll } = setUp();
    file.failure = { code: 'ENOSPC', takes: 0 };
    appendAll(1);
    await log.flush();
    for (let ms = 0; ms < 990; ms += 10) {
      appendAll(ms);
      clock.advance(10);
    }
    await Promise.resolve();
    expect(file.attempts).toBe(1);
    clock.advance(10);
    await log.flush();
    expect(file.attempts).toBe(3);
  });

  it('writes no line twice when a batch got through in part', async () => {
    const { file, log, appendAll } = setUp();
    file.failure = { code: 'ENOSPC', takes: 12 };
    appendAll(1, 2, 3);
    await log.flush();
    file.failure = undefined;
    await log.flush();
    expect(file.records).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }]);
  });

  it('lets the oldest go when too many wait, and writes down how many', async () => {
    const { file, log, problems, appendAll } = setUp({ maxWaiting: 3 });
    file.failure = { code: 'ENOSPC', takes: 0 };
    appendAll(1, 2, 3, 4);
    await log.flush();
    appendAll(5, 6);
    file.failure = undefined;
    await log.flush();
    expect(file.records).toMatchObject([
      { n: 4 },
      { n: 5 },
      { n: 6 },
      { kind: 'events-dropped', count: 3 },
    ]);
    expect(kindsOf(problems)).toContain('dropped');
  });

  it('ends all the same, and says what is lost', async () => {
    const { file, log, problems, clock, appendAll } = setUp();
    file.failure = { code: 'ENOSPC', takes: 0 };
    appendAll(1, 2);
    await log[Symbol.asyncDispose]();
    expect(problems.at(-1)?.detail).toContain('2 events could not be written');
    expect(clock.waiting).toBe(0);
  });

  it('never throws at the one who appends, whatever the record is', async () => {
    const { file, log, problems, appendAll } = setUp();
    const circle: { self?: unknown } = {};
    circle.self = circle;
    log.append(circle);
    log.append({ n: 1n });
    appendAll(1);
    await log.flush();
    expect(file.records).toEqual([{ n: 1 }]);
    expect(kindsOf(problems)).toEqual(['unsayable']);
  });
});
