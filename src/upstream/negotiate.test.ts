import { describe, expect, it } from 'vitest';
import { manualClock, settled } from '../../test/support/manual-clock.ts';
import { Fault } from '../kernel/fault.ts';
import type { Era } from '../wire/eras.ts';
import type { Params } from '../wire/frames.ts';
import { scanMessage } from '../wire/scan.ts';
import type { ProbeOutcome } from './classify.ts';
import type { Greeting } from './connection.ts';
import { Exchange } from './exchange.ts';
import {
  type EraKnowledge,
  modernEnvelope,
  negotiate,
  ProbeEndedServer,
  type Talk,
} from './negotiate.ts';

const identity = { name: 'holdfast', version: '0.1.0' };
const initialized =
  '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s"},"instructions":"be kind"}';

/** A transport on which nothing happens but what the test answers. */
class FakeTalk implements Talk {
  readonly said: string[] = [];
  readonly exchanges: Exchange[] = [];
  readonly cancelled: number[] = [];
  outcome: ProbeOutcome = { kind: 'exit' };
  isOrdered = true;

  request(method: string, params: Params, era: Era): Exchange {
    this.said.push(`${era} ${method} {${params.members}}`);
    const exchange = new Exchange(this.exchanges.length + 1, undefined, ({ id }) =>
      this.cancelled.push(id),
    );
    exchange.dispatched = 'maybe';
    this.exchanges.push(exchange);
    return exchange;
  }

  async notify(method: string): Promise<void> {
    this.said.push(method);
  }

  outcomeOf(fault: Fault): ProbeOutcome {
    return this.outcome.kind === 'unreachable' ? { kind: 'unreachable', fault } : this.outcome;
  }

  /** Answers a request, the latest if none is named, with a member of its own. */
  async answer(member: string, place = -1): Promise<void> {
    const exchange = this.exchanges.at(place) as Exchange;
    exchange.answered(scanMessage(Buffer.from(`{"jsonrpc":"2.0","id":${exchange.id},${member}}`)));
    await settled();
  }

  async fail(fault: Fault): Promise<void> {
    this.exchanges.at(-1)?.fail(fault);
    await settled();
  }
}

function meet(known: EraKnowledge = {}, first: Era = 'modern', startTimeoutMs = 60_000) {
  const talk = new FakeTalk();
  const clock = manualClock();
  const learnt: EraKnowledge[] = [];
  const ends: string[] = [];
  const memory = {
    learn: (facts: EraKnowledge) => void learnt.push(facts),
    notInitialized: () => void ends.push('initialize'),
  };
  const opening = { first, known, memory, identity, clock, startTimeoutMs, capabilities: '{}' };
  const meeting = negotiate(talk, opening);
  meeting.catch(() => {});
  const soFar = () => Object.assign({}, ...learnt) as EraKnowledge;
  return { talk, clock, meeting, ends, learnt: soFar };
}

const discovered = '"result":{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}';
const unknownMethod = '"error":{"code":-32601,"message":"no"}';
const wrongVersion =
  '"error":{"code":-32022,"message":"no","data":{"supported":["2026-07-28"],"requested":"2025-11-25"}}';

/** Answers `initialize` if it was sent; gives what came of it. */
async function finish({ talk, meeting }: ReturnType<typeof meet>): Promise<Greeting> {
  if (talk.said.at(-1)?.startsWith('legacy initialize'))
    await talk.answer(`"result":${initialized}`);
  return meeting;
}

