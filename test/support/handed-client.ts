// One client on stdio and the processes that serve it one after the other: they have the same input and output, which
// the client has the other ends of. Each process is a stdio front over a gateway that the test plays.

import { PassThrough, Writable } from 'node:stream';
import { OutgoingBudget } from '../../src/downstream/outgoing/outgoing-budget.ts';
import type { RestOfClient } from '../../src/downstream/stdio/handed-stdio.ts';
import { stdioStateIn } from '../../src/downstream/stdio/handed-stdio.ts';
import { type StdioFront, startStdio } from '../../src/downstream/stdio/stdio-front.ts';
import { FakeFront, result } from './fake-front.ts';
import { manualClock } from './manual-clock.ts';
import { PlayedLink } from './played-client-link.ts';

export class PlayedFront extends FakeFront {
  readonly gone: string[] = [];
  clientGone(key: string): void {
    this.gone.push(key);
  }
}

export interface Served {
  readonly front: PlayedFront;
  readonly input: PassThrough;
  readonly stdio: StdioFront;
  readonly held: boolean[];
  /** To the process before. */
  readonly link: PlayedLink | undefined;
  rest?: RestOfClient;
  /** To the next process. */
  next?: PlayedLink;
}

export class HandedStdioClient {
  readonly processes: Served[] = [];
  /** What the client does not take at once, until it reads. */
  readonly untaken: (() => void)[] = [];
  readonly #reads: boolean;
  readonly #frameBytes: number;
  #text = '';

  constructor({ reads = true, frameBytes = 16_777_216 } = {}) {
    this.#reads = reads;
    this.#frameBytes = frameBytes;
    this.#start();
  }

  get serving(): Served {
    return this.processes.at(-1) as Served;
  }

  get lines(): readonly string[] {
    return this.#text.split('\n').slice(0, -1);
  }

  /** Bytes after the last whole line. */
  get rest(): string {
    return this.#text.split('\n').at(-1) ?? '';
  }

  // biome-ignore lint/suspicious/noExplicitAny: a test looks into it as it likes
  get messages(): any[] {
    return this.lines.map((line) => JSON.parse(line));
  }

  write(bytes: string | Buffer): void {
    this.serving.input.write(bytes);
  }

  say(...messages: unknown[]): void {
    for (const message of messages) this.write(`${JSON.stringify(message)}\n`);
  }

  /** The fence: the next process goes on. */
  async handOver(handing = this.serving.stdio.handOver()): Promise<Served> {
    const former = this.serving;
    const handed = await handing;
    if (handed === undefined) throw new Error('there is no client to hand over');
    const { rest } = handed;
    const { unread } = handed.handed;
    const state = stdioStateIn(JSON.parse(JSON.stringify(handed.handed.state)));
    if (state === undefined) throw new Error('it cannot be handed over as JSON');
    const [mine, other] = PlayedLink.pair();
    former.rest = rest;
    former.next = mine;
    rest.attach(mine);
    return this.#start({ restored: { state, unread, link: other }, link: other });
  }

  #start({
    restored,
    link,
  }: Partial<Pick<Served, 'link'> & Parameters<typeof startStdio>[0]> = {}): Served {
    const front = new PlayedFront();
    const input = new PassThrough();
    const clock = manualClock();
    const held: boolean[] = [];
    const stdio = startStdio({
      ...{ front, input, output: this.#output(), clock, frameBytes: this.#frameBytes, restored },
      outgoing: new OutgoingBudget(clock),
      held: (isHeld) => held.push(isHeld),
    });
    const served = { front, input, stdio, held, link };
    this.processes.push(served);
    return served;
  }

  /** Each process has a stream of its own for the same descriptor. */
  #output(): Writable {
    return new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        const take = () => {
          this.#text += chunk.toString('utf8');
          done();
        };
        if (this.#reads) take();
        else this.untaken.push(take);
      },
    });
  }
}

/** Answers what this process was asked and has not answered. */
export function answerAll({ front }: Served): void {
  for (const { message, reply } of front.asked.splice(0)) reply.answer(result(message.id));
}
