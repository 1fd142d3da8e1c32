import { describe, expect, test } from 'vitest';
import type { HostStatus, ServerState, ServerStatus } from '../host/status.ts';
import { disabledStatus } from '../host/status-reading.ts';
import type { TimedFault } from '../observe/traffic.ts';
import { conciseHealth, healthLine, healthLines, healthSnapshot } from './health.ts';

const now = 10_000_000;
const running = { isAccepting: true, generation: 1 };

function server(name: string, state: ServerState, more: Partial<ServerStatus> = {}): ServerStatus {
  return { ...disabledStatus(name, ''), cause: null, state, ...more };
}

function status(...servers: ServerStatus[]): HostStatus {
  return {
    version: '0.3.0',
    instance: 'i1',
    startedBy: 'serve',
    config: '/home/ann/holdfast.json',
    uptimeMs: 7_300_000,
    rollout: 'stable',
    rollouts: { cause: null, at: null, count: 0, generation: 1, launchPathStable: true },
    disk: { ok: true },
    audit: { mode: 'off', problem: null, lost: 0, refused: 0, gaps: 0 },
    servers,
    cache: { hits: 3, misses: 4, entries: 2, bytes: 2_048 },
    calls: { total: 9, ok: 7, isError: 1, faults: 1, replays: 1 },
    budgets: [],
    internalErrors: 0,
  };
}

function fault(server: string, at: number, more: Partial<TimedFault> = {}): TimedFault {
  return {
    code: 'unavailable',
    server,
    dispatched: 'no',
    attempts: 1,
    retryable: true,
    detail: `${server} exited with code 1`,
    stderr: 'a secret',
    at,
    ...more,
  };
}

describe('concise health', () => {
  test('has exactly the promised shape', () => {
    const health = healthSnapshot(
      status(server('a', 'ready'), server('b', 'idle')),
      running,
      fault('a', 5, { tool: 'echo' }),
    );
    expect(conciseHealth(health)).toStrictEqual({
      ready: true,
      generation: 1,
      servers: { ready: 1, starting: 0, degraded: 0, cooling: 0, ejected: 0, idle: 1, disabled: 0 },
      rollout: 'stable',
      lastFault: { code: 'unavailable', server: 'a', tool: 'echo', at: 5 },
    });
  });

  test('tells neither detail nor stderr of a fault', () => {
    const health = conciseHealth(
      healthSnapshot(status(server('a', 'ready')), running, fault('a', 5)),
    );
    expect(JSON.stringify(health)).not.toMatch(/secret|exited/);
  });

  test('counts every server once, a stopping one as idle', () => {
    const states = [
      'ready',
      'starting',
      'degraded',
      'cooling',
      'ejected',
      'idle',
      'disabled',
      'stopping',
    ] as const;
    const { servers } = healthSnapshot(
      status(...states.map((state) => server(state, state))),
      running,
      null,
    );
    expect(servers.idle).toBe(2);
    expect(Object.values(servers).reduce((sum, count) => sum + count)).toBe(states.length);
  });
});

describe('readiness', () => {
  test('does not depend on the servers, nor on the last fault', () => {
    const health = healthSnapshot(status(server('a', 'ejected')), running, fault('a', 5));
    expect(health.ready).toBe(true);
  });

  test('ends when no more requests are taken', () => {
    const health = healthSnapshot(status(), { isAccepting: false, generation: 2 }, null);
    expect(healthLine(health, now)).toBe('not-ready gen=2 servers ready=0');
  });
});

describe('the last fault of all', () => {
  test('is the latest that a server or a call has met', () => {
    const older = server('a', 'ready', { lastFault: fault('a', 10) });
    const newer = server('b', 'ready', { lastFault: fault('b', 20) });
    const of = (last: TimedFault | null) =>
      healthSnapshot(status(older, newer), running, last).lastFault?.at;
    expect(of(null)).toBe(20);
    expect(of(fault('a', 15))).toBe(20);
    expect(of(fault('a', 25))).toBe(25);
  });

  test('is not one of a server that is not in the status', () => {
    const health = healthSnapshot(status(server('a', 'ready')), running, fault('hidden', 25));
    expect(health.lastFault).toBeNull();
  });

  test('may be of no server at all', () => {
    const health = healthSnapshot(status(), running, fault('', now - 3_000, { code: 'internal' }));
    expect(healthLine(health, now)).toBe('ready gen=1 servers ready=0 last_fault=internal age=3s');
  });
});

