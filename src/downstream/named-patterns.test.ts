// A pattern that is written as clients name a tool or a prompt is about just that one: whatever a list
// shows to somebody who may use everything is put into `deny`, and into `allow`, as it stands there.

import { describe, expect, it } from 'vitest';
import { newGateway, settled } from '../../test/support/fake-gateway.ts';
import { tool } from '../../test/support/scripted-server.ts';
import type { RoleRules } from '../policy/roles/role.ts';

/** Names that are changed for clients, renamed by the config, or look like something else. */
const names = [
  ...[
    'search',
    'admin/delete',
    'delete all',
    'Délete',
    'a__b',
    'docs__search',
    'a b',
    'a_b',
    'a.b',
  ],
  ...['tools/call', '../x', 'x\ny', 'x'.repeat(100), 'constructor', '__proto__', 'wipe', 'burn'],
];
const script = {
  capabilities: { tools: {}, prompts: {} },
  tools: names.map((name) => tool(name)),
  prompts: names.map((name) => ({ name })),
};
const config = {
  docs: { tools: { wipe: { as: 'docs__cleanup' }, burn: { as: 'evil__burn_it' } } },
  evil: { tools: { search: { as: 'find.it' } } },
};

interface Listed {
  readonly tools: readonly { readonly name: string }[];
  readonly prompts: readonly { readonly name: string }[];
}

function world(rules: Partial<RoleRules>) {
  const roles = { r: { allow: [], deny: [], ...rules } };
  const { modern } = newGateway({ docs: script, evil: script }, { settings: { roles }, config });
  return modern({}, { principal: { id: 'token:r', role: 'r' }, key: 'r' });
}

async function listed(peer: ReturnType<typeof world>, kind: keyof Listed) {
  const reply = peer.request(`${kind}/list`);
  await settled();
  return (reply.result as unknown as Listed)[kind].map(({ name }) => name);
}

const all = { allow: ['docs/*', 'evil/*', 'prompt:*'] };
const seen = {
  tools: await listed(world(all), 'tools'),
  prompts: await listed(world(all), 'prompts'),
};
const shown = (['tools', 'prompts'] as const).flatMap((kind) =>
  seen[kind].map((name) => [kind, name, kind === 'tools' ? name : `prompt:${name}`] as const),
);

describe('a pattern as clients name it', () => {
  it('is tried with every name that is shown', () => expect(shown).toHaveLength(4 * names.length));

  // One word is no pattern: the config says so.
  it.each(shown.filter(([, name]) => name !== 'find.it'))(
    'denies just this one of the %s: %s #roles-deny',
    async (kind, name, pattern) => {
      const peer = world({ ...all, deny: [pattern] });
      expect((await listed(peer, kind)).sort()).toEqual(
        seen[kind].filter((one) => one !== name).sort(),
      );
      const method = kind === 'tools' ? 'tools/call' : 'prompts/get';
      const reply = peer.request(method, { name });
      await settled();
      expect(reply.answered.error?.code).toBe(-32_602);
    },
  );

  it.each(shown.filter(([, name]) => name !== 'find.it'))(
    'allows just this one of the %s: %s #roles-deny',
    async (kind, name, pattern) => {
      expect(await listed(world({ allow: [pattern] }), kind)).toEqual([name]);
    },
  );

  it.each([
    ['evil__admin/delete', 'evil__admin_delete_'],
    ['evil/admin/delete', 'evil__admin_delete_'],
    ['evil__find.it', 'find.it'],
    ['evil/find.it', 'find.it'],
    ['docs__wipe', 'docs__cleanup'],
    ['docs/docs__cleanup', 'docs__cleanup'],
    ['docs/burn', 'evil__burn_it'],
  ])('denies by %s what clients see as %s… #roles-deny', async (pattern, start) => {
    const left = await listed(world({ ...all, deny: [pattern] }), 'tools');
    const gone = seen.tools.filter((name) => !left.includes(name));
    expect(gone).toHaveLength(1);
    expect(gone[0]?.startsWith(start)).toBe(true);
  });

  it('follows a tool that the config renames while it runs #roles-deny', async () => {
    const roles = { r: { allow: ['docs/*'], deny: ['docs/renamed'] } };
    const entry = (as: string | null) => ({ command: 'docs', tools: { search: { as } } });
    const gateway = newGateway(
      { docs: script },
      { settings: { roles }, config: { docs: entry(null) } },
    );
    const peer = gateway.modern({}, { principal: { id: 'token:r', role: 'r' }, key: 'r' });
    expect(await listed(peer, 'tools')).toContain('docs__search');
    const mcpServers = { docs: entry('renamed') } as never;
    const applied = gateway.host.apply({ roles, hostTools: false, mcpServers } as never);
    await settled();
    await gateway.clock.advanceAsync(20);
    await applied;
    const now = await listed(peer, 'tools');
    expect(now).toContain('docs__a_b');
    expect(now.filter((name) => name === 'docs__search' || name === 'renamed')).toEqual([]);
  });
});
