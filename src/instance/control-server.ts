// The control socket of an instance: takes connections, greets them, answers the requests of operators,
// and hands the connections of MCP clients to the gateway. Whoever can reach the socket is the local user:
// its folder is closed to everybody else. One connection can only hurt itself.

import { chmod, rm } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import { dirname } from 'node:path';
import type { Clock } from '../kernel/clock.ts';
import { type Caught, contain } from '../kernel/contain.ts';
import { errnoOf } from '../kernel/errno.ts';
import { Fault, faultFrom } from '../kernel/fault.ts';
import { makePrivateFolder } from '../kernel/private-folder.ts';
import { answerTo } from './answering.ts';
import { firstLine, type InstanceIdentity, welcomeFor } from './greeting.ts';
import { LineChannel } from './line-channel.ts';
import type { InstanceOperations } from './operations.ts';
import { assertOwnFolder } from './own-path.ts';
import { requestSchema } from './protocol.ts';

export interface ControlServerParts {
  readonly path: string;
  readonly clock: Clock;
  readonly identity: InstanceIdentity;
  readonly operations: InstanceOperations;
  /** Serves MCP on this connection until it ends. */
  readonly serveClient: (socket: Socket) => void;
  readonly caught: Caught;
}

/** An agent window has one connection, a command one for a moment. */
const maxConnections = 1_024;
/** How many requests of one operator may be under way. */
const maxRequests = 64;
const greetingMs = 5_000;

export class ControlServer implements AsyncDisposable {
  readonly #parts: ControlServerParts;
  readonly #server: Server;
  /** Until they are closed; at most `maxConnections`. */
  readonly #sockets = new Set<Socket>();

  /** The caller holds the lock of the instance: a socket that is there is of a process that has ended. */
  static async open(parts: ControlServerParts): Promise<ControlServer> {
    const { path } = parts;
    await makePrivateFolder(dirname(path));
    await assertOwnFolder(dirname(path));
    await removeSocket(path);
    const server = new ControlServer(parts);
    await server.#listen();
    await chmod(path, 0o600);
    return server;
  }

  private constructor(parts: ControlServerParts) {
    this.#parts = parts;
    // The end of a client's input is not the end of its connection: answers may still be under way.
    this.#server = createServer({ allowHalfOpen: true }, (socket) => this.#connected(socket));
    this.#server.maxConnections = maxConnections;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  #listen(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(this.#parts.path, () => {
        this.#server.off('error', reject);
        this.#server.on('error', this.#parts.caught);
        resolve();
      });
    });
  }

  #connected(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('close', () => this.#sockets.delete(socket));
    socket.on('error', () => socket.destroy());
    this.#greet(socket).catch((error: unknown) => {
      this.#parts.caught(error);
      socket.destroy();
    });
  }

  async #greet(socket: Socket): Promise<void> {
    const { clock, identity, serveClient } = this.#parts;
    const { welcome, greeting } = welcomeFor(await firstLine(socket, clock, greetingMs), identity);
    if (socket.destroyed) return;
    socket.write(`${JSON.stringify(welcome)}\n`);
    if (greeting === undefined) socket.end();
    else if (greeting.as === 'client') serveClient(socket);
    else new Operator(socket, this.#parts).begin();
  }
}

async function removeSocket(path: string): Promise<void> {
  try {
    await rm(path, { force: true });
  } catch (error) {
    const code = errnoOf(error) ?? String(error);
    throw new Fault(
      'unavailable',
      `${path} is in the way of the control socket (${code}): move it away`,
    );
  }
}

/** One operator's connection. */
class Operator {
  readonly #socket: Socket;
  readonly #parts: ControlServerParts;
  readonly #channel: LineChannel;
  /** By the operator's number, until answered; at most `maxRequests`. */
  readonly #running = new Map<number, AbortController>();

  constructor(socket: Socket, parts: ControlServerParts) {
    this.#socket = socket;
    this.#parts = parts;
    this.#channel = new LineChannel({
      socket,
      heard: (message) => this.#heard(message),
      // Nobody waits for the answers any more.
      ended: () => {
        for (const controller of this.#running.values()) controller.abort();
        this.#running.clear();
      },
      caught: parts.caught,
    });
  }

  begin(): void {
    this.#socket.resume();
  }

  #heard(message: unknown): void {
    const { success, data, error } = requestSchema.safeParse(message);
    if (!success) {
      const detail = `this request is not known here: ${error.issues[0]?.message}`;
      this.#channel.send({ id: idIn(message), fault: new Fault('invalid_request', detail).record });
      return;
    }
    const { id } = data;
    if ('withdraw' in data) {
      this.#running.get(id)?.abort();
      return;
    }
    if (this.#running.size >= maxRequests || this.#running.has(id)) {
      const fault = new Fault(
        'overloaded',
        `${maxRequests} requests of this command are under way`,
      );
      this.#channel.send({ id, fault: fault.record });
      return;
    }
    const controller = new AbortController();
    this.#running.set(id, controller);
    const item = (value: unknown) => void this.#channel.send({ id, item: value });
    const { operations } = this.#parts;
    answerTo(data.request, { operations, signal: controller.signal, item })
      .then(
        (answer) => this.#channel.send({ id, answer: answer ?? null }),
        (thrown) => this.#failed(id, thrown),
      )
      .finally(() => this.#running.delete(id))
      .catch(this.#parts.caught);
  }

  #failed(id: number, thrown: unknown): void {
    if (!(thrown instanceof Fault))
      contain(
        () => this.#parts.caught(thrown),
        () => {},
      );
    this.#channel.send({ id, fault: faultFrom(thrown).record });
  }
}

function idIn(message: unknown): number {
  const { id } = (message ?? {}) as { readonly id?: unknown };
  return typeof id === 'number' ? id : 0;
}
