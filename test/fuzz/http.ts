// The HTTP edge on raw sockets: two gateways of the build, one that asks for a token and one that does
// not, each with a server behind it. After every thousand requests an ordinary client must be served
// as if nothing were; at the end the gateways hold no more than at the beginning, have complained of
// nothing, and the server's own ledger says that exactly the good requests have reached it.

import { Dice } from '../simulation/random.ts';
import { until } from '../support/until.ts';
import { chunksOf } from './chunks.ts';
import { agree, wrongWith } from './disagreement.ts';
import type { Findings } from './findings.ts';
import { type Holding, ListeningGateway } from './fuzzed-gateway.ts';
import { answersIn, checkAnswer } from './http-answers.ts';
import { checkCase, type Gate, type HttpCase, httpCase } from './http-cases.ts';
import type { KeptInput } from './kept-inputs.ts';
import { endSession, openSession, useAsEver } from './ordinary-client.ts';
import { talk } from './raw-socket.ts';
import type { Tally } from './tally.ts';

export interface HttpOptions {
  readonly build: string;
  readonly seed: number;
  readonly seconds: number;
  readonly signal: AbortSignal;
}

const lanes = 16;
const canaryEvery = 1_000;
const warmUp = 300;
/** A connection on which nothing comes any more is given up after this long, where no end is due. */
const quietMs = 25;

export interface HttpOutcome {
  readonly requests: number;
  readonly canaries: number;
  readonly descriptorGrowth: number;
  readonly heapGrowthBytes: number;
}

export async function fuzzHttp(
  options: HttpOptions,
  findings: Findings,
  tally: Tally,
): Promise<HttpOutcome> {
  const started = await Promise.all(
    (['none', 'token'] as const).map((auth) => ListeningGateway.start(options.build, auth)),
  );
  try {
    const trials = started.map((gateway) => new Trial(gateway, options, findings, tally));
    await Promise.all(trials.map((trial) => trial.run()));
    const sum = (of: (trial: Trial) => number) => trials.reduce((all, trial) => all + of(trial), 0);
    return {
      requests: sum(({ sent }) => sent),
      canaries: sum(({ canaries }) => canaries),
      descriptorGrowth: Math.max(...trials.map(({ growth }) => growth.descriptors)),
      heapGrowthBytes: Math.max(...trials.map(({ growth }) => growth.heapBytes)),
    };
  } finally {
    for (const gateway of started) await gateway[Symbol.asyncDispose]();
  }
}

/** One gateway and what is done to it. */
class Trial {
  readonly #gateway: ListeningGateway;
  readonly #options: HttpOptions;
  readonly #findings: Findings;
  readonly #tally: Tally;
  readonly #served = new Set<string>();
  /** Each with what was wrong with it. */
  readonly #refused = new Map<string, string>();
  readonly #sessions = new Set<string>();
  #legacyClients: Promise<Gate['sessions']> | undefined;
  sent = 0;
  canaries = 0;
  growth: Holding = { descriptors: 0, processes: 0, heapBytes: 0 };

  constructor(gateway: ListeningGateway, options: HttpOptions, findings: Findings, tally: Tally) {
    this.#gateway = gateway;
    this.#options = options;
    this.#findings = findings;
    this.#tally = tally;
  }

  async run(): Promise<void> {
    await this.#canary();
    await this.#fire(() => this.sent < warmUp);
    const before = await this.#atRest();
    const endAt = Date.now() + 1_000 * this.#options.seconds;
    await this.#fire(() => Date.now() < endAt);
    await this.#canary();
    const after = await this.#atRest();
    this.growth = {
      descriptors: after.descriptors - before.descriptors,
      processes: after.processes - before.processes,
      heapBytes: after.heapBytes - before.heapBytes,
    };
    await this.#settle();
  }

