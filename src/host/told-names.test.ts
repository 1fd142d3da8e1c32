// Which names of servers and tools the error for one that does not exist tells: those that its caller may see, and
// why a server cannot be used only to operators.

import { describe, expect, it } from 'vitest';
import { newHost, settled } from '../../test/support/fake-gateway.ts';
import { tool } from '../../test/support/scripted-server.ts';
import type { Fault } from '../kernel/fault.ts';
import { localUser, type Principal } from '../policy/principal.ts';

const remote: Principal = { id: 'token:r', role: 'all' };

/** The local user is an operator with a role that does not see one server and one tool. */
function world() {
  const script = { tools: [tool('read'), tool('reap')] };
  const roles = {
    narrow: { allow: ['*/*'], deny: ['hidden/*', '*/reap'], operator: true },
    all: { allow: ['*/*'] },
  };
  const { host } = newHost(
    { hidden: script, seen: script, off: {} },
    { config: { off: { disabled: true } }, settings: { roles, local: { role: 'narrow' } } },
  );
  const refused = async (server: string, name: string, principal: Principal) => {
    const refusal = host.call(server, name, {}, { principal }).catch((fault: Fault) => fault);
    await settled();
    const { code, message } = (await refusal) as Fault;
    return `${code}: ${message}`;
  };
  return { host, refused };
}

describe('the error for a server that does not exist', () => {
  it('names those that an operator sees, and no others #roles-deny', async () => {
    const { refused } = world();
    const told = await refused('missing', 'read', localUser);
    expect(told).toMatch(/^not_found: .*there are: off \(disabled\), seen$/);
    expect(await refused('hiden', 'read', localUser)).not.toContain('hidden');
  });

  it('names none to anybody else, and says of one that is disabled the same #roles-deny', async () => {
    const { refused } = world();
    const nothing = 'not_found: there is no such thing here';
    expect(await refused('missing', 'read', remote)).toBe(nothing);
    expect(await refused('off', 'read', remote)).toBe(nothing);
    expect(await refused('off', 'read', localUser)).toMatch(/^invalid_request: off is disabled/);
  });
});

describe('the error for a tool that does not exist', () => {
  it('names near ones that its caller sees, and no others #roles-deny', async () => {
    const { refused } = world();
    const told = await refused('seen', 'rea', localUser);
    expect(told).toContain('read');
    expect(told).not.toContain('reap');
  });
});
