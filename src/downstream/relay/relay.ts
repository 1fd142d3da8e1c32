// Carrying one request to its server and the answer back. The request goes through the host's one
// pipeline with the client's own bytes; the answer comes back in the words of the client's era. Where
// the eras differ in how a server asks for more input, the bridge begins here: a modern client gets
// the question with a sealed state, a legacy one is asked (see rounds), and a call whose server asks
// in the middle is parked (see parking).

import { hash } from 'node:crypto';
import type { Answer } from '../../host/call/answer.ts';
import { RpcAnswer } from '../../host/call/call-faults.ts';
import type { Subject } from '../../host/call/call-parts.ts';
import type { Operation } from '../../host/call/operation.ts';
import type { ConnectionSlot } from '../../host/connections/connection-slot.ts';
import type { HostForGateway } from '../../host/gateway-face.ts';
import type { BegunTask } from '../../host/tasks/begun-tasks.ts';
import type { Clock } from '../../kernel/clock.ts';
import { contain } from '../../kernel/contain.ts';
import { Fault, faultFrom } from '../../kernel/fault.ts';
import { valueOf as parsed, textOf } from '../../wire/decode.ts';
import { rpcCodes } from '../../wire/eras.ts';
import type { MemberChanges } from '../../wire/member-edits.ts';
import type { Edit } from '../../wire/splice.ts';
import { ClientCapabilities } from '../clients/client-capabilities.ts';
import type { Incoming } from '../incoming.ts';
import { drainedFault, drainingFault } from '../outgoing/draining-faults.ts';
import { faultError, faultResult, unknownName } from '../refusals.ts';
import {
  asksForTask,
  type Sent,
  type TaskResults,
  taskCode,
  withoutTask,
} from '../tasks/task-results.ts';
import { hasForeignOutput } from '../view/legacy-definitions.ts';
import { addressRequests } from './elicitation.ts';
import { askRound, isLegacyRound } from './legacy-input-rounds.ts';
import { requestFingerprint } from './parked-call.ts';
import type { Parking } from './parking.ts';
import { relayedParams } from './relayed-params.ts';
import { asksForInput, changedResult, resultFor } from './results.ts';
import type { Seal } from './seal.ts';

export interface RelayParts {
  readonly host: HostForGateway;
  readonly clock: Clock;
  /** Takes note of a request that goes to nobody. */
  readonly refused: (incoming: Incoming, operation: AskedOperation, fault: Fault) => void;
  readonly seal: Seal;
  readonly parking: Parking;
  readonly tasks: TaskResults;
  /** A result as the client may see it: addresses that two servers claim are told apart. */
  readonly exposed: (server: string, answer: Answer) => Answer;
  /** An error that nobody expected on the way back. */
  readonly caught: (error: unknown) => void;
}

/** What was asked, for those who count. */
export type AskedOperation = Pick<Operation, 'method' | 'kind' | 'name'>;

/** Where a request goes, and how it is written there. */
export interface Destination {
  readonly server: string;
  readonly kind: Operation['kind'];
  readonly name: string | null;
  /** What has to be allowed, where that is something else. */
  readonly about?: Subject;
  /** The name the client knows it by, where that is not the `name` of the request itself. */
  readonly calledAs?: string;
  /** What is written differently on the way to the server. */
  readonly changes?: MemberChanges;
  readonly edits?: readonly Edit[];
  /** A tool's arguments where they are not those of the request itself. */
  readonly args?: Buffer;
  /** Where alone it can go, if it is about something that lives there. */
  readonly slot?: ConnectionSlot | undefined;
  readonly task?: BegunTask;
  readonly timeoutMs?: number;
  /** Told when the server's answer, or none, has come, or nothing was sent; perhaps more than once. */
  readonly settled?: () => void;
}

/** Long enough for somebody who has to find a form first; the server may be stricter. */
const stateLivesMs = 3_600_000;

interface UpstreamState {
  readonly subject: string;
  readonly principal: string;
  readonly expiresAt: number;
  /** The server's own; null if it has none and the call is simply to be sent again. */
  readonly state: string | null;
}

export class Relay {
  readonly #parts: RelayParts;

  constructor(parts: RelayParts) {
    this.#parts = parts;
  }

  /** The answer, whatever it is, goes to the request itself. */
  carry(incoming: Incoming, to: Destination): void {
    try {
      this.#begin(incoming, to);
    } catch (thrown) {
      to.settled?.();
      throw thrown;
    }
  }

