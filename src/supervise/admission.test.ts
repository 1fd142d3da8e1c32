import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { settled } from '../../test/support/manual-clock.ts';
import { Fault } from '../kernel/fault.ts';
import { Admission, type Entrant } from './admission.ts';

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

/** A program of the local user, which has no share. */
function local(client: string): Entrant {
  return { client, owner: undefined };
}

const ann = local('ann');

function remote(owner: string): Entrant {
  return { client: owner, owner };
}

describe('admission to a server', () => {
  it('keeps a stranger apart that has the name of a local client: each gives back its own slot #principal-share', async () => {
    const admission = new Admission('files', 1, 10);
    const [own, stranger] = [local('same'), remote('same')];
    expect(admission.tryEnter(own)).toBe(true);
    const entered = [stranger, own, stranger, own].map((one) => admission.enter(one, undefined));
    for (const one of [own, stranger, own, stranger, own]) {
      admission.leave(one);
      await settled();
    }
    await Promise.all(entered);
    expect([admission.inside, admission.queued]).toEqual([0, 0]);
    expect(admission.tryEnter(stranger)).toBe(true);
  });

  it('lets in as many as it may, and the others in the order they came', async () => {
    const admission = new Admission('files', 2, 10);
    expect([admission.tryEnter(ann), admission.tryEnter(ann), admission.tryEnter(ann)]).toEqual([
      true,
      true,
      false,
    ]);
    const entered: number[] = [];
    for (const who of [1, 2, 3]) void admission.enter(ann, undefined).then(() => entered.push(who));
    expect([admission.inside, admission.queued]).toEqual([2, 3]);
    admission.leave(ann);
    admission.leave(ann);
    await settled();
    expect(entered).toEqual([1, 2]);
    expect([admission.inside, admission.queued]).toEqual([2, 1]);
    admission.leave(ann);
    admission.leave(ann);
    admission.leave(ann);
    await settled();
    expect([admission.inside, admission.queued]).toEqual([0, 0]);
    expect(entered).toEqual([1, 2, 3]);
  });

  it('refuses all that wait when the server is gone, and forgets them', async () => {
    const admission = new Admission('files', 1, 10);
    const { signal, listeners } = countingSignal();
    admission.tryEnter(ann);
    const waiting = ['ann', 'bob', 'ann'].map((client) => admission.enter(local(client), signal));
    admission.refuseAll(new Fault('not_found', 'gone'));
    for (const one of waiting) await expect(one).rejects.toMatchObject({ code: 'not_found' });
    expect([admission.inside, admission.queued, admission.waitingClients]).toEqual([1, 0, 0]);
    admission.leave(ann);
    expect([admission.inside, listeners()]).toEqual([0, 0]);
  });

  it('refuses at once when too many wait already', async () => {
    const admission = new Admission('files', 1, 1);
    admission.tryEnter(ann);
    void admission.enter(ann, undefined);
    await expect(admission.enter(ann, undefined)).rejects.toMatchObject({
      code: 'overloaded',
      record: { server: 'files', dispatched: 'no', retryable: true },
    });
    expect(admission.queued).toBe(1);
  });

  it('refuses instead of queueing when there is no queue', async () => {
    const admission = new Admission('files', 1, 0);
    admission.tryEnter(ann);
    await expect(admission.enter(ann, undefined)).rejects.toMatchObject({ code: 'overloaded' });
  });

  it('drops a caller that cancels while waiting, and gives the slot to the next', async () => {
    const admission = new Admission('files', 1, 10);
    admission.tryEnter(ann);
    const impatient = new AbortController();
    const waiting = admission.enter(ann, impatient.signal);
    let isIn = false;
    void admission.enter(ann, undefined).then(() => (isIn = true));
    impatient.abort();
    await expect(waiting).rejects.toMatchObject({ code: 'cancelled' });
    expect(admission.queued).toBe(1);
    admission.leave(ann);
    await settled();
    expect(isIn).toBe(true);
    expect(admission.inside).toBe(1);
  });

  it('does not admit a caller that had cancelled before', async () => {
    const admission = new Admission('files', 1, 10);
    admission.tryEnter(ann);
    await expect(admission.enter(ann, AbortSignal.abort())).rejects.toMatchObject({
      code: 'cancelled',
    });
    expect(admission.queued).toBe(0);
  });

  it('ignores a cancellation after admission, and leaves no listener on the signal', async () => {
    const admission = new Admission('files', 1, 10);
    const { controller, signal, listeners } = countingSignal();
    admission.tryEnter(ann);
    const waiting = admission.enter(ann, signal);
    admission.leave(ann);
    expect(await waiting).toBe(true);
    expect(listeners()).toBe(0);
    controller.abort();
    expect([admission.inside, admission.queued]).toEqual([1, 0]);
  });

  it('never has more running or waiting than allowed, and loses no call', async () => {
    const deeds = fc.array(fc.constantFrom('come a', 'come b', 'come c', 'leave', 'give up'), {
      maxLength: 100,
    });
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
            if (deed.startsWith('come')) {
              came += 1;
              if (admission.tryEnter(ann)) inside += 1;
              else {
                const who = { abort: new AbortController(), isOver: false };
                waiting.push(who);
                void admission.enter(local(deed), who.abort.signal).then(
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
              admission.leave(ann);
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

describe('admission of several clients', () => {
  /** Full, with nobody waiting; `come` notes who is let in and who is refused. */
  function full(concurrency: number, capacity: number) {
    const admission = new Admission('files', concurrency, capacity);
    for (let count = 0; count < concurrency; count++) admission.tryEnter(ann);
    const entered: string[] = [];
    const refused: string[] = [];
    const come = (client: string, calls = 1) => {
      for (let call = 1; call <= calls; call++) {
        admission.enter(local(client), undefined).then(
          () => entered.push(`${client}${call}`),
          ({ code }) => refused.push(`${client}${call} ${code}`),
        );
      }
    };
    const leave = async (places: number) => {
      for (let place = 0; place < places; place++) admission.leave(ann);
      await settled();
    };
    return { admission, entered, refused, come, leave };
  }

  it('gives places that become free to each client in turn #fair-share', async () => {
    const { entered, come, leave } = full(2, 100);
    come('a', 50);
    come('b', 2);
    come('c', 3);
    await leave(8);
    expect(entered).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'c2', 'a3', 'c3']);
    await leave(2);
    expect(entered.slice(8)).toEqual(['a4', 'a5']);
  });

  it('lets a client that comes later wait for one call of each other, not for all #fair-share', async () => {
    const { entered, come, leave } = full(1, 100);
    come('a', 3);
    come('b', 3);
    await leave(3);
    come('c', 1);
    await leave(3);
    expect(entered.indexOf('c1')).toBeLessThanOrEqual(5);
    expect(entered).toEqual(['a1', 'b1', 'a2', 'b2', 'a3', 'c1']);
  });

  it('gives a client that is alone every place and the whole queue', async () => {
    const { admission, refused, come } = full(4, 256);
    come('a', 256);
    await settled();
    expect([admission.inside, admission.queued, refused]).toEqual([4, 256, []]);
    come('a');
    await settled();
    expect(refused).toEqual(['a1 overloaded']);
  });

  it('refuses the last of the client with most waiting when another one comes to a full queue #fair-share', async () => {
    const { admission, entered, refused, come, leave } = full(1, 8);
    come('a', 8);
    come('b', 5);
    await settled();
    // Equal shares: nobody can take from the other any more.
    expect(refused).toEqual([
      'a8 overloaded',
      'a7 overloaded',
      'a6 overloaded',
      'a5 overloaded',
      'b5 overloaded',
    ]);
    expect(admission.queued).toBe(8);
    await leave(9);
    expect(entered).toEqual(['a1', 'b1', 'a2', 'b2', 'a3', 'b3', 'a4', 'b4']);
    expect([admission.inside, admission.queued]).toEqual([0, 0]);
  });

  it('keeps nothing of a client that no longer waits #no-growth', async () => {
    const { admission, come, leave } = full(1, 16);
    for (let count = 0; count < 1_000; count++) {
      come(`client ${count}`);
      await leave(1);
    }
    expect([admission.inside, admission.queued, admission.waitingClients]).toEqual([1, 0, 0]);
  });
});

describe('admission of owners that have a share', () => {
  /** Notes who is let in. */
  function world(concurrency: number) {
    const admission = new Admission('files', concurrency, 100);
    const entered: string[] = [];
    const come = async (entrant: Entrant, calls = 1) => {
      for (let call = 0; call < calls; call++) {
        const enter = async () => {
          if (!admission.tryEnter(entrant)) await admission.enter(entrant, undefined);
          entered.push(entrant.client);
        };
        enter().catch(() => entered.push('refused'));
      }
      await settled();
    };
    const insideOf = (client: string) => entered.filter((one) => one === client).length;
    return { admission, entered, come, insideOf };
  }

  it('leaves slots for others, however many calls of one owner never end #principal-share', async () => {
    const { admission, come, insideOf } = world(8);
    await come(remote('greedy'), 66);
    expect([insideOf('greedy'), admission.inside, admission.queued]).toEqual([6, 6, 60]);
    await come(remote('modest'));
    await come(local('mine'));
    expect([insideOf('modest'), insideOf('mine'), admission.inside]).toEqual([1, 1, 8]);
  });

  it('gives a slot that another leaves to whoever is next and within its share #principal-share', async () => {
    const { admission, entered, come, insideOf } = world(4);
    await come(remote('greedy'), 10);
    await come(remote('modest'), 3);
    expect([insideOf('greedy'), insideOf('modest')]).toEqual([3, 1]);
    admission.leave(remote('modest'));
    admission.leave(remote('greedy'));
    await settled();
    expect(entered.slice(4)).toEqual(['modest', 'greedy']);
    expect([admission.inside, admission.queued]).toEqual([4, 7]);
  });

  it('has one slot for an owner where there is only one, and all for the local user', async () => {
    const { come, insideOf, admission } = world(1);
    await come(remote('greedy'), 2);
    expect(insideOf('greedy')).toBe(1);
    admission.resize(4, 100);
    await settled();
    await come(local('mine'), 4);
    expect([insideOf('greedy'), insideOf('mine'), admission.inside]).toEqual([2, 2, 4]);
  });

  it('keeps nothing of an owner that has left #no-growth', async () => {
    const { admission, come, insideOf } = world(2);
    for (let count = 0; count < 3; count++) {
      await come(remote('a'));
      admission.leave(remote('a'));
    }
    expect([insideOf('a'), admission.inside, admission.queued]).toEqual([3, 0, 0]);
  });
});
