// A replica that shuts down, and what it has passed on to others: it waits for the answers, for as long as for its own.

import { describe, expect, it } from 'vitest';
import { result } from '../../../../test/support/fake-front.ts';
import { legacyHeaders, modernBody, modernHeaders } from '../../../../test/support/http-front.ts';
import { ManualClock } from '../../../../test/support/manual-clock.ts';
import {
  answers,
  calling,
  type Replica,
  replicaFronts,
} from '../../../../test/support/replica-fronts.ts';
import { until } from '../../../../test/support/until.ts';

async function started() {
  const clock = new ManualClock();
  const made = await replicaFronts(2, { clock }, clock);
  const [one, other] = made.replicas as [Replica, Replica];
  made.replicas.forEach(answers);
  return { ...made, one, other };
}

const call = {
  headers: modernHeaders('tools/call', 'x'),
  body: modernBody('tools/call', { name: 'x' }),
};

describe('a call that was passed on', () => {
  it('is answered although the replica in between shuts down meanwhile #replicas', async () => {
    const { one, other, clock } = await started();
    one.drain();
    const asked = one.ask(call);
    const arrived = await other.arrived('tools/call');
    expect(one.http.passedOn).toBe(1);
    const closed = one.http.close(10_000);
    clock.advance(9_000);
    arrived.reply.answer(result(1, { done: true }));
    expect(await asked).toMatchObject({ status: 200, json: { result: { done: true } } });
    await closed;
    expect([arrived.isCancelled, one.http.passedOn]).toEqual([false, 0]);
  });

  it('has an unknown outcome when that takes too long #replicas', async () => {
    const { one, other, clock } = await started();
    one.drain();
    const asked = one.ask(call);
    await other.arrived('tools/call');
    const closed = one.http.close(10_000);
    clock.advance(10_000);
    const { json } = await asked;
    expect(json.result._meta['holdfast/fault']).toMatchObject({ code: 'outcome_unknown' });
    await closed;
  });

  it('is waited for, but not a stream that only listens #replicas', async () => {
    const { one, other, clock } = await started();
    const session = await other.initialize();
    const stream = await one.stream({ method: 'GET', headers: legacyHeaders(session) });
    expect(one.http.passedOn).toBe(0);
    const closed = one.http.close(10_000);
    await new Promise((resolve) => setImmediate(resolve));
    clock.advance(1_000);
    await closed;
    await stream.ended();
  });
});

describe('a batch', () => {
  const batchVersion = '2025-03-26';
  const batch = (session: string, ...ids: readonly number[]) => ({
    headers: legacyHeaders(session, batchVersion),
    body: ids.map((id) => calling('', id, id === 1 ? 'tools/call' : 'tools/list').body),
  });

  it('with requests is new work: another replica does it while this one shuts down #replicas', async () => {
    const { one } = await started();
    const session = await one.initialize(batchVersion);
    one.drain();
    const { json } = await one.ask(batch(session, 2, 3));
    expect(json).toMatchObject([2, 3].map((id) => ({ id, result: { by: 'bbbbbbbb' } })));
  });

  it('that is lost with its replica has an unknown outcome for each of its requests #replicas', async () => {
    const { one, other, clock } = await started();
    const session = await one.initialize(batchVersion);
    const asked = other.ask(batch(session, 1, 2));
    await one.arrived('tools/call');
    one.kill();
    clock.advance(2_000);
    const { json } = await asked;
    const fault = { code: 'outcome_unknown' };
    expect(json).toMatchObject([
      { id: 1, result: { isError: true, _meta: { 'holdfast/fault': fault } } },
      { id: 2, error: { data: fault } },
    ]);
    await until(() => other.http.passedOn === 0, 'nothing to be under way');
  });
});