describe('meeting a server', () => {
  it('is modern when it answers the probe so, and needs nothing more', async () => {
    const world = meet();
    await world.talk.answer(
      '"result":{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true}},' +
        '"instructions":"hello","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s"}}}',
    );
    expect(await finish(world)).toEqual({
      era: 'modern',
      protocolVersion: '2026-07-28',
      serverInfo: { name: 's' },
      capabilities: { tools: { listChanged: true } },
      instructions: 'hello',
    });
    expect(world.talk.said).toEqual(['modern server/discover {}']);
    expect(world.clock.pending).toBe(0);
  });

  it('takes what a modern server leaves out for nothing', async () => {
    const world = meet();
    await world.talk.answer('"result":{"supportedVersions":["2026-07-28"],"capabilities":[1]}');
    expect(await finish(world)).toMatchObject({ capabilities: {}, instructions: undefined });
  });

  it.each([
    ['a result without our version', '"result":{"supportedVersions":["2099-01-01"]}'],
    ['a result that is none', '"result":null'],
    ['an unknown method', '"error":{"code":-32601,"message":"no"}'],
    [
      'an unsupported version and legacy ones',
      '"error":{"code":-32022,"message":"no","data":{"supported":["2025-11-25"]}}',
    ],
    ['an error that is none', '"error":"what?"'],
  ])('is legacy after %s', async (_name, member) => {
    const world = meet();
    await world.talk.answer(member);
    expect(await finish(world)).toEqual({
      era: 'legacy',
      protocolVersion: '2025-06-18',
      serverInfo: { name: 's' },
      capabilities: { tools: {} },
      instructions: 'be kind',
    });
    expect(world.talk.said).toEqual([
      'modern server/discover {}',
      'legacy initialize {"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"holdfast","version":"0.1.0"}}',
      'notifications/initialized',
    ]);
    expect(world.clock.pending).toBe(0);
  });

  it('tries initialize after three seconds of silence, and keeps the probe open #eras', async () => {
    const world = meet();
    await world.clock.advanceAsync(2_999);
    expect(world.talk.said).toHaveLength(1);
    await world.clock.advanceAsync(1);
    expect(world.talk.cancelled).toEqual([]);
    expect((await finish(world)).era).toBe('legacy');
    // It read the probe before initialize and did not answer it.
    expect(world.learnt()).toEqual({ legacy: true, modern: false });
    await world.talk.answer(discovered, 0);
    expect(world.learnt()).toEqual({ legacy: true, modern: true });
  });

  it('learns nothing from silence where requests have no order, and gives the probe up', async () => {
    const world = meet();
    world.talk.isOrdered = false;
    await world.clock.advanceAsync(3_000);
    expect((await finish(world)).era).toBe('legacy');
    expect(world.learnt()).toEqual({ legacy: true });
    expect(world.talk.cancelled).toEqual([1]);
  });

  it('is modern when a slow server answers the probe late and refuses initialize #eras', async () => {
    const world = meet();
    await world.clock.advanceAsync(3_000);
    await world.talk.answer(discovered, 0);
    await world.talk.answer(wrongVersion, 1);
    await settled();
    await world.clock.advanceAsync(1_000);
    expect(await world.meeting).toMatchObject({ era: 'modern' });
    expect(world.learnt().modern).toBe(true);
  });

  it('leaves no timer behind when initialize is answered right after a late answer to the probe', async () => {
    const world = meet();
    await world.clock.advanceAsync(3_000);
    await world.talk.answer(discovered, 0);
    await world.talk.answer(`"result":${initialized}`, 1);
    expect(await world.meeting).toMatchObject({ era: 'legacy' });
    expect([world.clock.pending, world.learnt().modern]).toEqual([0, true]);
  });

  it('is modern when a late answer to the probe is all that comes', async () => {
    const world = meet();
    await world.clock.advanceAsync(8_000);
    await world.talk.answer(discovered, 0);
    await world.clock.advanceAsync(999);
    expect(world.talk.said).toHaveLength(2);
    await world.clock.advanceAsync(1);
    expect(await world.meeting).toMatchObject({ era: 'modern' });
  });

  it('stays modern when initialize is answered after the late answer to the probe has won #eras', async () => {
    const world = meet();
    await world.clock.advanceAsync(3_000);
    await world.talk.answer(discovered, 0);
    await world.clock.advanceAsync(1_000);
    expect(await world.meeting).toMatchObject({ era: 'modern' });
    await world.talk.answer(`"result":${initialized}`, 1);
    expect(world.talk.said).not.toContain('notifications/initialized');
    expect([world.talk.cancelled, world.learnt()]).toEqual([[2], { modern: true }]);
  });

  it('probes once more when initialize is refused after silence #eras', async () => {
    const world = meet();
    await world.clock.advanceAsync(3_000);
    await world.talk.answer(wrongVersion);
    expect(world.talk.said.map((line) => line.split(' ')[1])).toEqual([
      'server/discover',
      'initialize',
      'server/discover',
    ]);
    await world.talk.answer(discovered);
    expect(await world.meeting).toMatchObject({ era: 'modern' });
    expect(world.learnt()).toEqual({ legacy: false, modern: true });
  });

  it('waits longer for a server that has answered the probe before', async () => {
    const world = meet({ modern: true });
    await world.clock.advanceAsync(14_999);
    expect(world.talk.said).toHaveLength(1);
    await world.talk.answer(discovered);
    expect(await world.meeting).toMatchObject({ era: 'modern' });
  });

  it('does not wait longer for a server of which is only assumed that it is not legacy #eras', async () => {
    const world = meet({ legacy: false });
    await world.clock.advanceAsync(3_000);
    expect(world.talk.said.at(-1)).toContain('legacy initialize');
  });

  it('is started afresh when the probe ended it after a long silence', async () => {
    const { talk, meeting, clock } = meet();
    await clock.advanceAsync(3_000);
    await talk.fail(new Fault('unavailable', 'exited'));
    await expect(meeting).rejects.toThrow(ProbeEndedServer);
  });

  it('is started afresh when the probe ended it', async () => {
    const { talk, meeting } = meet();
    await talk.fail(new Fault('unavailable', 'exited'));
    await expect(meeting).rejects.toThrow(ProbeEndedServer);
  });

  it('fails with the fault of the transport when that is all there is', async () => {
    const { talk, meeting } = meet();
    talk.outcome = { kind: 'unreachable', fault: new Fault('internal', '') };
    await talk.fail(new Fault('unavailable', 'cannot be reached'));
    await expect(meeting).rejects.toMatchObject({ message: 'cannot be reached' });
  });

  it('fails when there is no version in common', async () => {
    const { talk, meeting } = meet();
    await talk.answer('"error":{"code":-32022,"message":"no","data":{"supported":["2099-01-01"]}}');
    await expect(meeting).rejects.toMatchObject({ code: 'protocol_violation' });
    expect(talk.said).toHaveLength(1);
  });

  it('goes straight to initialize with a server that was legacy before', async () => {
    const world = meet({ modern: false });
    expect((await finish(world)).era).toBe('legacy');
    expect(world.talk.said[0]).toContain('initialize');
  });

  it('probes a server that was modern before, as the handshake of that era', () => {
    expect(meet({ modern: true }).talk.said).toEqual(['modern server/discover {}']);
  });
});

