import { describe, expect, it } from 'vitest';
import { settled } from '../../test/support/manual-clock.ts';
import { heldAndReady, supervised } from '../../test/support/supervised.ts';
import { Fault } from '../kernel/fault.ts';
import { ClientAsked } from './client-asked.ts';

describe('a supervised server, when it is called', () => {
  it('starts once for twenty who ask, and counts a start that fails once', async () => {
    const { supervisor, connector, kinds } = supervised();
    const asking = Array.from({ length: 20 }, () => {
      supervisor.leases.hold();
      return supervisor.acquire().finally(() => supervisor.leases.release());
    });
    connector.last.fail(
      new Fault('unavailable', 'files exited with code 1', { dispatched: 'yes' }),
    );
    const outcomes = await Promise.allSettled(asking);
    const faults = new Set(
      outcomes.map((outcome) => outcome.status === 'rejected' && outcome.reason),
    );
    expect(connector.attempts).toHaveLength(1);
    expect(faults.size).toBe(1);
    expect([...faults][0]).toMatchObject({
      code: 'unavailable',
      record: { server: 'files', generation: 1, dispatched: 'no', retryable: true },
    });
    expect(supervisor.breaker.failures).toBe(1);
    expect(supervisor.restarts).toBe(1);
    expect(kinds()).toEqual(['starting', 'start-failed', 'cooling']);
  });

  it('is not charged for a shortage of our own, and is tried again later #restart-budget', async () => {
    const { supervisor, connector, clock } = supervised({
      restart: {
        max: 1,
        windowMs: 300_000,
        minDelayMs: 100,
        maxDelayMs: 1_000,
        healthyMs: 60_000,
      },
    });
    const shortage = new Fault('overloaded', 'too many open files (EMFILE)', { dispatched: 'no' });
    supervisor.leases.hold();
    for (let n = 0; n < 12; n++) {
      const asking = supervisor.acquire();
      connector.last.fail(shortage);
      await expect(asking).rejects.toMatchObject({
        code: 'overloaded',
        record: { dispatched: 'no', retryable: true },
      });
      await clock.advanceAsync(1_000);
    }
    expect(supervisor.phase.kind).toBe('starting');
    expect([supervisor.restarts, supervisor.restartsLeft]).toEqual([0, 1]);
    expect(supervisor.breaker.failures).toBe(0);
    const asking = supervisor.acquire();
    connector.last.arrive();
    expect(await asking).toBe(connector.last.connection);
  });

  it('refuses what its client asked for at once, each time, without a pause #restart-budget', async () => {
    const { supervisor, connector } = supervised();
    supervisor.leases.hold();
    const gone = new Fault('invalid_request', '/gone does not exist', {}, new ClientAsked());
    for (let n = 1; n <= 5; n++) {
      const asking = supervisor.acquire();
      expect(connector.attempts).toHaveLength(n);
      connector.last.fail(gone);
      await expect(asking).rejects.toMatchObject({ code: 'invalid_request' });
      expect(supervisor.phase.kind).toBe('idle');
    }
  });

  it('turns callers away with the shortage while it waits longer than a start may take #restart-budget', async () => {
    const { supervisor, connector } = supervised({
      restart: { max: 1, windowMs: 1e6, minDelayMs: 90_000, maxDelayMs: 90_000, healthyMs: 1 },
    });
    supervisor.leases.hold();
    const asking = supervisor.acquire();
    connector.last.fail(new Fault('overloaded', 'out of memory (ENOMEM)'));
    await expect(asking).rejects.toMatchObject({ code: 'overloaded' });
    expect(() => supervisor.gate()).toThrow(
      expect.objectContaining({
        code: 'overloaded',
        record: expect.objectContaining({ retryAfterMs: 90_000 }),
      }),
    );
  });

  it('does not hold a missing login against the breaker, but waits before it tries again', async () => {
    const { supervisor, connector } = supervised();
    supervisor.leases.hold();
    const asking = supervisor.acquire();
    connector.last.fail(new Fault('auth_required', 'log in'));
    await expect(asking).rejects.toMatchObject({ code: 'auth_required' });
    expect(supervisor.breaker.failures).toBe(0);
    expect(supervisor.phase.kind).toBe('cooling');
  });

  it('refuses at once, and says until when, while it is left alone for longer than a start may take', async () => {
    const restart = { max: null, windowMs: 300_000, minDelayMs: 60_000, maxDelayMs: 300_000 };
    const { supervisor, connector, clock } = supervised({
      restart: { ...restart, healthyMs: 60_000 },
      startTimeoutMs: 30_000,
    });
    supervisor.leases.hold();
    const asking = supervisor.acquire();
    connector.last.fail();
    await asking.catch(() => supervisor.leases.release());
    const pauseMs = supervisor.phase.kind === 'cooling' ? supervisor.phase.until - clock.now() : 0;
    expect(pauseMs).toBeGreaterThan(30_000);
    expect(() => supervisor.gate()).toThrow(
      expect.objectContaining({
        code: 'unavailable',
        message: expect.stringMatching(/files is failing.*next attempt in \d+ s/),
        record: expect.objectContaining({ retryAfterMs: Math.ceil(pauseMs), dispatched: 'no' }),
      }),
    );
    clock.advance(pauseMs - 30_000);
    expect(supervisor.gate()).toBe(supervisor.breaker.currentPass);
  });

  it('opens the breaker when it fails to start too often, and says why and until when', async () => {
    const { supervisor, connector, clock } = supervised({
      circuit: { threshold: 2, resetMs: 30_000, probeMs: 90_000 },
    });
    for (const _time of [1, 2]) {
      supervisor.gate();
      supervisor.leases.hold();
      const asking = supervisor.acquire();
      await clock.advanceAsync(1_000);
      connector.last.fail();
      await asking.catch(() => supervisor.leases.release());
    }
    clock.advance(1_500);
    expect(() => supervisor.gate()).toThrow(
      expect.objectContaining({
        code: 'circuit_open',
        message: expect.stringMatching(
          /files failed 2 times in a row.*exited with code 1.*retry after 29 s/,
        ),
        record: expect.objectContaining({ retryAfterMs: 28_500, dispatched: 'no' }),
      }),
    );
  });

  it('lets one call through when the breaker is half open, and its failed start opens it again', async () => {
    const { supervisor, connector, clock } = supervised({
      circuit: { threshold: 1, resetMs: 30_000, probeMs: 90_000 },
    });
    supervisor.leases.hold();
    const first = supervisor.acquire();
    connector.last.fail();
    await first.catch(() => supervisor.leases.release());
    await clock.advanceAsync(30_000);
    const pass = supervisor.gate();
    expect(() => supervisor.gate()).toThrow(Fault);
    supervisor.leases.hold();
    const probe = supervisor.acquire();
    connector.last.fail();
    await expect(probe).rejects.toThrow();
    supervisor.breaker.withdrawn(pass);
    expect(supervisor.breaker.circuit).toBe('open');
  });

  it('is ejected before it is asked about the breaker, and reload is named as the remedy', async () => {
    const { supervisor, connector, kinds } = supervised({
      restart: { max: 0, windowMs: 300_000, minDelayMs: 100, maxDelayMs: 5_000, healthyMs: 60_000 },
      circuit: { threshold: 1, resetMs: 30_000, probeMs: 90_000 },
    });
    supervisor.leases.hold();
    const asking = supervisor.acquire();
    connector.last.fail();
    await expect(asking).rejects.toMatchObject({ code: 'unavailable' });
    expect(() => supervisor.gate()).toThrow(
      expect.objectContaining({
        code: 'ejected',
        message: expect.stringMatching(/restart budget is exhausted.*holdfast reload /),
      }),
    );
    expect(kinds().filter((kind) => kind === 'ejected')).toHaveLength(1);
    await supervisor.reload();
    expect(supervisor.gate()).toBe(supervisor.breaker.currentPass);
    expect([supervisor.restarts, supervisor.breaker.failures]).toEqual([0, 0]);
  });
});

