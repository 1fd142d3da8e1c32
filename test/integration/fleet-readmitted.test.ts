// A worker whose name is revoked and added again, with another role or for another person, in one step, on both brokers with
// a real orchestrator: the next credential has nothing of the earlier one, neither its role for letters that wait, nor its
// running calls, nor its answers. And a call id that is used again for another request, by its own sender.

import { describe, expect, it } from 'vitest';
import type { Link } from '../../src/broker/contract.ts';
import { partIn, pullBody } from '../../src/fleet/parcel.ts';
import { ReadMail } from '../support/broker-suite/read-mail.ts';
import { changingBrokers } from '../support/changing-brokers.ts';
import { faultyStdio } from '../support/faulty.ts';
import { Fleet } from '../support/fleet.ts';
import { executions } from '../support/ledger.ts';
import { newFolder } from '../support/sqlite-place.ts';
import { until } from '../support/until.ts';

async function started(name: keyof typeof changingBrokers) {
  const broker = await changingBrokers[name]('admin');
  const ledger = `${newFolder()}/ledger`;
  const fleet = await Fleet.start(broker, {
    mcpServers: { own: faultyStdio({ ledger }) },
    roles: { reader: { allow: ['own/echo', 'own/received'] }, admin: { allow: ['own/*'] } },
  });
  const ann = await fleet.worker('ann');
  await ann.call('own__echo', { text: 'started' });
  const bob = await broker.link('bob', 'caller');
  return { fleet, broker, ledger, ann, bob };
}

const envelope = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 't', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
};

function request(tool: string, args: object): Buffer {
  const params = { name: tool, arguments: args, _meta: envelope };
  return Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }));
}

const add = (nonce: string) => request('own__add', { nonce, key: 'k', amount: 1 });

function send(link: Link, id: string, body: Buffer, about = id): Promise<void> {
  return link.deliver({ id, to: 'boss', kind: 'mcp-request', about, body });
}

function tell(link: Link, id: string, body: Buffer, about = id, kind = 'mcp-request'): void {
  link.tell({ id, to: 'boss', kind, about, body });
}

describe.each(['embedded', 'nats'] as const)(
  'at the %s broker, a name that is added again',
  (name) => {
    it('has nothing run with the role of before that waited #revoked #broker-identity', async () => {
      const { fleet, broker, ledger, bob } = await started(name);
      await using _fleet = fleet;
      fleet.orchestrator.kill('SIGKILL');
      await fleet.orchestrator.ended;
      for (const id of ['left-1', 'left-2']) await send(bob, id, add(id));
      await broker.readmit('bob', 'reader');
      await bob.ended;
      const next = await broker.link('bob', 'caller');
      const answers = await ReadMail.of(next, 'mcp-reply');
      await send(next, 'new', request('own__echo', { text: 'new', nonce: 'new' }));
      await fleet.restartOrchestrator();
      const answer = await answers.next();
      expect([answer.about, executions(ledger, 'new')]).toEqual(['new', 1]);
      expect(['left-1', 'left-2'].map((nonce) => executions(ledger, nonce))).toEqual([0, 0]);
      await next.close();
    }, 60_000);

    it('has the running calls of before cancelled, also while it has a link, and gets no answer of them #revoked', async () => {
      const { fleet, broker, ledger, ann, bob } = await started(name);
      await using _fleet = fleet;
      await send(bob, 'kept', request('own__slow', { ms: 600_000, nonce: 'kept' }));
      tell(bob, 'told', request('own__slow', { ms: 600_000, nonce: 'told' }));
      await until(() => ['kept', 'told'].every((nonce) => executions(ledger, nonce) === 1), 'both');
      await broker.readmit('bob', 'reader');
      await bob.ended;
      const next = await broker.link('bob', 'caller');
      const answers = await ReadMail.of(next, 'mcp-reply');
      const said = { last: 99, method: 'notifications/cancelled' };
      const cancelled = async () => {
        const answer = await ann.call('own__received', said);
        return answer['structuredContent'].messages.length;
      };
      await until(async () => (await cancelled()) === 2, 'both are cancelled');
      await send(next, 'new', request('own__echo', { text: 'new' }));
      await answers.next();
      expect(answers.all.map(({ about }) => about)).toEqual(['new']);
      await next.close();
    }, 60_000);

    it('has none of the answers of before: not those that wait, nor by their call ids, nor parts of them #broker-identity', async () => {
      const { fleet, broker, ledger, bob } = await started(name);
      await using _fleet = fleet;
      const olds = await ReadMail.of(bob, 'mcp-reply');
      await send(bob, 'call', add('same'));
      await olds.next();
      const fault = { kind: 'huge', bytes: 600_000 };
      await send(bob, 'large', request('own__echo', { text: 'x', fault }));
      await olds.next();
      // The same role, so that nothing is refused because of it.
      await broker.readmit('bob', 'admin');
      await bob.ended;
      const next = await broker.link('bob', 'caller');
      const answers = await ReadMail.of(next, 'mcp-reply');
      const chunks = await ReadMail.of(next, 'mcp-chunk');
      tell(next, 'part', pullBody(0), 'large', 'mcp-pull');
      expect(partIn((await chunks.next()).body)).toBe('gone');
      // A call of its own, which has only the id in common.
      await send(next, 'mine', add('same'), 'call');
      const answer = await answers.next();
      expect([answer.id, executions(ledger, 'same')]).toEqual(['mine', 2]);
      await next.close();
    }, 60_000);

    it.each(['deliver', 'tell'] as const)(
      'a call id that its sender uses for another request is refused, and answered as before for the same (%s) #broker-once',
      async (way) => {
        const { fleet, ledger, bob } = await started(name);
        await using _fleet = fleet;
        const ask = async (id: string, body: Buffer) =>
          way === 'deliver' ? await send(bob, id, body, 'call') : tell(bob, id, body, 'call');
        const answers = await ReadMail.of(bob, 'mcp-reply');
        await ask('one', add('first'));
        const first = (await answers.next()).body.toString();
        for (const [id, other] of [
          ['other-arguments', add('second')],
          ['other-tool', request('own__echo', { nonce: 'first', key: 'k', amount: 1 })],
        ] as const) {
          await ask(id, other);
          const refusal = JSON.parse((await answers.next()).body.toString());
          expect(refusal.error).toMatchObject({
            code: -32_600,
            data: { code: 'conflict', dispatched: 'no' },
          });
        }
        await ask('again', add('first'));
        const again = await answers.next();
        expect([again.id, again.body.toString()]).toEqual(['again', first]);
        expect(['first', 'second'].map((nonce) => executions(ledger, nonce))).toEqual([1, 0]);
        await bob.close();
      },
      60_000,
    );
  },
);
