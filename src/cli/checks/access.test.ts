// What doctor says of tokens.

import { describe, expect, it } from 'vitest';
import { checkOpenFront, checkTokens } from './access.ts';

const role = (allow: string[], deny: string[] = []) => ({
  roles: { r: { allow, deny, operator: false, budget: null } },
});

describe('tokens', () => {
  const token = { id: 'a', name: 'ci', role: 'r', createdAt: 0, expiresAt: null, lastUsedAt: null };

  it('whose role the config does not have are findings, expired ones are notes', () => {
    const check = (more: object) => checkTokens(role([]), [{ ...token, ...more }], 10);
    expect(check({})).toEqual([]);
    expect(check({ role: null })).toEqual([]);
    expect(check({ expiresAt: 11 })).toEqual([]);
    expect(check({ role: 'gone' })).toMatchObject([
      { kind: 'finding', remedy: expect.stringContaining('holdfast token revoke ci') },
    ]);
    expect(check({ expiresAt: 10, role: 'gone' })).toMatchObject([
      { kind: 'note', text: expect.stringContaining('has expired') },
    ]);
  });
});

describe('a front without authentication', () => {
  const http = { listen: '127.0.0.1:0', allowedHosts: [], allowedOrigins: [] };
  const token = { id: 'a', name: 'ci', role: 'r', createdAt: 0, expiresAt: null, lastUsedAt: null };

  it('although there are tokens with roles is what serve will refuse', () => {
    const store = 'sqlite';
    const check = (auth: 'none' | 'token', more: object = {}) =>
      checkOpenFront({ http: { ...http, auth }, store }, [{ ...token, ...more }], 10);
    expect(check('token')).toEqual([]);
    expect(check('none', { role: null })).toEqual([]);
    expect(check('none', { expiresAt: 10 })).toEqual([]);
    expect(check('none')).toMatchObject([
      { kind: 'finding', text: expect.stringMatching(/refusing to start.*\(ci\)/) },
    ]);
  });

  it('whose store is on a NATS server is what serve will refuse', () => {
    const check = (store: string, auth: 'none' | 'token') =>
      checkOpenFront({ http: { ...http, auth }, store }, [], 10);
    expect(check('sqlite', 'none')).toEqual([]);
    expect(check('nats://127.0.0.1:4222/x', 'token')).toEqual([]);
    expect(check('nats://127.0.0.1:4222/x', 'none')).toMatchObject([
      { kind: 'finding', text: expect.stringMatching(/refusing to start: "store" is on a NATS/) },
    ]);
  });
});
