// A worker's channel and the orchestrator's front on a real broker, with a gateway that is played by the test:
// requests, answers and news, large answers, links and processes that end in the middle.

import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import {
  playedRequest as request,
  startPlayedFleet as startFleet,
} from '../../test/support/played-fleet.ts';
import { until } from '../../test/support/until.ts';
import { systemClock } from '../kernel/system-clock.ts';
import { replyMs } from './call-ids.ts';

describe('a request of a worker', () => {
  it.each([true, false])(
    'is answered with its own answer, as the worker that the broker knows (kept: %s)',
    async (isKept) => {
      await using fleet = await startFleet();
      const asked = Array.from({ length: 8 }, (_, at) =>
        fleet.ask(request(`tool-${at}`), { isKept }),
      );
      const answers = await Promise.all(asked.map(({ answer }) => answer));
      expect(answers).toEqual(Array.from({ length: 8 }, (_, at) => request(`tool-${at}`)));
      const who = fleet.gateway.runs.map(({ principal, role }) => `${principal} ${role}`);
      expect(new Set(who)).toEqual(new Set(['worker:ann.mcp reader']));
    },
  );

  it('overlaps with others: all have begun before one is answered', async () => {
    await using fleet = await startFleet();
    fleet.gateway.answer = undefined;
    const asked = Array.from({ length: 4 }, (_, at) => fleet.ask(request(`tool-${at}`)));
    await until(() => fleet.gateway.runs.length === 4, 'all four run');
    for (const { reply } of fleet.gateway.runs) reply.answer(['done']);
    expect(await Promise.all(asked.map(({ answer }) => answer))).toEqual([
      'done',
      'done',
      'done',
      'done',
    ]);
  });

  it('hears its news before its answer', async () => {
    await using fleet = await startFleet();
    fleet.gateway.answer = undefined;
    const asked = fleet.ask(request('slow'));
    await until(() => fleet.gateway.runs.length === 1, 'it runs');
    const [run] = fleet.gateway.runs;
    run?.reply.send(['{"progress":1}']);
    run?.reply.send(['{"progress":2}']);
    run?.reply.answer(['done']);
    await asked.answer;
    expect(asked.news).toEqual(['{"progress":1}', '{"progress":2}']);
  });

  it('that only listens ends there with its worker; one that may have an effect goes on #fleet', async () => {
    await using fleet = await startFleet();
    fleet.gateway.answer = undefined;
    const listening = fleet.ask(request('listen'), { isKept: false });
    await until(() => fleet.gateway.runs.length === 1, 'it listens');
    const call = fleet.ask(request('call'));
    await until(() => fleet.gateway.runs.length === 2, 'it runs');
    for (const { answer } of [listening, call]) answer.catch(() => {});
    await fleet.channel.close();
    await until(() => fleet.gateway.runs[0]?.cancelled === true, 'it has ended there');
    expect(fleet.gateway.runs[1]?.cancelled).toBe(false);
  });

  it('that is cancelled is cancelled there', async () => {
    await using fleet = await startFleet();
    fleet.gateway.answer = undefined;
    const asked = fleet.ask(request('slow'));
    asked.answer.catch(() => {});
    await until(() => fleet.gateway.runs.length === 1, 'it runs');
    fleet.channel.cancel(asked.id);
    await until(() => fleet.gateway.runs[0]?.cancelled === true, 'it is cancelled');
  });

  it('has a call id that is known a little longer than its letter and its answer live, if it may have an effect #broker-once', async () => {
    await using fleet = await startFleet();
    await fleet.ask(request('kept'), { ttlMs: 60_000 }).answer;
    const read = request('told').replace('tools/call', 'resources/read');
    await fleet.ask(read, { ttlMs: 60_000, isKept: false }).answer;
    // Several replicas may be told the same.
    await fleet.ask(request('told'), { ttlMs: 60_000, isKept: false }).answer;
    await fleet.ask(request('told'), { isKept: false }).answer;
    const [kept, listed, told, endless] = fleet.gateway.runs.map(({ knownMs }) => knownMs);
    expect(listed).toBeUndefined();
    for (const known of [kept, told]) {
      expect(known).toBeGreaterThan(replyMs + 60_000);
      expect(known).toBeLessThanOrEqual(60_000 + replyMs + 60_000);
    }
    expect(endless).toBe(replyMs + 60_000);
  });

  it('that cannot be decoded gets an error', async () => {
    await using fleet = await startFleet();
    const answer = JSON.parse(await fleet.ask('{"no json').answer);
    expect(answer.error.code).toBe(-32_700);
    expect(fleet.gateway.runs).toEqual([]);
  });

  it('that nobody is there for waits for the orchestrator, and fails as one that was not sent', async () => {
    await using fleet = await startFleet();
    await fleet.orchestratorLink.close();
    const waiting = fleet.ask(request('list'), { isKept: false });
    await fleet.newOrchestrator();
    expect(await waiting.answer).toBe(request('list'));
    await fleet.orchestratorLink.close();
    const isGone = async () =>
      (await fleet.broker.link('ann').then((ann) => ann.present())).length === 0;
    await until(isGone, 'the broker knows that it has gone');
    await expect(fleet.ask(request('again'), { isKept: false }).answer).rejects.toMatchObject({
      why: { reason: 'not_taken', dispatched: 'no' },
    });
  });
});

describe('a large answer', () => {
  it.each([true, false])('arrives in parts, byte for byte (kept: %s)', async (isKept) => {
    await using fleet = await startFleet();
    const large = randomBytes(3 * 1024 * 1024 + 7).toString('base64');
    fleet.gateway.answer = () => large;
    expect((await fleet.ask(request('large'), { isKept }).answer) === large).toBe(true);
  });
});

