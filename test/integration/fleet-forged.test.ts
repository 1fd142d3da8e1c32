// A worker that claims to be another, to have another role, or wants its answer sent elsewhere, at an orchestrator that
// serves real tools, on both brokers: it gets what its own credential allows, and touches nothing of other workers.

import { describe, expect, it } from 'vitest';
import type { Identity } from '../../src/broker/identity.ts';
import { natsCredentialText } from '../../src/broker/nats-credential.ts';
import { partIn, pullBody } from '../../src/fleet/parcel.ts';
import { BrokerProcess } from '../support/broker-process.ts';
import { ReadMail } from '../support/broker-suite/read-mail.ts';
import { type MemberName, members } from '../support/broker-suite/subject.ts';
import { faultyStdio } from '../support/faulty.ts';
import { Fleet, type FleetBroker } from '../support/fleet.ts';
import {
  type HostileWorker,
  hostileAtHub,
  hostileAtNats,
  linkOf,
} from '../support/hostile-worker.ts';
import { executions, readLedger } from '../support/ledger.ts';
import { NatsServer, passwordOf } from '../support/nats-server.ts';
import { newFolder } from '../support/sqlite-place.ts';
import { until } from '../support/until.ts';

/** Ann may read, bob may do everything. */
const identities: Readonly<Record<MemberName, Identity>> = {
  ...members,
  bob: { ...members.bob, role: 'admin' },
};

interface World extends AsyncDisposable {
  readonly fleet: Fleet;
  readonly ledger: string;
  readonly hostile: HostileWorker;
  secretOf(member: MemberName): string;
}

async function onBroker(broker: FleetBroker): Promise<{ fleet: Fleet; ledger: string }> {
  const ledger = `${newFolder()}/ledger`;
  const fleet = await Fleet.start(broker, {
    mcpServers: { own: faultyStdio({ ledger }) },
    roles: { reader: { allow: ['own/echo'] }, admin: { allow: ['own/*'] } },
  });
  // It has its link: the worker of the library has had an answer.
  const bob = await fleet.worker('bob');
  await bob.call('own__echo', { text: 'started' });
  return { fleet, ledger };
}

const worlds: Readonly<Record<'embedded' | 'nats', () => Promise<World>>> = {
  embedded: async () => {
    const broker = await BrokerProcess.prepared();
    await broker.admit('bob', identities.bob);
    await broker.launch();
    const secretOf = (member: MemberName) => broker.secretOf(member);
    const { fleet, ledger } = await onBroker(Object.assign(broker, { credential: secretOf }));
    const hostile = await hostileAtHub(broker.url, secretOf('ann'));
    return { fleet, ledger, hostile, secretOf, [Symbol.asyncDispose]: () => ended(hostile, fleet) };
  },
  nats: async () => {
    const names = Object.keys(identities) as MemberName[];
    const server = await NatsServer.start(
      names.map((name) => ({
        identity: identities[name],
        credential: { password: passwordOf(name) },
      })),
    );
    const broker: FleetBroker = {
      url: server.url,
      credential: (name) => natsCredentialText({ ...identities[name], secret: passwordOf(name) }),
      restart: () => server.restart(),
      [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
    };
    const { fleet, ledger } = await onBroker(broker);
    const hostile = await hostileAtNats(server.url, identities.ann, passwordOf('ann'));
    const end = () => ended(hostile, fleet);
    return { fleet, ledger, hostile, secretOf: passwordOf, [Symbol.asyncDispose]: end };
  },
};

async function ended(hostile: HostileWorker, fleet: Fleet): Promise<void> {
  await hostile[Symbol.asyncDispose]();
  await fleet[Symbol.asyncDispose]();
}

function request(id: string, tool: string, args: object, claims: object = {}): string {
  const envelope = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 't', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const params = { name: tool, arguments: args, ...claims, _meta: { ...claims, ...envelope } };
  return JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params, ...claims });
}

const answerTo = (hostile: HostileWorker, id: string) =>
  hostile.came.find(({ kind, about }) => kind === 'mcp-reply' && about === id)?.body.toString();

