// A worker's channel and the orchestrator's front on a real broker, with a gateway that is played by the test:
// requests, answers and news, large answers, links and processes that end in the middle.

import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { type EmbeddedBroker, startEmbeddedBroker } from '../../test/support/embedded-broker.ts';
import { until } from '../../test/support/until.ts';
import type { Link } from '../broker/contract.ts';
import type { GatewayForTransports, Reply } from '../downstream/contract.ts';
import { systemClock } from '../kernel/system-clock.ts';
import { verifiedPrincipal } from '../policy/principal.ts';
import type { Message } from '../wire/scan.ts';
import { BrokerFront } from './orchestrator/broker-front.ts';
import { Channel } from './worker/channel.ts';
import type { CallFailure } from './worker/open-call.ts';

interface Run {
  readonly message: Message;
  readonly principal: string;
  readonly role: string | null;
  readonly reply: Reply;
  cancelled: boolean;
}

/** A gateway that does what the test says, and writes down what ran. */
class PlayedGateway {
  readonly runs: Run[] = [];
  /** Undefined: requests wait until the test answers them. */
  answer: ((run: Run) => string) | undefined = ({ message }) => message.bytes.toString();

  get face(): GatewayForTransports {
    return {
      request: (message, { principal }, reply) => {
        const run: Run = {
          message,
          principal: principal.id,
          role: principal.role,
          reply,
          cancelled: false,
        };
        this.runs.push(run);
        if (this.answer) reply.answer([this.answer(run)]);
        return {
          cancel: () => {
            run.cancelled = true;
          },
        };
      },
      caught: (error: unknown) => {
        throw error;
      },
    } as Partial<GatewayForTransports> as GatewayForTransports;
  }
}

interface Fleet extends AsyncDisposable {
  readonly broker: EmbeddedBroker;
  readonly gateway: PlayedGateway;
  readonly channel: Channel;
  /** How often something may have been missed. */
  readonly missed: { count: number };
  orchestratorLink: Link;
  /** The orchestrator's process ends, and another one comes. */
  newOrchestrator(): Promise<void>;
  /** The same process with a new link, as after a restart of the broker. */
  newOrchestratorLink(): Promise<void>;
  ask(body: string, options?: { isKept?: boolean; ttlMs?: number }): Asked;
}

interface Asked {
  readonly id: string;
  readonly answer: Promise<string>;
  readonly news: string[];
}

const envelope = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`;

function request(text: string): string {
  return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"${text}",${envelope}}}`;
}

async function startFleet(): Promise<Fleet> {
  const broker = await startEmbeddedBroker();
  const gateway = new PlayedGateway();
  const clock = systemClock;
  let processes = 0;
  const newFront = () => {
    processes += 1;
    return new BrokerFront({
      gateway: gateway.face,
      clock,
      incarnation: `process-${processes}`,
      principalOf: ({ mailbox, role }) => verifiedPrincipal(`worker:${mailbox}`, role, () => false),
    });
  };
  let front = newFront();
  const missed = { count: 0 };
  const channel = new Channel({
    openLink: (signal) => broker.open('ann', 'window', signal),
    to: 'boss',
    clock,
    random: () => 0,
    maxResponseBytes: 64 * 1024 * 1024,
    missed: () => {
      missed.count += 1;
    },
    report: () => {},
    caught: (error) => {
      throw error;
    },
    policy: { tries: 3, firstWaitMs: 20, longestWaitMs: 40, totalMs: 2_000 },
  });
  let calls = 0;
  const fleet: Fleet = {
    broker,
    gateway,
    channel,
    missed,
    orchestratorLink: await broker.link('boss', 'seat'),
    newOrchestratorLink: async () => {
      fleet.orchestratorLink = await broker.link('boss', 'seat');
      await front.serve(fleet.orchestratorLink);
    },
    newOrchestrator: async () => {
      front = newFront();
      await fleet.newOrchestratorLink();
    },
    ask: (body, { isKept = true, ttlMs } = {}) => {
      calls += 1;
      const id = `call-${calls}`;
      const news: string[] = [];
      const answer = new Promise<string>((resolve, reject) => {
        channel.send(
          { id, body: Buffer.from(body), isKept, ttlMs },
          {
            sent: () => {},
            answered: (response) => resolve(response.toString()),
            news: (one) => news.push(one.toString()),
            failed: (why: CallFailure) => reject(new Failed(why)),
          },
        );
      });
      return { id, answer, news };
    },
    [Symbol.asyncDispose]: async () => {
      await channel.close();
      await broker[Symbol.asyncDispose]();
    },
  };
  await front.serve(fleet.orchestratorLink);
  return fleet;
}

class Failed extends Error {
  readonly why: CallFailure;

  constructor(why: CallFailure) {
    super(why.reason);
    this.why = why;
  }
}

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

  it('that is cancelled is cancelled there', async () => {
    await using fleet = await startFleet();
    fleet.gateway.answer = undefined;
    const asked = fleet.ask(request('slow'));
    asked.answer.catch(() => {});
    await until(() => fleet.gateway.runs.length === 1, 'it runs');
    fleet.channel.cancel(asked.id);
    await until(() => fleet.gateway.runs[0]?.cancelled === true, 'it is cancelled');
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
