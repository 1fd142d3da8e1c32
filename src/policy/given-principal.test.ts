// A principal that a program gives: what could be mistaken for another one, or is none, is refused with a typed
// fault on every way into the library.

import { describe, expect, it } from 'vitest';
import { newHost } from '../../test/support/fake-gateway.ts';
import { text, tool } from '../../test/support/scripted-server.ts';
import { Fault } from '../kernel/fault.ts';
import { principalProblem } from './given-principal.ts';
import { cutBy, localUser, type Principal, verifiedPrincipal } from './principal.ts';

const wrong: readonly (readonly [string, unknown])[] = [
  ['the id of the local user', { id: 'local', role: null }],
  ['a slash', { id: 'token:ann/server/s', role: null }],
  ['a slash at its end', { id: 'token:ann/', role: null }],
  ['a line break', { id: 'token:a\nb', role: null }],
  ['nothing in it', { id: '', role: null }],
  ['megabytes', { id: 'x'.repeat(1_048_576), role: null }],
  ['no text', { id: 7, role: null }],
  ['a role that is no text', { id: 'token:ann', role: 7 }],
  ['no members', {}],
  ['null instead of it', null],
];

describe('a principal from a program', () => {
  it.each(wrong)('with %s is refused, and nothing is asked for it #guard', async (_what, given) => {
    const script = { tools: [tool('t')], on: { 'tools/call': () => text('done') } };
    const { host, servers } = newHost({ s: script });
    host.setGuard(() => ({ allow: true }));
    const principal = given as Principal;
    const ways = [
      async () => host.call('s', 't', {}, { principal, idempotencyKey: 'one' }),
      async () => host.callRaw('s', 't', '{}', { principal }),
      async () => host.callCommand(['x'], 't', {}, { principal }),
      async () => host.tools('s', { principal }),
      async () => host.discover({ principal }),
      async () => host.search('t', { principal }),
      async () => host.status({ principal }),
    ];
    for (const way of ways) {
      const fault = await way().then(
        () => 'no fault',
        (thrown: unknown) => (thrown instanceof Fault ? thrown.code : thrown),
      );
      expect(fault).toBe('invalid_request');
    }
    expect(servers.s.children).toEqual([]);
    expect(host.status().internalErrors).toBe(0);
  });

  it('is taken as it is if it can stand for a credential, and so is one that a guard has got', () => {
    const ann = { id: 'jwt:https%3A%2F%2Fissuer|ann', role: 'r' };
    const cut = cutBy(ann, { kind: 'server', name: 's' });
    const verified = verifiedPrincipal('token:x', null, () => false);
    const almost = { id: 'user:local', role: null };
    for (const good of [
      ann,
      almost,
      cut,
      localUser,
      verified,
      cutBy(localUser, { kind: 'role', name: 'r' }),
    ]) {
      expect(principalProblem(good)).toBeUndefined();
    }
    expect(principalProblem(verifiedPrincipal('jwt:a/b', null, () => false))).toContain('slash');
    const posing = verifiedPrincipal('local', 'r', () => true);
    expect(principalProblem(posing)).toContain('is that of the local user');
  });
});
