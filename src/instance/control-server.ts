// The control socket of an instance: takes connections, greets them, answers the requests of operators,
// and hands the connections of MCP clients to the gateway. Whoever can reach the socket is the local user:
// its folder is closed to everybody else. One connection can only hurt itself.

import { once } from 'node:events';
import { chmod, rename, rm } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import { dirname } from 'node:path';
import type { OutgoingBudget } from '../downstream/outgoing/outgoing-budget.ts';
import type { ClientFolder } from '../host/connections/client-folder.ts';
import { type Clock, within } from '../kernel/clock.ts';
import { type Caught, contain } from '../kernel/contain.ts';
import { errnoOf } from '../kernel/errno.ts';
import { Fault, faultFrom } from '../kernel/fault.ts';
import type { KeptSockets } from '../kernel/kept-sockets.ts';
import { makePrivateFolder } from '../kernel/private-folder.ts';
import { operatorAnswer } from './answering.ts';
import { folderOfClient } from './client-folder.ts';
import { differingNames, shownNames } from './environment-match.ts';
import {
  type ClientFacts,
  factsIn,
  firstLine,
  type InstanceIdentity,
  welcomeFor,
} from './greeting.ts';
import { LineChannel } from './line-channel.ts';
import type { InstanceOperations } from './operations.ts';
import { assertOwnFolder } from './own-path.ts';
import { moved, requestSchema } from './protocol.ts';

export interface ControlServerParts {
  readonly path: string;
  /** Where its socket outlives this process; absent: nowhere. */
  readonly sockets?: KeptSockets | undefined;
  readonly clock: Clock;
  readonly identity: () => Promise<InstanceIdentity>;
  readonly operations: InstanceOperations;
  /** Serves MCP on this connection until it ends; `folder` is where its client was started. */
  readonly serveClient: (socket: Socket, folder: ClientFolder | undefined) => void;
  readonly caught: Caught;
  /** What waits for clients and operators together. */
  readonly outgoing: OutgoingBudget;
  /** How long an operator may read nothing of what waits for it; for tests. */
  readonly stallMs?: number;
  /** Those variables of this process that matter to servers; undefined if that is not known now. */
  readonly variables: () => ReadonlyMap<string, string> | undefined;
}

/** A window of `connect` whose variables have other values than those of the instance. */
export interface DifferingWindow {
  /** The process of the window; null if it does not say. */
  readonly pid: number | null;
  /** The names of the variables. */
  readonly variables: readonly string[];
}

/** An agent window has one connection, a command one for a moment. */
const maxConnections = 1_024;
/** Kept for those that are told that there are too many. */
const spareConnections = 16;
/** How many requests of one operator may be under way. */
const maxRequests = 64;
const greetingMs = 5_000;
/** How long an operator who only listens goes on with a process that another one has replaced. */
const listeningMs = 1_000;
const socketName = 'control';
/** A line of the protocol has room for so much. */
const maxAnswerLength = 33_000_000;

export class ControlServer implements AsyncDisposable {
  readonly #parts: ControlServerParts;
  readonly #server: Server;
  /** Until they are closed; at most `maxConnections`. */
  readonly #sockets = new Set<Socket>();
  /** Those of them that are operators', until they are closed. */
  readonly #operators = new Set<Operator>();
  /** Connections that were accepted and are not greeted yet; at most `maxConnections`. */
  #greeting = 0;
  /** Those of the clients that differ, until they are closed. */
  readonly #differing = new Map<Socket, DifferingWindow>();
  #isDraining = false;
  #isLeft = false;
  #settled: () => void = () => {};
  #closing: Promise<void> | undefined;

