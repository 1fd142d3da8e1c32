// A server that has its effect and then asks: whatever becomes of the call while its client answers, the client is not told
// that the call was not sent. Both eras of clients, servers that are gone by then, and refusals of another Holdfast.

import { describe, expect, it } from 'vitest';
import { newGateway, type RecordedReply, settled } from '../../../test/support/fake-gateway.ts';
import { ErrorAnswer, type Script, tool } from '../../../test/support/scripted-server.ts';
import { Fault } from '../../kernel/fault.ts';
import { unknownState } from '../refusals.ts';

const question = {
  method: 'elicitation/create',
  params: { mode: 'form', message: '?', requestedSchema: { type: 'object', properties: {} } },
};
const asked = {
  resultType: 'input_required',
  inputRequests: { a: question },
  requestState: 'its state',
};

const asking = {
  era: 'modern',
  tools: [tool('pay'), tool('look', { annotations: { readOnlyHint: true } })],
  on: { 'tools/call': () => asked },
} as const satisfies Script;

/** It ends as soon as it is started. */
const failing: Script = {
  era: 'modern',
  on: {
    'server/discover': (_heard, child) => child.exit(),
    initialize: (_heard, child) => child.exit(),
  },
};

const lost = new Fault('outcome_unknown', 'not issued', { dispatched: 'maybe' });

function faultOf(reply: RecordedReply): unknown {
  const meta = reply.result['_meta'] as Record<string, unknown> | undefined;
  return meta?.['holdfast/fault'];
}

/** Asks a client of either era, lets this happen, and has the question answered. */
async function answered(
  era: 'legacy' | 'modern',
  name: 'pay' | 'look',
  meanwhile: (world: ReturnType<typeof newWorld>) => void,
): Promise<RecordedReply> {
  const world = newWorld();
  const params = { name: `m__${name}`, arguments: {} };
  const peer = era === 'legacy' ? world.legacy({ elicitation: {} }) : undefined;
  const modern = world.modern({ elicitation: {} });
  const first = (peer ?? modern).request('tools/call', params);
  await settled();
  meanwhile(world);
  await settled();
  if (peer) peer.answer(1, { action: 'accept', content: {} });
  const { requestState } = peer ? {} : first.result;
  const inputResponses = { a: { action: 'accept', content: {} } };
  const last = peer
    ? first
    : modern.request('tools/call', { ...params, inputResponses, requestState });
  await settled();
  await world.clock.advanceAsync(60_000);
  await settled();
  expect(world.servers.m.heard('tools/call').length).toBeGreaterThan(0);
  return last;
}

function newWorld() {
  return newGateway({ m: asking }, { config: { m: { trusted: true } } });
}

function goesAway({ servers: { m } }: ReturnType<typeof newWorld>): void {
  m.script = failing;
  m.child.exit();
}

/** As another Holdfast whose process was killed meanwhile. */
function forgets({ servers: { m } }: ReturnType<typeof newWorld>): void {
  const refusal = new ErrorAnswer({ ...unknownState('not issued'), data: lost.record });
  m.script = { ...asking, on: { 'tools/call': () => refusal } };
}

function refuses({ servers: { m } }: ReturnType<typeof newWorld>): void {
  const { record } = new Fault('overloaded', 'too many');
  const refusal = new ErrorAnswer({ code: -32_603, message: 'too many', data: record });
  m.script = { ...asking, on: { 'tools/call': () => refusal } };
}

describe.each(['legacy', 'modern'] as const)('a %s client that answers a question', (era) => {
  it('of a server that is gone is told that the outcome is unknown #true-dispatched #never-twice', async () => {
    const reply = await answered(era, 'pay', goesAway);
    expect(faultOf(reply)).toMatchObject({
      ...{ code: 'outcome_unknown', server: 'm', tool: 'pay' },
      ...{ dispatched: 'maybe', retryable: false },
    });
  });

  it('of a server that may run it again may repeat it, and is not told that it was not sent #true-dispatched', async () => {
    const reply = await answered(era, 'look', goesAway);
    expect(faultOf(reply)).toMatchObject({ dispatched: 'maybe', retryable: true });
  });

  it('that another Holdfast does not know any more is told that the outcome is unknown #never-twice', async () => {
    const reply = await answered(era, 'pay', forgets);
    expect(faultOf(reply)).toMatchObject({ code: 'outcome_unknown', tool: 'pay' });
  });

  it('that another Holdfast refuses is not told that the call has not run #true-dispatched', async () => {
    const reply = await answered(era, 'pay', refuses);
    expect(faultOf(reply)).toMatchObject({ code: 'outcome_unknown', retryable: false });
  });
});

it('a state that this process has not given is refused as one of a call that may have run #never-twice', async () => {
  const { modern } = newWorld();
  const params = { name: 'm__pay', arguments: {}, inputResponses: {}, requestState: 'of another' };
  const reply = modern({ elicitation: {} }).request('tools/call', params);
  await settled();
  const data = { code: 'outcome_unknown', dispatched: 'maybe' };
  expect(reply.answered.error).toMatchObject({ code: -32_602, data });
});