  #begin(incoming: Incoming, to: Destination): void {
    const follow = this.#followUp(incoming, to);
    if (follow === 'taken') return to.settled?.();
    if (!incoming.isLate) return this.#carry(incoming, to, follow, 0);
    const fault = drainingFault(to.server);
    to.settled?.();
    this.#parts.refused(incoming, { method: incoming.message.method ?? '', ...to }, fault);
    this.#deliverFault(incoming, to, fault);
  }

  // --- there -------------------------------------------------------------------------------

  #carry(
    incoming: Incoming,
    to: Destination,
    changes: MemberChanges | undefined,
    rounds: number,
  ): void {
    const { host, parking, tasks } = this.#parts;
    const way = tasks.wayOf(incoming, to);
    const isFollowUp = changes !== undefined;
    const operation = operationFor(incoming, to, changes);
    const { principal, cancelSignal, message } = incoming;
    const request = {
      principal,
      server: to.server,
      operation,
      about: to.about,
      signal: cancelSignal,
      caller: incoming,
      onProgress: incoming.progressToken && ((params: Buffer) => incoming.progressed(params)),
      idempotencyKey: isFollowUp ? undefined : idempotencyKeyOf(message),
      slot: to.slot,
      task: to.task,
      timeoutMs: to.timeoutMs,
      takesTask: way.takesTask,
      sentTo: way.sentTo,
    };
    const answered = (answer: Answer) => {
      to.settled?.();
      if (isLegacyRound(incoming, answer)) return this.#nextRound(incoming, to, answer, rounds);
      return parking.ended(incoming, (client) => this.#deliver(client, to, answer, way.sent));
    };
    const failed = (thrown: unknown) => {
      to.settled?.();
      const cause = faultFrom(thrown);
      const fault = incoming.isDismissed ? drainedFault(cause) : cause;
      parking.ended(incoming, (client) => this.#deliverFault(client, to, fault));
    };
    incoming.isCarried = true;
    host
      .carry(request)
      .then(answered, failed)
      .catch((thrown: unknown) => this.#undelivered(incoming, to, thrown));
  }

  /** The answer was there and could not be written: the client is told that much. */
  #undelivered(incoming: Incoming, to: Destination, thrown: unknown): void {
    const { caught, parking } = this.#parts;
    if (!(thrown instanceof Fault)) caught(thrown);
    const fault = faultFrom(thrown).with({ server: to.server, dispatched: 'yes' });
    contain(
      () => parking.ended(incoming, (client) => this.#deliverFault(client, to, fault)),
      caught,
    );
  }

  /** A follow-up of a multi-round request: its state must be one that we gave to this client. */
  #followUp(incoming: Incoming, to: Destination): MemberChanges | undefined | 'taken' {
    const { bytes, paramsObject } = incoming.message;
    const span = paramsObject?.find('requestState');
    if (!span) return paramsObject?.find('inputResponses') ? {} : undefined;
    const text = textOf(bytes, span);
    const state = text === undefined ? undefined : this.#parts.seal.open(text);
    if (this.#parts.parking.resume(incoming, state, requestFingerprint(incoming))) return 'taken';
    if (isUpstreamState(state) && this.#isStateOf(state, incoming, to)) {
      return state.state === null
        ? { requestState: null, inputResponses: null }
        : { requestState: JSON.stringify(state.state) };
    }
    incoming.error({
      code: rpcCodes.invalidParams,
      message: 'Invalid params: requestState is not one that was given for this request',
    });
    return 'taken';
  }

  #isStateOf(state: UpstreamState, incoming: Incoming, to: Destination): boolean {
    const isInTime = this.#parts.clock.wallNow() < state.expiresAt;
    const isTheirs = state.principal === incoming.principal.id;
    return isInTime && isTheirs && state.subject === subjectOf(incoming, to);
  }

  // --- back --------------------------------------------------------------------------------

  #deliver(incoming: Incoming, to: Destination, answer: Answer, sent: Sent | undefined): void {
    if (incoming.isOver) return this.#parts.tasks.abandoned(incoming, answer, sent);
    const { method = '' } = incoming.message;
    if (asksForInput(answer)) {
      return incoming.result(this.#withSealedState(incoming, to, answer));
    }
    const named = this.#parts.tasks.shown(incoming, to, answer, sent);
    const shown = this.#parts.exposed(to.server, named);
    incoming.result(resultFor(incoming.era, method, shown, () => this.#wrapsOutput(incoming, to)));
  }

  /** Has a legacy client been told that this tool's output is inside an object? */
  #wrapsOutput(incoming: Incoming, { server, kind, name }: Destination): boolean {
    if (kind !== 'tool' || name === null) return false;
    const found = this.#parts.host.find(server);
    // What others are offered counts only where this client called a tool that was not listed to it.
    const listed = found.catalogueFor(incoming).lastKnown(name);
    const tool = listed ?? found.offerings.lastKnown(name);
    return tool !== undefined && hasForeignOutput(tool);
  }

  #withSealedState(incoming: Incoming, to: Destination, answer: Answer): Buffer {
    const span = answer.object?.find('requestState');
    const text = span && textOf(answer.frame, span);
    if (text === undefined) return changedResult(answer, {});
    return changedResult(answer, { requestState: this.#seal(incoming, to, text) });
  }

  #seal(incoming: Incoming, to: Destination, state: string | null): string {
    const sealed: UpstreamState = {
      subject: subjectOf(incoming, to),
      principal: incoming.principal.id,
      expiresAt: this.#parts.clock.wallNow() + stateLivesMs,
      state,
    };
    return JSON.stringify(this.#parts.seal.close(sealed));
  }

  #deliverFault(incoming: Incoming, to: Destination, fault: Fault): void {
    if (incoming.isOver) return;
    if (fault.cause instanceof RpcAnswer) {
      if (incoming.isModern && fault.record.rpc?.code === rpcCodes.urlElicitationRequired) {
        return this.#elicitByAddress(incoming, to, fault);
      }
      return incoming.carriedError(
        fault.cause.error,
        fault.record.rpc?.code ?? rpcCodes.internalError,
      );
    }
    if (to.kind !== 'tool') return incoming.error(faultError(fault, incoming.principal));
    if (fault.code === 'not_found' || fault.code === 'denied') {
      return incoming.error(unknownName('tool', incoming, to.calledAs));
    }
    // Whoever asks for a task cannot read the result of a tool.
    if (asksForTask(incoming)) {
      return incoming.error({ ...faultError(fault, incoming.principal), ...taskCode(fault) });
    }
    incoming.result(faultResult(fault, incoming));
  }

  /** The modern era has no such error: what it asks for is input, and the call is sent again. */
  #elicitByAddress(incoming: Incoming, to: Destination, fault: Fault): void {
    const requests = addressRequests(fault.record.rpc?.data);
    const allowed = new ClientCapabilities(JSON.parse(incoming.capabilities));
    if (!requests || !allowed.elicitsByAddress) {
      return incoming.error({
        code: rpcCodes.missingClientCapability,
        message: fault.message,
        data: JSON.stringify({ requiredCapabilities: { elicitation: { url: {} } } }),
      });
    }
    const state = this.#seal(incoming, to, null);
    incoming.result(
      `{"resultType":"input_required","inputRequests":${requests},"requestState":${state}}`,
    );
  }

  // --- a legacy client and a modern server -------------------------------------------------

  async #nextRound(
    incoming: Incoming,
    to: Destination,
    answer: Answer,
    rounds: number,
  ): Promise<void> {
    try {
      const outcome = await askRound(incoming, to.server, answer, rounds, this.#parts.clock);
      if (incoming.isOver) return;
      if (outcome.kind === 'refused') return incoming.carriedError(outcome.error, outcome.code);
      this.#carry(incoming, to, outcome.changes, rounds + 1);
    } catch (thrown) {
      const { kind, name } = to;
      const tool = kind === 'tool' && name !== null ? { tool: name } : {};
      const cause = faultFrom(thrown).with({ server: to.server, ...tool });
      this.#deliverFault(incoming, to, incoming.isDismissed ? drainedFault(cause) : cause);
    }
  }
}

function operationFor(
  incoming: Incoming,
  to: Destination,
  followUp: MemberChanges | undefined,
): Operation {
  const { message } = incoming;
  const { bytes, paramsObject, method = '' } = message;
  const { kind, name } = to;
  const span = kind === 'tool' ? paramsObject?.find('arguments') : undefined;
  const args = to.args ?? (span ? bytes.subarray(span.start, span.end) : '{}');
  const untasked = withoutTask(incoming);
  const changes = followUp || untasked ? { ...to.changes, ...followUp, ...untasked } : to.changes;
  const params = relayedParams(message, changes, to.edits);
  const isFollowUp = followUp !== undefined || asksForTask(incoming);
  return { method, kind, name, args, params, isFollowUp };
}

/** Whatever stands there: what is no key is refused by the pipeline. */
function idempotencyKeyOf({ bytes, meta }: Incoming['message']): unknown {
  const span = meta?.find('holdfast/idempotencyKey');
  return span && parsed(bytes, span);
}

/** What a state belongs to: the server, and the request as it was first sent. */
function subjectOf(incoming: Incoming, { server }: Destination): string {
  return hash('sha256', JSON.stringify([server, requestFingerprint(incoming)]), 'base64url');
}

function isUpstreamState(state: unknown): state is UpstreamState {
  return typeof state === 'object' && state !== null && 'subject' in state && 'state' in state;
}
