// A worker's channel and the orchestrator's front on a real broker, the embedded one in this process or another, with a
// gateway that is played by the test: it answers what the test says, or nothing, and writes down what ran and what was
// cancelled.

import type { Link } from '../../src/broker/contract.ts';
import type { HubLimits } from '../../src/broker/hub/limits.ts';
import type { Reply } from '../../src/downstream/contract.ts';
import { BrokerFront, type BrokerFrontParts } from '../../src/fleet/orchestrator/broker-front.ts';
import { Channel } from '../../src/fleet/worker/channel.ts';
import type { CallFailure } from '../../src/fleet/worker/open-call.ts';
import { systemClock } from '../../src/kernel/system-clock.ts';
import { verifiedPrincipal } from '../../src/policy/principal.ts';
import type { Message } from '../../src/wire/scan.ts';
import type { MemberName } from './broker-suite/subject.ts';
import { type EmbeddedBroker, startEmbeddedBroker } from './embedded-broker.ts';

export interface Run {
  readonly message: Message;
  readonly principal: string;
  readonly role: string | null;
  readonly reply: Reply;
  /** How long its call id has to be known; undefined: it does not come again. */
  readonly knownMs: number | undefined;
  /** It only asks for the outcome of an earlier call. */
  readonly isAgain: boolean;
  cancelled: boolean;
}

/** A gateway that does what the test says, and writes down what ran. */
class PlayedGateway {
  readonly runs: Run[] = [];
  /** Principals whose access has ended. */
  readonly ended: string[] = [];
  /** Keys of clients that are gone. */
  readonly gone: string[] = [];
  /** It takes no new work. */
  isEnding = false;
  /** Undefined: requests wait until the test answers them. */
  answer: ((run: Run) => string) | undefined = ({ message }) => message.bytes.toString();

  get face(): BrokerFrontParts['gateway'] {
    return {
      request: (message, { principal, callId }, reply) => {
        const run: Run = {
          message,
          principal: principal.id,
          role: principal.role,
          reply,
          knownMs: callId?.knownMs,
          isAgain: callId?.isAgain ?? false,
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
      accessEnded: (ids) => {
        for (const id of ids) this.ended.push(id);
      },
      clientGone: (key) => void this.gone.push(key),
      caught: (error: unknown) => {
        throw error;
      },
    } as Partial<BrokerFrontParts['gateway']> as BrokerFrontParts['gateway'];
  }
}

/** The part of a broker that it needs. */
export interface PlayedBroker extends AsyncDisposable {
  link(member: MemberName, seat: string): Promise<Link>;
  /** A link that is given up where the signal says so. */
  open(member: MemberName, seat: string, signal: AbortSignal): Promise<Link>;
}

export interface PlayedFleet<B extends PlayedBroker = EmbeddedBroker> extends AsyncDisposable {
  readonly broker: B;
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

export function playedRequest(text: string): string {
  return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"${text}",${envelope}}}`;
}

export async function startPlayedFleet(limits: Partial<HubLimits> = {}): Promise<PlayedFleet> {
  return await startPlayedFleetOn(await startEmbeddedBroker(limits));
}

/** On a broker that it owns from now on. */
export async function startPlayedFleetOn<B extends PlayedBroker>(
  broker: B,
): Promise<PlayedFleet<B>> {
  const gateway = new PlayedGateway();
  const clock = systemClock;
  let processes = 0;
  const newFront = () => {
    processes += 1;
    return new BrokerFront({
      gateway: gateway.face,
      clock,
      incarnation: `process-${processes}`,
      isEnding: () => gateway.isEnding,
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
    gaveUp: () => {},
    caught: (error) => {
      throw error;
    },
    policy: { firstWaitMs: 20, longestWaitMs: 40, lastTryMs: 20, totalMs: 2_000 },
  });
  let calls = 0;
  const fleet: PlayedFleet<B> = {
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
