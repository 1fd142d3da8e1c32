// Connects to the instance of a config, if one runs, and sends it requests. Whether one runs is found out
// by connecting; the folder and the socket are checked before.

import { createConnection, type Socket } from 'node:net';
import { dirname } from 'node:path';
import type { Clock } from '../kernel/clock.ts';
import { errnoOf } from '../kernel/errno.ts';
import { Fault, type FaultRecord } from '../kernel/fault.ts';
import { type ClientFacts, firstLine, greetingOf, welcomeIn } from './greeting.ts';
import { LineChannel } from './line-channel.ts';
import { assertOwnFolder, assertOwnSocket } from './own-path.ts';
import { type Ask, type ControlGreeting, isMoved, replySchema, type Welcome } from './protocol.ts';

export type Joined = Extract<Welcome, { readonly welcome: string }>;

export interface Connected {
  readonly socket: Socket;
  readonly instance: Joined;
}

export interface JoinRequest {
  readonly path: string;
  readonly clock: Clock;
  readonly program: string;
  readonly as: ControlGreeting['as'];
  /** What a client tells of itself; asked when there is somebody to tell. */
  readonly facts?: (() => ClientFacts) | undefined;
}

/** An instance that is busy answers late, one that is stopped does not answer at all. */
const greetingMs = 5_000;

/** Undefined: no instance runs. Throws a Fault if one runs and cannot be used. */
export async function join({
  path,
  clock,
  program,
  as,
  facts,
}: JoinRequest): Promise<Connected | undefined> {
  const socket = await connected(path);
  if (socket === undefined) return undefined;
  // From here on it is handled by whoever reads.
  socket.on('error', () => socket.destroy());
  socket.write(`${JSON.stringify(greetingOf(program, as, facts?.()))}\n`);
  const welcome = welcomeIn(await firstLine(socket, clock, greetingMs));
  if (welcome !== undefined && 'welcome' in welcome) return { socket, instance: welcome };
  const hasEnded = socket.destroyed || socket.readableEnded;
  socket.destroy();
  if (welcome !== undefined) {
    throw new Fault(welcome.refused === 'draining' ? 'draining' : 'unavailable', welcome.detail);
  }
  // It has ended at this moment, or takes no more connections.
  if (hasEnded) return await unlessListening(path);
  const detail = `the instance at ${path} does not answer; end its process, or try again`;
  throw new Fault('unavailable', detail);
}

/**
 * Somebody listens and ends the connection without an answer: one that is ending, or another that took the place
 * of one that was killed at this moment. It says nothing about the next attempt.
 */
export class TakesNoConnections extends Fault {}

/** Undefined if nobody listens there. */
async function unlessListening(path: string): Promise<undefined> {
  const again = await connected(path);
  again?.destroy();
  if (again === undefined) return undefined;
  const detail = `the instance at ${path} takes no connections; try again later`;
  throw new TakesNoConnections('unavailable', detail);
}

/** Nobody listens there, or there is nothing. */
const absent: ReadonlySet<string> = new Set(['ENOENT', 'ECONNREFUSED', 'ENOTDIR']);

async function connected(path: string): Promise<Socket | undefined> {
  try {
    await assertOwnFolder(dirname(path));
    await assertOwnSocket(path);
    return await opened(path);
  } catch (error) {
    const code = errnoOf(error);
    if (code !== undefined && absent.has(code)) return undefined;
    if (code === undefined) throw error;
    throw new Fault('unavailable', `the control socket ${path} cannot be used (${code})`);
  }
}

function opened(path: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = createConnection({ path, allowHalfOpen: true });
    socket.once('error', reject);
    socket.once('connect', () => {
      socket.off('error', reject);
      resolve(socket);
    });
  });
}

interface Waiting {
  readonly request: Ask;
  readonly resolve: (answer: unknown) => void;
  readonly reject: (fault: Fault) => void;
  readonly item: (value: unknown) => void;
  /** What is known of a request whose answer does not come. */
  readonly dispatched: 'no' | 'maybe';
}

