// MCP on a pair of pipes, for one client: one JSON message per line, in both directions. The first
// message decides the era of the connection. Answers are sent in the order in which they are ready,
// one line each. After the end of the input, pending requests are still answered; when the
// connection is closed, everything that is left is cancelled. A client that does not read pauses
// its servers, which are its own here, and is disconnected when too much waits for it.

import type { Readable, Writable } from 'node:stream';
import type { ClientFolder } from '../../host/connections/client-folder.ts';
import { type Clock, within } from '../../kernel/clock.ts';
import { contain } from '../../kernel/contain.ts';
import { RingMap } from '../../kernel/ring-map.ts';
import { localUser, type Principal } from '../../policy/principal.ts';
import { scanBatch } from '../../wire/batch.ts';
import { idOf } from '../../wire/decode.ts';
import { batchVersion, rpcCodes } from '../../wire/eras.ts';
import { type ErrorToSend, errorFrame, idText, textOfId } from '../../wire/frames.ts';
import { LineReader } from '../../wire/line-reader.ts';
import { type Message, scanMessage } from '../../wire/scan.ts';
import { WireError } from '../../wire/wire-error.ts';
import { BatchReply } from '../batch-reply.ts';
import { clientCancel } from '../client-cancel.ts';
import { judgeEnvelope, missingEnvelope, unsupportedVersion } from '../clients/modern-envelope.ts';
import type { GatewayForTransports, Reply, Session, Underway } from '../contract.ts';
import type { OutgoingBudget } from '../outgoing/outgoing-budget.ts';
import { internalError } from '../refusals.ts';
import { StdioOutput } from './stdio-output.ts';

export interface StdioFrontParts {
  readonly front: GatewayForTransports & { clientGone(key: string): void };
  readonly input: Readable;
  readonly output: Writable;
  readonly frameBytes: number;
  readonly clock: Clock;
  readonly outgoing: OutgoingBudget;
  /** Absent: the local user. */
  readonly principal?: Principal;
  /** Tells this client from others of the same gateway; absent: there are none. */
  readonly clientKey?: string;
  /** The id of the first request to a legacy client; absent: 1. */
  readonly firstQuestion?: number;
  /** Where the client was started, if that is known. */
  readonly folder?: ClientFolder | undefined;
  /** The client falls behind, or has caught up: its servers should be paused, or may continue. */
  readonly held?: (isHeld: boolean) => void;
}

export interface StdioFront {
  /** The client has ended its input. */
  readonly inputEnded: Promise<void>;
  /** Nothing can be sent to the client any more: it does not read, or not enough. */
  readonly gone: Promise<'closed' | 'not-reading'>;
  /** Cancels what is left. The output has so long to be read; false if it was not. */
  close(withinMs: number): Promise<boolean>;
}

export function startStdio(parts: StdioFrontParts): StdioFront {
  const server = new StdioServer(parts);
  server.start();
  return server;
}

