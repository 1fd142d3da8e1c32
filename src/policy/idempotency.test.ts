import { describe, expect, it } from 'vitest';
import { keyedRecords } from '../../test/support/keyed-records.ts';
import type { Clock } from '../kernel/clock.ts';
import { type Dispatched, Fault, type FaultCode } from '../kernel/fault.ts';
import { MemoryStore } from '../store/memory-store.ts';
import { IdempotencyKeys, type KeyedStore } from './idempotency.ts';
import { KeyedMemory } from './keyed-memory.ts';
import type { Principal } from './principal.ts';

const anna: Principal = { id: 'token:anna', role: 'writer' };
const bert: Principal = { id: 'token:bert', role: 'writer' };
const dayMs = 24 * 60 * 60 * 1000;

function clockAt(startMs: number): Clock & { ms: number } {
  return {
    ms: startMs,
    now() {
      return this.ms;
    },
    wallNow: () => 0,
    after: () => ({ [Symbol.dispose]: () => {} }),
  };
}

/** A tool that counts its runs and answers when told to. */
class Tool {
  runs = 0;
  #end: { resolve: (bytes: Buffer) => void; reject: (thrown: unknown) => void } | undefined;

  readonly execute = (): Promise<Buffer> => {
    this.runs += 1;
    return new Promise((resolve, reject) => {
      this.#end = { resolve, reject };
    });
  };

  answer(text: string): void {
    this.#end?.resolve(Buffer.from(text));
  }

  fail(thrown: unknown): void {
    this.#end?.reject(thrown);
  }
}

const keepers: readonly (readonly [where: string, make: (clock: Clock) => KeyedStore])[] = [
  ['in memory', (clock) => new KeyedMemory(clock)],
  [
    'in the records of a store',
    (clock) => {
      const store = new MemoryStore({ clock, claims: 'durable' });
      return keyedRecords(store.records('keys', { durability: 'durable' }));
    },
  ],
];

function setUp(make = keepers[0]?.[1]) {
  const clock = clockAt(0);
  const store = make?.(clock) ?? new KeyedMemory(clock);
  const reported: unknown[] = [];
  const keys = new IdempotencyKeys(store, (failure) => reported.push(failure));
  return { clock, store, keys, reported };
}

const answering = (text: string) => async () => Buffer.from(text);
const mustNotRun = async (): Promise<Buffer> => {
  throw new Error('it ran');
};

async function faultOf(answer: Promise<unknown>): Promise<Fault> {
  const thrown = await answer.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (thrown instanceof Fault) return thrown;
  throw new Error('it did not end in a fault', { cause: thrown });
}

/** Lets everything that is ready to go on go on. */
const settled = () => new Promise<void>((resolve) => setImmediate(resolve));

