// The part of a call that uses the server: get the connection, dispatch, and as long as the replay
// rules allow it, dispatch again. One object per call holds what can be interrupted at any moment,
// by the deadline or by a caller that cancels; a call that has to change its connection keeps it.

import { CancelSignal, type Signal } from '../../kernel/cancel-signal.ts';
import { contain } from '../../kernel/contain.ts';
import { Fault } from '../../kernel/fault.ts';
import type { Defects } from '../../observe/defects.ts';
import { afterFault, protocolContract, type ReplayContract } from '../../policy/replay.ts';
import type { Connection, RequestOptions } from '../../upstream/connection.ts';
import type { Message } from '../../wire/scan.ts';
import type { Caller } from '../connections/caller.ts';
import type { ConnectionSlot } from '../connections/connection-slot.ts';
import { type Catalogue, contractOf, type OfferedTool } from '../lists/catalogue.ts';
import type { Server } from '../servers/server.ts';
import { type DescribedTask, taskIn } from '../tasks/task-result.ts';
import { finishTask } from '../tasks/task-wait.ts';
import { CallDeadline, type DeadlineListener } from './call-deadline.ts';
import {
  cancelledFault,
  lostTaskFault,
  overAllAttempts,
  rpcFault,
  timeoutFault,
  toolsShownTo,
  unknownOutcome,
  unknownTool,
} from './call-faults.ts';
import { limitMsOf, longestMsOf } from './call-limits.ts';
import type { Call, CallParts } from './call-parts.ts';
import { mayHearProgress } from './charge.ts';
import { decideAgain } from './decision.ts';
import { Interruption } from './interruption.ts';
import { isSafeMethod, subjectOf } from './operation.ts';
import { requestOptions, requestParams } from './outgoing.ts';

/** How often a call may change its connection. From the second on it is its client's own, so one move is usual. */
const maxMoves = 3;

/** The call is not at its server, and may be sent once more, on another connection. */
export class Displaced extends Error {}

export class Attempts implements DeadlineListener {
  readonly #parts: CallParts;
  readonly #server: Server;
  readonly #call: Call;
  #slot: ConnectionSlot;
  readonly #interruption = new Interruption();
  readonly #deadline: CallDeadline;
  readonly #limitMs: number;
  readonly #defects: Defects;
  /** Of its caller, while it is listened to. */
  #signal: Signal | undefined;

  constructor(parts: CallParts, server: Server, slot: ConnectionSlot, call: Call) {
    this.#parts = parts;
    this.#server = server;
    this.#slot = slot;
    this.#call = call;
    this.#defects = parts.defects;
    this.#limitMs = limitMsOf(server, call.request);
    const longestMs = longestMsOf(server, call.request);
    this.#deadline = new CallDeadline(parts.deadlines, this.#limitMs, longestMs, this);
  }

