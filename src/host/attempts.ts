// The part of a call that meets the server: take the connection, dispatch, and as long as the
// replay law allows it, dispatch again. One object per call holds what can be interrupted at any
// moment, by the deadline or by a caller who gives up.

import { contain } from '../kernel/contain.ts';
import { Fault } from '../kernel/fault.ts';
import type { Signal } from '../kernel/withdrawal.ts';
import type { Defects } from '../observe/defects.ts';
import { protocolContract, type ReplayContract, sequelOf } from '../policy/replay.ts';
import type { Connection } from '../upstream/connection.ts';
import type { Message } from '../wire/scan.ts';
import {
  cancelledFault,
  overAllAttempts,
  rpcFault,
  timeoutFault,
  unknownOutcome,
  unknownTool,
} from './call-faults.ts';
import type { Call, CallParts } from './call-parts.ts';
import { contractOf, type OfferedTool } from './catalogue.ts';
import { Interruption } from './interruption.ts';
import { isSafeMethod } from './operation.ts';
import { requestOptions, requestParams } from './outgoing.ts';
import { Patience, type PatienceListener } from './patience.ts';
import type { Seat } from './seat.ts';
import type { Server } from './server.ts';

export class Attempts implements PatienceListener {
  readonly #server: Server;
  readonly #seat: Seat;
  readonly #call: Call;
  readonly #interruption = new Interruption();
  readonly #patience: Patience;
  readonly #limitMs: number;
  readonly #defects: Defects;

  constructor(parts: CallParts, server: Server, seat: Seat, call: Call) {
    this.#server = server;
    this.#seat = seat;
    this.#call = call;
    this.#defects = parts.defects;
    const { callTimeoutMs, maxCallMs } = server.config;
    const { operation, timeoutMs } = call.request;
    const tool = operation.kind === 'tool' ? operation.name : null;
    const toolMs = tool === null ? null : server.toolConfig(tool)?.timeoutMs;
    this.#limitMs = timeoutMs ?? toolMs ?? callTimeoutMs;
    const longestMs = Math.max(this.#limitMs, maxCallMs);
    this.#patience = new Patience(parts.deadlines, this.#limitMs, longestMs, this);
  }

  /** The server's answer; throws the fault that the caller will see. */
  async answer(signal: Signal | undefined): Promise<Message> {
    const giveUp = signal && (() => this.#interruption.raise(cancelledFault(this.#server.name)));
    // It may have been raised while the call waited for its place.
    if (signal?.aborted) throw cancelledFault(this.#server.name);
    if (giveUp) signal.addEventListener('abort', giveUp);
    try {
      let seen: OfferedTool | undefined;
      for (;;) {
        const connection = this.#seat.supervisor.connection ?? (await this.#connection());
        const offered = this.#offered() ?? (await this.#unlisted(connection));
        const { caller } = this.#call.request;
        const preparing =
          caller && this.#server.questions.preparing(this.#seat, connection, caller);
        if (preparing) {
          this.#patience.begin();
          await this.#interruption.of(preparing);
        }
        if (this.#call.replays > 0) this.#refuseIfChanged(seen, offered);
        seen = offered;
        try {
          const message = await this.#dispatch(connection, offered);
          if (message.kind === 'error') throw rpcFault(connection, message);
          return message;
        } catch (thrown) {
          if (!(thrown instanceof Fault)) throw thrown;
          this.#goOnAfter(connection, offered, thrown);
        }
      }
    } catch (thrown) {
      throw overAllAttempts(thrown, this.#call);
    } finally {
      this.#patience.end();
      if (giveUp) signal.removeEventListener('abort', giveUp);
    }
  }

  expired(): void {
    this.#interruption.raise(timeoutFault(this.#server.name, this.#limitMs));
    // A timeout is not a death: only a probe that fails too will restart the server.
    const { generation } = this.#call;
    if (generation !== null) this.#seat.supervisor.suspect(generation);
  }

  /** The listener is the caller's own: what it throws is told, and the call goes on. */
  progressed(params: Buffer): void {
    const { onProgress, server } = this.#call.request;
    if (!onProgress) return;
    contain(
      () => onProgress(params),
      (error) => void this.#defects.caught('progress of a call', error, server),
    );
  }

  #connection(): Promise<Connection> {
    return this.#interruption.of(this.#seat.supervisor.acquire());
  }

  #offered(): OfferedTool | undefined {
    const { kind, name } = this.#call.request.operation;
    return kind === 'tool' && name !== null
      ? this.#server.catalogueOf(this.#seat).find(name)
      : undefined;
  }

  /** Not in the list that was read: refused, unless a list read now has it or none can be read. */
  async #unlisted(connection: Connection): Promise<OfferedTool | undefined> {
    const catalogue = this.#server.catalogueOf(this.#seat);
    const { kind, name } = this.#call.request.operation;
    if (kind !== 'tool' || name === null || catalogue.offered === undefined) return undefined;
    const reading = catalogue.load(connection).catch((error: unknown) => {
      // A list that cannot be read now cannot say no: the server itself will.
      if (error instanceof Fault) return catalogue.forget();
      throw error;
    });
    await this.#interruption.of(reading);
    const offered = catalogue.find(name);
    if (offered === undefined && catalogue.offered !== undefined) {
      throw unknownTool(this.#server, name);
    }
    return offered;
  }

  /** "Safe to repeat" was said of the definition the caller saw; of another one nothing was said. */
  #refuseIfChanged(seen: OfferedTool | undefined, offered: OfferedTool | undefined): void {
    const { ground } = this.#contract(seen);
    const isLasting = ground === 'operator' || ground === 'protocol';
    if (isLasting || seen?.digest === offered?.digest) return;
    const why = 'its definition changed when the server came back';
    throw unknownOutcome(this.#server, this.#call, seen, why);
  }

  #dispatch(connection: Connection, offered: OfferedTool | undefined): Promise<Message> {
    const { request } = this.#call;
    const { operation, caller } = request;
    const options = requestOptions(connection, request, offered, this.#patience);
    this.#call.attempts += 1;
    this.#call.generation = connection.generation;
    const isFirst = this.#seat.use(connection, caller, this.#patience);
    if (caller) this.#server.questions.calling(connection, caller, isFirst);
    const exchange = connection.request(
      operation.method,
      requestParams(operation, offered),
      options,
    );
    this.#interruption.interrupts(exchange);
    this.#patience.begin();
    return exchange.answer;
  }

  /** Returns if the call is to be dispatched again; throws what the caller will see if not. */
  #goOnAfter(connection: Connection, offered: OfferedTool | undefined, fault: Fault): void {
    const { attempts, replays } = this.#call;
    const contract = this.#contract(offered);
    const isConnectionLost = connection.isLost;
    const sequel = sequelOf({ fault, isConnectionLost, contract, attempts, replays });
    if (sequel === 'surface') throw fault;
    if (sequel === 'outcome_unknown') {
      throw unknownOutcome(this.#server, this.#call, offered, fault.message, fault);
    }
    if (sequel === 'replay') this.#call.replays += 1;
  }

  /** Of a tool that no list has named only the operator can have said anything. */
  #contract(offered: OfferedTool | undefined): ReplayContract {
    if (offered) return offered.contract;
    const { kind, name, method } = this.#call.request.operation;
    if (kind !== 'tool' || name === null) return protocolContract(isSafeMethod(method));
    return contractOf(this.#server.config, name, false);
  }
}