describe.each(keepers)('an idempotency key %s', (_, make) => {
  it('lets equal calls join the one that is running', async () => {
    const { keys } = setUp(make);
    const tool = new Tool();
    const first = keys.run(anna, 'k', 'f', tool.execute);
    const second = keys.run(anna, 'k', 'f', tool.execute);
    await settled();
    const third = keys.run(anna, 'k', 'f', tool.execute);
    tool.answer('done');
    expect((await Promise.all([first, second, third])).map(String)).toEqual([
      'done',
      'done',
      'done',
    ]);
    expect(tool.runs).toBe(1);
  });

  it('answers a later call from memory for 24 hours, and then runs again', async () => {
    const { keys, clock } = setUp(make);
    await keys.run(anna, 'k', 'f', answering('first'));
    clock.ms += dayMs - 1;
    expect(String(await keys.run(anna, 'k', 'f', mustNotRun))).toBe('first');
    clock.ms += 1;
    expect(String(await keys.run(anna, 'k', 'f', answering('second')))).toBe('second');
  });

  it('is kept for as long as the transport says that made it', async () => {
    const { keys, clock } = setUp(make);
    const run = (execute: () => Promise<Buffer>) =>
      keys.run(anna, 'k', 'f', execute, undefined, 1_000);
    await run(answering('first'));
    clock.ms += 999;
    expect(String(await run(mustNotRun))).toBe('first');
    clock.ms += 1;
    expect(String(await run(answering('second')))).toBe('second');
  });

  it('goes on when the caller who started it has given up', async () => {
    const { keys } = setUp(make);
    const tool = new Tool();
    const gaveUp = Promise.race([keys.run(anna, 'k', 'f', tool.execute), Promise.resolve('gone')]);
    expect(await gaveUp).toBe('gone');
    await settled();
    tool.answer('done');
    expect(String(await keys.run(anna, 'k', 'f', mustNotRun))).toBe('done');
  });

  it('is a conflict with another request, both while it runs and afterwards', async () => {
    const { keys } = setUp(make);
    const tool = new Tool();
    const first = keys.run(anna, 'k', 'f', tool.execute);
    expect((await faultOf(keys.run(anna, 'k', 'other', mustNotRun))).code).toBe('conflict');
    tool.answer('done');
    await first;
    const fault = await faultOf(keys.run(anna, 'k', 'other', mustNotRun));
    expect(fault.code).toBe('conflict');
    expect(fault.message).toContain('"k"');
  });

  it('answers the rightful request although a conflicting one is being looked at', async () => {
    const { keys } = setUp(make);
    await keys.run(anna, 'k', 'f', answering('done'));
    const wrong = faultOf(keys.run(anna, 'k', 'other', mustNotRun));
    const right = keys.run(anna, 'k', 'f', mustNotRun);
    expect(String(await right)).toBe('done');
    expect((await wrong).code).toBe('conflict');
  });

  it('belongs to its principal', async () => {
    const { keys } = setUp(make);
    await keys.run(anna, 'k', 'f', answering('for anna'));
    expect(String(await keys.run(bert, 'k', 'g', answering('for bert')))).toBe('for bert');
    expect(String(await keys.run(anna, 'k', 'f', mustNotRun))).toBe('for anna');
  });

  it('does not run together with the id of a principal that looks like another', async () => {
    const { keys } = setUp(make);
    await keys.run({ id: 'a', role: null }, 'b:c', 'f', answering('one'));
    const other = await keys.run({ id: 'a:b', role: null }, 'c', 'f', answering('two'));
    expect(String(other)).toBe('two');
  });

  it('is free again after a fault that never left us', async () => {
    const { keys } = setUp(make);
    const tool = new Tool();
    const both = [
      keys.run(anna, 'k', 'f', tool.execute),
      keys.run(anna, 'k', 'f', tool.execute),
    ].map(faultOf);
    await settled();
    tool.fail(new Fault('unavailable', 'refused', { dispatched: 'no' }));
    expect((await Promise.all(both)).map((fault) => fault.code)).toEqual([
      'unavailable',
      'unavailable',
    ]);
    expect(String(await keys.run(anna, 'k', 'f', answering('retried')))).toBe('retried');
  });

  it.each<[FaultCode, Dispatched]>([
    ['outcome_unknown', 'maybe'],
    ['timeout', 'yes'],
    ['rpc_error', 'yes'],
  ])('keeps and repeats the fault %s (dispatched %s)', async (code, dispatched) => {
    const { keys } = setUp(make);
    const fault = new Fault(code, 'lost it', { server: 'git', dispatched, attempts: 1 });
    await faultOf(keys.run(anna, 'k', 'f', () => Promise.reject(fault)));
    const repeated = await faultOf(keys.run(anna, 'k', 'f', mustNotRun));
    expect(repeated.record).toEqual(fault.record);
  });

  it('takes a defect of ours for a call that may have been dispatched', async () => {
    const { keys } = setUp(make);
    const defect = () => {
      throw new TypeError('undefined is not a function');
    };
    const fault = await faultOf(keys.run(anna, 'k', 'f', defect));
    expect(fault.record).toMatchObject({ code: 'internal', dispatched: 'maybe' });
    expect((await faultOf(keys.run(anna, 'k', 'f', mustNotRun))).code).toBe('internal');
  });

  it('has 1 to 255 characters', async () => {
    const { keys } = setUp(make);
    for (const bad of ['', 'x'.repeat(256)]) {
      const fault = await faultOf(keys.run(anna, bad, 'f', mustNotRun));
      expect(fault.record).toMatchObject({ code: 'invalid_request', dispatched: 'no' });
    }
    const longest = await keys.run(anna, 'x'.repeat(255), 'f', answering('ok'));
    expect(String(longest)).toBe('ok');
  });

  it('that was begun by a process which is gone is unknown, and runs nothing', async () => {
    const { keys, store } = setUp(make);
    const tool = new Tool();
    const lost = new IdempotencyKeys(store, () => {});
    void lost.run(anna, 'k', 'f', tool.execute);
    await settled();
    const fault = await faultOf(keys.run(anna, 'k', 'f', mustNotRun));
    expect(fault.record).toMatchObject({ code: 'outcome_unknown', dispatched: 'maybe' });
  });
});

