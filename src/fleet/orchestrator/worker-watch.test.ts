// What happens to the requests of a worker that is not there any more: its credential is revoked, or its process is
// gone. On a real broker; where minutes pass, on a link that answers as the test says and a clock that the test moves.

import { describe, expect, it } from 'vitest';
import { members } from '../../../test/support/broker-suite/subject.ts';
import { manualClock, settled } from '../../../test/support/manual-clock.ts';
import { playedRequest, startPlayedFleet } from '../../../test/support/played-fleet.ts';
import { until } from '../../../test/support/until.ts';
import { BrokerError, type BrokerRefusal } from '../../broker/broker-error.ts';
import type { Letter, Link } from '../../broker/contract.ts';
import { type WatchedCall, type WatchedSeat, WorkerWatch } from './worker-watch.ts';

describe('a worker whose credential is revoked', () => {
  it('has its running calls cancelled at the orchestrator, and nobody else has #revoked', async () => {
    await using fleet = await startPlayedFleet();
    fleet.gateway.answer = undefined;
    const asked = [fleet.ask(playedRequest('a')), fleet.ask(playedRequest('b'), { isKept: false })];
    const bob = await fleet.broker.link('bob', 'seat');
    const body = Buffer.from(playedRequest('of-bob'));
    await bob.deliver({ id: 'x', to: 'boss', kind: 'mcp-request', body });
    await until(() => fleet.gateway.runs.length === 3, 'all run');
    fleet.broker.revoke('ann');
    for (const { answer } of asked) await expect(answer).rejects.toThrow('refused');
    const cancelled = () => fleet.gateway.runs.filter((run) => run.cancelled);
    await until(() => cancelled().length === 2, 'they are cancelled');
    expect(cancelled().map(({ principal }) => principal)).toEqual([
      'worker:ann.mcp',
      'worker:ann.mcp',
    ]);
    expect(new Set(fleet.gateway.ended)).toEqual(new Set(['worker:ann.mcp']));
    expect(fleet.gateway.gone).toEqual([`ann.mcp/${members.ann.id}/window`]);
  });

  it('has its running calls cancelled also if its name has another credential at once #revoked', async () => {
    await using fleet = await startPlayedFleet();
    fleet.gateway.answer = undefined;
    const { answer } = fleet.ask(playedRequest('a'));
    await until(() => fleet.gateway.runs.length === 1, 'it runs');
    await fleet.broker.renew('ann');
    await expect(answer).rejects.toThrow('refused');
    const ann = await fleet.broker.link('ann', 'new');
    const body = Buffer.from(playedRequest('of-the-new'));
    await ann.deliver({ id: 'x', to: 'boss', kind: 'mcp-request', body });
    await until(() => fleet.gateway.runs[0]?.cancelled === true, 'it is cancelled');
    expect(fleet.gateway.runs.map(({ cancelled }) => cancelled)).toEqual([true, false]);
    // Workers that have a link are asked about every five seconds.
  }, 20_000);

  it('has nothing run that it had asked for before, and nobody had begun with #revoked', async () => {
    await using fleet = await startPlayedFleet();
    await fleet.orchestratorLink.close();
    const ann = await fleet.broker.link('ann', 'early');
    const bob = await fleet.broker.link('bob', 'early');
    const letter = (name: string) => ({
      id: name,
      to: 'boss',
      kind: 'mcp-request',
      body: Buffer.from(playedRequest(name)),
    });
    for (const name of ['one', 'two']) await ann.deliver(letter(name));
    fleet.broker.revoke('ann');
    await bob.deliver(letter('of-bob'));
    await fleet.newOrchestrator();
    await until(() => fleet.gateway.runs.length > 0, 'something runs');
    expect(fleet.gateway.runs.map(({ principal }) => principal)).toEqual(['worker:bob.mcp']);
  });
});

/** A link that answers as the test says; what it was told. */
function playedLink(present: readonly string[], refusal: () => BrokerRefusal | undefined) {
  const told: Letter[] = [];
  const link: Partial<Link> = {
    present: async () => present,
    tell: (letter, refused) => {
      told.push(letter);
      const reason = refusal();
      if (reason !== undefined) refused?.(new BrokerError(reason, 'as the test says'));
    },
  };
  return { link: link as Link, told };
}