describe('a large answer of which the beginning has come', () => {
  it('is pulled to its end by the next link #fleet', async () => {
    await using fleet = await startFleet();
    const large = randomBytes(6 * 1024 * 1024).toString('base64');
    fleet.gateway.answer = () => large;
    const asked = fleet.ask(request('large'));
    await until(() => fleet.gateway.runs.length === 1, 'it is answered');
    await fleet.broker.stop();
    await fleet.broker.start();
    await fleet.newOrchestratorLink();
    expect((await asked.answer) === large).toBe(true);
    expect(fleet.gateway.runs).toHaveLength(1);
  });
});

describe('a call survives', () => {
  it('the end of the broker while it runs: it ran once #broker-once', async () => {
    await using fleet = await startFleet();
    fleet.gateway.answer = undefined;
    const asked = fleet.ask(request('effect'));
    await until(() => fleet.gateway.runs.length === 1, 'it runs');
    await fleet.broker.stop();
    fleet.gateway.runs[0]?.reply.answer(['done']);
    await fleet.broker.start();
    await fleet.newOrchestratorLink();
    expect(await asked.answer).toBe('done');
    expect(fleet.gateway.runs).toHaveLength(1);
    await until(() => fleet.missed.count > 0, 'something may have been missed');
  });

  it('the end of its link when its letter is over, and does not come again #broker-once', async () => {
    await using fleet = await startFleet();
    fleet.gateway.answer = undefined;
    const livesMs = 200;
    const asked = ['early', 'late'].map((name) => fleet.ask(request(name), { ttlMs: livesMs }));
    await until(() => fleet.gateway.runs.length === 2, 'they run');
    const endsAt = systemClock.now() + livesMs;
    await until(() => systemClock.now() > endsAt, 'their letters are over');
    await fleet.orchestratorLink.close();
    const [early, late] = fleet.gateway.runs;
    early?.reply.answer(['early']);
    await fleet.newOrchestratorLink();
    late?.reply.answer(['late']);
    expect(await Promise.all(asked.map(({ answer }) => answer))).toEqual(['early', 'late']);
    expect(fleet.gateway.runs).toHaveLength(2);
  });

  it('not the end of the process that has it: the next one is asked for its outcome, once its letter is over #broker-once', async () => {
    await using fleet = await startFleet();
    fleet.gateway.answer = undefined;
    const livesMs = 200;
    const asked = fleet.ask(request('slow'), { ttlMs: livesMs });
    await until(() => fleet.gateway.runs.length === 1, 'it runs');
    const endsAt = systemClock.now() + livesMs;
    await until(() => systemClock.now() > endsAt, 'its letter is over');
    await fleet.orchestratorLink.close();
    fleet.gateway.answer = ({ isAgain }) => (isAgain ? 'unknown' : 'run twice');
    await fleet.newOrchestrator();
    expect(await asked.answer).toBe('unknown');
    expect(fleet.gateway.runs.map(({ isAgain }) => isAgain)).toEqual([false, true]);
  });

  it('the end of an orchestrator: what comes meanwhile waits for the next one, and is not refused #fleet', async () => {
    await using fleet = await startFleet();
    fleet.gateway.answer = undefined;
    const before = fleet.ask(request('before'));
    await until(() => fleet.gateway.runs.length === 1, 'it runs');
    fleet.gateway.isEnding = true;
    const after = fleet.ask(request('after'));
    // What is told reaches it after that.
    const told = fleet.ask(request('told'), { isKept: false });
    await until(() => fleet.gateway.runs.length === 2, 'that is judged by the gateway');
    for (const { reply } of fleet.gateway.runs) reply.answer(['by the first']);
    expect(await Promise.all([before.answer, told.answer])).toEqual([
      'by the first',
      'by the first',
    ]);
    fleet.gateway.isEnding = false;
    fleet.gateway.answer = () => 'by the second';
    await fleet.orchestratorLink.close();
    await fleet.newOrchestrator();
    expect(await after.answer).toBe('by the second');
  });

  it('an orchestrator that comes later, kept or told', async () => {
    await using fleet = await startFleet();
    await fleet.orchestratorLink.close();
    const kept = fleet.ask(request('kept'));
    await fleet.newOrchestrator();
    expect(await kept.answer).toBe(request('kept'));
  });

  it('another process of the orchestrator, which is told again what the first was told', async () => {
    await using fleet = await startFleet();
    fleet.gateway.answer = undefined;
    const asked = fleet.ask(request('list'), { isKept: false });
    await until(() => fleet.gateway.runs.length === 1, 'it runs');
    await fleet.orchestratorLink.close();
    fleet.gateway.answer = () => 'from the second';
    await fleet.newOrchestrator();
    expect(await asked.answer).toBe('from the second');
  });

  it('not a broker that stays away: it fails as one that may have run, and a later call works', async () => {
    await using fleet = await startFleet();
    fleet.gateway.answer = undefined;
    const asked = fleet.ask(request('effect'));
    await until(() => fleet.gateway.runs.length === 1, 'it runs');
    await fleet.broker.stop();
    await expect(asked.answer).rejects.toMatchObject({
      why: { reason: 'exhausted', dispatched: 'maybe' },
    });
    await expect(fleet.ask(request('later')).answer).rejects.toMatchObject({
      why: { reason: 'exhausted', dispatched: 'no' },
    });
    await fleet.broker.start();
    await fleet.newOrchestratorLink();
    fleet.gateway.answer = () => 'again';
    expect(await fleet.ask(request('again')).answer).toBe('again');
  });
});