describe('a store that fails', () => {
  const broken = new Error('disk full');

  it('runs nothing when it cannot take the claim', async () => {
    const store: KeyedStore = {
      claim: () => Promise.reject(broken),
      put: () => Promise.resolve(),
      free: () => Promise.resolve(),
    };
    const tool = new Tool();
    const keys = new IdempotencyKeys(store, () => {});
    await expect(keys.run(anna, 'k', 'f', tool.execute)).rejects.toBe(broken);
    expect(tool.runs).toBe(0);
  });

  it('does not cost the caller its answer, is reported, and leaves the key unknown', async () => {
    const { store } = setUp();
    const reported: unknown[] = [];
    const forgetful: KeyedStore = {
      claim: (...claim) => store.claim(...claim),
      put: () => Promise.reject(broken),
      free: () => Promise.reject(broken),
    };
    const keys = new IdempotencyKeys(forgetful, (failure) => reported.push(failure));
    expect(String(await keys.run(anna, 'k', 'f', answering('done')))).toBe('done');
    expect((await faultOf(keys.run(anna, 'k', 'f', mustNotRun))).code).toBe('outcome_unknown');
    const refused = () => Promise.reject(new Fault('overloaded', 'full'));
    expect((await faultOf(keys.run(anna, 'k2', 'f', refused))).code).toBe('overloaded');
    expect(reported).toEqual([broken, broken]);
  });
});

describe('an answer that was dropped', () => {
  it('is said to be dropped, and the call is not repeated', async () => {
    const limits = { maxKeys: 10, maxKeysPerPrincipal: 10, maxBytes: 3 };
    const keys = new IdempotencyKeys(new KeyedMemory(clockAt(0), limits), () => {});
    let runs = 0;
    const run = () =>
      keys.run(anna, 'k', 'f', () => {
        runs += 1;
        return Promise.resolve(Buffer.from('long'));
      });
    await run();
    await expect(run()).rejects.toMatchObject({
      code: 'outcome_unknown',
      record: { dispatched: 'maybe', answerDropped: true },
    });
    expect(runs).toBe(1);
  });
});

describe('the outcome of a call that was brought before', () => {
  const again = { signal: undefined, hasLeft: () => false, isAgain: true };

  it('is the answer that is kept, or unknown if nothing is known of it: then nothing runs, also later #broker-once', async () => {
    const { keys } = setUp();
    await keys.run(anna, 'known', 'f', answering('done'));
    expect(String(await keys.run(anna, 'known', 'f', mustNotRun, again))).toBe('done');
    for (const caller of [again, undefined]) {
      const fault = await faultOf(keys.run(anna, 'expired', 'f', mustNotRun, caller));
      expect([fault.code, fault.dispatched]).toEqual(['outcome_unknown', 'maybe']);
      expect(fault.message).toContain('check its effect');
    }
  });

  it('is known to be begun for as long as it may run, and then as long as its id is known #broker-once', async () => {
    const { clock, store, keys } = setUp();
    const caller = { signal: undefined, hasLeft: () => true, withinMs: 3_600_000 };
    const tool = new Tool();
    const running = keys.run(anna, 'long', 'f', tool.execute, caller, 1_000);
    await settled();
    clock.ms = 3_600_999;
    const next = new IdempotencyKeys(store, () => {});
    const fault = await faultOf(next.run(anna, 'long', 'f', mustNotRun, caller, 1_000));
    expect([fault.code, tool.runs]).toEqual(['outcome_unknown', 1]);
    tool.answer('done');
    await running;
    clock.ms += 999;
    expect(String(await next.run(anna, 'long', 'f', mustNotRun, caller, 1_000))).toBe('done');
    clock.ms += 1;
    expect(String(await next.run(anna, 'long', 'f', answering('new'), caller, 1_000))).toBe('new');
  });
});
