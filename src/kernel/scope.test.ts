import { describe, expect, it } from 'vitest';
import { Scope } from './scope.ts';

describe('a scope', () => {
  it('frees what it owns in the reverse order, waiting for each', async () => {
    const freed: string[] = [];
    {
      await using scope = new Scope();
      scope.own({ [Symbol.dispose]: () => void freed.push('first') });
      scope.own({
        [Symbol.asyncDispose]: async () => {
          await Promise.resolve();
          freed.push('second');
        },
      });
      scope.defer(() => void freed.push('third'));
      expect(freed).toEqual([]);
    }
    expect(freed).toEqual(['third', 'second', 'first']);
  });

  it('returns what it takes', () => {
    const thing = { [Symbol.dispose]: () => {} };
    expect(new Scope().own(thing)).toBe(thing);
  });

  it('frees everything when something fails, and throws the first failure', async () => {
    const freed: string[] = [];
    const scope = new Scope();
    scope.defer(() => void freed.push('last'));
    scope.defer(() => Promise.reject(new RangeError('the second failure')));
    scope.defer(() => {
      throw new TypeError('the first failure');
    });
    await expect(scope[Symbol.asyncDispose]()).rejects.toThrow(TypeError);
    expect(freed).toEqual(['last']);
  });

  it('ends once: a second end joins the first', async () => {
    let times = 0;
    const scope = new Scope();
    scope.defer(() => {
      times += 1;
    });
    const first = scope[Symbol.asyncDispose]();
    expect(scope[Symbol.asyncDispose]()).toBe(first);
    await first;
    await scope[Symbol.asyncDispose]();
    expect(times).toBe(1);
  });

  it('takes nothing more once it has ended', async () => {
    const scope = new Scope();
    await scope[Symbol.asyncDispose]();
    expect(() => scope.defer(() => {})).toThrow();
  });

  it('takes nothing more while it ends, not even from its first cleanup', async () => {
    const scope = new Scope();
    scope.defer(() => scope.defer(() => {}));
    await expect(scope[Symbol.asyncDispose]()).rejects.toThrow('already ended');
  });
});
