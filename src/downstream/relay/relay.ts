// Forwards one request to its server and the answer back. The request goes through the host's call
// pipeline with the client's own bytes; the answer is translated to the client's era. Where the
// eras differ in how a server asks for input, the translation begins here: a modern client gets the
// question with a sealed state, a legacy one is asked (see legacy-input-rounds), and a call whose
// server asks in the middle is parked (see parking).

import type { Answer } from '../../host/call/answer.ts';
import { RpcAnswer } from '../../host/call/call-faults.ts';
import type { AccessSubject } from '../../host/call/call-parts.ts';
import type { ChargedRequest } from '../../host/call/charge.ts';
import { accessRequestOf } from '../../host/call/decision.ts';
import type { Operation } from '../../host/call/operation.ts';
import type { ConnectionSlot } from '../../host/connections/connection-slot.ts';
import type { HostForGateway } from '../../host/gateway-face.ts';
import type { BegunTask } from '../../host/tasks/begun-task.ts';
import type { Clock } from '../../kernel/clock.ts';
import { contain } from '../../kernel/contain.ts';
import { Fault, faultFrom } from '../../kernel/fault.ts';
import { textOf } from '../../wire/decode.ts';
import { rpcCodes } from '../../wire/eras.ts';
import type { MemberChanges } from '../../wire/member-edits.ts';
import type { Edit } from '../../wire/splice.ts';
import { ClientCapabilities } from '../clients/client-capabilities.ts';
import type { Incoming } from '../incoming.ts';
import { drainedFault, drainingFault } from '../outgoing/draining-faults.ts';
import { faultError, faultResult, methodNotFound, unknownName, unknownState } from '../refusals.ts';
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
import { type Deliver, idempotencyKeyOf, requestFingerprint } from './parked-call.ts';
import type { Parking } from './parking.ts';
import { relayedParams } from './relayed-params.ts';
import { asksForInput, changedResult, resultFor } from './results.ts';
import type { Seal } from './seal.ts';
import { SealedStates } from './sealed-states.ts';

export interface RelayParts {
  readonly host: HostForGateway;
  readonly clock: Clock;
  /** Counts a request that goes to no server. */
  readonly refused: (incoming: Incoming, operation: AskedOperation, fault: Fault) => void;
  readonly seal: Seal;
  readonly parking: Parking;
  readonly tasks: TaskResults;
  /** A result as the client may see it: addresses that two servers claim are rewritten. */
  readonly exposed: (incoming: Incoming, server: string, answer: Answer) => Answer;
  /** Whether what comes before the answer of this request, or asks in its place, may be heard. */
  readonly isHeard: (incoming: Incoming) => boolean;
  /** An unexpected error while the answer was forwarded. */
  readonly caught: (error: unknown) => void;
}

/** What was asked, for those who count. */
export type AskedOperation = Pick<Operation, 'method' | 'kind' | 'name'>;

/** The destination of a request, and how it is written there. */
export interface Destination {
  readonly server: string;
  readonly kind: Operation['kind'];
  readonly name: string | null;
  /** What has to be allowed, where that is something else. */
  readonly about?: AccessSubject;
  /** The name the client knows it by, where that is not the `name` of the request itself. */
  readonly calledAs?: string;
  /** What is written differently on the way to the server. */
  readonly changes?: MemberChanges;
  readonly edits?: readonly Edit[];
  /** A tool's arguments where they are not those of the request itself. */
  readonly args?: Buffer;
  /** The only connection it can go to, if it is about something that lives there. */
  readonly slot?: ConnectionSlot | undefined;
  readonly task?: BegunTask;
  readonly timeoutMs?: number;
  /**
   * Called when the server's answer, or none, has come, or nothing was sent; perhaps more than
   * once.
   */
  readonly settled?: () => void;
}

export class Relay {
  readonly #parts: RelayParts;
  readonly #states: SealedStates;

