// A client at the pipes of a gateway of its own, as an agent's config has it. When it vanishes its
// pipes break, as they do when an agent dies, and its gateway has to end by itself and take all of its
// servers along; so it has to when it is itself killed. It is back with a new gateway in a moment, as a new client.

import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { CallBook } from './call-book.ts';
import { type Client, within } from './client.ts';
import { type Era, helloParams, notificationFrame, requestFrame } from './dialects.ts';
import { type AnswerSeen, History } from './history.ts';
import type { Order } from './order.ts';
import { OwnRoots, rootsCapability } from './roots.ts';
import type { Message } from './seen.ts';
import type { Tally } from './tally.ts';

export interface StdioClientOptions {
  readonly name: string;
  /** Where histories are written. */
  readonly folder: string;
  readonly tally: Tally;
  /** What it talks to, if that is not its own. */
  readonly gateway?: string;
  /** Starts a gateway with pipes, for the life of this name. */
  readonly start: (life: string) => ChildProcess;
  /** What is left, a while after it was killed, of the gateway of this life. */
  readonly left: (life: string) => Promise<readonly string[]>;
  /** What the run has to answer for, in one line. */
  readonly report: (finding: string) => void;
  readonly outlived: (orphan: string) => void;
}

/** A gateway whose client is gone has to be gone by then. */
const goneMs = 20_000;

export class StdioClient implements Client {
  readonly #options: StdioClientOptions;
  #lives = 0;
  #life: Life;
  #opened: Promise<void>;
  #changing: Promise<void> = Promise.resolve();

  constructor(options: StdioClientOptions) {
    this.#options = options;
    this.#life = this.#begin();
    this.#opened = this.#life.open();
  }

  open(): Promise<void> {
    return this.#opened;
  }

  async call(order: Order): Promise<AnswerSeen | undefined> {
    await this.#opened;
    return await this.#life.call(order);
  }

  async list(): Promise<void> {
    this.#life.list();
  }

  vanish(): Promise<void> {
    return this.#inTurn(async () => {
      const before = this.#life;
      this.#life = this.#begin();
      this.#opened = this.#life.open();
      await Promise.all([this.#opened, before.vanish()]);
    });
  }

  /** Its gateway is killed, and nothing that it started may be left two seconds later. */
  die(): Promise<void> {
    return this.#inTurn(async () => {
      // Only then the next one: at its start it would itself sweep up what the last one has left.
      this.#opened = this.#life.die().then(async () => {
        this.#life = this.#begin();
        await this.#life.open();
      });
      await this.#opened;
    });
  }

  /** One end at a time, and of a life that has begun. */
  #inTurn(change: () => Promise<void>): Promise<void> {
    this.#changing = this.#changing.then(() => this.#opened).then(change);
    return this.#changing;
  }

  /** The name of the present one. */
  get life(): string {
    return this.#life.name;
  }

  /** Its pid; undefined when it has ended. */
  get gatewayPid(): number | undefined {
    return this.#life.pid;
  }

  /** Something is done that may end its gateway; if it has, there is a next one. */
  endures(harm: () => Promise<unknown>): Promise<void> {
    return this.#inTurn(async () => {
      await this.#life.endures(harm, () => {
        this.#life = this.#begin();
        this.#opened = this.#life.open();
      });
      await this.#opened;
    });
  }

  async leave(boundMs: number): Promise<void> {
    await this.#changing;
    await this.#opened;
    await this.#life.leave(boundMs);
  }

  #begin(): Life {
    this.#lives += 1;
    const era = this.#lives % 2 === 0 ? 'legacy' : 'modern';
    return new Life(`${this.#options.name}-${this.#lives}`, era, this.#options);
  }
}

/** One gateway and the conversation with it. */
class Life {
  readonly name: string;
  readonly #era: Era;
  readonly #options: StdioClientOptions;
  readonly #book: CallBook;
  readonly #roots: OwnRoots | undefined;
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;
  #isLeaving = false;
  #rest = '';
  #greeted = () => {};

