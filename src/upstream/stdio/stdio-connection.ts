// A connection to a server that runs as our child and speaks on its pipes. The child is a stranger:
// it may print banners, flood stderr, stop reading, answer what was never asked or die at any
// byte. This file turns all of that into messages, noise counts and typed faults, and keeps the one
// promise everything else rests on: whether a frame had left our own queue.

import { type Clock, within } from '../../kernel/clock.ts';
import { Fault } from '../../kernel/fault.ts';
import type { Redactor } from '../../kernel/redactor.ts';
import { cutText } from '../../kernel/text-cut.ts';
import type { Noise } from '../../observe/events.ts';
import type { Child, ChildSpec, Exit, Spawn } from '../../supervise/child.ts';
import type { StopReason } from '../../supervise/life-machine.ts';
import { stopChild, stopPolicy } from '../../supervise/process/end/stop.ts';
import type { Era } from '../../wire/eras.ts';
import type { Params } from '../../wire/frames.ts';
import { asLine, notificationToServer, requestToServer, withProgress } from '../../wire/frames.ts';
import { skipSpace } from '../../wire/grammar.ts';
import { oversizedResponseId } from '../../wire/oversized.ts';
import { type Message, scanMessage } from '../../wire/scan.ts';
import { WireError } from '../../wire/wire-error.ts';
import type { ProbeOutcome } from '../classify.ts';
import type { Connection, ConnectionListener, Greeting, RequestOptions } from '../connection.ts';
import { Conversation } from '../conversation.ts';
import type { Exchange } from '../exchange.ts';
import { answersProbe } from '../liveness.ts';
import {
  type EraKnowledge,
  type EraMemory,
  envelopeHead,
  fullEnvelope,
  type Identity,
  knowledgeAfter,
  modernEnvelope,
  negotiate,
} from '../negotiate.ts';
import { pingAnswer } from '../server-requests.ts';
import { Outbox } from './outbox.ts';
import { causeIn } from './stderr-cause.ts';
import { StderrRing } from './stderr-ring.ts';
import { StdoutReader } from './stdout-reader.ts';

export interface StdioConnectionParts {
  readonly server: string;
  readonly spec: ChildSpec;
  readonly frameBytes: number;
  readonly spawn: Spawn;
  readonly clock: Clock;
  readonly identity: Identity;
  /** What we say a legacy server may ask its client, as JSON. */
  readonly capabilities: string;
  /** The era of the client that it is made for. */
  readonly first: Era;
  readonly eras: EraMemory;
  /** Knows the secrets that the child was given; none if absent. */
  readonly redactor?: Redactor;
}

const openBrace = 0x7b;
/** A child that takes no byte for this long is hung. */
const writeDeadlineMs = 10_000;
/** After a broken pipe the exit that explains it is usually on its way. */
const exitGraceMs = 250;
/** Calls still running when a server is replaced get this long to finish. */
const drainMs = 5_000;

/** Starts the server and makes its acquaintance. Rejects with a Fault, leaving nothing behind. */
export async function connectStdio(
  parts: StdioConnectionParts,
  generation: number,
  signal: AbortSignal,
  listener: ConnectionListener,
): Promise<Connection> {
  const known = await parts.eras.known();
  return open(parts, generation, signal, listener, known);
}

async function open(
  parts: StdioConnectionParts,
  generation: number,
  signal: AbortSignal,
  listener: ConnectionListener,
  known: EraKnowledge,
  isAgain = false,
): Promise<StdioConnection> {
  const connection = new StdioConnection(parts, generation, listener);
  try {
    await connection.start(signal, known);
    await parts.eras.kept();
    return connection;
  } catch (error) {
    await connection.close('hung');
    // Only a process that one of the two questions has ended is started once more, without that one.
    const again = isAgain ? undefined : knowledgeAfter(error);
    if (again) return open(parts, generation, signal, listener, again, true);
    throw connection.explained(isAgain ? endOf(parts.server, error) : error);
  }
}

/** A process that was started once more and ended as the first one did: that is all there is to say. */
function endOf(server: string, error: unknown): unknown {
  if (knowledgeAfter(error) === undefined) return error;
  const { cause } = error as Error;
  return cause instanceof Fault
    ? cause
    : new Fault('unavailable', `${server} ended while it was being greeted`, { server });
}

