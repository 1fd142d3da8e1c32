// MCP on a pair of pipes, for one client: one JSON message per line, in both directions. The first
// message decides the era of the connection. Answers are sent in the order in which they are ready,
// one line each. After the end of the input, pending requests are still answered; when the
// connection is closed, everything that is left is cancelled. A client that does not read pauses
// its servers, which are its own here, and is disconnected when too much waits for it.
// In a rollout the next process goes on reading exactly where this one has stopped, and alone writes to
// the client from then on (handed-stdio.ts).

import type { Readable, Writable } from 'node:stream';
import type { ClientFolder } from '../../host/connections/client-folder.ts';
import { type Clock, within } from '../../kernel/clock.ts';
import { contain } from '../../kernel/contain.ts';
import { localUser, type Principal } from '../../policy/principal.ts';
import type { Id } from '../../wire/decode.ts';
import { batchVersion } from '../../wire/eras.ts';
import { type ErrorToSend, errorFrame, idText, textOfId } from '../../wire/frames.ts';
import { LineReader } from '../../wire/line-reader.ts';
import { type Message, scanMessage } from '../../wire/scan.ts';
import { WireError } from '../../wire/wire-error.ts';
import { judgeEnvelope } from '../clients/modern-envelope.ts';
import type { GatewayForTransports, OpenRequest, Reply, Session } from '../contract.ts';
import type { OutgoingBudget } from '../outgoing/outgoing-budget.ts';
import { internalError } from '../refusals.ts';
import { FormerClient } from './former-client.ts';
import type { HandedStdio, RestOfClient, RestoredStdio, StdioState } from './handed-stdio.ts';
import { takeRest } from './input-rest.ts';
import { LinkedOutput } from './linked-output.ts';
import { ModernRequests } from './modern-requests.ts';
import { HandedClient } from './rest-of-client.ts';
import { StdioBatches } from './stdio-batches.ts';
import { type ClientOutput, StdioOutput } from './stdio-output.ts';
import { idInUse, tooLarge, wireRefusal } from './stdio-refusals.ts';

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
  /** The client is one that the process before has handed over: it has stopped reading. */
  readonly restored?: RestoredStdio | undefined;
}

