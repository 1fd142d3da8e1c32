import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { settled } from '../../test/support/manual-clock.ts';
import { Admission } from './admission.ts';

/** How many listeners an abort signal has; a long-lived one must not gather them. */
function countingSignal() {
  const controller = new AbortController();
  const { signal } = controller;
  let listeners = 0;
  const add = signal.addEventListener.bind(signal);
  const remove = signal.removeEventListener.bind(signal);
  signal.addEventListener = (...args: Parameters<typeof add>) => {
    listeners += 1;
    add(...args);
  };
  signal.removeEventListener = (...args: Parameters<typeof remove>) => {
    listeners -= 1;
    remove(...args);
  };
  return { controller, signal, listeners: () => listeners };
}

describe('admission to a server', () => {
  it('lets in as many as it may, and the others in the order they came', async () => {
    const admission = new Admission('files', 2, 10);
    expect([admission.tryEnter(), admission.tryEnter(), admission.tryEnter()]).toEqual([
      true,
      true,
      false,
    ]);
    const entered: number[] = [];
    for (const who of [1, 2, 3]) void admission.enter(undefined).then(() => entered.push(who));
    expect([admission.inside, admission.queued]).toEqual([2, 3]);
    admission.leave();
    admission.leave();
    await settled();
    expect(entered).toEqual([1, 2]);
    expect([admission.inside, admission.queued]).toEqual([2, 1]);
    admission.leave();
    admission.leave();
    admission.leave();
    await settled();
    expect([admission.inside, admission.queued]).toEqual([0, 0]);
    expect(entered).toEqual([1, 2, 3]);
  });

  it('refuses at once when too many wait already', async () => {
    const admission = new Admission('files', 1, 1);
    admission.tryEnter();
    void admission.enter(undefined);
    await expect(admission.enter(undefined)).rejects.toMatchObject({
      code: 'overloaded',
      record: { server: 'files', dispatched: 'no', retryable: true },
    });
    expect(admission.queued).toBe(1);
  });

  it('lets nobody wait when there is no queue', async () => {
    const admission = new Admission('files', 1, 0);
    admission.tryEnter();
    await expect(admission.enter(undefined)).rejects.toMatchObject({ code: 'overloaded' });
  });

  it('forgets who gives up while waiting, and gives the place to the next', async () => {
    const admission = new Admission('files', 1, 10);
    admission.tryEnter();
    const impatient = new AbortController();
    const waiting = admission.enter(impatient.signal);
    let isIn = false;
    void admission.enter(undefined).then(() => (isIn = true));
    impatient.abort();
    await expect(waiting).rejects.toMatchObject({ code: 'cancelled' });
    expect(admission.queued).toBe(1);
    admission.leave();
    await settled();
    expect(isIn).toBe(true);
    expect(admission.inside).toBe(1);
  });

  it('does not let in who had given up before', async () => {
    const admission = new Admission('files', 1, 10);
    admission.tryEnter();
    await expect(admission.enter(AbortSignal.abort())).rejects.toMatchObject({ code: 'cancelled' });
    expect(admission.queued).toBe(0);
  });

  it('hears nothing of who gives up after being let in, and leaves no listener on the signal', async () => {
    const admission = new Admission('files', 1, 10);
    const { controller, signal, listeners } = countingSignal();
    admission.tryEnter();
    const waiting = admission.enter(signal);
    admission.leave();
    expect(await waiting).toBe(true);
    expect(listeners()).toBe(0);
    controller.abort();
    expect([admission.inside, admission.queued]).toEqual([1, 0]);
  });

  it('never has more inside or waiting than it may, and loses nobody', async () => {
    const deeds = fc.array(fc.constantFrom('come', 'leave', 'give up'), { maxLength: 100 });
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 4 }),
        fc.nat(4),
        deeds,
        async (width, queue, all) => {
          const admission = new Admission('files', width, queue);
          const waiting: { readonly abort: AbortController; isOver: boolean }[] = [];
          let inside = 0;
          let ended = 0;
          let came = 0;
          for (const deed of all) {
            if (deed === 'come') {
              came += 1;
              if (admission.tryEnter()) inside += 1;
              else {
                const who = { abort: new AbortController(), isOver: false };
                waiting.push(who);
                void admission.enter(who.abort.signal).then(
                  () => {
                    who.isOver = true;
                    inside += 1;
                  },
                  () => {
                    who.isOver = true;
                    ended += 1;
                  },
                );
              }
            } else if (deed === 'leave' && inside > 0) {
              inside -= 1;
              ended += 1;
              admission.leave();
            } else if (deed === 'give up') {
              waiting.find(({ isOver }) => !isOver)?.abort.abort();
            }
            await Promise.resolve();
            await Promise.resolve();
            expect(admission.inside).toBe(inside);
            expect(inside).toBeLessThanOrEqual(width);
            expect(admission.queued).toBeLessThanOrEqual(queue);
            expect(inside + ended + admission.queued).toBe(came);
          }
        },
      ),
      { numRuns: 300 },
    );
  });
});
