// Parses the lines of a child's stdout into messages. A line that is not MCP is noise, and the
// first one before the handshake is kept, because it is often the usage text of the program. A
// damaged answer, or one beyond the limit, ends the call it belongs to, if its id can be read; if
// that is a call of the serving process before this one, that is told.

import type { Redactor } from '../../kernel/redactor.ts';
import type { Noise } from '../../observe/events.ts';
import type { Shown } from '../../observe/server-output.ts';
import { skipSpace } from '../../wire/grammar.ts';
import { oversizedResponseId } from '../../wire/oversized.ts';
import { type Message, scanMessage } from '../../wire/scan.ts';
import { WireError } from '../../wire/wire-error.ts';
import type { Conversation } from '../conversation.ts';
import type { FormerMessages } from '../former-messages.ts';
import { StderrRing, shownLine } from './stderr-ring.ts';
import type { StdioFault } from './stdio-faults.ts';

export interface StdoutMessagesParts {
  readonly frameBytes: number;
  readonly redactor?: Redactor;
  readonly conversation: Conversation;
  readonly received: (message: Message) => void;
  readonly former: () => FormerMessages | undefined;
  readonly noise: (noise: Noise) => void;
  readonly isGreeted: () => boolean;
  /** A line that is not MCP. */
  readonly notMcp: (line: Shown) => void;
  readonly fault: StdioFault;
}

const openBrace = 0x7b;

/**
 * What a former gets in place of an answer beyond the limit. A server that writes the same ends
 * only its own call.
 */
const tooLargeLine = /^\{"jsonrpc":"2\.0","id":(\d{1,16}),"tooLarge":true\}$/;
const tooLargeBytes = 64;

export class StdoutMessages {
  readonly #parts: StdoutMessagesParts;
  /** The first line on stdout before the handshake that is not MCP. */
  #stray: StderrRing | undefined;
  /** The beginning of a line beyond the limit whose id is yet to come. */
  #oversizedHead: Buffer | undefined;

  constructor(parts: StdoutMessagesParts) {
    this.#parts = parts;
  }

  /** What the server printed before the handshake, without secrets. */
  get stray(): string | undefined {
    return this.#stray?.lines[0];
  }

  line(bytes: Buffer): void {
    // Most noise is a log line, which its first character shows.
    if (bytes[skipSpace(bytes, 0)] !== openBrace) return this.#notJson(bytes);
    let message: Message;
    try {
      message = scanMessage(bytes);
    } catch (error) {
      if (!(error instanceof WireError)) throw error;
      return this.#unreadable(bytes, error);
    }
    this.#parts.received(message);
  }

  /** A line that another serving process has read and passed on. */
  passedOn(bytes: Buffer): void {
    const isShort = bytes.length < tooLargeBytes;
    const id = isShort ? tooLargeLine.exec(bytes.toString('latin1'))?.[1] : undefined;
    if (id === undefined) this.line(bytes);
    else this.#tooLarge(Number(id));
  }

  #unreadable(bytes: Buffer, error: WireError): void {
    const { conversation, noise, fault } = this.#parts;
    const id = error.id ?? oversizedResponseId(bytes.subarray(0, 4096), bytes.subarray(-256));
    const former = this.#parts.former();
    if (former?.mayHaveCalls && former.has(id)) return former.heard(bytes);
    if (typeof id !== 'number' || !conversation.isOpen(id)) return this.#notJson(bytes);
    const what = `sent an answer that is not valid MCP (${error.reason})`;
    const isOurs = conversation.damaged(id, fault(what, 'protocol_violation'));
    noise(isOurs ? 'invalid-message' : 'not-json');
  }

  #notJson(bytes: Buffer): void {
    const { redactor, noise, isGreeted, notMcp } = this.#parts;
    notMcp(shownLine(bytes, redactor));
    if (!this.#stray && !isGreeted() && skipSpace(bytes, 0) < bytes.length) {
      this.#stray = new StderrRing(redactor);
      this.#stray.push(bytes);
    }
    noise('not-json');
  }

  /** The beginning of the line that is being discarded, if its end is needed too. */
  get oversizedHead(): Buffer | undefined {
    return this.#oversizedHead;
  }

  restore(oversizedHead: Buffer | undefined): void {
    this.#oversizedHead = oversizedHead;
  }

  oversized(head: Buffer): void {
    const id = oversizedResponseId(head);
    if (typeof id === 'number') this.#tooLarge(id);
    else this.#oversizedHead = head;
    this.#parts.noise('oversized-frame');
  }

  /**
   * Many servers write the id last; then only the end of the line shows which request it answers.
   */
  oversizedEnd(tail: Buffer): void {
    const head = this.#oversizedHead;
    this.#oversizedHead = undefined;
    const id = head && oversizedResponseId(head, tail);
    if (typeof id === 'number') this.#tooLarge(id);
  }

  #tooLarge(id: number): void {
    const { frameBytes, conversation, fault } = this.#parts;
    const former = this.#parts.former();
    if (former?.has(id)) {
      return former.heard(Buffer.from(`{"jsonrpc":"2.0","id":${id},"tooLarge":true}`));
    }
    const what = `answered with more than ${frameBytes} bytes; the call did run. Raise limits.frameBytes to accept it`;
    conversation.damaged(id, fault(what, 'frame_too_large'));
  }
}