export interface StdioFront {
  /** The client has ended its input. */
  readonly inputEnded: Promise<void>;
  /** Nothing can be sent to the client any more: it does not read, or not enough. */
  readonly gone: Promise<'closed' | 'not-reading'>;
  /** Cancels what is left. The output has so long to be read; false if it was not. */
  close(withinMs: number): Promise<boolean>;
  /** Resolves when the process before has nothing left to do for the client; at once if there was none. */
  readonly formerDone: Promise<void>;
  /**
   * Another process serves the client from now on, and has the same input and output. Nothing more is read here, and
   * what is under way ends here. Undefined: the client is gone.
   */
  handOver(): Promise<{ readonly handed: HandedStdio; readonly rest: RestOfClient } | undefined>;
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
  readonly formerDone: Promise<void>;
  readonly #clientKey: string;
  readonly #ownOutput: StdioOutput;
  #output: ClientOutput;
  readonly #reader: LineReader;
  readonly #modern: ModernRequests;
  readonly #batches: StdioBatches;
  readonly #reply: Reply = {
    send: (frame, kind) => this.#output.write(frame, kind),
    answer: (frame) => {
      this.#output.write(frame);
      this.#handed?.look();
    },
    withdrawn: () => this.#handed?.look(),
  };
  /** The ids of `initialize` requests, each until it is answered. */
  readonly #greetings = new Set<Id>();
  /** The process before, as long as it works for the client. */
  #former: FormerClient | undefined;
  /** Set when the client was handed over. */
  #handed: HandedClient | undefined;
  /** What was read since it is to be handed over. */
  #unread: Buffer[] | undefined;
  #hasInputEnded = false;
  #endInput!: () => void;
  #endFormer!: () => void;
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
    this.#ownOutput = new StdioOutput({ output, outgoing, held, spent, failed });
    this.#output = this.#ownOutput;
    const { principal = localUser, folder, front } = parts;
    this.#modern = new ModernRequests({
      front,
      from: { principal, client: this.#clientKey, folder, goesAlong: true },
      write: (frame, kind) => this.#output.write(frame, kind),
      refuse: (id, error) => this.#refuse(id, error),
      ended: () => this.#handed?.look(),
    });
    this.#batches = new StdioBatches({
      receive: (message, reply) => void this.#session?.receive(message, reply),
      write: (frame) => this.#output.write(frame),
      gathered: (bytes) => this.#output.gathered(bytes),
      refuse: (id, error) => this.#refuse(id, error),
      isTaken: (message) => this.#former?.takes(message) ?? false,
      isUnderWayBefore: (id) => this.#former?.isUnderWay(id) ?? false,
      ended: () => this.#handed?.look(),
      caught: (error) => front.caught(error),
    });
    this.formerDone = new Promise((resolve) => {
      this.#endFormer = resolve;
    });
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
    const { input, output, restored } = this.#parts;
    const contained = (work: () => void) => contain(work, this.#failed);
    if (restored) contained(() => this.#goOn(restored));
    else this.#endFormer();
    if (this.#hasInputEnded) return;
    input.on('data', (chunk: Buffer) => contained(() => this.#heard(chunk)));
    input.on('end', () => contained(() => this.#lastWord()));
    input.on('error', () => contained(() => this.#lastWord()));
    // The client no longer reads: there is nobody to serve.
    output.on('error', () => this.#end('closed'));
  }

  async close(withinMs: number): Promise<boolean> {
    const { clock, output } = this.#parts;
    this.#cancelAll();
    if (this.#isOver) return false;
    if (this.#handed) {
      this.#end('closed');
      return true;
    }
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

  // --- from one process to the next ----------------------------------------------------------

  #goOn(restored: RestoredStdio): void {
    const { state, unread } = restored;
    const { output, front } = this.#parts;
    if (state.era === 'legacy') this.#openSession(restored);
    this.#isModern = state.era === 'modern';
    this.#former = new FormerClient({
      restored,
      output,
      write: (frame) => this.#output.write(frame),
      over: () => this.#handed?.look(),
      watched: (address) => {
        if (this.#handed) this.#handed.watched(address);
        else this.#session?.watchAlso?.(address);
      },
      done: () => {
        this.#former = undefined;
        this.#handed?.look();
        this.#endFormer();
      },
      caught: (error) => front.caught(error),
    });
    for (const line of state.listening) this.#modern.listenAgain(line);
    for (const line of state.unacknowledged) this.#line(Buffer.from(line));
    if (state.isDiscarding) this.#reader.discard(Buffer.alloc(0));
    this.#heard(unread);
    if (state.isInputEnded) this.#lastWord();
  }

  async handOver() {
    if (this.#isOver || this.#isGone || this.#unread) return undefined;
    const { input, output, outgoing, held = () => {}, front } = this.#parts;
    this.#unread = [];
    this.#reader.stop();
    // Where input and output are one socket, it belongs to the next process from within this on.
    this.#ownOutput.stop();
    const rest = await takeRest(input);
    if (this.#isOver || this.#isGone) return undefined;
    const isDiscarding = this.#reader.isDiscarding;
    const unread = Buffer.concat([this.#reader.takeHeld(), ...this.#unread, rest.bytes]);
    const session = this.#session?.state;
    const ofRequest = session ? 'legacy' : 'undecided';
    const era: StdioState['era'] = this.#isModern ? 'modern' : ofRequest;
    const listening = this.#modern.takeListening();
    const open = this.#open();
    const { frames, gatheredBytes } = this.#ownOutput.handOver();
    const linked = new LinkedOutput(
      { outgoing, held, spent: () => this.#end('not-reading') },
      gatheredBytes,
    );
    this.#output = linked;
    const isDrained = output.writableLength === 0 && !this.#former?.isInLine;
    const drained = isDrained
      ? undefined
      : new Promise<void>((resolve) => void output.write('', () => resolve()));
    for (const frame of frames) linked.write(frame);
    const state = {
      ...{ era, open, ...listening, isDiscarding, isDrained },
      ...(session && { session }),
      isInputEnded: this.#hasInputEnded || rest.isEnded,
    } as const;
    this.#handed = new HandedClient({
      ...{ output: linked, drained },
      openNow: () => this.#open(),
      watchedNow: () => this.#session?.state?.watched ?? [],
      isAlone: () => this.#former === undefined,
      heard: (line) => this.#heardForUs(line),
      inputEnded: () => {
        this.#former?.inputEnded();
        this.#session?.inputEnded?.();
      },
      gone: () => this.#end('closed'),
      caught: (error) => front.caught(error),
    });
    return { handed: { state, unread }, rest: this.#handed };
  }

  /** The requests of this process, and of the one before, that are not answered yet. */
  #open(): readonly OpenRequest[] {
    const greetings = [...this.#greetings].map((id) => ({ id, method: 'initialize' }));
    const own = [...greetings, ...(this.#session?.openRequests ?? []), ...this.#modern.open];
    return [...own, ...this.#batches.open, ...(this.#former?.open ?? [])];
  }

  /** A line of the client that the next process has passed on. */
  #heardForUs(line: Buffer): void {
    const { kind, id, method = '' } = scanMessage(line);
    if (kind === 'request') this.#handed?.begun({ id: id as Id, method });
    this.#line(line);
    this.#handed?.look();
  }

  // --- in ----------------------------------------------------------------------------------

  #heard(chunk: Buffer): void {
    const taken = this.#unread ? 0 : this.#reader.push(chunk);
    // A line of it has begun the end.
    if (taken < chunk.length) this.#unread?.push(chunk.subarray(taken));
  }

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
        return this.#batches.receive(bytes);
      }
      const id = textOfId(error.id);
      this.#refuse(id, wireRefusal(error));
    }
  }

  /** A last line may lack its end; half a message is none. */
  #lastWord(): void {
    if (this.#isOver || this.#unread || this.#hasInputEnded) return;
    this.#hasInputEnded = true;
    const rest = this.#reader.end();
    if (rest && isMessage(rest)) this.#line(rest);
    this.#session?.inputEnded?.();
    this.#former?.inputEnded();
    this.#endInput();
  }

  #receive(message: Message): void {
    if (this.#former && this.#isForFormer(message, this.#former)) return;
    if (!this.#session && !this.#isModern) this.#decide(message);
    if (this.#isModern) this.#modern.receive(message);
    else this.#session?.receive(message, this.#replyTo(message));
  }

  #replyTo({ method, id }: Message): Reply {
    if (method !== 'initialize' || id === undefined || id === null) return this.#reply;
    this.#greetings.add(id);
    const over = () => void this.#greetings.delete(id);
    return {
      send: this.#reply.send,
      answer: (frame) => {
        over();
        this.#reply.answer(frame);
      },
      withdrawn: over,
    };
  }

  /** It is passed on, or refused because of what is under way there. */
  #isForFormer(message: Message, former: FormerClient): boolean {
    if (message.kind !== 'request') return former.takes(message);
    if (former.isUnderWay(message.id)) {
      this.#refuse(idText(message), idInUse(message));
      return true;
    }
    const { front, principal = localUser } = this.#parts;
    const isElsewhere = this.#isModern && front.holderOf?.(message, principal) !== undefined;
    return isElsewhere && !this.#modern.isUnderWay(message.id) && former.continue(message);
  }

  /**
   * The first request says which era it is. A notification or an answer before it is about nothing that was
   * said here; one without an envelope decides nothing, because a modern client may send it too.
   */
  #decide(message: Message): void {
    if (judgeEnvelope(message).kind !== 'none') this.#isModern = true;
    else if (message.kind === 'request') this.#openSession();
  }

  #openSession(restored?: RestoredStdio): void {
    const { front, principal = localUser, firstQuestion, folder } = this.#parts;
    const key = this.#clientKey;
    this.#session = front.openSession(
      principal,
      { send: (frame, kind) => this.#output.write(frame, kind) },
      { firstQuestion, folder, key, restored: restored?.state.session },
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
    contained(() => this.#former?.clientGone());
    contained(() => this.#session?.close());
    this.#modern.cancelAll();
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
