// `holdfast connect`: a client on the standard streams of this process, and the instance behind the control
// socket. What the bridge decides is carried out here: lines are read and written, a slow reader slows its
// writer, and an instance that has ended is followed by another one.

import type { Readable, Writable } from 'node:stream';
import type { Clock } from '../../kernel/clock.ts';
import { contain } from '../../kernel/contain.ts';
import { causeOf, remedyFor } from '../../kernel/disk-remedy.ts';
import { errnoOf } from '../../kernel/errno.ts';
import { Fault, faultFrom } from '../../kernel/fault.ts';
import { LineReader } from '../../wire/line-reader.ts';
import type { Connected } from '../control-client.ts';
import { Bridge, lineOf } from './bridge.ts';
import { type Joining, joinOrStart, serveGraceMs } from './join-or-start.ts';

export interface ConnectParts extends Omit<Joining, 'isOver' | 'isWanted' | 'graceMs'> {
  readonly signal: AbortSignal;
  readonly input: Readable;
  readonly output: Writable;
  /** One line for a person. */
  readonly report: (line: string) => void;
}

/** As large as the instance takes a message; what it sends is limited by the servers' own limits. */
const maxClientLineBytes = 16_777_216;
const maxInstanceLineBytes = 536_870_912;
/** Between attempts to get an instance, longer after each one that failed. */
const pauses = { firstMs: 1_000, longestMs: 30_000 };

/** Resolves when the client has gone and everything it asked is answered, or nobody can be told. */
export async function connectClient(parts: ConnectParts): Promise<void> {
  const { input, output, clock } = parts;
  const bridge = new Bridge({ toClient: (line) => void output.write(lineOf(line)) });
  const client = new ClientSide(parts, bridge);
  const isOver = () => client.isOver;
  const isWanted = () => !bridge.isIdle;
  let pauseMs = pauses.firstMs;
  let graceMs = 0;
  /** The last failure that was reported. */
  let told: string | undefined;
  while (!client.isOver) {
    try {
      const joining = joinOrStart({ ...parts, isOver, isWanted, graceMs });
      const connected = await joining.catch((error) => Promise.reject(diskFault(parts, error)));
      pauseMs = pauses.firstMs;
      told = undefined;
      tellDifference(parts, connected);
      graceMs = connected.instance.startedBy === 'serve' ? serveGraceMs : 0;
      await carry(bridge, client, connected, output);
    } catch (error) {
      const fault = faultFrom(error);
      if (client.isOver) break;
      if (fault.message !== told) parts.report(fault.message);
      told = fault.message;
      bridge.refuseWaiting(fault);
      await untilThenOrWanted(clock, pauseMs, client);
      pauseMs = Math.min(pauses.longestMs, 2 * pauseMs);
    }
  }
  input.destroy();
}

/** What is said where the folder of the instance cannot be used; any other error as it is. */
function diskFault({ place: { config, folder } }: ConnectParts, error: unknown): unknown {
  const code = errnoOf(error);
  if (code === undefined) return error;
  const told = `no instance of ${config} can be started, because ${folder} cannot be used (${causeOf(code)})`;
  const instead =
    'without that, holdfast serve --stdio works in the place of holdfast connect, and commands such as holdfast call work';
  return new Fault('unavailable', `${told}: ${remedyFor(code)}; ${instead}`, {}, error);
}

/** Ends early if the client ends, or says something a second after the last attempt or later. */
async function untilThenOrWanted(clock: Clock, ms: number, client: ClientSide): Promise<void> {
  const begunAt = clock.now();
  await new Promise<void>((resolve) => {
    const timer = clock.after(ms, resolve);
    const end = () => {
      timer[Symbol.dispose]();
      resolve();
    };
    client.onEnd = end;
    client.onLine = () => {
      client.onLine = () => {};
      const left = begunAt + pauses.firstMs - clock.now();
      clock.after(Math.max(0, left), end);
    };
  });
  client.onEnd = () => {};
  client.onLine = () => {};
}

function tellDifference({ report }: ConnectParts, { instance }: Connected): void {
  const { differs = [], pid, startedBy } = instance;
  if (differs.length === 0) return;
  const again =
    startedBy === 'serve'
      ? 'then start it again with the right ones'
      : 'the first window after that starts it with its own';
  report(
    `this window has other values of ${differs.join(', ')} than the running instance (process ${pid}), and servers get those of the instance; to change that, end it with: holdfast shutdown; ${again}`,
  );
}

/** The agent. */
class ClientSide {
  readonly #parts: ConnectParts;
  readonly #bridge: Bridge;
  #hasEnded = false;
  #isGone = false;
  /** Called after each line that it has said. */
  onLine: () => void = () => {};
  /** Called when the client has ended its input or no longer reads. */
  onEnd: () => void = () => {};

  constructor(parts: ConnectParts, bridge: Bridge) {
    this.#parts = parts;
    this.#bridge = bridge;
    const { input, output, signal } = parts;
    const reader = new LineReader(maxClientLineBytes, {
      line: (line) => {
        bridge.fromClient(line);
        this.onLine();
      },
      oversized: () => bridge.tooLarge(maxClientLineBytes),
    });
    const ended = () => {
      const rest = reader.end();
      if (rest) bridge.fromClient(rest);
      this.#hasEnded = true;
      this.onEnd();
    };
    input.on('data', (chunk: Buffer) =>
      contain(
        () => reader.push(chunk),
        () => this.#gone(),
      ),
    );
    input.on('end', ended);
    input.on('error', ended);
    output.on('error', () => this.#gone());
    signal.addEventListener('abort', () => this.#gone());
  }

  /** Nothing more is to be done for it. */
  get isOver(): boolean {
    return this.#isGone || (this.#hasEnded && this.#bridge.isIdle);
  }

  pause(): void {
    this.#parts.input.pause();
  }

  resume(): void {
    this.#parts.input.resume();
  }

  #gone(): void {
    this.#isGone = true;
    this.onEnd();
  }
}

/** Resolves when the instance or the client has ended. */
function carry(
  bridge: Bridge,
  client: ClientSide,
  { socket, instance }: Connected,
  output: Writable,
): Promise<void> {
  return new Promise((resolve) => {
    let isOver = false;
    const end = () => {
      if (isOver) return;
      isOver = true;
      client.onEnd = () => {};
      output.off('drain', drained);
      client.resume();
      socket.destroy();
      bridge.lost();
      resolve();
    };
    const drained = () => void socket.resume();
    const reader = new LineReader(maxInstanceLineBytes, {
      line: (line) => {
        bridge.fromInstance(line);
        if (output.writableNeedDrain) socket.pause();
        if (client.isOver) end();
      },
      oversized: end,
    });
    socket.on('data', (chunk: Buffer) => contain(() => reader.push(chunk), end));
    for (const event of ['end', 'close', 'error']) socket.on(event, end);
    socket.on('drain', () => client.resume());
    output.on('drain', drained);
    client.onEnd = () => {
      if (client.isOver) end();
    };
    bridge.joined((line) => {
      if (!socket.write(lineOf(line))) client.pause();
    }, instance.keepsKeys);
    socket.resume();
    if (client.isOver || socket.destroyed) end();
  });
}
