// A connection is handed over after every single byte of what its server says, while both processes
// have calls: each gets its own answer once, and the server is sent whole lines in the order in
// which they were said. What happens is drawn from a seed: HAND_OVER_SEED repeats another one.

import { env } from 'node:process';
import { describe, expect, it } from 'vitest';
import { Dice } from '../../../test/support/dice.ts';
import {
  crossed,
  firstServing,
  givenUp,
  PlayedLink,
  partsOf,
  Told,
} from '../../../test/support/handed-over.ts';
import type { ManualClock } from '../../../test/support/manual-clock.ts';
import { settled } from '../../../test/support/manual-clock.ts';
import { MovingProcess } from '../../../test/support/moving-child.ts';
import { Fault } from '../../kernel/fault.ts';
import { adoptConnection } from '../adopt-connection.ts';
import type { Connection } from '../connection.ts';
import type { Exchange } from '../exchange.ts';

interface Heard {
  readonly id?: number | string;
  readonly method?: string;
  readonly params?: { readonly name?: string; readonly requestId?: number };
}

/** A server that answers in any order, and says more meanwhile; it is read byte by byte. */
class TalkingServer {
  readonly process: MovingProcess;
  readonly heard: Heard[] = [];
  /** The ids of its own requests. */
  readonly questions: string[] = [];
  readonly #dice: Dice;
  /** What is yet to be said about each call, in order. */
  #plans: string[][] = [];
  #line: Buffer = Buffer.alloc(0);
  #read = 0;
  #rest = '';

  constructor(process: MovingProcess, dice: Dice) {
    this.process = process;
    this.#dice = dice;
  }

  /** Reads what it was sent since the last time. Throws for a line that is not JSON. */
  read(): void {
    const { written } = this.process;
    const lines = `${this.#rest}${Buffer.concat(written.slice(this.#read))}`.split('\n');
    this.#rest = lines.pop() ?? '';
    this.#read = written.length;
    for (const line of lines) {
      const heard = JSON.parse(line) as Heard;
      this.heard.push(heard);
      if (heard.method === 'tools/call') this.#plan(heard);
    }
  }

  #plan({ id, params }: Heard): void {
    const plan: string[] = [];
    for (let step = this.#dice.between(0, 1); step > 0; step--) {
      plan.push(
        `{"method":"notifications/progress","params":{"progressToken":${id},"progress":${step}}`,
      );
    }
    if (this.#dice.chance(0.3)) {
      plan.push(`{"id":"q${id}","method":"elicitation/create","params":{"message":"é"}`);
    }
    if (this.#dice.chance(0.2)) plan.push('{"method":"notifications/tools/list_changed"');
    plan.push(`{"id":${id},"result":{"name":"${params?.name}"}`);
    this.#plans.push(plan);
  }