  /** The caller holds the lock of the instance: a socket that is there is of a process that has ended. */
  static async open(parts: ControlServerParts): Promise<ControlServer> {
    const { path } = parts;
    await makePrivateFolder(dirname(path));
    await assertOwnFolder(dirname(path));
    const server = new ControlServer(parts);
    const { sockets } = parts;
    if (!(await sockets?.resume(socketName, server.#server))) await server.#listen();
    server.#server.on('error', parts.caught);
    sockets?.keep(socketName, server.#server);
    return server;
  }

  private constructor(parts: ControlServerParts) {
    this.#parts = parts;
    // What ends the connection is decided by whoever serves it.
    this.#server = createServer({ allowHalfOpen: true }, (socket) => this.#connected(socket));
    this.#server.maxConnections = maxConnections;
  }

  /** New connections and requests are refused; resolves when none is under way, or the time is over. */
  async drain(ms: number): Promise<void> {
    this.#isDraining = true;
    const settled = new Promise<void>((resolve) => {
      this.#settled = () => {
        if ([...this.#operators].every(({ isIdle }) => isIdle)) resolve();
      };
    });
    this.#settled();
    await within(this.#parts.clock, ms, settled);
  }

  /** The windows whose variables have other values. */
  get differing(): readonly DifferingWindow[] {
    return [...this.#differing.values()];
  }

  /** How many requests of operators have no answer yet. */
  get underWay(): number {
    return [...this.#operators].reduce((sum, { count }) => sum + count, 0);
  }

  /**
   * Another process answers on this socket from now on. Resolves when what operators have begun here is answered;
   * what only listens ends, so that it is asked for there.
   */
  async handOver(): Promise<void> {
    this.#isLeft = true;
    this.#server.close();
    // Until each has closed its connection: what it may be sending is not read here, and must not be lost.
    const gone = this.#leave({
      ends: (operator) => operator.isIdle,
      isOver: () => this.#operators.size + this.#greeting === 0,
    });
    await within(this.#parts.clock, listeningMs, gone);
    const hasBegunNothing = (operator: Operator) => !operator.hasBegun;
    await this.#leave({
      ends: hasBegunNothing,
      isOver: () => [...this.#operators].every(hasBegunNothing),
    });
  }

  async #leave({ ends, isOver }: Leaving): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#settled = () => {
        for (const operator of this.#operators) if (ends(operator)) operator.leave();
        if (isOver()) resolve();
      };
      this.#settled();
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing ??= this.#close();
    await this.#closing;
  }

  async #close(): Promise<void> {
    const closed = new Promise<void>((resolve) => void this.#server.close(() => resolve()));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
    if (!this.#isLeft) await rm(this.#parts.path, { force: true });
  }

  /** Under another name until only this user can reach it: it is there at once for those who look. */
  async #listen(): Promise<void> {
    const { path } = this.#parts;
    await removeSocket(path);
    const beginning = `${path}.new`;
    await removeSocket(beginning);
    this.#server.listen(beginning);
    await once(this.#server, 'listening');
    await chmod(beginning, 0o600);
    await rename(beginning, path);
  }

  /** A connection of a client that an earlier process has greeted. */
  adopt(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('close', () => this.#sockets.delete(socket));
    socket.on('error', () => socket.destroy());
  }

  #connected(socket: Socket): void {
    this.adopt(socket);
    this.#greeting += 1;
    this.#greet(socket)
      .catch((error: unknown) => {
        this.#parts.caught(error);
        socket.destroy();
      })
      .finally(() => {
        this.#greeting -= 1;
        this.#settled();
      })
      .catch(this.#parts.caught);
  }

  async #greet(socket: Socket): Promise<void> {
    const { clock, identity, serveClient } = this.#parts;
    const said = await firstLine(socket, clock, greetingMs);
    const own = await identity();
    const facts = factsIn(said);
    const folder = await folderOfClient(facts.folder, clock);
    const differs = this.#differs(facts);
    const { welcome, greeting } = welcomeFor(said, own, this.#refusal(), differs);
    if (socket.destroyed) return;
    // It comes again, and then to the process that has the other clients.
    if (this.#isLeft && greeting?.as === 'client') return void socket.destroy();
    const line = `${JSON.stringify(welcome)}\n`;
    if (greeting === undefined) {
      // What else it says is not read, and it need not close its side.
      socket.resume();
      socket.end(line, () => socket.destroy());
      return;
    }
    socket.write(line);
    if (greeting.as !== 'client') return this.#operator(socket);
    if (differs.length > 0) {
      this.#differing.set(socket, { pid: facts.pid ?? null, variables: differs });
      socket.on('close', () => this.#differing.delete(socket));
    }
    serveClient(socket, folder);
  }

  #differs({ environment }: ClientFacts): readonly string[] {
    const own = environment && this.#parts.variables();
    return environment && own ? shownNames(differingNames(environment, own)) : [];
  }

  #refusal(): 'draining' | 'busy' | undefined {
    if (this.#isDraining) return 'draining';
    return this.#sockets.size > maxConnections - spareConnections ? 'busy' : undefined;
  }

  #operator(socket: Socket): void {
    const operator = new Operator(socket, this.#parts, {
      isDraining: () => this.#isDraining,
      settled: () => this.#settled(),
    });
    this.#operators.add(operator);
    socket.on('close', () => {
      this.#operators.delete(operator);
      this.#settled();
    });
    operator.begin();
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

/** How operators leave a process that another one has replaced. */
interface Leaving {
  /** Whose connection ends now. */
  readonly ends: (operator: Operator) => boolean;
  readonly isOver: () => boolean;
}

/** What an operator needs to know of the server. */
interface OperatorServer {
  readonly isDraining: () => boolean;
  /** A request has ended. */
  readonly settled: () => void;
}

/** Requests that begin something. */
const begins: ReadonlySet<string> = new Set(['call', 'start', 'reload', 'rollout']);

/** One operator's connection. */
class Operator {
  readonly #socket: Socket;
  readonly #parts: ControlServerParts;
  readonly #server: OperatorServer;
  readonly #channel: LineChannel;
  /** By the operator's number, until answered; at most `maxRequests`. */
  readonly #running = new Map<number, AbortController>();
  /** Those of them that begin something, until answered. */
  readonly #begun = new Set<number>();
  #hasLeft = false;

  constructor(socket: Socket, parts: ControlServerParts, server: OperatorServer) {
    this.#socket = socket;
    this.#parts = parts;
    this.#server = server;
    this.#channel = new LineChannel({
      socket,
      heard: (message) => this.#heard(message),
      // Nobody waits for the answers any more.
      ended: () => {
        for (const controller of this.#running.values()) controller.abort();
        this.#running.clear();
        this.#server.settled();
      },
      caught: parts.caught,
      outgoing: parts.outgoing,
      ...(parts.stallMs === undefined ? {} : { stallMs: parts.stallMs }),
    });
  }

  begin(): void {
    this.#socket.resume();
  }

  get isIdle(): boolean {
    return this.#running.size === 0;
  }

  get count(): number {
    return this.#running.size;
  }

  /** Whether something runs that must not be cut off. */
  get hasBegun(): boolean {
    return [...this.#begun].some((id) => this.#running.has(id));
  }

  /** Its connection ends here. What it asks for at this moment is asked of the next process. */
  leave(): void {
    if (this.#hasLeft) return;
    this.#hasLeft = true;
    if (this.isIdle) this.#channel.send(moved);
    this.#channel.end();
  }

  #heard(message: unknown): void {
    if (this.#hasLeft) return;
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
    if (this.#server.isDraining() && begins.has(data.request.ask)) {
      const fault = new Fault('draining', 'the instance is shutting down');
      this.#channel.send({ id, fault: fault.record });
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
    if (begins.has(data.request.ask)) this.#begun.add(id);
    const item = (value: unknown) => void this.#channel.send({ id, item: value });
    const { operations } = this.#parts;
    operatorAnswer(data.request, { operations, signal: controller.signal, item })
      .then(
        (answer) => this.#answered(id, answer),
        (thrown) => this.#failed(id, thrown),
      )
      .finally(() => {
        this.#running.delete(id);
        this.#begun.delete(id);
        this.#server.settled();
      })
      .catch(this.#parts.caught);
  }

  #answered(id: number, answer: unknown): void {
    const isTooLarge = typeof answer === 'string' && answer.length > maxAnswerLength;
    if (!isTooLarge) return void this.#channel.send({ id, answer: answer ?? null });
    const detail = `the result is too large for the control socket (${answer.length} characters); the call has run. Use an MCP client, or end the instance first`;
    this.#channel.send({
      id,
      fault: new Fault('frame_too_large', detail, { dispatched: 'yes' }).record,
    });
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