export interface AskOptions {
  readonly signal?: AbortSignal | undefined;
  readonly item?: (value: unknown) => void;
}

/** The requests of one operator. What another process of the instance has to answer after a rollout is asked there. */
export class ControlClient implements Disposable {
  readonly instance: Joined;
  #channel: LineChannel;
  readonly #again: () => Promise<Connected | undefined>;
  /** By number, until answered; the commands ask for one thing after the other. */
  readonly #waiting = new Map<number, Waiting>();
  #isOver = false;
  /** Another process answers now, and nothing of what waits was begun. */
  #isMoved = false;
  #last = 0;

  /** `again`: joins whatever is the instance then; absent: nothing is. */
  constructor(
    { socket, instance }: Connected,
    again = async (): Promise<Connected | undefined> => undefined,
  ) {
    this.instance = instance;
    this.#again = again;
    this.#channel = this.#channelOver(socket);
  }

  #channelOver(socket: Socket): LineChannel {
    const channel = new LineChannel({
      socket,
      heard: (message) => this.#heard(message),
      ended: () => this.#ended(),
      caught: (error) => this.#ended(error),
    });
    socket.resume();
    return channel;
  }

  /** Rejects with a Fault. */
  ask(request: Ask, { signal, item = () => {} }: AskOptions = {}): Promise<unknown> {
    // A call may have run; everything else can be asked again.
    const dispatched = request.ask === 'call' ? 'maybe' : 'no';
    this.#last += 1;
    const id = this.#last;
    return new Promise((resolve, reject) => {
      if (this.#isOver && !this.#isMoved) return reject(lost('no'));
      this.#waiting.set(id, { request, resolve, reject, item, dispatched });
      if (this.#isOver) this.#goOn();
      signal?.addEventListener('abort', () => this.#channel.send({ id, withdraw: true }), {
        once: true,
      });
      this.#channel.send({ id, request });
      if (signal?.aborted) this.#channel.send({ id, withdraw: true });
    });
  }

  [Symbol.dispose](): void {
    this.#channel.end();
  }

  #heard(message: unknown): void {
    if (isMoved(message)) {
      this.#isMoved = true;
      return;
    }
    const reply = replySchema.safeParse(message).data;
    const waiting = reply && this.#waiting.get(reply.id);
    if (reply === undefined || waiting === undefined) return;
    if ('item' in reply) return waiting.item(reply.item);
    this.#waiting.delete(reply.id);
    if ('fault' in reply) waiting.reject(faultOf(reply.fault as unknown as FaultRecord));
    else waiting.resolve('answer' in reply ? reply.answer : null);
  }

  #ended(cause?: unknown): void {
    this.#isOver = true;
    if (!this.#isMoved) this.#lose(cause);
    else if (this.#waiting.size > 0) this.#goOn();
  }

  #goOn(): void {
    this.#isOver = false;
    this.#isMoved = false;
    this.#again()
      .then((connected) => {
        if (connected === undefined) return this.#ended();
        this.#channel = this.#channelOver(connected.socket);
        for (const [id, { request }] of this.#waiting) this.#channel.send({ id, request });
      })
      .catch((error: unknown) => this.#ended(error));
  }

  #lose(cause: unknown): void {
    for (const { reject, dispatched } of this.#waiting.values()) reject(lost(dispatched, cause));
    this.#waiting.clear();
  }
}

/** The fault as it was in the instance. */
export function faultOf({ code, detail, ...facts }: FaultRecord): Fault {
  return new Fault(code, detail, facts);
}

function lost(dispatched: 'no' | 'maybe', cause?: unknown): Fault {
  const code = dispatched === 'no' ? 'unavailable' : 'outcome_unknown';
  const told = dispatched === 'no' ? '' : ' The call may have run and was not repeated.';
  return new Fault(code, `the instance ended before it answered.${told}`, { dispatched }, cause);
}
