// Serving processes of a rollout in one process: real connections to a played process, and the link
// between two neighbours as two queues, whose messages arrive when a test lets them. States cross
// it as JSON, as they do between processes.

import type { Fault } from '../../src/kernel/fault.ts';
import { adoptConnection } from '../../src/upstream/adopt-connection.ts';
import type { Connection, ConnectionListener } from '../../src/upstream/connection.ts';
import type { Exchange } from '../../src/upstream/exchange.ts';
import {
  type AdoptedConnection,
  connectionStateFrom,
  type FormerCalls,
  firstIdAfter,
  type HandedConnection,
  type HandOver,
  type RestOfCalls,
} from '../../src/upstream/handed-connection.ts';
import { connectStdio } from '../../src/upstream/stdio/connect-stdio.ts';
import type { StdioConnectionParts } from '../../src/upstream/stdio/stdio-parts.ts';
import type { Message } from '../../src/wire/scan.ts';
import { ManualClock, settled } from './manual-clock.ts';
import type { MovingProcess } from './moving-child.ts';

/** What one serving process has heard of its connection. */
export class Told implements ConnectionListener {
  readonly losses: Fault[] = [];
  readonly noises: string[] = [];
  readonly notified: string[] = [];
  readonly questions: { readonly message: Message; readonly isUncertain: boolean }[] = [];
  ends = 0;
  missings = 0;
  words: readonly string[] = [];

  lost(cause: Fault): void {
    this.losses.push(cause);
  }

  ended(): void {
    this.ends += 1;
  }

  missed(): void {
    this.missings += 1;
  }

  noise(kind: string): void {
    this.noises.push(kind);
  }

  lastWords(lines: readonly string[]): void {
    this.words = lines;
  }

  notification({ bytes }: Message): void {
    this.notified.push(bytes.toString());
  }

  asked(message: Message, _about: Exchange | undefined, from: Connection): void {
    this.questions.push({ message, isUncertain: from.formerMayBeMeant ?? false });
  }

  get asks(): readonly unknown[] {
    return this.questions.map(({ message }) => message.id);
  }
}

export interface Serving {
  readonly connection: Connection;
  readonly told: Told;
  readonly clock: ManualClock;
}

export function partsOf(process: MovingProcess, frameBytes = 10_000): StdioConnectionParts {
  return {
    server: 'files',
    spec: {
      ...{ name: 'files', command: 'files', args: [], env: {}, inheritEnv: [], cwd: '/' },
      ...{ memoryMb: null, processes: null },
    },
    frameBytes,
    spawn: process.spawn,
    adopt: process.adopt,
    clock: new ManualClock(),
    identity: { name: 'holdfast', version: '0' },
    capabilities: '{}',
    startTimeoutMs: 60_000,
    first: 'legacy',
    eras: {
      known: async () => ({}),
      learn: () => {},
      notInitialized: () => {},
      kept: async () => {},
    },
  };
}

export const legacyGreeting = { protocolVersion: '2025-11-25', capabilities: { tools: {} } };
export const modernGreeting = { supportedVersions: ['2026-07-28'], capabilities: { tools: {} } };

/** The first serving process, greeted; what it was sent so far is forgotten. */
export async function firstServing(
  process: MovingProcess,
  more: Partial<StdioConnectionParts> = {},
): Promise<Serving> {
  const parts = { ...partsOf(process), ...more };
  const told = new Told();
  const opening = connectStdio(parts, 3, new AbortController().signal, told);
  await settled();
  const result = parts.first === 'legacy' ? legacyGreeting : modernGreeting;
  process.print(`${JSON.stringify({ jsonrpc: '2.0', id: 1, result })}\n`);
  const connection = await opening;
  await settled();
  process.written.length = 0;
  return { connection, told, clock: parts.clock as ManualClock };
}

/** The link between two neighbours; messages arrive in order, when `arrive` or `flow` is called. */
export class PlayedLink implements FormerCalls {
  readonly rest: RestOfCalls;
  readonly below: number;
  readonly over: Promise<void>;
  readonly toFormer: (() => void)[] = [];
  readonly toSuccessor: (() => void)[] = [];
  /** Lines of the server that were passed on. */
  readonly passed: string[] = [];
  successor: AdoptedConnection | undefined;
  isInstant = true;
  end: () => void = () => {};

  constructor({ rest, handed }: HandOver) {
    this.rest = rest;
    this.below = firstIdAfter(handed.state);
    this.over = new Promise((resolve) => {
      this.end = resolve;
    });
  }

  get mayHaveCalls(): boolean {
    return this.rest.mayHaveCalls;
  }

  heard(line: Buffer): void {
    this.passed.push(line.toString());
    this.#put(this.toFormer, () => this.rest.heard(line));
  }

  lost(fault: Fault): void {
    this.#put(this.toFormer, () => this.rest.lost(fault));
  }

  attach(successor: AdoptedConnection): void {
    this.successor = successor;
    this.rest.attach({
      write: (line) => this.#put(this.toSuccessor, () => successor.writeForFormer(line)),
    });
  }

  #put(queue: (() => void)[], message: () => void): void {
    queue.push(message);
    if (this.isInstant) this.flow();
  }

  /** Everything arrives that was sent. */
  flow(): void {
    while (this.toFormer.length > 0 || this.toSuccessor.length > 0) {
      this.toFormer.shift()?.();
      this.toSuccessor.shift()?.();
    }
  }
}

/** The state as the other process reads it. */
export function crossed(handed: HandedConnection): HandedConnection {
  const state = connectionStateFrom(JSON.parse(JSON.stringify(handed.state)));
  return { ...handed, state };
}

export async function givenUp(connection: Connection): Promise<HandOver> {
  const handOver = await connection.handOver?.();
  if (!handOver) throw new Error('the connection was not handed over');
  return handOver;
}

/** The next serving process goes on with the connection of this one. */
export async function rolledOut(
  from: Serving,
  process: MovingProcess,
  more: Partial<StdioConnectionParts> = {},
) {
  const handOver = await givenUp(from.connection);
  const link = new PlayedLink(handOver);
  const parts = { ...partsOf(process), ...more };
  const told = new Told();
  const connection = await adoptConnection(parts, crossed(handOver.handed), told, link);
  link.attach(connection);
  const clock = parts.clock as ManualClock;
  await clock.advanceAsync(0);
  return { connection, told, clock, link, handed: handOver.handed };
}