describe.each(['embedded', 'nats'] as const)('a worker at the %s broker', (name) => {
  it.each<[string, object]>([
    ['role', { role: 'admin' }],
    ['role and name', { role: 'admin', from: 'bob.mcp' }],
    ['name', { from: 'bob.mcp' }],
  ])('that claims another %s gets nothing by it #broker-identity', async (_what, claims) => {
    await using world = await worlds[name]();
    const { hostile, ledger, fleet, secretOf } = world;
    const bob = await linkOf(fleet.broker.url, identities.bob, secretOf('bob'), 'listener');
    const bobs = await ReadMail.of(bob, 'mcp-reply');
    for (const way of ['deliver', 'tell'] as const) {
      const id = `forged-${way}`;
      const body = request(id, 'own__add', { nonce: id, key: 'k', amount: 1 }, claims);
      const how = await hostile.writes({ way, id, kind: 'mcp-request', body }, claims);
      // NATS does not take it; the embedded broker takes it as what it is.
      expect(how).toBe(name === 'nats' ? 'refused' : 'taken');
      if (how === 'refused') continue;
      await until(() => answerTo(hostile, id) !== undefined, 'it is answered');
      expect(answerTo(hostile, id)).toContain('Unknown tool: own__add');
    }
    // The same in the message alone.
    const body = request('said', 'own__add', { nonce: 'said', key: 'k', amount: 1 }, claims);
    const letter = { way: 'deliver', id: 'said', kind: 'mcp-request', body } as const;
    expect(await hostile.writes(letter)).toBe('taken');
    await until(() => answerTo(hostile, 'said') !== undefined, 'it is answered');
    expect(answerTo(hostile, 'said')).toContain('Unknown tool: own__add');
    expect(readLedger(ledger).filter(({ tool }) => tool === 'add')).toEqual([]);
    expect(bobs.all).toEqual([]);
    await bob.close();
  });

  it('that names another address for its answer gets it itself, and nobody else does #broker-identity', async () => {
    await using world = await worlds[name]();
    const { hostile, fleet, secretOf } = world;
    const bob = await linkOf(fleet.broker.url, identities.bob, secretOf('bob'), 'listener');
    const bobs = await ReadMail.of(bob, 'mcp-reply');
    let asked = 0;
    for (const replyTo of ['bob.mcp', '_INBOX.bob~mcp.x', 'hf.mail.bob~mcp.mcp-reply.~any.x']) {
      asked += 1;
      const id = `call-${asked}`;
      const body = request(id, 'own__echo', { text: id }, { replyTo, reply_to: replyTo });
      const letter = { way: 'deliver', id, kind: 'mcp-request', body } as const;
      expect(await hostile.writes(letter, { replyTo })).toBe('taken');
      await until(() => answerTo(hostile, id) !== undefined, 'it is answered');
      expect(answerTo(hostile, id)).toContain(id);
    }
    expect(bobs.all).toEqual([]);
    await bob.close();
  });

  it("cannot cancel, pull or ask again for another worker's call #broker-identity", async () => {
    await using world = await worlds[name]();
    const { hostile, ledger, fleet, secretOf } = world;
    const bob = await linkOf(fleet.broker.url, identities.bob, secretOf('bob'), 'caller');
    const bobs = await ReadMail.of(bob, 'mcp-reply');
    const fault = { kind: 'huge', bytes: 600_000 };
    const slow = request('secret', 'own__slow', { ms: 1_000, nonce: 'n' });
    const send = (id: string, text: string) =>
      bob.deliver({ id, to: 'boss', kind: 'mcp-request', about: id, body: Buffer.from(text) });
    await send('secret', slow);
    await until(() => executions(ledger, 'n') === 1, 'it runs');
    const cancel = { way: 'tell', id: 'secret', kind: 'mcp-cancel', about: 'secret', body: '' };
    await hostile.writes(cancel as Parameters<HostileWorker['writes']>[0]);
    const done = await bobs.next();
    expect(done.body.toString()).toContain('"result"');
    await send('large', request('large', 'own__echo', { text: 'x', fault }));
    const announced = await bobs.next();
    expect(announced.body[0]).toBe(0);
    const pull = { way: 'tell', id: 'p', kind: 'mcp-pull', about: 'large', body: pullBody(0) };
    await hostile.writes(pull as Parameters<HostileWorker['writes']>[0]);
    await until(() => hostile.came.some(({ kind }) => kind === 'mcp-chunk'), 'it is answered');
    const [chunk] = hostile.came.filter(({ kind }) => kind === 'mcp-chunk');
    expect(partIn(chunk?.body ?? Buffer.alloc(0))).toBe('gone');
    // The id of another's call is not the id of one's own: it is a call of its own, and ann may not.
    await hostile.writes({ way: 'deliver', id: 'secret', kind: 'mcp-request', body: slow });
    await until(() => answerTo(hostile, 'secret') !== undefined, 'it is answered');
    expect(answerTo(hostile, 'secret')).toContain('Unknown tool: own__slow');
    expect(executions(ledger, 'n')).toBe(1);
    await bob.close();
  });
});
