// What is left at the former of a connection that it has handed over: the exchanges that were
// open, and those that still belong to their calls. It goes on with them over the link to its
// successor; when none is open any more there is nothing to end.

import { ignored } from '../kernel/contain.ts';
import type { Fault } from '../kernel/fault.ts';
import { type Message, scanMessage } from '../wire/scan.ts';
import { WireError } from '../wire/wire-error.ts';
import type { Conversation } from './conversation.ts';
import type { FormerMessages } from './former-messages.ts';
import type { LinesOfFormer, RestOfCalls } from './handed-connection.ts';

/** What a transport does with what comes over the link. */
export interface RestSteps {
  attach(lines: LinesOfFormer): void;
  heard(line: Buffer): void;
  lost(fault: Fault): void;
}

export class RestOfConnection implements RestOfCalls {
  readonly #conversation: Conversation;
  readonly #former: () => FormerMessages | undefined;
  readonly #steps: RestSteps;
  #isLost = false;

  constructor(
    conversation: Conversation,
    former: () => FormerMessages | undefined,
    steps: RestSteps,
  ) {
    this.#conversation = conversation;
    this.#former = former;
    this.#steps = steps;
  }

  get open(): number {
    return this.#conversation.calls;
  }

  get mayHaveCalls(): boolean {
    return this.#conversation.hasCalls || (this.#former()?.mayHaveCalls ?? false);
  }

  async whenEmpty(): Promise<void> {
    await Promise.all([this.#conversation.whenEmpty(), this.#former()?.whenOver()]);
  }

  attach(lines: LinesOfFormer): void {
    this.#steps.attach(lines);
  }

  heard(line: Buffer): void {
    if (!this.#isLost) this.#steps.heard(line);
  }

  lost(fault: Fault): void {
    this.#isLost = true;
    this.#steps.lost(fault);
  }
}

/**
 * Exchanges over HTTP have sockets of their own: nothing goes over the link but requests of the
 * server that the successor has heard.
 */
export function restOfHttp(
  conversation: Conversation,
  former: () => FormerMessages | undefined,
  listener: {
    received(message: Message): void;
    unreadable(): void;
    attach(lines: LinesOfFormer): void;
  },
): RestOfCalls {
  const heard = (line: Buffer) => {
    try {
      listener.received(scanMessage(line));
    } catch (error) {
      if (!(error instanceof WireError)) throw error;
      listener.unreadable();
    }
  };
  const attach = (lines: LinesOfFormer) => listener.attach(lines);
  return new RestOfConnection(conversation, former, { attach, heard, lost: ignored });
}
