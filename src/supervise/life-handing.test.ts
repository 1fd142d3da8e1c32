import { describe, expect, it } from 'vitest';
import { bareLife, outcomeOf, readyLife } from '../../test/support/bare-life.ts';
import { exitFault } from '../../test/support/fake-connection.ts';
import { settled } from '../../test/support/manual-clock.ts';

const handed = { generation: 7, phase: { kind: 'ready', forMs: 70_000 } } as const;

describe('a connection that was handed over by the process before', () => {
  it('is taken over under its generation, and is neither started nor restarted #rollout', async () => {
    const { life, connector, heard } = bareLife();
    life.restore(handed, true);
    const asking = life.acquire();
    expect(connector.last.generation).toBe(7);
    connector.last.arrive();
    expect(await asking).toBe(connector.last.connection);
    expect(heard).toEqual(['adopted 7']);
    expect(connector.attempts).toHaveLength(1);
    expect(life.generation).toBe(7);
  });

  it('is lost, not refused, if that fails: whoever waits gets the next one', async () => {
    const { life, connector, heard, clock } = bareLife();
    life.restore(handed, true);
    const asking = life.acquire();
    connector.last.fail();
    expect(await outcomeOf(asking)).toBe('waiting');
    await clock.advanceAsync(100);
    expect(connector.last.generation).toBe(8);
    connector.last.arrive();
    expect(await asking).toBe(connector.last.connection);
    expect(heard).toEqual(['lost 7 unavailable', 'cooling 100', 'starting 8', 'ready 8 in 0']);
    expect(life.restarts).toBe(1);
  });

  it('counts as healthy from when it was first ready', async () => {
    const { life, connector, heard, clock, shared } = bareLife();
    shared.restarts = { ...shared.restarts, streak: 3 };
    life.restore({ ...handed, phase: { kind: 'ready', forMs: 59_000 } }, true);
    connector.last.arrive();
    await settled();
    clock.advance(1_500);
    connector.last.lose();
    await settled();
    // The first delay again.
    expect(heard).toContain('cooling 100');
  });

  it('goes on waiting for its next start where the one before waited', async () => {
    const { life, connector, clock } = bareLife();
    life.restore({ generation: 3, phase: { kind: 'cooling', waitMs: 400 } }, false);
    await clock.advanceAsync(399);
    expect(connector.attempts).toHaveLength(0);
    await clock.advanceAsync(1);
    expect(connector.last.generation).toBeGreaterThan(0);
  });
});

describe('a connection that was given to the process after', () => {
  const given = async () => {
    const all = await readyLife();
    const handing = all.life.give(() => Promise.resolve('handed'));
    expect(await handing).toBe('handed');
    return all;
  };

  it('is used by what was begun here, and closed by nothing but the end #rollout', async () => {
    const { life, connection, heard } = await given();
    life.unwanted();
    expect(await life.acquire()).toBe(connection);
    expect(connection.closes).toEqual([]);
    await life.end('end');
    // Its calls end; the process is not ours any more, and the connection knows that.
    expect(connection.closes).toEqual(['lost', 'end']);
    expect(heard).toEqual([]);
  });

  it('is not counted when it is lost, and a call that needs another one gets it', async () => {
    const { life, connector, heard, first } = await given();
    first.lose(exitFault());
    await settled();
    expect([life.restarts, life.phase.kind]).toEqual([0, 'idle']);
    expect(heard).toEqual([]);
    const asking = life.acquire();
    connector.last.arrive();
    expect((await asking).generation).toBe(2);
  });

  it('is not restarted here when it seems to hang', async () => {
    const { life, connection } = await given();
    life.hung(1, exitFault());
    expect([life.phase.kind, connection.closes]).toEqual(['ready', []]);
  });

  it('stays ours if it cannot be given', async () => {
    const { life, first } = await readyLife();
    expect(await life.give(() => Promise.resolve(undefined))).toBeUndefined();
    expect(life.isGiven).toBe(false);
    first.lose();
    await settled();
    expect(life.restarts).toBe(1);
  });
});
