import { describe, expect, it } from 'vitest';
import { bareLife, outcomeOf, readyLife } from '../../test/support/bare-life.ts';

describe('stopping', () => {
  it('during a connect waits until that is cleaned up, and never installs what still arrives', async () => {
    const { life, connector, world } = bareLife();
    const asking = life.acquire();
    const attempt = connector.last;
    attempt.isStubborn = true;
    attempt.connection.isSlow = true;
    const stopping = life.end('stop');
    await expect(asking).rejects.toMatchObject({ code: 'unavailable' });
    expect(attempt.signal.aborted).toBe(true);
    world.wanted = false;
    expect(life.phase.kind).toBe('stopping');
    attempt.arrive();
    expect(await outcomeOf(stopping)).toBe('waiting');
    expect(life.phase.kind).toBe('stopping');
    expect(attempt.connection.closes).toEqual(['lost']);
    expect(life.connection).toBeUndefined();
    attempt.connection.finishClose();
    await stopping;
    expect(life.phase.kind).toBe('idle');
    expect(life.restarts).toBe(0);
  });

  it('leaves it idle although somebody still holds it, until somebody asks again', async () => {
    const { life, connector, first } = await readyLife();
    await life.end('stop');
    expect(first.connection.closes).toEqual(['stop']);
    expect(life.phase.kind).toBe('idle');
    void life.acquire();
    expect(connector.last.generation).toBe(2);
  });

  it('ends although closing fails: the server is not stuck in it', async () => {
    const { life, connector, first } = await readyLife();
    first.connection.isSlow = true;
    const reloading = life.end('reload');
    first.connection.failClose(new Error('the sweep could not read /proc'));
    await reloading;
    expect(connector.last.generation).toBe(2);
  });

  it('takes effect at once, and serves who asks meanwhile with the next generation', async () => {
    const { life, connector, first } = await readyLife();
    first.connection.isSlow = true;
    const reloading = life.end('reload');
    expect(life.connection).toBeUndefined();
    const asking = life.acquire();
    first.connection.finishClose();
    await reloading;
    connector.last.arrive();
    expect(await asking).toBe(connector.last.connection);
  });

  it('for good waits for every cleanup, and refuses everybody from then on', async () => {
    const { life, connector, clock, first } = await readyLife();
    first.connection.isSlow = true;
    first.lose();
    await clock.advanceAsync(100);
    const second = connector.last;
    second.isStubborn = true;
    const ending = life.end('end');
    await expect(life.acquire()).rejects.toThrow();
    second.fail(second.signal.reason);
    expect(await outcomeOf(ending)).toBe('waiting');
    first.connection.finishClose();
    await ending;
    // What a lost connection still carries is ended with it.
    expect(first.connection.closes).toEqual(['lost', 'end']);
    expect(life.phase.kind).toBe('ended');
    await expect(life.acquire()).rejects.toThrow();
    expect(clock.pending).toBe(0);
  });

  it('refuses no waiter that has been served or refused before', async () => {
    const { life, connector, clock, first, refused } = await readyLife();
    await life.end('stop');
    expect(refused).toEqual([]);
    const asking = life.acquire();
    connector.last.fail();
    await expect(asking).rejects.toThrow();
    await life.end('stop');
    expect(refused).toEqual(['start-failed']);
    expect(first.connection.closes).toEqual(['stop']);
    expect(clock.pending).toBeLessThanOrEqual(1);
  });

  it('and failing again keeps one timer, however often', async () => {
    const { life, connector, clock } = bareLife();
    for (let time = 0; time < 2; time++) {
      const asking = life.acquire();
      connector.last.fail();
      await expect(asking).rejects.toThrow();
      expect([life.phase.kind, clock.pending]).toEqual(['cooling', 1]);
      await life.end('stop');
    }
  });

  it('for good while it cools leaves no timer behind, and nothing that is cleaned up already', async () => {
    const { life, clock, first } = await readyLife();
    first.lose();
    await outcomeOf(Promise.resolve());
    await life.end('end');
    expect(clock.pending).toBe(0);
    expect(first.connection.closes).toEqual(['lost']);
  });
});