describe('meeting a server for a legacy client', () => {
  it('begins with initialize, whatever else the server supports #eras', async () => {
    const world = meet({ modern: true }, 'legacy');
    expect((await finish(world)).era).toBe('legacy');
    expect(world.talk.said[0]).toContain('legacy initialize');
    expect(world.learnt()).toEqual({ legacy: true });
  });

  it('probes a server that refuses initialize, and learns that it is modern only #eras', async () => {
    const world = meet({}, 'legacy');
    await world.talk.answer(wrongVersion);
    await world.talk.answer(discovered);
    expect(await world.meeting).toMatchObject({ era: 'modern' });
    expect(world.learnt()).toEqual({ legacy: false, modern: true });
    expect(meet({ legacy: false }, 'legacy').talk.said).toEqual(['modern server/discover {}']);
  });

  it('probes a server that refuses initialize by a status', async () => {
    const { talk, meeting } = meet({}, 'legacy');
    const fault = new Fault('unavailable', 'answered 404');
    talk.outcome = { kind: 'http-status', status: 404, fault };
    await talk.fail(fault);
    await talk.answer(discovered);
    expect(await meeting).toMatchObject({ era: 'modern' });
  });

  it.each([
    ['of which nothing is known', {}, 60_000, 15_000],
    ['that has answered the probe before', { modern: true }, 60_000, 3_000],
    // It would never be probed otherwise: the start ends before.
    ['that has 10 s for its start', {}, 10_000, 5_000],
  ])(
    'probes a server %s if it is silent on initialize #eras',
    async (_name, known, startMs, ms) => {
      const world = meet(known, 'legacy', startMs);
      await world.clock.advanceAsync(ms - 1);
      expect(world.talk.said).toHaveLength(1);
      await world.clock.advanceAsync(1);
      await world.talk.answer(discovered);
      await world.clock.advanceAsync(1_000);
      expect(await world.meeting).toMatchObject({ era: 'modern' });
      expect(world.learnt()).toEqual({ modern: true });
      expect([world.talk.cancelled, world.clock.pending]).toEqual([[1], 0]);
      await world.talk.answer(`"result":${initialized}`, 0);
      expect(world.talk.said).not.toContain('notifications/initialized');
    },
  );

  it('is legacy when a slow server answers initialize after all, be it after the probe', async () => {
    for (const answered of [[0], [1, 0]]) {
      const world = meet({}, 'legacy');
      await world.clock.advanceAsync(15_000);
      for (const place of answered) {
        await world.talk.answer(place === 0 ? `"result":${initialized}` : discovered, place);
      }
      expect(await world.meeting).toMatchObject({ era: 'legacy' });
      expect(world.learnt().legacy).toBe(true);
      expect([world.talk.cancelled, world.clock.pending]).toEqual([[], 0]);
    }
  });

  it('takes a refusal after silence for what it is, if the probe is not answered either', async () => {
    const { talk, meeting, clock } = meet({}, 'legacy');
    await clock.advanceAsync(15_000);
    await talk.answer(unknownMethod, 1);
    await talk.answer('"error":{"code":-32603,"message":"out of order"}', 0);
    expect(clock.pending).toBe(0);
    await expect(meeting).rejects.toMatchObject({ code: 'protocol_violation' });
  });

  it('learns nothing of the legacy era from silence where requests have no order', async () => {
    const world = meet({}, 'legacy');
    world.talk.isOrdered = false;
    await world.clock.advanceAsync(15_000);
    await world.talk.answer(discovered);
    await world.clock.advanceAsync(1_000);
    expect(await world.meeting).toMatchObject({ era: 'modern' });
    expect(world.learnt()).toEqual({ modern: true });
  });

  it.each([{ legacy: true }, { modern: false }])(
    'waits for initialize alone with a server of which is known %o',
    async (known) => {
      const { talk, clock } = meet(known, 'legacy');
      await clock.advanceAsync(60_000);
      expect(talk.said).toHaveLength(1);
    },
  );

  it('starts a server afresh that ended at initialize and has known the probe', async () => {
    const exited = new Fault('unavailable', 'exited');
    const modern = meet({ modern: true }, 'legacy');
    await modern.talk.fail(exited);
    await expect(modern.meeting).rejects.toMatchObject({ name: 'InitializeEndedServer' });
    const unknown = meet({}, 'legacy');
    await unknown.talk.fail(exited);
    await expect(unknown.meeting).rejects.toMatchObject({ message: 'exited' });
    // Only where it could be the fault of initialize does the next start begin with the probe.
    expect([modern.ends, unknown.ends]).toEqual([['initialize'], ['initialize']]);
    const legacy = meet({ legacy: true }, 'legacy');
    await legacy.talk.fail(exited);
    await expect(legacy.meeting).rejects.toMatchObject({ message: 'exited' });
    expect(legacy.ends).toEqual([]);
  });

  it('starts a slow server afresh that ended for the probe', async () => {
    const { talk, meeting, clock } = meet({}, 'legacy');
    await clock.advanceAsync(15_000);
    talk.exchanges[0]?.fail(new Fault('unavailable', 'exited'));
    await expect(meeting).rejects.toThrow(ProbeEndedServer);
  });

  it('fails with the answer to initialize when the probe is unknown, too', async () => {
    const { talk, meeting } = meet({}, 'legacy');
    await talk.answer('"error":{"code":-32603,"message":"out of order"}');
    await talk.answer(unknownMethod);
    await expect(meeting).rejects.toMatchObject({
      message: 'the server refused initialize: -32603 out of order',
    });
  });
});

