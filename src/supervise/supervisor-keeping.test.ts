import { describe, expect, it } from 'vitest';
import { exitFault } from '../../test/support/fake-connection.ts';
import { settled } from '../../test/support/manual-clock.ts';
import { heldAndReady, supervised } from '../../test/support/supervised.ts';

describe('keeping a server', () => {
  it('ends its connection once when nobody used it for the keep-alive time', async () => {
    const { supervisor, connection, clock, kinds } = await heldAndReady();
    supervisor.leases.release();
    await clock.advanceAsync(299_999);
    expect(connection.closes).toEqual([]);
    await clock.advanceAsync(1);
    expect(connection.closes).toEqual(['idle']);
    await clock.advanceAsync(1_000_000);
    expect(connection.closes).toEqual(['idle']);
    expect(kinds()).toEqual(['stopping', 'stopped', 'idle']);
    expect(clock.pending).toBe(0);
  });

  it('goes on with the same connection when it is used within that time', async () => {
    const { supervisor, connection, clock, connector } = await heldAndReady();
    for (let use = 0; use < 5; use++) {
      supervisor.leases.release();
      await clock.advanceAsync(299_999);
      supervisor.leases.hold();
      expect(supervisor.connection).toBe(connection);
    }
    expect(connector.attempts).toHaveLength(1);
  });

  it('serves with a new one who asks while the old one is being ended', async () => {
    const { supervisor, connection, clock, connector } = await heldAndReady();
    connection.isSlow = true;
    supervisor.leases.release();
    await clock.advanceAsync(300_000);
    supervisor.leases.hold();
    const asking = supervisor.acquire();
    connection.finishClose();
    await settled();
    connector.last.arrive();
    expect((await asking).generation).toBe(2);
  });

  it('cancels a start when its only caller cancelled and nothing is to be kept', async () => {
    const { supervisor, connector, clock } = supervised({ keepAliveMs: 0 });
    supervisor.leases.hold();
    const asking = supervisor.acquire();
    supervisor.leases.release();
    expect(connector.last.signal.aborted).toBe(true);
    await settled();
    expect(supervisor.phase.kind).toBe('idle');
    expect([supervisor.restarts, supervisor.breaker.failures, clock.pending]).toEqual([0, 0, 0]);
    void asking.catch(() => {});
  });

  it('boots a lazy server for a lease and keeps it until the lease is released', async () => {
    const { supervisor, connector, clock } = supervised();
    const leasing = supervisor.lease('skill:review');
    connector.last.arrive();
    await using lease = await leasing;
    expect(lease).toMatchObject({ server: 'files', owner: 'skill:review' });
    expect([supervisor.leases.held, supervisor.leases.owners]).toEqual([1, ['skill:review']]);
    await clock.advanceAsync(1_000_000);
    expect(supervisor.phase.kind).toBe('ready');
    lease.release();
    await clock.advanceAsync(300_000);
    expect(supervisor.phase.kind).toBe('idle');
  });

  it('holds nothing when a lease cannot be had', async () => {
    const { supervisor, connector } = supervised();
    const leasing = supervisor.lease('skill:review');
    connector.last.fail();
    await expect(leasing).rejects.toThrow();
    expect([supervisor.leases.held, supervisor.leases.owners]).toEqual([0, []]);
  });

  it('is released to the idle pool only when nobody needs it', async () => {
    const { supervisor, connection } = await heldAndReady();
    supervisor.evict();
    expect(connection.closes).toEqual([]);
    supervisor.leases.release();
    supervisor.evict();
    expect(connection.closes).toEqual(['idle']);
  });
});

describe('an operator', () => {
  it('reloads a server that cools, and the calls that wait for it go on', async () => {
    const { supervisor, connector } = await heldAndReady();
    connector.last.lose();
    const waiting = supervisor.acquire();
    await supervisor.reload();
    expect(connector.last.generation).toBe(2);
    connector.last.arrive();
    expect((await waiting).generation).toBe(2);
    expect([supervisor.restarts, supervisor.lastFault]).toEqual([0, undefined]);
  });

  it('reloads a server that is used: the running generation is closed, the next one follows', async () => {
    const { supervisor, connection, connector, kinds } = await heldAndReady();
    await supervisor.reload();
    expect(connection.closes).toEqual(['reload']);
    expect(connector.last.generation).toBe(2);
    expect(kinds()).toEqual(['reloaded', 'stopping', 'stopped', 'starting']);
  });

  it('stops a server and it stays stopped, until the next call', async () => {
    const { supervisor, connector, clock } = await heldAndReady();
    supervisor.leases.pin(true);
    await supervisor.stop();
    expect(supervisor.phase.kind).toBe('idle');
    await clock.advanceAsync(1_000_000);
    expect(connector.attempts).toHaveLength(1);
    expect(supervisor.leases.isPinned).toBe(false);
    void supervisor.acquire();
    expect(connector.attempts).toHaveLength(2);
  });

  it('clears failures when it is stopped', async () => {
    const { supervisor, connector } = await heldAndReady();
    connector.last.lose();
    expect([supervisor.breaker.failures, supervisor.restarts]).toEqual([1, 1]);
    await supervisor.stop();
    expect([supervisor.breaker.failures, supervisor.restarts]).toEqual([0, 0]);
    expect(supervisor.lastFault).toBeUndefined();
  });

  it('turns away who waits when it stops it, and says that a call starts it again', async () => {
    const { supervisor } = supervised();
    supervisor.leases.hold();
    const waiting = supervisor.acquire();
    const stopping = supervisor.stop();
    await expect(waiting).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('call it again'),
      record: { dispatched: 'no' },
    });
    await stopping;
  });

  it('ends it for good when everything is cleaned up, and leaves no timer', async () => {
    const { supervisor, connection, connector, clock } = await heldAndReady();
    connection.isSlow = true;
    supervisor.noteFault(exitFault());
    let hasEnded = false;
    const ending = supervisor.end().then(() => {
      hasEnded = true;
    });
    supervisor.leases.release();
    await settled();
    expect(hasEnded).toBe(false);
    connection.finishClose();
    await ending;
    await expect(supervisor.acquire()).rejects.toMatchObject({
      message: expect.stringContaining('was stopped'),
    });
    await supervisor.reload();
    expect(connector.attempts).toHaveLength(1);
    expect([supervisor.phase.kind, clock.pending]).toEqual(['ended', 0]);
  });
});

describe('a server that flaps', () => {
  it('is one connection at a time, and its generations only rise', async () => {
    const { supervisor, connector, connected, clock, events } = await heldAndReady({
      restart: { max: null, windowMs: 1_000, minDelayMs: 1, maxDelayMs: 1, healthyMs: 1 },
    });
    for (let time = 0; time < 50; time++) {
      connector.last.lose(exitFault());
      await clock.advanceAsync(1);
      connector.last.arrive();
      await settled();
    }
    const starts = events.flatMap((event) => (event.kind === 'starting' ? [event.generation] : []));
    expect(starts).toEqual(Array.from({ length: 50 }, (_, index) => index + 2));
    expect(supervisor.generation).toBe(51);
    expect(connected.map(({ generation }) => generation)).toEqual([1, ...starts]);
  });
});