describe('health as one line', () => {
  test('names the states that a server is in', () => {
    const servers = [server('a', 'ready'), server('b', 'ready'), server('c', 'idle')];
    const health = healthSnapshot(status(...servers, server('d', 'ejected')), running, null);
    expect(healthLine(health, now)).toBe('ready gen=1 servers ready=2 ejected=1 idle=1');
  });

  test('says which fault was the last, where, and how long ago', () => {
    const last = fault('docs', now - 300_000, { code: 'timeout', tool: 'find\nready gen=9' });
    const health = healthSnapshot(status(server('docs', 'ready')), running, last);
    expect(healthLine(health, now)).toBe(
      'ready gen=1 servers ready=1 last_fault=timeout server=docs tool="find\\nready gen=9" age=5m',
    );
  });

  test('says why a rollout has failed, when, and that the launch path leads elsewhere', () => {
    const rollouts = { cause: 'it was late', at: now - 61_000, count: 2, generation: 4 };
    const failed = {
      ...status(),
      rollout: 'failed' as const,
      rollouts: { ...rollouts, launchPathStable: false },
    };
    const health = healthSnapshot(failed, { ...running, generation: 4 }, null);
    expect(conciseHealth(health)).toMatchObject({
      ...{ rollout: 'failed', rolloutCause: 'it was late', launchPathStable: false },
    });
    expect(healthLine(health, now)).toBe(
      'ready gen=4 servers ready=0 rollout=failed launch_path=unstable',
    );
    expect(healthLines(health, now)).toContain('rollout=failed age=1m rollouts=2: it was late');
  });

  test('says that a rollout is under way', () => {
    const health = { ...healthSnapshot(status(), running, null), rollout: 'pending' as const };
    expect(healthLine(health, now)).toBe('ready gen=1 servers ready=0 rollout=pending');
  });
});

describe('full health', () => {
  test('is the concise one with the whole fault and the whole status', () => {
    const whole = status(server('a', 'ready'));
    const health = healthSnapshot(whole, running, fault('a', 5));
    const { lastFault, ...concise } = conciseHealth(health);
    expect(health).toMatchObject(concise);
    expect(health.lastFault).toEqual(fault('a', 5));
    expect(health.status).toBe(whole);
  });

  test('reads as the line, the instance, and a line for each server', () => {
    const servers = [
      server('docs', 'ejected', {
        generation: 6,
        restarts: 6,
        cause: 'docs exited with code 1\nat start',
      }),
      server('files', 'ready', { generation: 1, pid: 4242, tools: 14, inFlight: 2, queued: 1 }),
      server('git', 'cooling', { generation: 2, restarts: 1, nextAttemptAt: now + 1_500 }),
      server('web', 'idle'),
    ];
    expect(healthLines(healthSnapshot(status(...servers), running, null), now)).toEqual([
      'ready gen=1 servers ready=1 cooling=1 ejected=1 idle=1',
      'version=0.3.0 up=2h config=/home/ann/holdfast.json disk=ok',
      'calls=9 ok=7 is_error=1 fault=1 replay=1',
      'cache_hits=3 cache_misses=4 cache_entries=2 cache_bytes=2048',
      'servers:',
      'docs ejected gen=6 recent_failures=6: docs exited with code 1 at start',
      'files ready gen=1 pid=4242 tools=14 in_flight=2 queued=1',
      'git cooling gen=2 recent_failures=1 next_attempt_in=1s',
      'web idle gen=0',
    ]);
  });

  test('names what is wrong with the disk', () => {
    const failing = { ...status(), disk: { ok: false as const, problem: 'the disk is full' } };
    expect(healthLines(healthSnapshot(failing, running, null), now)).toContain(
      'version=0.3.0 up=2h config=/home/ann/holdfast.json disk=failing: the disk is full',
    );
  });
});