describe('initialize', () => {
  it.each(['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05', '2024-10-07'])(
    'is understood in version %s',
    async (version) => {
      const { talk, meeting } = meet({ modern: false });
      await talk.answer(`"result":{"protocolVersion":"${version}"}`);
      expect(await meeting).toMatchObject({ protocolVersion: version, capabilities: {} });
    },
  );

  it.each([
    ['in a version we do not speak', '"result":{"protocolVersion":"1999-01-01"}'],
    ['without a version', '"result":{}'],
    ['with something that is no object', '"result":7'],
  ])('is a violation when it is answered %s', async (_name, member) => {
    const { talk, meeting } = meet({ modern: false });
    await talk.answer(member);
    await expect(meeting).rejects.toMatchObject({ code: 'protocol_violation' });
    expect(talk.said).toHaveLength(1);
  });

  it('fails with the fault of the transport', async () => {
    const { talk, meeting } = meet({ modern: false });
    await talk.fail(new Fault('unavailable', 'exited with code 1'));
    await expect(meeting).rejects.toMatchObject({ message: 'exited with code 1' });
  });
});

describe('the envelope of a modern request', () => {
  it('is the members of one object', () => {
    expect(JSON.parse(`{${modernEnvelope(identity)}}`)).toEqual({
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': identity,
      'io.modelcontextprotocol/clientCapabilities': {},
    });
  });
});