  async #fire(isTime: () => boolean): Promise<void> {
    const isOver = () => !isTime() || this.#options.signal.aborted || this.#findings.isEnough;
    const lane = async () => {
      while (!isOver()) {
        this.sent += 1;
        const { sent } = this;
        await this.#shoot(sent);
        if (sent % canaryEvery === 0) await this.#canary();
      }
    };
    await Promise.all(Array.from({ length: lanes }, lane));
  }

  async #shoot(number: number): Promise<void> {
    const { port, token } = this.#gateway;
    const { seed } = this.#options;
    const dice = new Dice(seed, number * 2 + (token === null ? 0 : 1));
    const one = httpCase({ port, token, sessions: await this.#legacy() }, `n${number}`, dice);
    for (const nonce of one.served) this.#served.add(nonce);
    for (const nonce of one.refused) this.#refused.set(nonce, one.kind);
    this.#tally.count(`sent ${one.kind.split(':')[0]}`);
    const says = await this.#wrongWith(one, dice);
    if (says === undefined) return;
    const where = `seed ${seed}, request ${number} with auth ${token === null ? 'none' : 'token'}`;
    this.#findings.add('http', where, `${one.kind}: ${says}`, one.bytes);
  }

  /** Two legacy clients for all requests that need one; they are new after every rest. */
  #legacy(): Promise<Gate['sessions']> {
    this.#legacyClients ??= this.#greet();
    return this.#legacyClients;
  }

  async #greet(): Promise<Gate['sessions']> {
    const latest = await openSession(this.#gateway, '2025-11-25');
    const batching = await openSession(this.#gateway, '2025-03-26');
    for (const id of [latest, batching]) this.#sessions.add(id);
    return { latest, batching };
  }

  async #wrongWith(one: HttpCase, dice: Dice): Promise<string | undefined> {
    const chunks =
      dice.chance(0.7) || one.bytes.length > 20_000 ? [one.bytes] : coarse(one.bytes, dice);
    try {
      const quiet = one.answers === undefined ? quietMs : undefined;
      const { heard } = await talk(this.#gateway.port, chunks, quiet);
      return wrongWith(() => {
        const { answers, rest } = answersIn(heard, () => false);
        for (const { status, headers } of answers) {
          this.#tally.count(`answered ${status}`);
          const session = headers.get('mcp-session-id');
          if (session !== undefined) this.#sessions.add(session);
        }
        checkCase(one, answers, rest);
      });
    } catch (error) {
      return messageOf(error) + (this.#gateway.isAlive ? '' : '; the gateway is dead');
    }
  }

  async #canary(): Promise<void> {
    this.canaries += 1;
    try {
      await useAsEver(this.#gateway, `canary-${this.canaries}`);
    } catch (error) {
      this.#findings.note(`http: after ${this.sent} requests ${messageOf(error)}`);
    }
  }

  /** Without the sessions that were opened, and with every connection closed. */
  async #atRest(): Promise<Holding> {
    for (const id of this.#sessions) await endSession(this.#gateway, id);
    this.#sessions.clear();
    this.#legacyClients = undefined;
    let last = await this.#gateway.holding();
    const isQuiet = async () => {
      const now = await this.#gateway.holding();
      const isSame = now.descriptors === last.descriptors && now.processes === last.processes;
      last = now;
      return isSame;
    };
    await until(isQuiet, 'the gateway to be at rest');
    return last;
  }

  /** What the server wrote down, and what the gateway said. */
  async #settle(): Promise<void> {
    const { folder } = this.#gateway;
    const executions = folder.executions();
    const problems: string[] = [];
    for (const nonce of this.#served) {
      const times = executions.get(nonce) ?? 0;
      if (times !== 1) problems.push(`the good request ${nonce} ran ${times} times`);
    }
    for (const [nonce, kind] of this.#refused) {
      const times = executions.get(nonce) ?? 0;
      if (times > 0)
        problems.push(`${nonce}, which was to be refused (${kind}), ran ${times} times`);
    }
    for (const [nonce, times] of executions) {
      if (times > 1) problems.push(`the request ${nonce} ran ${times} times`);
    }
    // It speaks both eras, and so do the clients: one process for each.
    if (folder.starts > 2) problems.push(`the server was started ${folder.starts} times`);
    if (this.growth.processes > 0) problems.push(`${this.growth.processes} more processes run`);
    for (const line of this.#gateway.complaints) problems.push(`the gateway complains: ${line}`);
    const code = await this.#gateway.stop();
    if (code !== 0) problems.push(`the gateway ended with ${code}`);
    for (const problem of problems.slice(0, 5))
      this.#findings.note(`http, seed ${this.#options.seed}: ${problem}`);
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** A few pieces: every one is a packet. */
function coarse(bytes: Buffer, dice: Dice): Buffer[] {
  const chunks = chunksOf(bytes, dice);
  if (chunks.length <= 20) return chunks;
  const cut = dice.between(1, bytes.length - 1);
  return [bytes.subarray(0, cut), bytes.subarray(cut)];
}

/** Inputs that were kept, to both gateways one after another; what is wrong with the answers. */
export async function replayHttp(build: string, inputs: readonly KeptInput[]): Promise<string[]> {
  const wrong: string[] = [];
  for (const auth of ['none', 'token'] as const) {
    await using gateway = await ListeningGateway.start(build, auth);
    for (const { name, bytes } of inputs) {
      const { heard } = await talk(gateway.port, [bytes], quietMs);
      const says = wrongWith(() => {
        for (const answer of answersIn(heard, () => false).answers) checkAnswer(answer);
        agree(gateway.isAlive, () => 'the gateway is dead');
      });
      if (says !== undefined) wrong.push(`${name}, auth ${auth}: ${says}`);
    }
    await useAsEver(gateway, 'after the kept inputs');
    wrong.push(...gateway.complaints);
  }
  return wrong;
}
