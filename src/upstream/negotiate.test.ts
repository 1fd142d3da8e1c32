import { describe, expect, it } from 'vitest';
import { manualClock, settled } from '../../test/support/manual-clock.ts';
import { Fault } from '../kernel/fault.ts';
import type { Era } from '../wire/eras.ts';
import { scanMessage } from '../wire/scan.ts';
import type { ProbeOutcome } from './classify.ts';
import type { Greeting, Params } from './connection.ts';
import { Exchange } from './exchange.ts';
import { modernEnvelope, negotiate, ProbeEndedServer, type Talk } from './negotiate.ts';

const identity = { name: 'holdfast', version: '0.1.0' };
const initialized =
  '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s"},"instructions":"be kind"}';

/** A transport on which nothing happens but what the test answers. */
class FakeTalk implements Talk {
  readonly said: string[] = [];
  readonly exchanges: Exchange[] = [];
  readonly cancelled: number[] = [];
  outcome: ProbeOutcome = { kind: 'exit' };

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

  /** Answers the latest request with a member of its own. */
  async answer(member: string): Promise<void> {
    const exchange = this.exchanges.at(-1) as Exchange;
    exchange.answered(scanMessage(Buffer.from(`{"jsonrpc":"2.0","id":${exchange.id},${member}}`)));
    await settled();
  }

  async fail(fault: Fault): Promise<void> {
    this.exchanges.at(-1)?.fail(fault);
    await settled();
  }
}

function meet(remembered?: Era) {
  const talk = new FakeTalk();
  const clock = manualClock();
  const meeting = negotiate(talk, remembered, identity, clock);
  meeting.catch(() => {});
  return { talk, clock, meeting };
}

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

  it('is legacy after three seconds of silence, and the probe is given up', async () => {
    const world = meet();
    await world.clock.advanceAsync(2_999);
    expect(world.talk.said).toHaveLength(1);
    await world.clock.advanceAsync(1);
    expect(world.talk.cancelled).toEqual([1]);
    expect((await finish(world)).era).toBe('legacy');
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
    const world = meet('legacy');
    expect((await finish(world)).era).toBe('legacy');
    expect(world.talk.said[0]).toContain('initialize');
  });

  it('probes a server that was modern before, since that is its greeting', () => {
    expect(meet('modern').talk.said).toEqual(['modern server/discover {}']);
  });
});

describe('initialize', () => {
  it.each(['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05', '2024-10-07'])(
    'is understood in version %s',
    async (version) => {
      const { talk, meeting } = meet('legacy');
      await talk.answer(`"result":{"protocolVersion":"${version}"}`);
      expect(await meeting).toMatchObject({ protocolVersion: version, capabilities: {} });
    },
  );

  it.each([
    ['in a version we do not speak', '"result":{"protocolVersion":"1999-01-01"}'],
    ['without a version', '"result":{}'],
    ['with something that is no object', '"result":7'],
    ['with an error', '"error":{"code":-32603,"message":"out of order"}'],
    ['with an error that is none', '"error":[]'],
  ])('is a violation when it is answered %s', async (_name, member) => {
    const { talk, meeting } = meet('legacy');
    await talk.answer(member);
    await expect(meeting).rejects.toMatchObject({ code: 'protocol_violation' });
    expect(talk.said).toHaveLength(1);
  });

  it('fails with the fault of the transport', async () => {
    const { talk, meeting } = meet('legacy');
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