describe('what a supervised server tells', () => {
  it('is how long it waits, how often it may still fail, and in the end why it was ejected', async () => {
    const { supervisor, connector, clock, events } = await heldAndReady({
      restart: { max: 1, windowMs: 300_000, minDelayMs: 100, maxDelayMs: 5_000, healthyMs: 60_000 },
    });
    connector.last.lose();
    await clock.advanceAsync(100);
    connector.last.fail();
    await settled();
    const at = clock.wallNow();
    expect(events).toContainEqual({
      at: at - 100,
      kind: 'cooling',
      server: 'files',
      delayMs: 100,
      restartsLeft: 0,
    });
    expect(events.at(-1)).toMatchObject({
      at,
      kind: 'ejected',
      detail: expect.stringMatching(/more than 1 times within 300 s.*exited with code 1/),
    });
    expect(supervisor.phase.kind).toBe('ejected');
  });

  it('is "ejected", for a call that waits while a hung server is closed', async () => {
    const { supervisor, connection } = await heldAndReady({
      restart: { max: 0, windowMs: 300_000, minDelayMs: 100, maxDelayMs: 5_000, healthyMs: 60_000 },
    });
    connection.isSlow = true;
    supervisor.suspect(1);
    connection.answerProbe(false);
    await settled();
    const waiting = supervisor.acquire();
    connection.finishClose();
    await expect(waiting).rejects.toMatchObject({ code: 'ejected' });
  });
});

