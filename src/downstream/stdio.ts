// MCP on a pair of pipes, for one client: one JSON message per line, in both directions. The first
// message decides the era of the connection. Answers leave in the order in which they are ready, one
// line each; the end of the input is the end of the client, and everything it had under way is
// cancelled.

import type { Readable, Writable } from 'node:stream';
import { ChurnTable } from '../kernel/churn-table.ts';
import { localUser } from '../policy/principal.ts';
import { scanBatch } from '../wire/batch.ts';
import { idOf } from '../wire/decode.ts';
import { rpcCodes } from '../wire/eras.ts';
import { LineReader } from '../wire/line-reader.ts';
import { joinPieces } from '../wire/pieces.ts';
import { type Message, scanMessage } from '../wire/scan.ts';
import { WireError } from '../wire/wire-error.ts';
import { BatchReply } from './batch-reply.ts';
import type { Frame, Front, Reply, Session, Underway } from './contract.ts';
import { errorFrame, idText, type RpcError } from './frames.ts';
import { judgeEnvelope, missingEnvelope, unsupportedVersion } from './modern-envelope.ts';

export interface StdioParts {
  readonly front: Front & { clientGone(key: string): void };
  readonly input: Readable;
  readonly output: Writable;
  readonly frameBytes: number;
}

/** Only this revision has batches. */
const batchVersion = '2025-03-26';
const clientKey = 'stdio';

/** Serves until the input ends or the output is gone. */
export function serveStdio(parts: StdioParts): Promise<void> {
  return new Promise((resolve) => new StdioServer(parts, resolve).start());
}