class StdioConnection implements Connection {
  readonly generation: number;
  readonly #parts: StdioConnectionParts;
  readonly #listener: ConnectionListener;
  readonly #conversation: Conversation;
  readonly #stdout: StdoutReader;
  readonly #stderr: StderrRing;
  readonly #exited: Promise<Exit>;
  #reportExit!: (exit: Exit) => void;
  #exit: Exit | undefined;
  /** It has exited, or closed one of its pipes, by itself. */
  #hasEnded = false;
  #child: Child | undefined;
  #outbox: Outbox | undefined;
  #greeting: Greeting | undefined;
  #initializeId: number | undefined;
  /** Modern: the members of `_meta` up to the client's capabilities. */
  #envelopeHead = '';
  /** The first line on stdout before the greeting that is not MCP: often the usage text of the program. */
  #stray: StderrRing | undefined;
  /** The beginning of a line beyond the limit whose id is yet to come. */
  #oversizedHead: Buffer | undefined;
  #closing: Promise<number> | undefined;
  #grace: Disposable | undefined;
  #isHeld = false;
  isLost = false;

  constructor(parts: StdioConnectionParts, generation: number, listener: ConnectionListener) {
    this.#parts = parts;
    this.generation = generation;
    this.#listener = listener;
    this.#stderr = new StderrRing(parts.redactor);
    this.#exited = new Promise((resolve) => {
      this.#reportExit = resolve;
    });
    this.#stdout = new StdoutReader(parts.frameBytes, parts.clock, {
      line: (bytes) => this.#line(bytes),
      oversized: (head) => this.#oversized(head),
      oversizedEnd: (tail) => this.#oversizedEnd(tail),
      isAwaited: () => this.#conversation.hasCalls,
      probe: () => this.probe(),
      broken: (what) => this.#end(this.#fault('protocol_violation', what)),
    });
    this.#conversation = new Conversation(
      {
        notification: (message, about) => this.#listener.notification(message, about, this),
        request: (message) => this.#asked(message),
        noise: (noise) => this.#count(noise),
        abandoned: (exchange) => this.#abandoned(exchange),
      },
      parts.clock,
    );
  }

  // --- starting ----------------------------------------------------------------------------

  async start(signal: AbortSignal, known: EraKnowledge): Promise<void> {
    const { spawn, spec, clock, identity, capabilities, first, eras } = this.#parts;
    signal.throwIfAborted();
    const child = await spawn(spec, {
      stdout: (chunk) => this.#stdout.push(chunk),
      stderr: (chunk) => this.#stderr.push(chunk),
      ended: () => this.#ended(),
      exited: (exit) => this.#exitedWith(exit),
    });
    this.#child = child;
    this.#stdout.attach(child);
    this.#outbox = new Outbox(child, clock, writeDeadlineMs, {
      isBusy: () => this.#conversation.isBusy,
      stuck: (cause) => this.#stuck(cause),
    });
    const abort = () => this.#conversation.failAll(signal.reason as Fault);
    signal.addEventListener('abort', abort);
    try {
      signal.throwIfAborted();
      if (this.#exit) throw this.#exitFault(this.#exit);
      const talk = {
        isOrdered: true,
        request: (method: string, params: Params, era: Era, options?: RequestOptions) => {
          const envelope = era === 'modern' ? modernEnvelope(identity) : '';
          const exchange = this.#send(method, params, envelope, options);
          if (method === 'initialize') this.#initializeId = exchange.id;
          return exchange;
        },
        notify: (method: string, params: Params) => Promise.resolve(this.notify(method, params)),
        outcomeOf: (fault: Fault): ProbeOutcome =>
          this.#hasEnded && fault.dispatched !== 'no'
            ? { kind: 'exit' }
            : { kind: 'unreachable', fault },
      };
      const opening = { first, known, memory: eras, identity, clock, capabilities };
      this.#greeting = await negotiate(talk, opening);
      if (this.#greeting.era === 'modern') this.#envelopeHead = envelopeHead(identity);
      this.#stdout.greeted();
    } finally {
      signal.removeEventListener('abort', abort);
    }
  }

  // --- what it is --------------------------------------------------------------------------

  get greeting(): Greeting {
    if (!this.#greeting) throw new Error('the connection is not open yet');
    return this.#greeting;
  }

  get era(): Era {
    return this.greeting.era;
  }

  get protocolVersion(): string {
    return this.greeting.protocolVersion;
  }

  get pid(): number | null {
    return this.#child?.pid ?? null;
  }

  get child(): Child | undefined {
    return this.#child;
  }

  get stderr(): readonly string[] {
    return this.#stderr.lines;
  }

  // --- talking -----------------------------------------------------------------------------

  request(method: string, params: Params, options?: RequestOptions): Exchange {
    const envelope = this.#envelopeHead === '' ? '' : fullEnvelope(this.#envelopeHead, options);
    return this.#send(method, params, envelope, options);
  }

  #send(method: string, params: Params, envelope: string, options?: RequestOptions): Exchange {
    const exchange = this.#conversation.begin(options);
    if (this.isLost || !this.#outbox) {
      this.#conversation.fail(exchange.id, this.#fault('unavailable', 'is gone'));
      return exchange;
    }
    const meta = options?.progress ? withProgress(envelope, exchange.id) : envelope;
    this.#outbox.push(asLine(requestToServer(exchange.id, method, params, meta)), exchange);
    return exchange;
  }

  notify(method: string, params: Params): void {
    this.#outbox?.push(asLine(notificationToServer(method, params)), undefined);
  }

  respond(answer: string | Buffer): void {
    this.#outbox?.push(asLine(answer), undefined);
  }

  hold(isHeld: boolean): void {
    this.#isHeld = isHeld;
    this.#stdout.hold(isHeld);
  }

  probe(): Promise<boolean> {
    // Its answer would lie in the pipe that is not read.
    if (this.#isHeld) return Promise.resolve(true);
    return answersProbe(this);
  }

  #abandoned(exchange: Exchange): void {
    // `initialize` must not be cancelled, so the specification; its answer is dropped if it comes.
    if (exchange.dispatched === 'no' || exchange.id === this.#initializeId) return;
    this.notify('notifications/cancelled', { members: `"requestId":${exchange.id}` });
  }

  // --- listening ---------------------------------------------------------------------------

  #line(bytes: Buffer): void {
    if (this.isLost) return;
    // Most noise is a log line, and that is told by its first character.
    if (bytes[skipSpace(bytes, 0)] !== openBrace) return this.#notJson(bytes);
    let message: Message;
    try {
      message = scanMessage(bytes);
    } catch (error) {
      if (!(error instanceof WireError)) throw error;
      return this.#unreadable(bytes, error);
    }
    this.#conversation.receive(message);
  }

  /** A banner is noise; a damaged answer ends the call it belongs to, if that can be read. */
  #unreadable(bytes: Buffer, error: WireError): void {
    const id = error.id ?? oversizedResponseId(bytes.subarray(0, 4096), bytes.subarray(-256));
    if (typeof id !== 'number' || !this.#conversation.isOpen(id)) return this.#notJson(bytes);
    const what = `sent an answer that is not valid MCP (${error.reason})`;
    const isOurs = this.#conversation.damaged(id, this.#fault('protocol_violation', what));
    this.#count(isOurs ? 'invalid-message' : 'not-json');
  }

  #notJson(bytes: Buffer): void {
    if (!this.#greeting && !this.#stray && skipSpace(bytes, 0) < bytes.length) {
      this.#stray = new StderrRing(this.#parts.redactor);
      this.#stray.push(bytes);
    }
    this.#count('not-json');
  }

  #oversized(head: Buffer): void {
    const id = oversizedResponseId(head);
    if (typeof id === 'number') this.#tooLarge(id);
    else this.#oversizedHead = head;
    this.#count('oversized-frame');
  }

  /** Many servers write the id last; then only the end of the line says whose answer it was. */
  #oversizedEnd(tail: Buffer): void {
    const head = this.#oversizedHead;
    this.#oversizedHead = undefined;
    const id = head && oversizedResponseId(head, tail);
    if (typeof id === 'number') this.#tooLarge(id);
  }

  #tooLarge(id: number): void {
    const { frameBytes } = this.#parts;
    const detail = `answered with more than ${frameBytes} bytes; the call did run. Raise limits.frameBytes to accept it`;
    this.#conversation.damaged(id, this.#fault('frame_too_large', detail));
  }

  #count(noise: Noise): void {
    this.#listener.noise(noise);
    this.#stdout.noise(noise);
  }

  #asked(message: Message): void {
    // The modern era has no requests from a server: one that comes has no one to answer it.
    if (this.#greeting?.era === 'modern') return this.#count('unanswerable-request');
    if (message.method === 'ping') this.respond(pingAnswer(message));
    else this.#listener.asked(message, undefined, this);
  }

  // --- ending ------------------------------------------------------------------------------

  #ended(): void {
    this.#stdout.flush();
    this.#afterGrace(() => this.#closed('closed its stdout'));
  }

  #exitedWith(exit: Exit): void {
    this.#stdout.flush();
    this.#exit = exit;
    this.#hasEnded = true;
    this.#listener.lastWords(this.stderr);
    this.#reportExit(exit);
    this.#end(this.#exitFault(exit));
  }

  #stuck(cause: 'broken' | 'not-reading'): void {
    if (cause === 'broken') {
      this.#afterGrace(() => this.#closed('closed its stdin'));
    } else if (!this.#isHeld) {
      // One that cannot write need not read; when it is let go, the next frame is watched again.
      this.#end(this.#fault('unavailable', `has not read its stdin for ${writeDeadlineMs} ms`));
    }
  }

  #afterGrace(task: () => void): void {
    if (!this.isLost) this.#grace ??= this.#parts.clock.after(exitGraceMs, task, true);
  }

  #closed(what: string): void {
    this.#hasEnded = true;
    this.#end(this.#fault('unavailable', what));
  }

  #end(cause: Fault): void {
    if (this.isLost) return;
    this.isLost = true;
    this.#stdout.close();
    this.#grace?.[Symbol.dispose]();
    this.#outbox?.close();
    this.#conversation.failAll(cause);
    this.#listener.ended(this);
    // Before the greeting it is a failed start, which whoever starts it hears as a rejection.
    if (this.#greeting) this.#listener.lost(cause);
  }

  close(reason: StopReason | 'lost'): Promise<number> {
    this.#closing ??= this.#close(reason);
    return this.#closing;
  }

  async #close(reason: StopReason | 'lost'): Promise<number> {
    const { clock } = this.#parts;
    if (reason === 'reload' || reason === 'idle') await this.#drain();
    this.isLost = true;
    this.#stdout.close();
    this.#grace?.[Symbol.dispose]();
    this.#outbox?.finish();
    this.#conversation.failAll(this.#fault('unavailable', 'was stopped'));
    this.#listener.ended(this);
    if (!this.#child) return 0;
    const stop = stopChild(this.#child, this.#exited, clock, stopPolicy);
    if (reason === 'hung') stop.hurry();
    return stop.swept;
  }

  /** Lets running calls finish, for a while. */
  async #drain(): Promise<void> {
    if (this.isLost) return;
    await within(this.#parts.clock, drainMs, this.#conversation.whenEmpty());
  }

  // --- faults ------------------------------------------------------------------------------

  #exitFault(exit: Exit): Fault {
    if (exit.limit) return this.#fault('unavailable', `was ended for passing limits.${exit.limit}`);
    const how = exit.signal ? `was killed by ${exit.signal}` : `exited with code ${exit.code}`;
    const cause = causeIn(this.stderr);
    if (!this.#greeting) {
      // What it said comes first: on a narrow screen the rest is cut off.
      const what = cause
        ? `did not start: ${cause.line} (it ${how})`
        : `${how} before it was ready`;
      return this.#fault('unavailable', what);
    }
    // Long after its start, the last thing it said may be about anything.
    const why = cause?.isError && exit.code !== null ? `: ${cause.line}` : '';
    return this.#fault('unavailable', `${how}${why}`);
  }

  /** A start that failed, with what the server said about it. */
  explained(error: unknown): unknown {
    if (!(error instanceof Fault)) return error;
    const [stray] = this.#stray?.lines ?? [];
    const told = stray === undefined ? error : error.because(strayText(stray));
    const cause = causeIn(this.stderr);
    if (!cause || error.record.stderr !== undefined) return told;
    const explained = told.with({ stderr: cause.excerpt });
    return cause.isError ? explained.because(`its stderr says: ${cause.line}`) : explained;
  }

  #fault(
    code: 'unavailable' | 'timeout' | 'protocol_violation' | 'frame_too_large',
    what: string,
  ): Fault {
    const { server } = this.#parts;
    const cause = causeIn(this.stderr);
    return new Fault(code, `${server} ${what}`, {
      server,
      generation: this.generation,
      ...(cause === undefined ? {} : { stderr: cause.excerpt }),
    });
  }
}

const longestStray = 200;

/** The line has no secrets any more. */
function strayText(line: string): string {
  return `on stdout, where only MCP belongs, it printed: ${cutText(longestStray, line.trim())}`;
}
