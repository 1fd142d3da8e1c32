import { describe, expect, it } from 'vitest';
import { settled } from '../../../test/support/manual-clock.ts';
import { type Backend, Gatherer } from './backend.ts';
import type { StoreOperation } from './operation.ts';

const get = (key: string): StoreOperation => ({
  word: 'records',
  action: 'get',
  name: 'x',
  now: 1,
  key,
});
const keysOf = (operations: readonly StoreOperation[]) =>
  operations.map((one) => ('key' in one ? one.key : ''));

/** A place whose work ends when the test says so. */
function place(name: string, happened: string[]) {
  const waiting: (() => void)[] = [];
  const held = (what: string) => {
    happened.push(`${name} ${what}`);
    return new Promise<void>((resolve) => {
      waiting.push(() => {
        happened.push(`${name} ${what} ended`);
        resolve();
      });
    });
  };
  const backend: Backend = {
    apply: async (operations) => {
      await held(keysOf(operations).join());
      return operations.map(() => ({ ok: true, value: name }));
    },
    close: () => held('close'),
  };
  const end = async () => {
    waiting.shift()?.();
    for (let turn = 0; turn < 5; turn += 1) await settled();
  };
  return { backend, end };
}

describe('what is gathered for a place that is handed over', () => {
  it('is run by one of the two: what is under way ends first, and what comes meanwhile waits', async () => {
    const happened: string[] = [];
    const [one, two] = [place('one', happened), place('two', happened)];
    const gatherer = new Gatherer(one.backend);
    const values: Promise<unknown>[] = ['a', 'b'].map((key) => gatherer.run(get(key)));
    for (let turn = 0; turn < 5; turn += 1) await settled();
    values.push(gatherer.run(get('c')));
    const handing = gatherer.handOver(two.backend, async () => void happened.push('released'));
    values.push(gatherer.run(get('d')));
    await one.end();
    values.push(gatherer.run(get('e')));
    for (let turn = 0; turn < 5; turn += 1) await settled();
    await one.end();
    await handing;
    values.push(gatherer.run(get('f')));
    await two.end();
    await two.end();
    const outcomes = await Promise.all(values);
    expect(outcomes.map((outcome) => (outcome as { readonly value: string }).value)).toEqual([
      ...['one', 'one'],
      ...['two', 'two', 'two', 'two'],
    ]);
    expect(happened).toEqual([
      ...['one a,b', 'one a,b ended', 'one close', 'one close ended', 'released'],
      ...['two c,d,e', 'two c,d,e ended', 'two f', 'two f ended'],
    ]);
  });

  it('is refused beyond what may wait, and when the gatherer is closed', async () => {
    const happened: string[] = [];
    const [one, two] = [place('one', happened), place('two', happened)];
    const gatherer = new Gatherer(one.backend);
    const handing = gatherer.handOver(two.backend, async () => {});
    const waiting = Array.from({ length: 10_000 }, () => gatherer.run(get('a')));
    await expect(gatherer.run(get('b'))).rejects.toMatchObject({ reason: 'full' });
    for (let turn = 0; turn < 5; turn += 1) await settled();
    await one.end();
    await handing;
    for (let turn = 0; turn < 5; turn += 1) await settled();
    await two.end();
    await Promise.all(waiting);
    const closing = gatherer.close();
    for (let turn = 0; turn < 5; turn += 1) await settled();
    await two.end();
    await closing;
    await expect(gatherer.handOver(one.backend, async () => {})).rejects.toMatchObject({
      reason: 'closed',
    });
  });
});