function watched(running: readonly WatchedCall[], link: Link, seats: readonly WatchedSeat[] = []) {
  const clock = manualClock();
  const revoked: string[] = [];
  const left: string[] = [];
  const watch = new WorkerWatch({
    clock,
    running: () => running,
    seats: () => seats,
    revoked: (worker) => revoked.push(worker),
    left: ({ worker, seat }) => void left.push(`${worker} ${seat}`),
    caught: (error) => {
      throw error;
    },
  });
  watch.use(link);
  watch.begin();
  return { clock, revoked, left, watch };
}

const one = { worker: 'ann.mcp', seat: 's', credential: undefined } as const;
const kept: WatchedCall = { ...one, isKept: true };
const told: WatchedCall = { ...one, isKept: false };

describe('a worker with requests that run', () => {
  it('is not asked about while it has a link, and nobody is asked while nothing runs #no-growth', async () => {
    const { link, told } = playedLink(['ann.mcp'], () => 'not_allowed');
    const { clock, revoked } = watched([kept], link);
    await clock.advanceAsync(20_000);
    expect([told, revoked]).toEqual([[], []]);
    const idle = watched([], link);
    await idle.clock.advanceAsync(1_000);
    expect(idle.clock.pending).toBe(0);
  });

  it('is asked about by each of its credentials, now and then also while it has a link #revoked', async () => {
    const { link, told } = playedLink(['ann.mcp'], () => 'not_allowed');
    const of = (credential: string): WatchedCall => ({ ...kept, credential });
    const { clock, revoked } = watched([of('old'), of('new'), of('old')], link);
    await clock.advanceAsync(5_000);
    expect(told.map(({ credential }) => credential)).toEqual(['old', 'new']);
    expect(revoked).toEqual(['ann.mcp', 'ann.mcp']);
  });

  it('is not taken for revoked because it is away #revoked', async () => {
    const { link, told } = playedLink([], () => 'absent');
    const { clock, revoked } = watched([kept], link);
    await clock.advanceAsync(10_000);
    expect(told.length).toBeGreaterThan(10);
    expect(revoked).toEqual([]);
  });

  it('has what it was told withdrawn when its seat stays empty, and not what is kept #no-growth', async () => {
    let refusal: BrokerRefusal | undefined = 'absent';
    const { link } = playedLink(['ann.mcp'], () => refusal);
    const { clock, left } = watched([kept, told], link);
    await clock.advanceAsync(60_000);
    expect(left).toEqual([]);
    // It has come back: the time begins anew.
    refusal = undefined;
    await clock.advanceAsync(30_000);
    refusal = 'absent';
    await clock.advanceAsync(60_000);
    expect(left).toEqual([]);
    await clock.advanceAsync(60_000);
    await settled();
    expect(new Set(left)).toEqual(new Set(['ann.mcp s']));
  });
});

describe('a worker without requests that something is kept for', () => {
  const seats = [{ worker: 'ann.mcp', seat: 's', credential: undefined }];

  it('is looked for rarely, and its seat counts as left after a while #no-growth', async () => {
    let refusal: BrokerRefusal | undefined;
    const { link, told } = playedLink(['ann.mcp'], () => refusal);
    const { clock, left } = watched([], link, seats);
    await clock.advanceAsync(300_000);
    expect([told.length <= 11, told.length >= 9, left]).toEqual([true, true, []]);
    refusal = 'absent';
    await clock.advanceAsync(120_000);
    await settled();
    expect(left[0]).toBe('ann.mcp s');
  });

  it('has what is kept for it ended when its credential is gone #revoked', async () => {
    const { link } = playedLink([], () => 'not_allowed');
    const { clock, revoked } = watched([], link, seats);
    await clock.advanceAsync(31_000);
    expect(revoked).toEqual(['ann.mcp']);
  });

  it('is looked for soon again when it has a request #revoked', async () => {
    const running: WatchedCall[] = [];
    const { link } = playedLink([], () => 'not_allowed');
    const { clock, revoked, watch } = watched(running, link, seats);
    await clock.advanceAsync(5_000);
    running.push(kept);
    watch.begin();
    await clock.advanceAsync(600);
    expect(revoked).toEqual(['ann.mcp']);
  });
});
