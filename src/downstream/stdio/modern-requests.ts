// The requests of a modern client on stdio, by the ids that it gives them: a second one with the id of one under way
// is refused, and it cancels by id. In a rollout those that only listen go on in the next process, which begins them
// again without telling; all others end here.

import type { ClientFolder } from '../../host/connections/client-folder.ts';
import { contain } from '../../kernel/contain.ts';
import { RingMap } from '../../kernel/ring-map.ts';
import type { Principal } from '../../policy/principal.ts';
import { type Id, idOf } from '../../wire/decode.ts';
import { type ErrorToSend, type Frame, idText } from '../../wire/frames.ts';
import { type Message, scanMessage } from '../../wire/scan.ts';
import { clientCancel } from '../client-cancel.ts';
import { judgeEnvelope, missingEnvelope, unsupportedVersion } from '../clients/modern-envelope.ts';
import type { GatewayForTransports, OpenRequest, Reply, Underway } from '../contract.ts';
import type { StdioState } from './handed-stdio.ts';
import { idInUse } from './stdio-refusals.ts';

export interface ModernRequestsParts {
  readonly front: GatewayForTransports;
  readonly from: {
    readonly principal: Principal;
    readonly client: string;
    readonly folder: ClientFolder | undefined;
    readonly goesAlong: true;
  };
  /** `kind` as in `Reply`. */
  readonly write: (frame: Frame, kind?: string) => void;
  readonly refuse: (id: string, error: ErrorToSend) => void;
  /** One has ended. */
  readonly ended: () => void;
}

const listen = 'subscriptions/listen';

export class ModernRequests {
  readonly #parts: ModernRequestsParts;
  /** Until answered; the gateway takes at most so many of one client. */
  readonly #open = new RingMap<unknown, OpenReply>(1024);

  constructor(parts: ModernRequestsParts) {
    this.#parts = parts;
  }

  receive(message: Message): void {
    const { front, from, refuse } = this.#parts;
    if (message.kind === 'notification') {
      if (message.method === 'notifications/cancelled') this.#cancelled(message);
      else front.notified(message, from);
    }
    if (message.kind !== 'request') return;
    const refusal = this.#refusalOf(message);
    if (refusal) return refuse(idText(message), refusal);
    this.#begin(message, false);
  }

  #begin(message: Message, isAgain: boolean): void {
    const { front, from } = this.#parts;
    const reply = new OpenReply(this.#parts, message, isAgain, () => this.#open.delete(message.id));
    const underway = front.request(message, isAgain ? { ...from, goesOn: true } : from, reply);
    if (underway === undefined) return;
    reply.underway = underway;
    this.#open.set(message.id, reply);
  }

  #refusalOf(message: Message): ErrorToSend | undefined {
    // A modern connection has no handshake; the error says which revisions there are.
    if (message.method === 'initialize') return unsupportedVersion(initializeVersion(message));
    const verdict = judgeEnvelope(message);
    if (verdict.kind === 'none') return missingEnvelope(message);
    if (verdict.kind !== 'modern') return verdict.refusal;
    return this.#open.has(message.id) ? idInUse(message) : undefined;
  }

  #cancelled(message: Message): void {
    const { bytes, paramsObject } = message;
    const span = paramsObject?.find('requestId');
    const id = span && idOf(bytes, span);
    this.#open.get(id)?.underway?.cancel(clientCancel(message));
    this.#open.delete(id);
  }

  isUnderWay(id: unknown): boolean {
    return this.#open.has(id);
  }

  get open(): readonly OpenRequest[] {
    return this.#open
      .values()
      .map(({ message: { id, method = '' } }) => ({ id: id as Id, method }));
  }

  /** Those that listen, as the client sent them: here they have ended, and nothing is sent on them any more. */
  takeListening(): Pick<StdioState, 'listening' | 'unacknowledged'> {
    const all = this.#open.values().filter(({ message }) => message.method === listen);
    for (const reply of all) {
      reply.isMuted = true;
      this.#open.delete(reply.message.id);
      reply.underway?.cancel();
    }
    const lines = (isAcknowledged: boolean) =>
      all
        .filter((reply) => reply.isAcknowledged === isAcknowledged)
        .map(({ message }) => message.bytes.toString('utf8'));
    return { listening: lines(true), unacknowledged: lines(false) };
  }

  /** What the process before has acknowledged goes on. */
  listenAgain(line: string): void {
    this.#begin(scanMessage(Buffer.from(line)), true);
  }

  cancelAll(): void {
    const { front } = this.#parts;
    for (const { underway } of this.#open.values()) {
      contain(
        () => underway?.cancel(),
        (error) => front.caught(error),
      );
    }
    this.#open.clear();
  }
}

/** Where one of them is answered. */
class OpenReply implements Reply {
  readonly message: Message;
  underway: Underway | undefined;
  isMuted = false;
  /** Of one that listens: its client knows that it does, which is the first that it is sent. */
  isAcknowledged: boolean;
  readonly #parts: ModernRequestsParts;
  readonly #over: () => void;
  /** The acknowledgement, which was sent before, is still to come here. */
  #isAgain: boolean;

  constructor(parts: ModernRequestsParts, message: Message, isAgain: boolean, over: () => void) {
    this.#parts = parts;
    this.message = message;
    this.#isAgain = isAgain;
    this.isAcknowledged = isAgain;
    this.#over = over;
  }

  send(frame: Frame, kind?: string): void {
    const isKnown = this.#isAgain;
    this.#isAgain = false;
    if (isKnown || this.isMuted) return;
    this.isAcknowledged = true;
    this.#parts.write(frame, kind);
  }

  answer(frame: Frame): void {
    if (this.isMuted) return;
    this.#over();
    this.#parts.write(frame);
    this.#parts.ended();
  }

  withdrawn(): void {
    if (this.isMuted) return;
    this.#over();
    this.#parts.ended();
  }
}

function initializeVersion({ bytes, paramsObject }: Message): string {
  const span = paramsObject?.find('protocolVersion');
  return span ? bytes.toString('utf8', span.start + 1, span.end - 1) : 'none';
}
