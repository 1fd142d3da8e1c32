import { describe, expect, test } from 'vitest';
import { ManualClock } from '../../test/support/manual-clock.ts';
import type { ServerStatus } from '../host/status.ts';
import { disabledStatus } from '../host/status-reading.ts';
import { Fault } from '../kernel/fault.ts';
import { Traffic } from '../observe/traffic.ts';
import {
  conciseTelemetry,
  fullTelemetryLines,
  telemetryLines,
  telemetrySnapshot,
} from './telemetry.ts';

const clock = new ManualClock(1_000_000);

function server(name: string, generation: number, restarts: number): ServerStatus {
  return { ...disabledStatus(name, ''), generation, restarts };
}

function busy(): Traffic {
  const traffic = new Traffic(clock);
  const ends = (method: string, times: number, latencyMs: number) => {
    for (let index = 0; index < times; index++) {
      traffic.began();
      traffic.ended(method, 'ok', latencyMs);
    }
  };
  ends('tools/call:files/read_file', 8, 12.5);
  ends('tools/list', 7, 1);
  for (const [index, method] of ['a', 'b', 'c', 'd', 'e', 'f'].entries())
    ends(method, 6 - index, 1);
  traffic.began();
  traffic.retried('tools/call:files/read_file');
  traffic.failed(
    'tools/call:files/read_file',
    new Fault('timeout', 'files did not answer\nin time', { server: 'files', tool: 'read_file' }),
    60_000,
  );
  traffic.began();
  return traffic;
}

const starts = (hostRollouts: number) => ({ workerRestarts: 1, hostRollouts });

describe('telemetry', () => {
  test('shows the restarts of servers, and how many failed lately', () => {
    const servers = [server('a', 3, 0), server('b', 1, 0), server('c', 0, 0), server('d', 2, 1)];
    const starts = { workerRestarts: 3, hostRollouts: 0 };
    const telemetry = telemetrySnapshot(new Traffic(clock).snapshot(), { servers }, starts);
    expect(telemetry).toMatchObject({ workerRestarts: 3, recentFailures: 1, hostRollouts: 0 });
  });

  test('is totals and the six hottest methods when concise', () => {
    const full = telemetrySnapshot(
      busy().snapshot(),
      { servers: [server('files', 2, 1)] },
      starts(0),
    );
    const { hotMethods, ...totals } = conciseTelemetry(full);
    expect(totals).toStrictEqual({
      requests: 38,
      inFlight: 1,
      successes: 36,
      responseErrors: 0,
      transportFaults: 1,
      cancelled: 0,
      retries: 1,
      workerRestarts: 1,
      recentFailures: 1,
      hostRollouts: 0,
    });
    expect(hotMethods.map(({ method }) => method)).toEqual([
      'tools/call:files/read_file',
      'tools/list',
      'a',
      'b',
      'c',
      'd',
    ]);
    expect(hotMethods[1]).toStrictEqual({
      method: 'tools/list',
      requests: 7,
      responseErrors: 0,
      transportFaults: 0,
      retries: 0,
      averageMs: 1,
      maxMs: 1,
    });
  });

  test('is everything when full', () => {
    const full = telemetrySnapshot(busy().snapshot(), { servers: [] }, starts(2));
    expect(full.methods).toHaveLength(8);
    expect(full.hostRollouts).toBe(2);
    expect(full.latency.maxMs).toBe(60_000);
    expect(full.lastFault).toMatchObject({ code: 'timeout', at: 1_000_000 });
  });
});

describe('telemetry as text', () => {
  test('is a line of totals, a line of restarts, and the hot methods', () => {
    const full = telemetrySnapshot(
      busy().snapshot(),
      { servers: [server('files', 2, 1)] },
      starts(0),
    );
    expect(telemetryLines(conciseTelemetry(full)).slice(0, 5)).toEqual([
      'requests=38 success=36 response_error=0 transport_fault=1 retry=1 cancelled=0 in_flight=1',
      'worker_restarts=1 recent_failures=1 host_rollouts=0',
      'hot methods:',
      'tools/call:files/read_file req=9 err=0 transport=1 retry=1 avg_ms=6677.78 max_ms=60000',
      'tools/list req=7 err=0 transport=0 retry=0 avg_ms=1 max_ms=1',
    ]);
  });

  test('has no heading when there is no method', () => {
    const full = telemetrySnapshot(new Traffic(clock).snapshot(), { servers: [] }, starts(0));
    expect(telemetryLines(conciseTelemetry(full))).toHaveLength(2);
    expect(fullTelemetryLines(full, clock.wallNow())).toHaveLength(3);
  });

  test('keeps a method on its line, whatever a client calls it', () => {
    const traffic = new Traffic(clock);
    traffic.ended('x\nworker_restarts=99\u001b[2J', 'ok', 1);
    const lines = telemetryLines(
      conciseTelemetry(telemetrySnapshot(traffic.snapshot(), { servers: [] }, starts(0))),
    );
    expect(lines.slice(3)).toEqual([
      '"x\\nworker_restarts=99\\u001b[2J" req=1 err=0 transport=0 retry=0 avg_ms=1 max_ms=1',
    ]);
  });

  test('tells the last fault and every method when full', () => {
    const full = telemetrySnapshot(busy().snapshot(), { servers: [] }, starts(0));
    const lines = fullTelemetryLines(full, clock.wallNow() + 90_000);
    expect(lines).toContain(
      'last_fault=timeout server=files tool=read_file age=1m: files did not answer in time',
    );
    expect(lines.slice(lines.indexOf('methods:'))).toHaveLength(9);
  });
});