  constructor(parts: RelayParts) {
    this.#parts = parts;
    this.#states = new SealedStates(parts.seal, parts.clock);
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
    const { parking } = this.#parts;
    if (follow === undefined && parking.askAgain(incoming, idempotencyKeyOf(incoming.message))) {
      return to.settled?.();
    }
    if (!incoming.isLate) return this.#carry(incoming, to, follow, 0);
    const refusal = drainingFault(to.server);
    // Of a later round: the call may have had its effect.
    const fault = follow === undefined ? refusal : refusal.with({ dispatched: 'maybe' });
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
      onProgress:
        incoming.progressToken &&
        ((params: Buffer) => {
          if (this.#parts.isHeard(incoming)) incoming.progressed(params);
        }),
      isContinued: rounds > 0,
      isLaterRound: isFollowUp,
      idempotencyKey: isFollowUp ? undefined : idempotencyKeyOf(message),
      callId: incoming.callId,
      slot: to.slot,
      task: to.task,
      timeoutMs: to.timeoutMs,
      takesTask: way.takesTask,
      sentTo: way.sentTo,
    };
    const answered = (answer: Answer) => {
      to.settled?.();
      if (isLegacyRound(incoming, answer)) return this.#nextRound(incoming, to, answer, rounds);
      const deliver = (client: Incoming) => this.#deliver(client, to, answer, way.sent);
      const bytes = answer.result.end - answer.result.start;
      const isParked = parking.isParked(incoming);
      const paid = isParked ? this.#paid(deliver, request, to, bytes) : deliver;
      return parking.ended(incoming, paid, bytes);
    };
    const failed = (thrown: unknown) => {
      to.settled?.();
      const cause = faultFrom(thrown);
      const fault = incoming.isDismissed ? drainedFault(cause) : cause;
      const deliver = (client: Incoming) => this.#deliverFault(client, to, fault);
      const bytes = fault.cause instanceof RpcAnswer ? fault.cause.error.length : 0;
      const isCounted = bytes > 0 && parking.isParked(incoming);
      const paid = isCounted ? this.#paid(deliver, request, to, bytes) : deliver;
      parking.ended(incoming, paid, bytes);
    };
    incoming.isCarried = true;
    incoming.about = accessRequestOf(request);
    incoming.allowedAt = host.access.version;
    host
      .carry(request)
      .then(answered, failed)
      .catch((thrown: unknown) => this.#undelivered(incoming, to, thrown));
  }

  /** There was an answer, but it could not be written: the client gets an error that says so. */
  #undelivered(incoming: Incoming, to: Destination, thrown: unknown): void {
    const { caught, parking } = this.#parts;
    if (!(thrown instanceof Fault)) caught(thrown);
    const fault = faultFrom(thrown).with({ server: to.server, dispatched: 'yes' });
    contain(
      () => parking.ended(incoming, (client) => this.#deliverFault(client, to, fault), 0),
      caught,
    );
  }

  /** A follow-up of a multi-round request: its state must be one that we gave to this client. */
  #followUp(incoming: Incoming, to: Destination): MemberChanges | undefined | 'taken' {
    const { bytes, paramsObject } = incoming.message;
    const span = paramsObject?.find('requestState');
    if (!span) return paramsObject?.find('inputResponses') ? {} : undefined;
    const text = textOf(bytes, span);
    const opened = text === undefined ? undefined : this.#parts.seal.open(text);
    if (this.#parts.parking.resume(incoming, opened, requestFingerprint(incoming))) return 'taken';
    const changes = this.#states.changesFor(opened, incoming, to.server);
    if (changes !== undefined) return changes;
    incoming.error(unknownState('Invalid params: requestState was not issued for this request'));
    return 'taken';
  }

  // --- back --------------------------------------------------------------------------------

  /** The call has paid for the first time that its outcome is given out: whoever fetches it again pays again. */
  #paid(deliver: Deliver, request: ChargedRequest, to: Destination, bytes: number): Deliver {
    const { host, caught } = this.#parts;
    let isGiven = false;
    const pay = async (client: Incoming) => {
      try {
        await host.countAgain(request, bytes);
      } catch (thrown) {
        return this.#deliverFault(client, to, faultFrom(thrown));
      }
      deliver(client);
    };
    return (client) => {
      if (client.isOver || !isGiven) {
        isGiven ||= !client.isOver;
        return deliver(client);
      }
      pay(client).catch(caught);
    };
  }

  #deliver(incoming: Incoming, to: Destination, answer: Answer, sent: Sent | undefined): void {
    if (incoming.isOver) return this.#parts.tasks.abandoned(incoming, answer, sent);
    const { method = '' } = incoming.message;
    if (asksForInput(answer)) {
      if (!this.#parts.isHeard(incoming)) return this.#deliverFault(incoming, to, hiddenFault(to));
      return incoming.result(this.#withSealedState(incoming, to, answer));
    }
    const named = this.#parts.tasks.shown(incoming, to, answer, sent);
    const shown = this.#parts.exposed(incoming, to.server, named);
    incoming.result(resultFor(incoming.era, method, shown, () => this.#wrapsOutput(incoming, to)));
  }

  /** Whether a legacy client was told that this tool's output is inside an object. */
  #wrapsOutput(incoming: Incoming, { server, kind, name }: Destination): boolean {
    if (kind !== 'tool' || name === null) return false;
    const tool = this.#parts.host.known(server)?.lastListed(name, incoming);
    return tool !== undefined && hasForeignOutput(tool);
  }

  #withSealedState(incoming: Incoming, to: Destination, answer: Answer): Buffer {
    const span = answer.object?.find('requestState');
    const text = span && textOf(answer.frame, span);
    if (text === undefined) return changedResult(answer, {});
    return changedResult(answer, { requestState: this.#states.sealed(incoming, to.server, text) });
  }

  #deliverFault(incoming: Incoming, to: Destination, fault: Fault): void {
    if (incoming.isOver) return;
    if (fault.cause instanceof RpcAnswer) {
      if (incoming.isModern && fault.record.rpc?.code === rpcCodes.urlElicitationRequired) {
        if (this.#parts.isHeard(incoming)) return this.#elicitByAddress(incoming, to, fault);
        return this.#deliverFault(incoming, to, hiddenFault(to));
      }
      return incoming.carriedError(
        fault.cause.error,
        fault.record.rpc?.code ?? rpcCodes.internalError,
      );
    }
    if (fault.code === 'denied' && isCustom(to)) {
      return incoming.error(methodNotFound(incoming.message.method ?? ''));
    }
    if (to.kind !== 'tool') return incoming.error(faultError(fault, incoming.principal));
    if (fault.code === 'not_found' || fault.code === 'denied') {
      return incoming.error(unknownName('tool', incoming, to.calledAs));
    }
    // A client that asks for a task cannot read the result of a tool.
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
    const state = this.#states.sealed(incoming, to.server, null);
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
      const cause = faultFrom(thrown).with({ server: to.server, ...tool, dispatched: 'yes' });
      this.#deliverFault(incoming, to, incoming.isDismissed ? drainedFault(cause) : cause);
    }
  }
}

/** A question to somebody who may not use this any more: it could not be answered. */
function hiddenFault({ server }: Destination): Fault {
  return new Fault('denied', 'hidden since it was sent', { server, dispatched: 'yes' });
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

/** A method that MCP does not define: nothing is named that the decision could be about. */
function isCustom({ kind, name, about }: Destination): boolean {
  return kind === 'other' && name === null && about === undefined;
}