describe('a loss', () => {
  it('is one failure for the breaker however many calls it carried', async () => {
    const { supervisor, connector } = await heldAndReady();
    supervisor.leases.hold();
    supervisor.leases.hold();
    connector.last.lose();
    expect(supervisor.breaker.failures).toBe(1);
    expect(supervisor.lastFault?.fault.record).toMatchObject({ server: 'files', generation: 1 });
  });

  it('while the server is unused spends its budget, but fails no call', async () => {
    const { supervisor, connector, kinds } = await heldAndReady();
    supervisor.leases.release();
    connector.last.lose();
    expect(supervisor.phase.kind).toBe('idle');
    expect([supervisor.restarts, supervisor.breaker.failures]).toEqual([1, 0]);
    expect(kinds()).toEqual(['lost', 'idle']);
  });
});

describe('a suspicion after a timeout', () => {
  it('is dropped when a probe is answered', async () => {
    const { supervisor, connection, kinds } = await heldAndReady();
    supervisor.suspect(1);
    connection.answerProbe(true);
    await settled();
    expect(supervisor.connection).toBe(connection);
    expect(kinds()).toEqual([]);
    supervisor.suspect(1);
    expect(connection.probes).toBe(2);
  });

  it.each(['is not answered', 'breaks'])(
    'closes and restarts the server when the probe %s',
    async (how) => {
      const { supervisor, connection, connector, clock, kinds } = await heldAndReady();
      supervisor.suspect(1);
      if (how === 'breaks') connection.failProbe(new Error('gone'));
      else connection.answerProbe(false);
      await clock.advanceAsync(100);
      expect(connection.closes).toEqual(['hung']);
      connector.last.arrive();
      await settled();
      expect(supervisor.connection?.generation).toBe(2);
      expect(kinds()).toEqual(['lost', 'stopping', 'stopped', 'cooling', 'starting', 'ready']);
      expect(supervisor.lastFault?.fault.code).toBe('timeout');
    },
  );

  it('asks once however many calls time out together', async () => {
    const { supervisor, connection } = await heldAndReady();
    for (let call = 0; call < 20; call++) supervisor.suspect(1);
    expect(connection.probes).toBe(1);
  });

  it('does not touch another generation than its own', async () => {
    const { supervisor, connection, connector, clock } = await heldAndReady();
    supervisor.suspect(1);
    connector.last.lose();
    await clock.advanceAsync(100);
    connector.last.arrive();
    await settled();
    connection.answerProbe(false);
    await settled();
    expect(supervisor.connection?.generation).toBe(2);
    expect(supervisor.connection?.closes).toEqual([]);
    supervisor.suspect(1);
    expect(supervisor.connection?.probes).toBe(0);
  });
});