class StdioServer implements StdioFront {
  readonly inputEnded: Promise<void>;
  readonly gone: Promise<'closed' | 'not-reading'>;
  readonly #parts: StdioFrontParts;
  readonly #clientKey: string;
  readonly #output: StdioOutput;
  readonly #reader: LineReader;
  /** By id, until answered; the gateway takes at most so many of one client. */
  readonly #underway = new RingMap<unknown, Underway>(1024);
  readonly #reply: Reply = {
    send: (frame, kind) => this.#output.write(frame, kind),
    answer: (frame) => this.#output.write(frame),
  };
  #endInput!: () => void;
  #lose!: (how: 'closed' | 'not-reading') => void;
  #session: Session | undefined;
  #isModern = false;
  #isGone = false;
  #isOver = false;

  constructor(parts: StdioFrontParts) {
    this.#parts = parts;
    this.#clientKey = parts.clientKey ?? 'stdio';
    const { output, outgoing, held = () => {} } = parts;
    const spent = () => this.#end('not-reading');
    const failed = this.#failed;
    this.#output = new StdioOutput({ output, outgoing, held, spent, failed });
    this.inputEnded = new Promise((resolve) => {
      this.#endInput = resolve;
    });
    this.gone = new Promise((resolve) => {
      this.#lose = resolve;
    });
    this.#reader = new LineReader(parts.frameBytes, {
      line: (bytes) => this.#line(bytes),
      oversized: () => this.#refuse('null', tooLarge(parts.frameBytes)),
      oversizedEnd: () => {},
    });
  }

  start(): void {
    const { input, output } = this.#parts;
    const contained = (work: () => void) => contain(work, this.#failed);
    input.on('data', (chunk: Buffer) => contained(() => this.#reader.push(chunk)));
    input.on('end', () => contained(() => this.#lastWord()));
    input.on('error', () => contained(() => this.#lastWord()));
    // The client no longer reads: there is nobody to serve.
    output.on('error', () => this.#end('closed'));
  }

  async close(withinMs: number): Promise<boolean> {
    const { clock, output } = this.#parts;
    this.#cancelAll();
    if (this.#isOver) return false;
    this.#output.flush();
    const isFlushed = new Promise<void>((resolve) => {
      output.write('', () => resolve());
    });
    await within(clock, withinMs, isFlushed);
    const isRead = output.writableLength === 0;
    this.#end('closed');
    if (!isRead) output.destroy();
    return isRead;
  }

  // --- in ----------------------------------------------------------------------------------

  /** An unexpected error costs this one message. */
  #line(bytes: Buffer): void {
    if (this.#isOver || this.#isGone) return;
    let message: Message | undefined;
    const { written } = this.#output;
    try {
      message = scanMessage(bytes);
      this.#receive(message);
    } catch (error) {
      if (!(error instanceof WireError)) {
        this.#parts.front.caught(error);
        const isUnanswered = message?.kind === 'request' && written === this.#output.written;
        if (message && isUnanswered) this.#refuse(idText(message), internalError);
        return;
      }
      if (error.reason === 'batch' && this.#session?.protocolVersion === batchVersion) {
        return this.#batch(bytes);
      }
      const id = textOfId(error.id);
      this.#refuse(id, wireRefusal(error));
    }
  }

  /** A last line may lack its end; half a message is none. */
  #lastWord(): void {
    if (this.#isOver) return;
    const rest = this.#reader.end();
    if (rest && isMessage(rest)) this.#line(rest);
    this.#session?.inputEnded?.();
    this.#endInput();
  }

  #receive(message: Message): void {
    if (!this.#session && !this.#isModern) this.#decide(message);
    if (this.#isModern) this.#modern(message);
    else this.#session?.receive(message, this.#reply);
  }

  /**
   * The first request says which era it is. A notification or an answer before it is about nothing that was
   * said here; one without an envelope decides nothing, because a modern client may send it too.
   */
  #decide(message: Message): void {
    if (judgeEnvelope(message).kind !== 'none') this.#isModern = true;
    else if (message.kind === 'request')
      this.#session = this.#parts.front.openSession(
        this.#parts.principal ?? localUser,
        { send: (frame, kind) => this.#output.write(frame, kind) },
        { firstQuestion: this.#parts.firstQuestion, folder: this.#parts.folder },
      );
  }

  #modern(message: Message): void {
    const { principal = localUser, folder } = this.#parts;
    const from = { principal, client: this.#clientKey, folder };
    if (message.kind === 'notification') {
      if (message.method === 'notifications/cancelled') this.#cancelled(message);
      else this.#parts.front.notified(message, from);
    }
    if (message.kind !== 'request') return;
    const refusal = this.#refusalOf(message);
    if (refusal) return this.#refuse(idText(message), refusal);
    const { id } = message;
    const reply: Reply = {
      send: (frame, kind) => this.#output.write(frame, kind),
      answer: (frame) => {
        this.#underway.delete(id);
        this.#output.write(frame);
      },
      withdrawn: () => this.#underway.delete(id),
    };
    const underway = this.#parts.front.request(message, from, reply);
    if (underway) this.#underway.set(id, underway);
  }

  #refusalOf(message: Message): ErrorToSend | undefined {
    // A modern connection has no handshake; the error says which revisions there are.
    if (message.method === 'initialize') return unsupportedVersion(initializeVersion(message));
    const verdict = judgeEnvelope(message);
    if (verdict.kind === 'none') return missingEnvelope(message);
    if (verdict.kind !== 'modern') return verdict.refusal;
    if (!this.#underway.has(message.id)) return undefined;
    const words = `Invalid request: ${idText(message)} is the id of a request that is still under way`;
    return { code: rpcCodes.invalidRequest, message: words };
  }

  #cancelled(message: Message): void {
    const { bytes, paramsObject } = message;
    const span = paramsObject?.find('requestId');
    const id = span && idOf(bytes, span);
    this.#underway.get(id)?.cancel(clientCancel(message));
    this.#underway.delete(id);
  }

  #batch(bytes: Buffer): void {
    const messages = this.#batchIn(bytes);
    if (!messages) return;
    if (messages.length === 0) return this.#refuse('null', emptyBatch);
    const requests = messages.filter(({ kind }) => kind === 'request').length;
    const batch = new BatchReply(requests, (frame) => this.#output.write(frame), {
      gathered: (bytes) => this.#output.gathered(bytes),
    });
    for (const message of messages) this.#oneOfBatch(message, batch.reply());
  }

  /** Refuses what is not one. */
  #batchIn(bytes: Buffer): readonly Message[] | undefined {
    try {
      return scanBatch(bytes).map((element) => scanMessage(element));
    } catch (error) {
      if (!(error instanceof WireError)) this.#parts.front.caught(error);
      const isRefused = error instanceof WireError;
      this.#refuse('null', isRefused ? wireRefusal(error) : internalError);
      return undefined;
    }
  }

  /** An unexpected error costs this one message: the others of the batch are answered. */
  #oneOfBatch(message: Message, reply: Reply): void {
    contain(
      () => this.#session?.receive(message, reply),
      (error) => {
        this.#parts.front.caught(error);
        if (message.kind === 'request') reply.answer(errorFrame(idText(message), internalError));
      },
    );
  }

  // --- out ---------------------------------------------------------------------------------

  #refuse(id: string, error: ErrorToSend): void {
    this.#output.write(errorFrame(id, error));
  }

  // --- the end -----------------------------------------------------------------------------

  /** A stream that cannot be read or written is useless: the client counts as gone. */
  readonly #failed = (error: unknown) => {
    this.#parts.front.caught(error);
    this.#end('closed');
  };

  #end(how: 'closed' | 'not-reading'): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#output.end();
    this.#cancelAll();
    this.#lose(how);
  }

  /** The client has disconnected, as far as the gateway is concerned. */
  #cancelAll(): void {
    if (this.#isGone) return;
    this.#isGone = true;
    const { front } = this.#parts;
    const contained = (work: () => void) => contain(work, (error) => front.caught(error));
    // A server that cannot write cannot end.
    contained(() => this.#output.letGo());
    contained(() => this.#session?.close());
    for (const underway of this.#underway.values()) contained(() => underway.cancel());
    this.#underway.clear();
    if (this.#isModern) contained(() => front.clientGone(this.#clientKey));
  }
}

function isMessage(bytes: Buffer): boolean {
  try {
    scanMessage(bytes);
    return true;
  } catch (error) {
    if (error instanceof WireError) return false;
    throw error;
  }
}

function wireRefusal({ rpcCode, message }: WireError): ErrorToSend {
  return { code: rpcCode, message };
}

const emptyBatch: ErrorToSend = {
  code: rpcCodes.invalidRequest,
  message: 'Invalid request: a batch holds one message at least',
};

function tooLarge(frameBytes: number): ErrorToSend {
  return {
    code: rpcCodes.invalidRequest,
    message: `Invalid request: a message may have at most ${frameBytes} bytes`,
  };
}

function initializeVersion({ bytes, paramsObject }: Message): string {
  const span = paramsObject?.find('protocolVersion');
  return span ? bytes.toString('utf8', span.start + 1, span.end - 1) : 'none';
}
