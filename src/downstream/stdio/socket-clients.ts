// MCP clients that come over sockets of this machine, each as if it were on stdio: one client for each
// connection, until it is closed. In a rollout the connections go to the next process, with their sessions.

import { randomBytes, randomInt } from 'node:crypto';
import type { Socket } from 'node:net';
import type { ClientFolder } from '../../host/connections/client-folder.ts';
import type { Clock } from '../../kernel/clock.ts';
import { isSettled, type SocketHandle, socketOf, taken } from '../http/rollout/handed-socket.ts';
import type { OutgoingBudget } from '../outgoing/outgoing-budget.ts';
import { type ClientLink, type RestoredStdio, stdioStateIn } from './handed-stdio.ts';
import { type StdioFront, type StdioFrontParts, startStdio } from './stdio-front.ts';

export interface SocketClientsParts {
  readonly front: StdioFrontParts['front'];
  readonly clock: Clock;
  readonly outgoing: OutgoingBudget;
  readonly frameBytes: number;
}

/** How long a client may take to read the last answers. */
const lastWordsMs = 500;

/** A client on its way to the next process. */
export interface HandedWindow {
  /** By which its connection is known. */
  readonly id: string;
  /** JSON. */
  readonly state: object;
  readonly unread: Buffer;
}

export interface NextForWindows {
  /** Whoever takes it closes it. */
  socket(handle: SocketHandle, id: string): void;
  /** What is said of one client between the two processes. */
  link(id: string): ClientLink;
}

interface Window {
  readonly id: string;
  readonly socket: Socket;
  readonly folder: ClientFolder | undefined;
}

export class SocketClients {
  readonly #parts: SocketClientsParts;
  /** Until their sockets are closed; the listener of the sockets allows only so many. */
  readonly #fronts = new Map<StdioFront, Window>();
  #sizeChanged: () => void = () => {};

  constructor(parts: SocketClientsParts) {
    this.#parts = parts;
  }

  /** Resolves when there has been no client for so long, from now on. */
  idleFor(ms: number): Promise<void> {
    return new Promise((resolve) => {
      let timer: Disposable | undefined;
      this.#sizeChanged = () => {
        timer?.[Symbol.dispose]();
        timer = this.#fronts.size > 0 ? undefined : this.#parts.clock.after(ms, resolve);
      };
      this.#sizeChanged();
    });
  }

  /** Serves it until either side ends; `folder` is where its client was started. */
  add(socket: Socket, folder?: ClientFolder): void {
    // No other client has it, in this process or another one.
    this.#serve({ id: randomBytes(8).toString('hex'), socket, folder });
  }

  #serve(window: Window, restored?: RestoredStdio): void {
    const { id, socket, folder } = window;
    const clientKey = `socket-${id}`;
    // A client of connect may answer a question of the instance before this one.
    const firstQuestion = randomInt(2 ** 47);
    const streams = { input: socket, output: socket, restored };
    const front = startStdio({ ...this.#parts, ...streams, clientKey, firstQuestion, folder });
    // It was paused when its greeting had been read.
    socket.resume();
    this.#fronts.set(front, window);
    this.#sizeChanged();
    const end = async () => {
      await front.close(lastWordsMs);
      this.#fronts.delete(front);
      this.#sizeChanged();
      socket.destroy();
    };
    Promise.race([front.inputEnded, front.gone])
      .then(end)
      .catch((error: unknown) => this.#parts.front.caught(error));
  }

  /** The fence: each client goes to the next process. `ended` resolves when nothing is left to do here for any. */
  async handOver(next: NextForWindows) {
    const given = await Promise.all(
      [...this.#fronts].map(([front, window]) => this.#giveOne(front, window, next)),
    );
    const windows = given.flatMap((one) => one ?? []);
    const ended = Promise.all(windows.map(({ done }) => done));
    const lost = given.length - windows.length;
    return { windows: windows.map(({ handed }) => handed), ended, lost };
  }

  /** Undefined: it cannot be given, and is closed; its client connects again. */
  async #giveOne(front: StdioFront, { id, socket, folder }: Window, next: NextForWindows) {
    let handle: SocketHandle | undefined;
    // The front closes what it has read to its end; here it goes on.
    socket.destroy = (error?: Error) => {
      Reflect.deleteProperty(socket, 'destroy');
      if (isSettled(socket)) handle = taken(socket);
      else socket.destroy(error);
      return socket;
    };
    const over = isSettled(socket) ? await front.handOver() : undefined;
    Reflect.deleteProperty(socket, 'destroy');
    if (over === undefined || handle === undefined) {
      await front.close(0);
      socket.destroy();
      if (handle !== undefined) socketOf(handle).destroy();
      return undefined;
    }
    over.rest.attach(next.link(id));
    next.socket(handle, id);
    const { state, unread } = over.handed;
    const handed: HandedWindow = { id, state: { ...state, folder: folder ?? null }, unread };
    return { handed, done: over.rest.done };
  }

  /** A client that the process before has given away, and its connection. False: what is said of it cannot be read. */
  restore({ id, state, unread }: HandedWindow, socket: Socket, link: ClientLink): boolean {
    const { folder, ...rest } = state as { readonly folder?: ClientFolder | null };
    const read = stdioStateIn(rest);
    if (read === undefined) return false;
    this.#serve({ id, socket, folder: folder ?? undefined }, { state: read, unread, link });
    return true;
  }

  /** The last answers are sent, and every connection is closed. */
  async close(): Promise<void> {
    await Promise.all([...this.#fronts.keys()].map((front) => front.close(lastWordsMs)));
  }
}
