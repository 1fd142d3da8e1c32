import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../test/support/manual-clock.ts';
import { MemoryStore } from '../store/memory-store.ts';
import { sealedRecords } from '../store/sealed-records.ts';
import { IdempotencyKeys } from './idempotency.ts';
import { KeyedRecords } from './keyed-records.ts';
import { MarkedKeys } from './marked-keys.ts';

const anna = { id: 'token:anna', role: 'writer' };

function opened(secret = Buffer.alloc(32, 'secret')) {
  const clock = new ManualClock();
  const store = new MemoryStore({ clock, claims: 'durable' });
  const [keys, answers] = ['keys', 'key-answers'].map((name) => ({
    name,
    records: store.records(name, { durability: 'durable' }),
  }));
  if (keys === undefined || answers === undefined) throw new Error('both are there');
  const sealed = ({ name, records }: typeof keys) => sealedRecords(records, name, secret);
  const process = () => {
    const inner = new KeyedRecords({
      clock,
      keys: sealed(keys),
      answers: async () => sealed(answers),
    });
    return new IdempotencyKeys(new MarkedKeys(async () => ({ store: inner, secret })), () => {});
  };
  return { process, stored: [keys.records, answers.records] };
}

describe('idempotency keys in a store that others can read', () => {
  it('are the same keys to every process with the secret #shared-keys', async () => {
    const { process } = opened();
    const run = (fingerprint: string, text: string) =>
      process().run(anna, 'key', fingerprint, async () => Buffer.from(text));
    expect(`${await run('f', 'first')}`).toBe('first');
    expect(`${await run('f', 'second')}`).toBe('first');
    await expect(run('g', 'third')).rejects.toMatchObject({ code: 'conflict' });
  });

  it('show neither the key nor its owner, what was asked, nor what was answered #shared-keys', async () => {
    const { process, stored } = opened();
    const execute = async () => Buffer.from('canary of the answer');
    await process().run(anna, 'canary of the key', 'canary of the request', execute);
    const all = (await Promise.all(stored.map((records) => records.entries()))).flat();
    expect(all).toHaveLength(2);
    const text = JSON.stringify(all.map(({ key, value }) => [key, value]));
    expect(/canary|anna|begun|answered/.exec(text)?.[0]).toBeUndefined();
  });

  it('are opened again after the secret could not be read', async () => {
    const { process } = opened();
    let tried = 0;
    const marked = new MarkedKeys(async () => {
      tried += 1;
      throw new Error('not now');
    });
    for (let count = 0; count < 2; count += 1) {
      await expect(marked.free('slot')).rejects.toThrow('not now');
    }
    expect(tried).toBe(2);
    expect(process().running).toBe(0);
  });
});
