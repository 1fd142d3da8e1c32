import { describe, expect, it } from 'vitest';
import { newGateway, newHost, settled } from '../../test/support/fake-gateway.ts';
import type { Caller } from '../host/connections/caller.ts';
import { localUser } from '../policy/principal.ts';
import { discovery, legacyGreeting } from './greeting.ts';

const identity = { name: 'holdfast', version: '1' };
const client = {
  principal: localUser,
  client: { key: 'c', isAskedInCalls: false },
  capabilities: '{}',
  logLevel: undefined,
} as Caller;

describe('the answer of the gateway to the handshake', () => {
  it('is all of the protocol before anything is known of a server, and starts none', async () => {
    const { host, servers } = newHost({ a: {} });
    const legacy = JSON.parse(`{${legacyGreeting(host, identity, client)}}`);
    const modern = JSON.parse(discovery(host, identity, client));
    for (const { capabilities } of [legacy, modern]) {
      expect(capabilities).toMatchObject({
        tools: { listChanged: true },
        prompts: { listChanged: true },
        resources: { listChanged: true, subscribe: true },
        completions: {},
        logging: {},
      });
    }
    expect(legacy.serverInfo).toEqual(identity);
    expect(modern).toMatchObject({
      resultType: 'complete',
      supportedVersions: ['2026-07-28'],
      _meta: { 'io.modelcontextprotocol/serverInfo': identity },
    });
    expect(servers.a.children).toEqual([]);
  });

  it('has the instructions of its servers under their names, none longer than its share', async () => {
    const { host, legacy } = newGateway({
      a: { instructions: '  Be kind.\n' },
      b: { instructions: 'x'.repeat(10_000) },
      c: {},
    });
    legacy().request('tools/list');
    await settled();
    const { instructions } = JSON.parse(`{${legacyGreeting(host, identity, client)}}`);
    expect(instructions).toBe(`## a\n\nBe kind.\n\n## b\n\n${'x'.repeat(4_000)}`);
  });

  it('has no instructions of a server of whose tools the principal may not use one #guard', async () => {
    const { host, legacy } = newGateway({
      open: {
        instructions: 'Never use the tool rm.',
        tools: [{ name: 'echo', inputSchema: { type: 'object' } }],
      },
    });
    legacy().request('tools/list');
    await settled();
    host.setGuard(({ id }, _server, name) =>
      id === localUser.id || name !== 'echo' ? { allow: true } : { allow: false, reason: 'no' },
    );
    const guest = { ...client, principal: { id: 'token:x', role: null } };
    for (const [to, isTold] of [
      [client, true],
      [guest, false],
    ] as const) {
      const { instructions = '' } = JSON.parse(discovery(host, identity, to));
      expect(instructions.includes('rm')).toBe(isTold);
    }
  });

  it('has nothing of a server that the principal may not use #guard', async () => {
    const capabilities = { tools: {}, extensions: { 'x/secret': {} }, tasks: {} };
    const { host, legacy } = newGateway({
      open: { instructions: 'Be kind.' },
      closed: { instructions: 'The safe is behind the picture.', capabilities },
    });
    legacy().request('tools/list');
    await settled();
    host.setGuard(({ id }, server) =>
      id === localUser.id || server === 'open' ? { allow: true } : { allow: false, reason: 'no' },
    );
    const guest = { ...client, principal: { id: 'token:x', role: null } };
    const greetings = (to: Caller) => [
      JSON.parse(`{${legacyGreeting(host, identity, to)}}`),
      JSON.parse(discovery(host, identity, to)),
    ];
    for (const { instructions, capabilities: shown } of greetings(guest)) {
      expect(instructions).toBe('## open\n\nBe kind.');
      expect(shown.extensions).not.toHaveProperty(['x/secret']);
    }
    for (const { instructions, capabilities: shown } of greetings(client)) {
      expect(instructions).toContain('## closed');
      expect(shown.extensions).toHaveProperty(['x/secret']);
    }
  });

  it('has the extensions and experiments of its servers, the earlier one’s word first', async () => {
    const declared = (value: number) => ({
      tools: {},
      extensions: { 'x/y': { value } },
      experimental: { [`e${value}`]: {} },
    });
    const { host, legacy } = newGateway({
      a: { capabilities: declared(1) },
      b: { capabilities: declared(2) },
    });
    legacy().request('tools/list');
    await settled();
    expect(JSON.parse(discovery(host, identity, client)).capabilities).toMatchObject({
      extensions: { 'x/y': { value: 1 } },
      experimental: { e1: {}, e2: {} },
    });
  });

  it('has skills where a server has them, and as long as one has not said whether it has', async () => {
    const skills = 'io.modelcontextprotocol/skills';
    const having = (value: object) => ({
      tools: {},
      resources: {},
      extensions: { [skills]: value },
    });
    const declared = (world: ReturnType<typeof newGateway<string>>) =>
      [
        discovery(world.host, identity, client),
        `{${legacyGreeting(world.host, identity, client)}}`,
      ].map((text) => JSON.parse(text).capabilities.extensions[skills]);
    const none = newGateway({ a: {}, b: {} } as Record<string, object>);
    expect(declared(none)).toEqual(Array(2).fill({ directoryRead: true }));
    none.legacy().request('tools/list');
    await settled();
    expect(declared(none)).toEqual([undefined, undefined]);
    const some: Record<string, object> = {
      a: { capabilities: having({ x: 1 }) },
      b: { capabilities: having({ directoryRead: true }) },
      c: {},
    };
    const world = newGateway(some);
    world.legacy().request('tools/list');
    await settled();
    expect(declared(world)).toEqual(Array(2).fill({ x: 1, directoryRead: true }));
  });
});
