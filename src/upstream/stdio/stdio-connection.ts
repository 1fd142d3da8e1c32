// A connection to a server that runs as a child process and uses its pipes. The child cannot be
// trusted: it may print banners, flood stderr, stop reading, answer requests that were never sent
// or exit at any byte. This file turns all of that into messages, noise counts and typed faults,
// and tracks exactly whether a frame had left our own queue. A rollout moves the child elsewhere.

import { ignored } from '../../kernel/contain.ts';
import type { Fault, FaultFacts } from '../../kernel/fault.ts';
import type { Noise } from '../../observe/events.ts';
import type { OutputLine, Shown } from '../../observe/server-output.ts';
import type { Child, ChildListener, Exit } from '../../supervise/child.ts';
import { type CloseReason, letsCallsEnd } from '../../supervise/life-machine.ts';
import { stopChild, stopPolicy } from '../../supervise/process/end/stop.ts';
import { asLine, type TextOrFrame } from '../../wire/frames.ts';
import type { ProbeOutcome } from '../classify.ts';
import type { ConnectionListener } from '../connection.ts';
import type { Exchange } from '../exchange.ts';
import type { FormerCalls, HandedConnection, HandOver, StdioState } from '../handed-connection.ts';
import type { EraKnowledge } from '../negotiate.ts';
import { ServerConnection } from '../server-connection.ts';
import {
  childFrom,
  handedFrom,
  restOfStdio,
  restoreStreams,
  type Streams,
} from './handed-child.ts';
import { Outbox } from './outbox.ts';
import { causeIn } from './stderr-cause.ts';
import { StderrRing } from './stderr-ring.ts';
import { exitWords, explained } from './stdio-faults.ts';
import type { StdioConnectionParts } from './stdio-parts.ts';
import { StdoutMessages } from './stdout-messages.ts';
import { StdoutReader } from './stdout-reader.ts';

/** A child that takes no byte for this long is hung. */
const writeDeadlineMs = 10_000;
/** After a broken pipe the exit that explains it usually follows soon. */
const exitGraceMs = 250;
const done = Promise.resolve();

export class StdioConnection extends ServerConnection<StdioConnectionParts> {
  protected readonly isOrdered = true;
  readonly #messages: StdoutMessages;
  readonly #stdout: StdoutReader;
  readonly #stderr: StderrRing;
  readonly #exited: Promise<Exit>;
  #reportExit!: (exit: Exit) => void;
  #exit: Exit | undefined;
  /** It has exited, or closed one of its pipes, by itself. */
  #hasEnded = false;
  #child: Child | undefined;
  #outbox: Outbox | undefined;
  #closing: Promise<number> | undefined;
  /** While the child is being handed over. */
  #handing: Promise<HandOver | undefined> | undefined;
  #isGreeted = false;
  #grace: Disposable | undefined;
  #isHeld = false;