  constructor(name: string, era: Era, options: StdioClientOptions) {
    this.name = name;
    this.#era = era;
    this.#options = options;
    const history = new History(options.folder, name);
    history.begin(options.gateway ?? name);
    this.#book = new CallBook(history, options.tally, era);
    const send = async (frame: string) => this.#write(frame);
    this.#roots =
      era === 'legacy' ? new OwnRoots({ history, ready: async () => {}, send }) : undefined;
    this.#child = options.start(name);
    this.#ended = once(this.#child, 'exit');
    this.#child.stdin?.on('error', () => {}); // the end of stdout tells it
    this.#child.stdout?.setEncoding('utf8').on('data', (text: string) => this.#heard(text));
    this.#child.stdout?.on('close', () => {
      this.#greeted(); // it will not be any more
      if (!this.#isLeaving) this.#book.cut(this.#book.openCalls);
    });
  }

  async open(): Promise<void> {
    if (this.#era === 'modern') return;
    const greeted = new Promise<void>((resolve) => {
      this.#greeted = resolve;
    });
    const params = { ...helloParams, capabilities: rootsCapability };
    this.#write(requestFrame('legacy', 'hello', 'initialize', params));
    await greeted;
    this.#write(notificationFrame('notifications/initialized'));
  }

  async call(order: Order): Promise<AnswerSeen | undefined> {
    if (this.#isLeaving) return undefined;
    const call = this.#book.begin(order);
    if (!this.#write(call.frame)) this.#book.cut([call]);
    if (order.readAfterMs !== undefined) this.#readLater(order.readAfterMs);
    const { cancelAfterMs } = order;
    if (cancelAfterMs === undefined) return await call.settled;
    await within(cancelAfterMs, call.settled);
    if (!this.#book.cancel(call)) return await call.settled;
    this.#write(notificationFrame('notifications/cancelled', { requestId: call.id }));
    return undefined;
  }

  list(): void {
    this.#write(requestFrame(this.#era, 'list', 'tools/list'));
  }

  async vanish(): Promise<void> {
    this.#isLeaving = true;
    this.#book.gone('client vanishes');
    this.#book.end();
    this.#child.stdin?.destroy();
    this.#child.stdout?.destroy();
    await this.#expectEnd('its client had vanished');
  }

  get pid(): number | undefined {
    return this.#hasEnded ? undefined : this.#child.pid;
  }

  get #hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  /** `ended`: calls go elsewhere from now on. */
  async endures(harm: () => Promise<unknown>, ended: () => void): Promise<void> {
    const { left, outlived } = this.#options;
    this.#isLeaving = true;
    await harm();
    if (!this.#hasEnded) {
      this.#isLeaving = false;
      return;
    }
    ended();
    this.#book.gone('kill -9 of a gateway');
    this.#book.end();
    for (const orphan of await left(this.name)) outlived(orphan);
  }

  async die(): Promise<void> {
    const { left, outlived } = this.#options;
    this.#isLeaving = true;
    this.#book.gone('kill -9 of a gateway');
    this.#book.end();
    this.#child.kill('SIGKILL');
    await this.#ended;
    for (const orphan of await left(this.name)) outlived(orphan);
  }

  async leave(boundMs: number): Promise<void> {
    await within(boundMs, Promise.all(this.#book.openCalls.map(({ settled }) => settled)));
    this.#isLeaving = true;
    this.#child.stdin?.end();
    await this.#expectEnd('its client had left');
    this.#book.end();
  }

  async #expectEnd(why: string): Promise<void> {
    if (await within(goneMs, this.#ended)) return;
    this.#options.report(`the gateway of ${this.name} still ran ${goneMs} ms after ${why}`);
    this.#child.kill('SIGKILL');
    await this.#ended;
  }

  #readLater(ms: number): void {
    this.#options.tally.happened('slow reader');
    this.#child.stdout?.pause();
    setTimeout(() => this.#child.stdout?.resume(), ms);
  }

  /** Lines arrive in their order. True if there is somebody to write to. */
  #write(frame: string): boolean {
    if (this.#child.stdin?.writable !== true) return false;
    this.#child.stdin.write(`${frame}\n`);
    return true;
  }

  #heard(text: string): void {
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) this.#heardLine(line);
  }

  #heardLine(line: string): void {
    try {
      const message = JSON.parse(line) as Message;
      this.#roots?.heard(message);
      if (message.id === 'hello') this.#greeted();
      else if (message.id !== 'list') this.#book.heard(message);
    } catch {
      this.#options.report(`${this.name} got a line that is no message: ${line.slice(0, 200)}`);
    }
  }
}