  /** Says up to so many bytes, in chunks; returns whether there was anything to say. */
  say(bytes: number): boolean {
    for (let left = bytes; left > 0; ) {
      if (this.#line.length === 0 && !this.#nextLine()) return false;
      const size = Math.min(left, this.#dice.between(1, 90), this.#line.length);
      this.process.print(this.#line.subarray(0, size));
      this.#line = this.#line.subarray(size);
      left -= size;
    }
    return true;
  }

  #nextLine(): boolean {
    this.#plans = this.#plans.filter((plan) => plan.length > 0);
    if (this.#plans.length === 0) return false;
    const text = this.#dice.pick(this.#plans).shift() as string;
    const question = /^{"id":"(q\d+)"/.exec(text)?.[1];
    if (question !== undefined) this.questions.push(question);
    this.#line = Buffer.from(`${text},"jsonrpc":"2.0"}\n`);
    return true;
  }
}

interface Called {
  readonly exchange: Exchange;
  readonly name: string;
  readonly id: number;
  readonly outcome: Promise<string>;
  readonly progress: string[];
  answers: number;
}

function calling(connection: Connection, name: string): Called {
  const progress: string[] = [];
  const members = `"name":"${name}","arguments":{}`;
  const listener = { progressed: (params: Buffer) => progress.push(params.toString()) };
  const exchange = connection.request('tools/call', { members }, { owner: {}, progress: listener });
  const outcome = exchange.answer.then(
    ({ bytes }) => {
      called.answers += 1;
      return (JSON.parse(bytes.toString()) as { result: { name: string } }).result.name;
    },
    (fault: Fault) => fault.code,
  );
  const called = { name, id: exchange.id, outcome, progress, answers: 0, exchange };
  return called;
}

const calls = 12;

/** Hands over after so many bytes; returns how many there were to say before. */
async function cutAfter(bytes: number, seed: string): Promise<boolean> {
  const dice = new Dice(seed);
  const process = new MovingProcess();
  const former = await firstServing(process);
  const server = new TalkingServer(process, dice.of('server'));
  const olds = Array.from({ length: calls }, (_, at) => calling(former.connection, `old${at}`));
  await settled();
  server.read();
  if (!server.say(bytes)) return false;

  const more = dice.of(`cut ${bytes}`);
  process.beforeGivingUp = () => server.say(more.between(0, 50));
  const handOver = await givenUp(former.connection);
  const link = new PlayedLink(handOver);
  link.isInstant = false;
  // Cancelled, asked and said between the two processes.
  const cancelled = olds.filter(({ exchange }) => !exchange.isSettled && more.chance(0.1));
  for (const { exchange } of cancelled) exchange.cancel(new Fault('cancelled', 'not needed'));
  server.say(more.between(0, 50));
  const parts = partsOf(process);
  const told = new Told();
  const connection = await adoptConnection(parts, crossed(handOver.handed), told, link);
  const rounds = [calling(former.connection, 'round0')];
  link.attach(connection);
  const news = Array.from({ length: calls }, (_, at) => calling(connection, `new${at}`));
  rounds.push(calling(former.connection, 'round1'));
  const serving = [
    { connection: former.connection, told: former.told, answered: 0 },
    { connection, told, answered: 0 },
  ];
  await (parts.clock as ManualClock).advanceAsync(0);
  for (let isMore = true; isMore; ) {
    link.flow();
    await settled();
    server.read();
    isMore = server.say(more.between(1, 2_000));
    for (const one of serving) {
      for (const { message } of one.told.questions.slice(one.answered)) {
        one.connection.respond(`{"jsonrpc":"2.0","id":${JSON.stringify(message.id)},"result":{}}`);
        one.answered += 1;
      }
    }
    isMore ||= link.toFormer.length + link.toSuccessor.length > 0;
  }
  link.flow();
  await settled();
  server.read();

  const all = [...olds, ...rounds, ...news];
  const outcomes = await Promise.all(all.map(({ outcome }) => outcome));
  const expected = all.map((one) => (cancelled.includes(one) ? 'cancelled' : one.name));
  expect(outcomes).toEqual(expected);
  expect(all.map(({ answers }) => answers)).toEqual(
    all.map((one) => (cancelled.includes(one) ? 0 : 1)),
  );
  for (const { progress, id } of all) {
    expect(progress.every((params) => params.includes(`"progressToken":${id},`))).toBe(true);
  }
  checkSaid(server, all, cancelled);
  // Each question was asked once, and nothing was noise.
  const asked = serving.flatMap((one) => one.told.asks);
  expect(asked.toSorted()).toEqual(server.questions.toSorted());
  expect(serving.flatMap((one) => [...one.told.losses])).toEqual([]);
  const noises = serving.flatMap((one) => one.told.noises);
  expect(noises.filter((noise) => noise !== 'late-answer')).toEqual([]);
  expect(process.strays).toEqual([]);
  return true;
}

/** The server got every call once, in order, every answer once, and cancellations behind their calls. */
function checkSaid(server: TalkingServer, all: readonly Called[], cancelled: readonly Called[]) {
  const { heard } = server;
  const called = heard.flatMap(({ method, id }) => (method === 'tools/call' ? [id] : []));
  expect(called.toSorted()).toEqual(all.map(({ id }) => id).toSorted());
  for (const own of ['old', 'round', 'new']) {
    const names = heard.flatMap(({ params }) => params?.name ?? []);
    const expected = all.flatMap(({ name }) => (name.startsWith(own) ? [name] : []));
    expect(names.filter((name) => name.startsWith(own))).toEqual(expected);
  }
  const ends = heard.flatMap(({ params, method }, at) =>
    method === 'notifications/cancelled' ? [{ id: params?.requestId, at }] : [],
  );
  expect(ends.map(({ id }) => id)).toEqual(cancelled.map(({ id }) => id));
  for (const { id, at } of ends) expect(heard.findIndex((one) => one.id === id)).toBeLessThan(at);
  const answered = heard.flatMap(({ method, id }) => (method === undefined ? [id] : []));
  expect(answered.toSorted()).toEqual(server.questions.toSorted());
}

describe('a connection that is handed over in the middle of what its server says', () => {
  it('brings every call its own answer once, whichever byte the cut is behind #never-twice', async () => {
    const seed = env['HAND_OVER_SEED'] ?? 'one';
    let bytes = 0;
    while (await cutAfter(bytes, seed)) bytes += 1;
    expect(bytes).toBeGreaterThan(500);
  });

  it('moves 5 MB of an answer and 5 MB of a request, cut in the middle', async () => {
    const process = new MovingProcess();
    const frameBytes = 16 * 1024 * 1024;
    const former = await firstServing(process, { frameBytes });
    const large = 'é'.repeat(2_500_000);
    const old = former.connection.request('tools/call', { members: '' });
    await settled();
    const answer = Buffer.from(`{"jsonrpc":"2.0","id":${old.id},"result":{"large":"${large}"}}`);
    for (let at = 0; at < 2_500_001; at += 65_537)
      process.print(answer.subarray(at, Math.min(at + 65_537, 2_500_001)));
    // The pipe takes the first frame slowly; the large ones wait behind it.
    process.holdsWrites = true;
    const first = former.connection.request('first', { members: '' });
    first.answer.catch(() => {});
    await settled();
    const members = [`"large":"${large}"`, `"large":[${Buffer.alloc(5_000_000, '1,')}1]`];
    const requests = members.map((text) => former.connection.request('large', { members: text }));
    const handing = former.connection.handOver?.();
    process.print(answer.subarray(2_500_001, 3_000_000));
    process.holdsWrites = false;
    process.finishWrite();
    const handOver = await handing;
    if (!handOver) throw new Error('it was not handed over');
    const link = new PlayedLink(handOver);
    const parts = { ...partsOf(process), frameBytes };
    const connection = await adoptConnection(parts, crossed(handOver.handed), new Told(), link);
    link.attach(connection);
    await (parts.clock as ManualClock).advanceAsync(0);
    process.print(answer.subarray(3_000_000));
    process.print('\n');
    expect((await old.answer).bytes.equals(answer)).toBe(true);
    await settled();
    const texts = process.lines.slice(-2);
    for (const [at, { id }] of requests.entries()) {
      expect(
        texts[at] === `{"jsonrpc":"2.0","id":${id},"method":"large","params":{${members[at]}}}`,
      ).toBe(true);
    }
    for (const { id } of requests) process.print(`{"jsonrpc":"2.0","id":${id},"result":{}}\n`);
    expect((await Promise.all(requests.map((one) => one.answer))).length).toBe(2);
  });
});
