// Workers behind a broker while the process of their orchestrator is replaced, with real processes on both brokers: what was
// begun before ends, new calls come to the next process, and nothing runs twice.

import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { describe, expect, it } from 'vitest';
import { faultyStdio } from '../support/faulty.ts';
import { Fleet, type FleetBrokerName } from '../support/fleet.ts';
import { executions } from '../support/ledger.ts';
import { servingPids } from '../support/serving-process.ts';
import { newFolder } from '../support/sqlite-place.ts';
import { until } from '../support/until.ts';

async function fleetOn(name: FleetBrokerName, drainMs: number) {
  const ledger = `${newFolder()}/ledger`;
  const fleet = await Fleet.start(name, {
    mcpServers: { own: faultyStdio({ ledger }) },
    roles: { reader: { allow: ['own/*'] } },
    drainMs,
  });
  const { pid } = JSON.parse(fleet.orchestrator.stdout);
  const rollOut = async () => {
    const { code, stderr } = await fleet.home.run(['rollout']);
    expect([code, stderr]).toEqual([0, '']);
  };
  const serving = () => servingPids(pid as number);
  const ran = (nonce: string) => executions(ledger, nonce);
  return {
    fleet,
    ran,
    rollOut,
    serving,
    [Symbol.asyncDispose]: () => fleet[Symbol.asyncDispose](),
  };
}

const adds = (nonce: string, ms: number) => ({
  ...{ nonce, key: nonce, amount: 1 },
  fault: { kind: 'late', ms },
});

describe.each(['embedded', 'nats'] as const)(
  'workers behind the %s broker, in a rollout',
  (name) => {
    it('get the answers of calls that were begun before, and those of calls that come then #rollout #broker-once', async () => {
      await using world = await fleetOn(name, 10_000);
      const { fleet, ran, rollOut } = world;
      const worker = await fleet.worker();
      await worker.call('own__echo', { text: 'started' });
      const begun = worker.call('own__add', adds('begun', 1_500));
      await until(() => ran('begun') === 1, 'it runs');
      await rollOut();
      const later = worker.call('own__add', adds('later', 1));
      expect(JSON.stringify(await begun)).not.toContain('isError');
      expect(JSON.stringify(await later)).not.toContain('isError');
      expect([ran('begun'), ran('later')]).toEqual([1, 1]);
    });

    it('get the answer of a call that runs for longer than the former may keep the mailbox #rollout #broker-once', async () => {
      await using world = await fleetOn(name, 300);
      const { fleet, ran, rollOut, serving } = world;
      const worker = await fleet.worker();
      await worker.call('own__echo', { text: 'started' });
      const long = worker.call('own__add', adds('long', 4_000));
      await until(() => ran('long') === 1, 'it runs');
      await rollOut();
      expect(JSON.stringify(await worker.call('own__add', adds('next', 1)))).not.toContain(
        'isError',
      );
      await rollOut();
      expect(JSON.stringify(await worker.call('own__add', adds('last', 1)))).not.toContain(
        'isError',
      );
      expect(await long).toMatchObject({ structuredContent: { key: 'long' } });
      expect([ran('long'), ran('next'), ran('last')]).toEqual([1, 1, 1]);
      await until(async () => (await serving()).length === 1, 'the formers have ended');
    });

    it('cancel a call of the former process #rollout', async () => {
      await using world = await fleetOn(name, 300);
      const { fleet, ran, rollOut, serving } = world;
      const worker = await fleet.worker();
      await worker.call('own__echo', { text: 'started' });
      const cancel = new AbortController();
      const slow = { name: 'own__slow', arguments: { ms: 600_000, nonce: 'long' } };
      const running = worker.client.callTool(slow, undefined, { signal: cancel.signal });
      await until(() => ran('long') === 1, 'it runs');
      await rollOut();
      await worker.call('own__echo', { text: 'by the next' });
      cancel.abort();
      await expect(running).rejects.toThrow();
      await until(async () => {
        const said = { last: 20, method: 'notifications/cancelled' };
        const answer = await worker.call('own__received', said);
        return answer['structuredContent'].messages.length > 0;
      }, 'it was cancelled there');
      await until(async () => (await serving()).length === 1, 'the former has ended');
    });

    it('answer a question that was asked before #rollout', async () => {
      await using world = await fleetOn(name, 300);
      const { fleet, ran, rollOut } = world;
      const worker = await fleet.worker('ann', { elicitation: {} });
      let answer = () => {};
      const asked = new Promise<void>((resolve) => {
        worker.client.setRequestHandler(ElicitRequestSchema, async () => {
          resolve();
          await new Promise<void>((answered) => {
            answer = answered;
          });
          return { action: 'accept' as const, content: { answer: 'forty-two' } };
        });
      });
      const params = {
        message: 'what is it?',
        requestedSchema: { type: 'object', properties: { answer: { type: 'string' } } },
      };
      const args = { method: 'elicitation/create', params, nonce: 'ask' };
      const running = worker.call('own__ask', args);
      await asked;
      await rollOut();
      await worker.call('own__echo', { text: 'by the next' });
      answer();
      expect(JSON.stringify(await running)).toContain('forty-two');
      expect(ran('ask')).toBe(1);
    });
  },
);