  constructor(parts: StdioConnectionParts, generation: number, listener: ConnectionListener) {
    super(parts, generation, listener);
    const written = (stream: OutputLine['stream']) => (line: Shown) =>
      parts.output?.({ pid: this.#child?.pid ?? null, stream }, line);
    this.#stderr = new StderrRing(parts.redactor, written('stderr'));
    this.#exited = new Promise((resolve) => {
      this.#reportExit = resolve;
    });
    this.#messages = new StdoutMessages({
      ...parts,
      conversation: this.conversation,
      received: (message) => this.received(message),
      former: () => this.former,
      noise: (noise) => this.count(noise),
      isGreeted: () => this.#isGreeted,
      notMcp: written('stdout'),
      fault: (what, code) => this.fault(what, code),
    });
    this.#stdout = new StdoutReader(parts.frameBytes, parts.clock, {
      line: (bytes) => {
        if (!this.isLost) this.#messages.line(bytes);
      },
      oversized: (head) => this.#messages.oversized(head),
      oversizedEnd: (tail) => this.#messages.oversizedEnd(tail),
      isAwaited: () => this.conversation.hasCalls || this.formerMayBeMeant,
      probe: () => this.probe(),
      broken: (what) => this.lose(this.fault(what, 'protocol_violation')),
    });
  }

  // --- starting ----------------------------------------------------------------------------

  async start(signal: AbortSignal, known: EraKnowledge): Promise<void> {
    const { spawn, spec, first, eras: memory } = this.parts;
    signal.throwIfAborted();
    const child = await spawn(spec, this.#childListener());
    this.#child = child;
    this.#attach(child);
    const abort = () => this.conversation.failAll(signal.reason as Fault);
    signal.addEventListener('abort', abort);
    try {
      signal.throwIfAborted();
      if (this.#exit) throw this.#exitFault(this.#exit);
      this.opened(await this.negotiated({ first, known, memory }));
      this.#isGreeted = true;
      this.#stdout.greeted();
    } finally {
      signal.removeEventListener('abort', abort);
    }
  }

  #childListener(): ChildListener {
    return {
      stdout: (chunk) => this.#stdout.push(chunk),
      stderr: (chunk) => this.#stderr.push(chunk),
      ended: () => this.#ended(),
      exited: (exit) => this.#exitedWith(exit),
    };
  }

  #attach(child: Child): void {
    this.#stdout.attach(child);
    this.#outbox = new Outbox(child, this.parts.clock, writeDeadlineMs, {
      isBusy: () => this.conversation.isBusy,
      stuck: (cause) => this.#stuck(cause),
    });
  }

  get #streams(): Streams {
    return { stdout: this.#stdout, messages: this.#messages, stderr: this.#stderr };
  }

  protected override outcomeOf(fault: Fault): ProbeOutcome {
    return this.#hasEnded && fault.dispatched !== 'no'
      ? { kind: 'exit' }
      : { kind: 'unreachable', fault };
  }

  // --- what it is --------------------------------------------------------------------------

  override get child(): Child | undefined {
    return this.#child;
  }

  override get stderr(): readonly string[] {
    return this.#stderr.lines;
  }

  // --- talking -----------------------------------------------------------------------------

  protected override get canSend(): boolean {
    return !this.isLost && this.#outbox !== undefined;
  }

  protected override transmit(exchange: Exchange, frame: TextOrFrame): void {
    this.#outbox?.push(asLine(frame), exchange);
  }

  protected override say(frame: TextOrFrame | Buffer): Promise<void> {
    this.#outbox?.push(asLine(frame), undefined);
    return done;
  }

  hold(isHeld: boolean): void {
    this.#isHeld = isHeld;
    this.#stdout.hold(isHeld);
  }

  override probe(): Promise<boolean> {
    // Its answer would stay in the pipe that is not read.
    return this.#isHeld ? Promise.resolve(true) : super.probe();
  }

  protected override abandoned(exchange: Exchange): void {
    this.tellCancelled(exchange);
  }

  protected override count(noise: Noise): void {
    super.count(noise);
    this.#stdout.noise(noise);
  }

  // --- another serving process -------------------------------------------------------------

  /** Goes on with the child of the serving process before. */
  async adopt(handed: HandedConnection, state: StdioState, former?: FormerCalls): Promise<void> {
    const { adopt, clock } = this.parts;
    this.#isGreeted = true;
    this.continues(state, former);
    restoreStreams(this.#streams, state, handed.unread);
    if (!adopt || !handed.child) throw this.fault('cannot be taken over', 'internal');
    this.#child = await adopt(handed.child, this.#childListener());
    this.#attach(this.#child);
    this.opened(state.greeting);
    // By then whoever waits for the connection has it.
    clock.after(0, () => this.#stdout.goOn());
  }

  async handOver(): Promise<HandOver | undefined> {
    if (this.#handing !== undefined || this.isHandedOver) return undefined;
    this.#handing = this.#handOver();
    const handOver = await this.#handing;
    this.#handing = undefined;
    return handOver;
  }

  async #handOver(): Promise<HandOver | undefined> {
    const outbox = this.#outbox;
    if (!outbox) return undefined;
    const isMovable = () => this.#isGreeted && !this.isLost && !this.#closing && !this.#grace;
    const child = await childFrom(this.#child, outbox, this.#stdout, isMovable);
    if (!child || this.isLost) return undefined;
    this.isHandedOver = true;
    this.#child = undefined;
    this.#grace?.[Symbol.dispose]();
    this.conversation.endBackground(this.fault('is called by another process now', 'cancelled'));
    const handed = handedFrom(this.#streams, this.sharedState, child);
    const lose = (fault: Fault) => this.lose(fault);
    const former = () => this.former;
    return { handed, rest: restOfStdio(this.conversation, former, this.#messages, outbox, lose) };
  }

  // --- ending ------------------------------------------------------------------------------

  #ended(): void {
    this.#stdout.flush();
    this.#afterGrace(() => this.#closed('closed its stdout'));
  }

  #exitedWith(exit: Exit): void {
    this.#stdout.flush();
    this.#stderr.end();
    this.#exit = exit;
    this.#hasEnded = true;
    this.listener.lastWords(this.stderr);
    this.#reportExit(exit);
    this.lose(this.#exitFault(exit));
  }

  #stuck(cause: 'broken' | 'not-reading'): void {
    if (cause === 'broken') {
      this.#afterGrace(() => this.#closed('closed its stdin'));
    } else if (!this.#isHeld) {
      // A server that cannot write need not read; when it is resumed, the next frame is watched
      // again.
      this.lose(this.fault(`has not read its stdin for ${writeDeadlineMs} ms`));
    }
  }

  #afterGrace(task: () => void): void {
    if (!this.isLost) this.#grace ??= this.parts.clock.after(exitGraceMs, task, true);
  }

  #closed(what: string): void {
    this.#hasEnded = true;
    this.lose(this.fault(what));
  }

  protected override endWith(cause: Fault): void {
    this.#stdout.close();
    this.#grace?.[Symbol.dispose]();
    this.#outbox?.close();
    this.conversation.failAll(cause);
  }

  close(reason: CloseReason): Promise<number> {
    this.#closing ??= this.#close(reason);
    return this.#closing;
  }

  async #close(reason: CloseReason): Promise<number> {
    if (this.#handing !== undefined) await this.#handing.catch(ignored);
    if (letsCallsEnd(reason) && !this.isLost) await this.drained();
    this.isLost = true;
    this.#outbox?.finish();
    const fault = this.fault('was stopped');
    this.endWith(fault);
    if (!this.isHandedOver) this.former?.lost(fault);
    this.listener.ended(this);
    if (!this.#child) return 0;
    const stop = stopChild(this.#child, this.#exited, this.parts.clock, stopPolicy);
    if (reason === 'hung' || reason === 'start-failed') stop.hurry();
    return stop.swept;
  }

  // --- faults ------------------------------------------------------------------------------

  #exitFault(exit: Exit): Fault {
    return this.fault(exitWords(exit, this.#isGreeted, this.stderr));
  }

  /** A start that failed, with what the server printed about it. */
  explained(error: unknown): unknown {
    return explained(error, this.#messages.stray, this.stderr);
  }

  protected override faultFacts(): FaultFacts {
    const cause = causeIn(this.stderr);
    return cause === undefined ? {} : { stderr: cause.excerpt };
  }
}
