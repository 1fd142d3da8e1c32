// Which names a caller whose role hides some is told in errors, hints and the answers of the control socket: none
// that it may not see.

import { describe, expect, it } from 'vitest';
import { newGateway, settled } from '../../test/support/fake-gateway.ts';
import { text, tool } from '../../test/support/scripted-server.ts';
import { type Principal, verifiedPrincipal } from '../policy/principal.ts';
import { hostOperations } from './host-operations.ts';

const rules = { allow: ['a/re*', 'b*/x'], deny: ['a/read_secret'] };
const roles = { me: rules, op: { ...rules, operator: true } };
const operator = verifiedPrincipal('token:op', 'op', () => true);

async function world(more: object = { local: { role: 'me' } }) {
  const script = {
    tools: [tool('read'), tool('read_secret')],
    on: { 'tools/call': () => text('') },
  };
  const configured = {
    read_secret: { as: 'alias' },
    read: { timeoutMs: 5_000 },
    read_secrets: { hidden: true },
  };
  const made = newGateway(
    { a: script, bbb: {}, ccb: {} },
    { config: { a: { tools: configured } }, settings: { roles, ...more } },
  );
  made.legacy({}, operator).request('tools/list');
  await settled();
  const said = async (server: string, name: string, principal?: Principal) => {
    const call = made.host
      .callRaw(server, name, '{}', principal === undefined ? {} : { principal })
      .then(
        () => 'ok',
        (thrown: Error) => thrown.message,
      );
    await settled();
    await made.clock.advanceAsync(1_000);
    return await call;
  };
  return { ...made, said };
}

describe('a hint for a name that there is not', () => {
  it.each([
    ['the local user with a role', undefined],
    ['an operator', operator],
  ])('names no hidden tool or server: %s #roles-deny', async (_who, principal) => {
    const { said } = await world();
    const shown = await said('a', 'reat', principal);
    expect(shown).toContain('did you mean read?');
    for (const name of ['read_secre', 'read_secrets']) {
      const hint = await said('a', name, principal);
      expect(hint.replaceAll(`'${name}'`, '')).not.toContain('secret');
    }
    // Of the servers that there are, the pattern b* shows one.
    const server = await said('bccb', 'x', principal);
    expect(server).toContain("no server named 'bccb'");
    expect(server).toContain('bbb');
    expect(server.replaceAll('bccb', '')).not.toContain('ccb');
  });

  it('names all of them for who may see all', async () => {
    const { said } = await world({});
    expect(await said('a', 'read_secre')).toContain('read_secret');
    expect(await said('bccb', 'x')).toContain('ccb?');
  });
});

describe('what the control socket tells of the tools of a server', () => {
  it('has no configured tool that the role of the local user hides #roles-deny', async () => {
    const { host } = await world();
    const listed = hostOperations(host).tools('a', { kept: false });
    await settled();
    const { entry } = await listed;
    expect(Object.keys(entry?.tools ?? {})).toEqual(['read', 'read_secrets']);
    expect(JSON.stringify(await listed)).not.toMatch(/secret"|alias/);
  });
});