  /** The server's answer; throws the fault that the caller will see, or Displaced. */
  async answer(signal: Signal | undefined): Promise<Message> {
    if (signal) this.#listenTo(signal);
    let isDisplaced = false;
    try {
      for (;;) {
        // Raised while the call waited for its place, or after an attempt that never left us.
        if (signal?.aborted && !this.#isKept) throw cancelledFault(this.#server.name);
        if (this.interruptedBy) throw this.interruptedBy;
        const connection =
          this.#bound() ?? this.#slot.supervisor.connection ?? (await this.#connection());
        const listed = this.#offered() ?? (await this.#unlisted(connection));
        const { caller, operation } = this.#call.request;
        const preparing =
          caller && this.#server.questions.preparing(this.#slot, connection, caller);
        if (preparing) {
          this.#deadline.begin();
          await this.#unlessTaken(preparing);
        }
        if (this.#isReplaced(connection)) continue;
        if (this.#server.slots.isTaken(this.#slot, caller) || this.#lacksRoots(caller)) {
          throw this.#displaced();
        }
        // What could not be read because the connection is lost decides nothing: it refuses the call as well.
        const offered = connection.isLost ? (listed ?? this.#call.offered) : listed;
        if (this.#call.replays > 0) this.#refuseIfChanged(this.#call.offered, offered);
        this.#refuseForeignTask(connection);
        decideAgain(this.#parts, this.#call);
        this.#call.offered = offered;
        try {
          const message = await this.#dispatch(connection, offered);
          if (caller) this.#server.questions.answered(connection, caller, subjectOf(operation));
          if (message.kind === 'error') throw rpcFault(connection, message);
          const task = this.#unwantedTask(connection, message);
          return task ? await this.#finished(connection, offered, task) : message;
        } catch (thrown) {
          if (!(thrown instanceof Fault)) throw thrown;
          this.#retryOrThrow(connection, offered, thrown);
        }
      }
    } catch (thrown) {
      isDisplaced = thrown instanceof Displaced;
      throw overAllAttempts(thrown, this.#call);
    } finally {
      if (!isDisplaced) this.end();
    }
  }

  /** Continues on another connection, with the time that is left. */
  moveTo(slot: ConnectionSlot): void {
    this.#slot = slot;
  }

  /**
   * Fires when its time is over or its caller cancels, while it waits for something else than a
   * server.
   */
  waiting(): Signal {
    const signal = new CancelSignal();
    this.#interruption.interrupts({ cancel: (fault) => signal.abort(fault) });
    return signal;
  }

  /** Its time does not run while its client is asked. */
  async whileAsked(answer: Promise<void>): Promise<void> {
    this.#deadline.hold();
    try {
      await answer;
    } finally {
      this.#deadline.release();
    }
  }

  /** Why it must not go on, if so. */
  get interruptedBy(): Fault | undefined {
    return this.#interruption.raised;
  }

  end(): void {
    this.#deadline.end();
    this.#signal?.removeEventListener('abort', this.#giveUp);
    this.#signal = undefined;
  }

  #listenTo(signal: Signal): void {
    if (this.#signal) return;
    this.#signal = signal;
    signal.addEventListener('abort', this.#giveUp);
  }

  /**
   * A call that has a key and was sent goes on: its answer is kept for a caller that repeats it.
   */
  get #isKept(): boolean {
    return this.#call.request.idempotencyKey !== undefined && this.#call.hasLeft;
  }

  /** It refers to nothing but this object: a closure over the signal kept every call alive (bench/README.md). */
  readonly #giveUp = (): void => {
    if (this.#isKept) return;
    this.#interruption.raise(cancelledFault(this.#server.name, this.#signal?.reason));
  };

  expired(): void {
    const isSafe = this.#contract(this.#offered()).replay === 'safe';
    const { hasLeft } = this.#call;
    const isAsked = this.#call.request.timeoutMs !== undefined;
    const facts = { hasLeft, isSafe, isAsked };
    this.#interruption.raise(timeoutFault(this.#server.name, this.#limitMs, facts));
    // A timeout does not mean that the process is dead: only a failed probe restarts the server.
    const { generation } = this.#call;
    if (generation !== null) this.#slot.supervisor.suspect(generation);
  }

  /**
   * The listener belongs to the caller: an error that it throws is reported, and the call goes on.
   */
  progressed(params: Buffer): void {
    const { onProgress, server } = this.#call.request;
    if (!onProgress) return;
    contain(
      () => {
        if (mayHearProgress(this.#parts, this.#call, params.length)) onProgress(params);
      },
      (error) => void this.#defects.caught('progress of a call', error, server),
    );
  }

  /** If clients were given other places while the call waited in this one, it goes on waiting in another. */
  async #connection(): Promise<Connection> {
    // Nothing is started for who may not use it any more.
    decideAgain(this.#parts, this.#call);
    try {
      return await this.#unlessTaken(this.#slot.supervisor.acquire());
    } catch (thrown) {
      if (thrown instanceof Displaced) throw thrown;
      throw this.#slot.isRetired && !this.interruptedBy ? this.#displaced() : thrown;
    }
  }

  /** Waits for this as long as the place of the call does not become another client's. */
  async #unlessTaken<T>(work: Promise<T>): Promise<T> {
    const { caller } = this.#call.request;
    const slot = this.#slot;
    let displace: (displaced: Error) => void = () => {};
    const taken = new Promise<never>((_resolve, reject) => {
      displace = reject;
    });
    using _listening = slot.onReserved(() => {
      if (this.#server.slots.isTaken(slot, caller)) displace(this.#displaced());
    });
    return await this.#interruption.of(Promise.race([work, taken]));
  }

  /** The one connection that it can be about. */
  #bound(): Connection | undefined {
    const { task } = this.#call.request;
    if (task?.place.connection.isLost) throw lostTaskFault(task);
    return task?.place.connection;
  }

  /**
   * While the call waited, its connection was given up, though it still ends what it carries: nothing new is
   * sent there. One that is lost refuses by itself, and that counts as an attempt.
   */
  #isReplaced(connection: Connection): boolean {
    const isBound = this.#call.request.task !== undefined;
    return !isBound && !connection.isLost && connection !== this.#slot.supervisor.connection;
  }

  /** While the call waited, its server has asked for roots: its client is asked before it is sent. */
  #lacksRoots(caller: Caller | undefined): boolean {
    const isBound = this.#call.request.slot !== undefined;
    return !isBound && caller !== undefined && this.#server.wantsRoots(caller);
  }

  /** What its caller is offered where the call goes. */
  get #catalogue(): Catalogue {
    return this.#server.catalogueOn(this.#slot, this.#call.request.caller);
  }

  #offered(): OfferedTool | undefined {
    const { kind, name } = this.#call.request.operation;
    return kind === 'tool' && name !== null ? this.#catalogue.find(name) : undefined;
  }

  /** Not in the list that was read: refused, unless a list read now has it or none can be read. */
  async #unlisted(connection: Connection): Promise<OfferedTool | undefined> {
    const catalogue = this.#catalogue;
    const { kind, name } = this.#call.request.operation;
    if (kind !== 'tool' || name === null) return undefined;
    // One that is to be repeated must be known to be the same tool as before. A modern connection is made for one
    // class of clients: for others the tools are read meanwhile, or when they are first needed.
    const isUnread = connection.era === 'modern' && !catalogue.lists.isToldBy(connection);
    const isUnknown = catalogue.offered === undefined && !isUnread;
    if (isUnknown && this.#call.replays === 0) return undefined;
    const reading = catalogue.load(connection).catch((error: unknown) => {
      // A list that cannot be read now cannot decide: the server itself will.
      if (error instanceof Fault) return catalogue.forget();
      throw error;
    });
    await this.#unlessTaken(reading);
    const offered = catalogue.find(name);
    if (offered === undefined && catalogue.offered !== undefined) {
      const { principal } = this.#call.request;
      const isShown = toolsShownTo(this.#parts.access, principal, this.#server);
      throw unknownTool(this.#server, name, catalogue, isShown);
    }
    return offered;
  }

  /**
   * While the call waited, its place has become another client's, or one for other roots: it gets
   * another, whether it left us or not.
   */
  #displaced(): Error {
    const { hasLeft, request, moves, offered } = this.#call;
    if (request.slot === undefined && moves < maxMoves) {
      this.#call.moves += 1;
      return new Displaced();
    }
    const { name } = this.#server;
    const why = 'its connection was assigned to another client';
    if (hasLeft) return unknownOutcome(this.#server, this.#call, offered, why);
    const detail = `the connection to ${name} was assigned to another client; the call was not sent: try again`;
    return new Fault('overloaded', detail, { server: name });
  }

  /** "Safe to repeat" applied to the definition that the caller saw, not to a changed one. */
  #refuseIfChanged(seen: OfferedTool | undefined, offered: OfferedTool | undefined): void {
    const { ground } = this.#contract(seen);
    const isLasting = ground === 'operator' || ground === 'protocol';
    if (isLasting || seen?.digest === offered?.digest) return;
    const why = offered
      ? 'its definition changed when the server came back'
      : 'its definition could not be read again when the server came back';
    throw unknownOutcome(this.#server, this.#call, seen, why);
  }

  #dispatch(connection: Connection, offered: OfferedTool | undefined): Promise<Message> {
    const { request } = this.#call;
    const { operation, caller } = request;
    const options = this.#options(connection, offered);
    this.#call.attempts += 1;
    this.#call.generation = connection.generation;
    this.#parts.observers.stage(this.#call, 'dispatched');
    const isFirst = this.#slot.use(connection, caller, this.#deadline);
    if (this.#slot.owner !== null) this.#server.part(this.#slot, connection);
    if (caller) this.#server.questions.calling(this.#slot, connection, caller, isFirst);
    const exchange = connection.request(
      operation.method,
      requestParams(connection, request, offered),
      options,
    );
    this.#call.exchange = exchange;
    request.sentTo?.({ slot: this.#slot, connection }, exchange.id);
    this.#interruption.interrupts(exchange);
    this.#deadline.begin();
    return exchange.answer;
  }

  #options(connection: Connection, offered: OfferedTool | undefined): RequestOptions {
    return requestOptions(connection, this.#call.request, offered, this.#deadline);
  }

  /**
   * A modern server does not accept a request for a task, and its caller could not read anything
   * else.
   */
  #refuseForeignTask({ era }: Connection): void {
    const { takesTask, operation } = this.#call.request;
    if (takesTask !== 'legacy' || era === 'legacy') return;
    const { name } = this.#server;
    const detail = `${name}/${operation.name} cannot be called as a task; call it without one`;
    throw new Fault('invalid_request', detail, { server: name });
  }

  /** The task that the call has become, if its caller cannot follow it. */
  #unwantedTask({ era }: Connection, { bytes, resultObject }: Message): DescribedTask | undefined {
    const { operation, takesTask } = this.#call.request;
    if (operation.kind !== 'tool' || takesTask === era) return undefined;
    return taskIn(era, bytes, resultObject);
  }

  /**
   * A task is accepted work: it may take as long as a call may take at all. However following it ends,
   * the call itself has run or may yet: what was not sent is only a question about the task.
   */
  async #finished(
    connection: Connection,
    offered: OfferedTool | undefined,
    task: DescribedTask,
  ): Promise<Message> {
    const { caller } = this.#call.request;
    const { clock, tasks } = this.#parts;
    const options = this.#options(connection, offered);
    const { name: server } = this.#server;
    const interruption = this.#interruption;
    const wait = { server, connection, options, caller, clock, interruption, tasks };
    this.#deadline.hold();
    try {
      const message = await finishTask(wait, task);
      if (message.kind === 'error') throw rpcFault(connection, message);
      return message;
    } catch (thrown) {
      throw thrown instanceof Fault ? thrown.with({ dispatched: 'yes' }) : thrown;
    } finally {
      this.#deadline.release();
    }
  }

  /** Returns if the call is to be dispatched again; throws what the caller will see if not. */
  #retryOrThrow(connection: Connection, offered: OfferedTool | undefined, fault: Fault): void {
    const { attempts, replays } = this.#call;
    const contract = this.#contract(offered);
    const isConnectionLost = connection.isLost;
    // One deadline holds for all tries: a request that was kept on its way was tried until then.
    const isTriedOut = connection.keepsRequests === true;
    const incident = { fault, isConnectionLost, isTriedOut, contract, attempts, replays };
    const after = afterFault(incident);
    if (after === 'report') throw fault;
    if (after === 'outcome_unknown') {
      throw unknownOutcome(this.#server, this.#call, offered, fault.message, fault);
    }
    if (after !== 'replay') return;
    this.#call.replays += 1;
    this.#parts.observers.stage(this.#call, 'replayed');
  }

  /** Of a tool that is in no list, only the operator can have set anything. */
  #contract(offered: OfferedTool | undefined): ReplayContract {
    if (offered) return offered.contract;
    const { kind, name, method } = this.#call.request.operation;
    if (kind !== 'tool' || name === null) return protocolContract(isSafeMethod(method));
    return contractOf(this.#server.config, name, false);
  }
}
