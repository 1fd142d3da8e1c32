import { describe, expect, it } from 'vitest';
import { bareLife, lifePolicy, outcomeOf, readyLife } from '../../test/support/bare-life.ts';
import { Connector, exitFault } from '../../test/support/fake-connection.ts';
import { settled } from '../../test/support/manual-clock.ts';
import { Fault } from '../kernel/fault.ts';
import { Life } from './life.ts';
import { freshRestarts } from './restart-machine.ts';

describe('starting', () => {
  it('connects once for twenty who ask at the same time', async () => {
    const { life, connector, clock, heard } = bareLife();
    const asking = Array.from({ length: 20 }, () => life.acquire());
    clock.advance(250);
    connector.last.arrive();
    expect(new Set(await Promise.all(asking))).toEqual(new Set([connector.last.connection]));
    expect(connector.attempts).toHaveLength(1);
    expect(heard).toEqual(['starting 1', 'ready 1 in 250']);
    expect(await life.acquire()).toBe(connector.last.connection);
    expect(connector.attempts).toHaveLength(1);
    expect(clock.pending).toBe(0);
  });

  it('turns all who wait away with the same fault when it fails', async () => {
    const { life, connector, heard } = bareLife();
    const asking = Array.from({ length: 20 }, () => life.acquire());
    const fault = exitFault();
    connector.last.fail(fault);
    const outcomes = await Promise.allSettled(asking);
    expect(
      outcomes.every((outcome) => outcome.status === 'rejected' && outcome.reason === fault),
    ).toBe(true);
    expect(heard).toEqual(['starting 1', 'start-failed 1 unavailable', 'cooling 100']);
  });

  it('takes what is not a fault for a defect of ours', async () => {
    const { life, connector } = bareLife();
    const asking = life.acquire();
    connector.last.fail(new TypeError('a bug'));
    await expect(asking).rejects.toMatchObject({ code: 'internal' });
  });

  it('is aborted when it takes too long, and then waits for the attempt to be cleaned up', async () => {
    const { life, connector, clock } = bareLife();
    const asking = life.acquire();
    const attempt = connector.last;
    attempt.isStubborn = true;
    await clock.advanceAsync(29_999);
    expect(attempt.signal.aborted).toBe(false);
    await clock.advanceAsync(1);
    expect(attempt.signal.aborted).toBe(true);
    expect(attempt.signal.reason).toMatchObject({
      code: 'start_timeout',
      message: expect.stringMatching(/^files .*30000 ms.*startTimeoutMs/),
    });
    expect(await outcomeOf(asking)).toBe('waiting');
    attempt.fail(attempt.signal.reason);
    await expect(asking).rejects.toMatchObject({ code: 'start_timeout' });
  });

  it('has failed when the connection is lost before it is there', async () => {
    const { life, connector, heard } = bareLife();
    const asking = life.acquire();
    const { connection } = connector.last;
    connector.last.lose();
    connector.last.arrive();
    await expect(asking).rejects.toMatchObject({ code: 'unavailable' });
    expect(connection.closes).toEqual(['lost']);
    expect(life.connection).toBeUndefined();
    expect(heard).toContain('start-failed 1 unavailable');
    expect(heard).not.toContain('lost 1 unavailable');
  });

  it('has failed when the connection is lost within the very call that makes it', async () => {
    const { clock, listener } = bareLife();
    const connector = new Connector();
    const life = new Life(
      'files',
      { clock, random: () => 0 },
      lifePolicy,
      (generation, signal, lost) => {
        lost(exitFault());
        const connecting = connector.connect(generation, signal, lost);
        connector.last.arrive();
        return connecting;
      },
      listener,
      { restarts: freshRestarts, generation: 0 },
    );
    await expect(life.acquire()).rejects.toMatchObject({ code: 'unavailable' });
    expect(life.connection).toBeUndefined();
  });

  it('waits for the backoff before it tries again, and then serves who asked meanwhile', async () => {
    const { life, connector, clock } = bareLife();
    const first = life.acquire();
    connector.last.fail();
    await expect(first).rejects.toThrow();
    const second = life.acquire();
    await clock.advanceAsync(99);
    expect(connector.attempts).toHaveLength(1);
    await clock.advanceAsync(1);
    expect(connector.attempts).toHaveLength(2);
    connector.last.arrive();
    expect(await second).toBe(connector.last.connection);
    expect(life.generation).toBe(2);
    await settled();
    expect(clock.pending).toBe(0);
    expect([life.restarts, life.restartsLeft]).toEqual([1, 1]);
  });
});

describe('a loss', () => {
  it('is cleaned up behind, and while somebody needs the server it restarts after the backoff', async () => {
    const { life, connector, clock, first, heard } = await readyLife();
    first.lose();
    expect(life.connection).toBeUndefined();
    expect(life.phase.kind).toBe('cooling');
    expect(first.connection.closes).toEqual(['lost']);
    await clock.advanceAsync(100);
    connector.last.arrive();
    await settled();
    expect(life.connection).toBe(connector.last.connection);
    expect(heard).toEqual([
      'lost 1 unavailable',
      'cooling 100',
      'stopped 1 0',
      'starting 2',
      'ready 2 in 0',
    ]);
  });

  it('leaves a server idle that nobody needs, and still counts', async () => {
    const { life, connector, clock, first, world } = await readyLife();
    world.wanted = false;
    first.lose();
    expect(life.phase.kind).toBe('idle');
    expect(life.restarts).toBe(1);
    await clock.advanceAsync(60_000);
    expect(connector.attempts).toHaveLength(1);
  });

  it('that is reported twice counts once, and of an old generation not at all', async () => {
    const { life, connector, clock, first } = await readyLife();
    first.lose();
    first.lose();
    expect(life.restarts).toBe(1);
    await clock.advanceAsync(100);
    connector.last.arrive();
    await settled();
    first.lose();
    expect(life.connection).toBe(connector.last.connection);
    expect(life.restarts).toBe(1);
  });

  it('ejects when the budget is spent: waiters are refused, and no timer is left', async () => {
    const { life, connector, clock, first, heard } = await readyLife();
    first.lose();
    for (const _again of [1, 2]) {
      await clock.advanceAsync(1_000);
      connector.last.fail();
      await settled();
    }
    expect(life.phase.kind).toBe('ejected');
    expect(heard.at(-1)).toBe('ejected 0');
    await expect(life.acquire()).rejects.toThrow();
    await clock.advanceAsync(1_000_000);
    expect(connector.attempts).toHaveLength(3);
    expect(clock.pending).toBe(0);
  });
});

describe('a hung server', () => {
  it('is closed, and restarted when that is done', async () => {
    const { life, connector, clock, first, heard } = await readyLife();
    first.connection.isSlow = true;
    life.hung(1, new Fault('timeout', 'silent'));
    expect(first.connection.closes).toEqual(['hung']);
    const asking = life.acquire();
    await clock.advanceAsync(10_000);
    expect(connector.attempts).toHaveLength(1);
    first.connection.finishClose(3);
    await clock.advanceAsync(0);
    connector.last.arrive();
    expect(await asking).toBe(connector.last.connection);
    expect(heard).toEqual([
      'lost 1 timeout',
      'stopping 1 hung',
      'stopped 1 3',
      'cooling 0',
      'starting 2',
      'ready 2 in 0',
    ]);
  });

  it('of an old generation is left alone', async () => {
    const { life, first } = await readyLife();
    life.hung(0, new Fault('timeout', 'silent'));
    expect(first.connection.closes).toEqual([]);
  });
});
