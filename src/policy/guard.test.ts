import { describe, expect, it } from 'vitest';
import { Fault } from '../kernel/fault.ts';
import { authorize, type Guard, isAllowed } from './guard.ts';
import { localUser, type Principal } from './principal.ts';

const researcher: Principal = { id: 'token:r', role: 'researcher' };
const denyAll: Guard = () => ({ allow: false, reason: 'closed for the night' });

function denial(guard: Guard | null, principal: Principal, tool: string | null = 'push'): Fault {
  try {
    authorize(guard, principal, 'git', tool, tool === null ? 'spawn' : 'call');
  } catch (thrown) {
    if (thrown instanceof Fault) return thrown;
  }
  throw new Error('it was allowed');
}

describe('authorize', () => {
  it('lets the local user do everything when there is no guard', () => {
    expect(authorize(null, localUser, 'git', 'push', 'call')).toBeUndefined();
    expect(authorize(null, localUser, 'git', null, 'spawn')).toBeUndefined();
  });

  it('lets nobody else do anything when there is no guard, whatever they are called', () => {
    expect(denial(null, researcher).code).toBe('denied');
    expect(denial(null, { id: 'local', role: null }).code).toBe('denied');
    expect(denial(null, { ...localUser, role: 'researcher' }).code).toBe('denied');
  });

  it('names the operation, the tool, the allowlist and the reason of the guard', () => {
    const fault = denial(denyAll, researcher);
    expect(fault.message).toBe("call of 'git/push' denied by allowlist: closed for the night");
    expect(fault.record).toMatchObject({ server: 'git', tool: 'push', dispatched: 'no' });
  });

  it('names the server alone when no tool is asked for', () => {
    const fault = denial(denyAll, localUser, null);
    expect(fault.message).toBe("spawn of 'git' denied by allowlist: closed for the night");
    expect(fault.record).not.toHaveProperty('tool');
  });

  it('asks the guard once, with what was asked for', () => {
    const asked: unknown[][] = [];
    const guard: Guard = (...question) => {
      asked.push(question);
      return { allow: true };
    };
    authorize(guard, researcher, 'nowhere', 'nothing', 'call');
    expect(asked).toEqual([[researcher, 'nowhere', 'nothing', 'tool']]);
  });

  it('denies when the guard throws, and keeps what it threw', () => {
    const broken = new TypeError('roles is\nundefined');
    const fault = denial(() => {
      throw broken;
    }, localUser);
    expect(fault.code).toBe('denied');
    expect(fault.message).toContain('the guard itself failed: roles is undefined');
    expect(fault.cause).toBe(broken);
  });

  it.each([
    ['nothing', undefined],
    ['a bare true', true],
    ['a promise', Promise.resolve({ allow: true })],
    ['a truthy string', { allow: 'yes' }],
    ['a denial without a reason', { allow: false }],
  ])('denies when the guard answers with %s', (_, answer) => {
    const guard = (() => answer) as unknown as Guard;
    expect(denial(guard, localUser).code).toBe('denied');
    expect(isAllowed(guard, localUser, 'git', 'push')).toBe(false);
  });
});

describe('isAllowed', () => {
  it('gives the same answer as authorize, without throwing', () => {
    const guard: Guard = (_, server) =>
      server === 'docs' ? { allow: true } : { allow: false, reason: 'not yours' };
    expect(isAllowed(guard, researcher, 'docs', null)).toBe(true);
    expect(isAllowed(guard, researcher, 'git', null)).toBe(false);
    expect(isAllowed(null, researcher, 'docs', null)).toBe(false);
    expect(isAllowed(null, localUser, 'docs', null)).toBe(true);
  });
});
