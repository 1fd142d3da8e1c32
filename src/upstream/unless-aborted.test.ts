import { describe, expect, it } from 'vitest';
import { settled } from '../../test/support/manual-clock.ts';
import { unlessAborted } from './unless-aborted.ts';

describe('work that may be cancelled', () => {
  it('ends by itself when it is not cancelled', async () => {
    const { signal } = new AbortController();
    expect(await unlessAborted(signal, Promise.resolve(7))).toBe(7);
    await expect(unlessAborted(signal, Promise.reject(new RangeError()))).rejects.toThrow(
      RangeError,
    );
  });

  it('is waited for no longer once somebody does, for the reason given', async () => {
    const abort = new AbortController();
    const waiting = unlessAborted(abort.signal, new Promise(() => {}));
    abort.abort(new RangeError('enough'));
    await expect(waiting).rejects.toThrow('enough');
  });

  it('is not waited for when somebody has, and may fail unnoticed', async () => {
    const reason = new RangeError('before');
    const failing = Promise.reject(new TypeError('too late'));
    await expect(unlessAborted(AbortSignal.abort(reason), failing)).rejects.toThrow();
    const abort = new AbortController();
    let fail: (error: Error) => void = () => {};
    const work = new Promise<void>((_resolve, reject) => {
      fail = reject;
    });
    const waiting = unlessAborted(abort.signal, work);
    abort.abort(reason);
    await expect(waiting).rejects.toThrow('before');
    fail(new TypeError('too late'));
    await settled();
  });
});
