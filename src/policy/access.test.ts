import { describe, expect, it } from 'vitest';
import { Fault } from '../kernel/fault.ts';
import { Access, type AccessRequest, type Guard, serverRequest } from './access.ts';
import { cutBy, localUser, type Principal } from './principal.ts';

const researcher: Principal = { id: 'token:r', role: 'researcher' };
const denyAll: Guard = () => ({ allow: false, reason: 'closed for the night' });

const push: AccessRequest = {
  action: 'call',
  server: 'git',
  kind: 'tool',
  name: 'push',
  method: 'tools/call',
};
const spawn = serverRequest('spawn', 'git');

function accessOf(guard: Guard | null): Access {
  const access = new Access();
  access.guard = guard;
  return access;
}

function denial(guard: Guard | null, principal: Principal, request = push): Fault {
  try {
    accessOf(guard).authorize(principal, request);
  } catch (thrown) {
    if (thrown instanceof Fault) return thrown;
  }
  throw new Error('it was allowed');
}

describe('the scope of a principal', () => {
  it('is its own under a guard, by id, path and role: a guard may tell all of them apart #guard', () => {
    const access = accessOf(() => ({ allow: true }));
    const ann = { id: 'token:ann', role: 'a' };
    const cut = cutBy(ann, { kind: 'server', name: 's' });
    const others = [
      { ...ann, role: 'b' },
      { ...ann, role: null },
      { ...ann, id: 'token:bob' },
      cut,
    ];
    const scopes = [ann, ...others].map((one) => access.scopeOf(one));
    expect(new Set(scopes).size).toBe(scopes.length);
    expect(access.scopeOf({ ...ann })).toBe(access.scopeOf(ann));
  });

  it('are told apart whatever spaces their ids and roles have #guard', () => {
    const access = accessOf(() => ({ allow: true }));
    const one = { id: 'jwt:ann lee', role: 'admin' };
    const others = [
      { id: 'jwt:ann', role: 'lee admin' },
      { id: 'jwt:ann lee admin', role: null },
      { id: 'jwt:ann lee admin', role: '' },
    ];
    const scopes = [one, ...others].map((principal) => access.scopeOf(principal));
    expect(new Set(scopes).size).toBe(4);
  });
});

describe('authorize', () => {
  it('lets the local user do everything when there is no guard', () => {
    expect(accessOf(null).authorize(localUser, push)).toBeUndefined();
    expect(accessOf(null).authorize(localUser, spawn)).toBeUndefined();
  });

  it('lets only the local user do anything when there is no guard, whatever the names of others', () => {
    expect(denial(null, researcher).code).toBe('denied');
    expect(denial(null, { id: 'local', role: null }).code).toBe('denied');
    expect(denial(null, { ...localUser, role: 'researcher' }).code).toBe('denied');
  });

  it('names the action, the tool and the reason of the guard', () => {
    const fault = denial(denyAll, researcher);
    expect(fault.message).toBe("call of 'git/push' is not allowed: closed for the night");
    expect(fault.record).toMatchObject({ server: 'git', tool: 'push', dispatched: 'no' });
  });

  it('names the server alone when no tool is asked for', () => {
    const fault = denial(denyAll, localUser, spawn);
    expect(fault.message).toBe("spawn of 'git' is not allowed: closed for the night");
    expect(fault.record).not.toHaveProperty('tool');
  });

  it('asks the guard once, with what was asked for', () => {
    const asked: unknown[][] = [];
    const guard: Guard = (...question) => {
      asked.push(question);
      return { allow: true };
    };
    accessOf(guard).authorize(researcher, push);
    expect(asked).toEqual([[researcher, 'git', 'push', push]]);
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
    expect(accessOf(guard).isAllowed(localUser, push)).toBe(false);
    expect(accessOf(guard).may(localUser, push)).toMatchObject({ allow: false });
  });
});

describe('isAllowed', () => {
  it('gives the same answer as authorize, without throwing', () => {
    const guard: Guard = (_, server) =>
      server === 'docs' ? { allow: true } : { allow: false, reason: 'not yours' };
    const docs = serverRequest('list', 'docs');
    const git = serverRequest('list', 'git');
    expect(accessOf(guard).isAllowed(researcher, docs)).toBe(true);
    expect(accessOf(guard).isAllowed(researcher, git)).toBe(false);
    expect(accessOf(guard).may(researcher, docs)).toEqual({ allow: true });
    expect(accessOf(guard).may(researcher, git)).toEqual({ allow: false, reason: 'not yours' });
    expect(accessOf(null).isAllowed(researcher, docs)).toBe(false);
    expect(accessOf(null).isAllowed(localUser, docs)).toBe(true);
  });
});

describe('the version of the policy', () => {
  it('is another one after every change of the guard', () => {
    const access = new Access();
    const seen = new Set([access.version]);
    for (const guard of [denyAll, null, denyAll]) {
      access.guard = guard;
      seen.add(access.version);
    }
    expect(seen.size).toBe(4);
  });
});