class StdioServer {
  readonly #parts: StdioParts;
  readonly #ended: () => void;
  readonly #reader: LineReader;
  readonly #underway = new ChurnTable<unknown, Underway>(1024);
  readonly #reply: Reply = {
    send: (frame) => this.#write(frame),
    answer: (frame) => this.#write(frame),
  };
  #session: Session | undefined;
  #isModern = false;
  #waiting: (string | Buffer)[] = [];
  #isFlushing = false;
  #isOver = false;

  constructor(parts: StdioParts, ended: () => void) {
    this.#parts = parts;
    this.#ended = ended;
    this.#reader = new LineReader(parts.frameBytes, {
      line: (bytes) => this.#line(bytes),
      oversized: () => this.#refuse('null', tooLarge(parts.frameBytes)),
      oversizedEnd: () => {},
    });
  }

  start(): void {
    const { input, output } = this.#parts;
    input.on('data', (chunk: Buffer) => this.#reader.push(chunk));
    input.on('end', () => this.#end());
    input.on('error', () => this.#end());
    // Nobody reads any more: there is nobody to serve.
    output.on('error', () => this.#end());
  }

  // --- in ----------------------------------------------------------------------------------

  #line(bytes: Buffer): void {
    if (this.#isOver) return;
    try {
      this.#receive(scanMessage(bytes));
    } catch (error) {
      if (!(error instanceof WireError)) throw error;
      if (error.reason === 'batch' && this.#session?.protocolVersion === batchVersion) {
        return this.#batch(bytes);
      }
      const id = error.id === null ? 'null' : JSON.stringify(error.id);
      this.#refuse(id, { code: error.rpcCode, message: error.message });
    }
  }

  #receive(message: Message): void {
    if (!this.#session && !this.#isModern) this.#decide(message);
    if (this.#isModern) this.#modern(message);
    else this.#session?.receive(message, this.#reply);
  }

  /** The first message says which era it is. */
  #decide(message: Message): void {
    if (judgeEnvelope(message).kind !== 'none') this.#isModern = true;
    else
      this.#session = this.#parts.front.openSession(localUser, {
        send: (frame) => this.#write(frame),
      });
  }

  #modern(message: Message): void {
    const from = { principal: localUser, client: clientKey };
    if (message.kind === 'notification') {
      if (message.method === 'notifications/cancelled') this.#cancelled(message);
      else this.#parts.front.notified(message, from);
    }
    if (message.kind !== 'request') return;
    const refusal = this.#refusalOf(message);
    if (refusal) return this.#refuse(idText(message), refusal);
    const { id } = message;
    const reply: Reply = {
      send: (frame) => this.#write(frame),
      answer: (frame) => {
        this.#underway.delete(id);
        this.#write(frame);
      },
      withdrawn: () => this.#underway.delete(id),
    };
    const underway = this.#parts.front.request(message, from, reply);
    if (underway) this.#underway.set(id, underway);
  }

  #refusalOf(message: Message): RpcError | undefined {
    // A modern connection has no handshake; the error says which revisions there are.
    if (message.method === 'initialize') return unsupportedVersion(initializeVersion(message));
    const verdict = judgeEnvelope(message);
    if (verdict.kind === 'none') return missingEnvelope(message);
    if (verdict.kind !== 'modern') return verdict.refusal;
    if (!this.#underway.has(message.id)) return undefined;
    const words = `Invalid request: ${idText(message)} is the id of a request that is still under way`;
    return { code: rpcCodes.invalidRequest, message: words };
  }

  #cancelled({ bytes, paramsObject }: Message): void {
    const span = paramsObject?.find('requestId');
    const id = span && idOf(bytes, span);
    this.#underway.get(id)?.cancel();
    this.#underway.delete(id);
  }

  #batch(bytes: Buffer): void {
    try {
      const messages = scanBatch(bytes).map((element) => scanMessage(element));
      if (messages.length === 0) return this.#refuse('null', emptyBatch);
      const requests = messages.filter(({ kind }) => kind === 'request').length;
      const batch = new BatchReply(requests, (frame) => this.#write(frame));
      for (const message of messages) this.#session?.receive(message, batch.reply());
    } catch (error) {
      if (!(error instanceof WireError)) throw error;
      this.#refuse('null', { code: error.rpcCode, message: error.message });
    }
  }

  // --- out ---------------------------------------------------------------------------------

  #refuse(id: string, error: RpcError): void {
    this.#write(errorFrame(id, error));
  }

  /** What is ready in one turn of the loop leaves in one write. */
  #write(frame: Frame): void {
    if (this.#isOver) return;
    this.#waiting.push(...frame, '\n');
    if (this.#isFlushing) return;
    this.#isFlushing = true;
    process.nextTick(() => this.#flush());
  }

  #flush(): void {
    this.#isFlushing = false;
    const { output } = this.#parts;
    const pieces = this.#waiting;
    this.#waiting = [];
    if (pieces.length === 0 || this.#isOver) return;
    if (pieces.every((piece) => typeof piece === 'string')) {
      output.write(pieces.join(''));
      return;
    }
    output.cork();
    for (const piece of joinedSmall(pieces)) output.write(piece);
    output.uncork();
  }

  // --- the end -----------------------------------------------------------------------------

  #end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#session?.close();
    for (const underway of this.#underway.values()) underway.cancel();
    this.#underway.clear();
    if (this.#isModern) this.#parts.front.clientGone(clientKey);
    this.#ended();
  }
}

/** Many small pieces cost more than one copy; a large one is never copied. */
const smallBytes = 16_384;

function joinedSmall(pieces: readonly (string | Buffer)[]): readonly (string | Buffer)[] {
  const joined: (string | Buffer)[] = [];
  let from = 0;
  for (const [at, piece] of pieces.entries()) {
    if (piece.length <= smallBytes) continue;
    if (at > from) joined.push(joinPieces(pieces, from, at));
    joined.push(piece);
    from = at + 1;
  }
  if (from < pieces.length) joined.push(joinPieces(pieces, from, pieces.length));
  return joined;
}

const emptyBatch: RpcError = {
  code: rpcCodes.invalidRequest,
  message: 'Invalid request: a batch holds one message at least',
};

function tooLarge(frameBytes: number): RpcError {
  return {
    code: rpcCodes.invalidRequest,
    message: `Invalid request: a message may have at most ${frameBytes} bytes`,
  };
}

function initializeVersion({ bytes, paramsObject }: Message): string {
  const span = paramsObject?.find('protocolVersion');
  return span ? bytes.toString('utf8', span.start + 1, span.end - 1) : 'none';
}
