// Reads a child's stdout: cuts it into lines, and limits the effect of lines that are not MCP. Only
// so many of those are read before other work gets its turn: reading then pauses for a moment, and
// the pipe makes the child wait. `noise-machine.ts` decides whether the server is broken. Nothing
// is dropped: what was read already waits here, in order, and that is at most a few chunks, because
// a paused pipe delivers no more.

import type { Clock } from '../../kernel/clock.ts';
import { ignored } from '../../kernel/contain.ts';
import type { Noise } from '../../observe/events.ts';
import type { Child } from '../../supervise/child.ts';
import { LineReader, type LineSink } from '../../wire/line-reader.ts';
import type { StdoutState } from '../handed-connection.ts';
import {
  beforeGreeting,
  type NoiseEvent,
  type NoiseState,
  noisePolicy,
  noiseStep,
} from './noise-machine.ts';
import { restoredNoise, writtenNoise } from './written-noise.ts';

export interface StdoutListener extends LineSink {
  /** Whether a call is running. */
  isAwaited(): boolean;
  probe(): Promise<boolean>;
  /** The server prints only lines that are not MCP; `what` continues a sentence about it. */
  broken(what: string): void;
}

/** After so many noise lines, or so many bytes of them, reading pauses. */
const linesPerTurn = 1_000;
const bytesPerTurn = 4 * 1024 * 1024;
const pauseMs = 2;

export class StdoutReader {
  readonly #clock: Clock;
  readonly #listener: StdoutListener;
  readonly #lines: LineReader;
  #child: Pick<Child, 'pause' | 'resume'> | undefined;
  #state: NoiseState = beforeGreeting;
  /** Noise in the chunk that is being read. */
  #noiseLines = 0;
  #noiseBytes = 0;
  /** Noise since the last pause. */
  #turnLines = 0;
  #turnBytes = 0;
  /** Of the line that is being handled. */
  #lineBytes = 0;
  #isNoise = false;
  /** Read but not yet handled; bounded as the first paragraph says. */
  #waiting: Buffer[] = [];
  #pause: Disposable | undefined;
  #isHeld = false;
  /** What is read waits: the pipe is given to, or comes from, another serving process. */
  #isStopped = false;
  #isClosed = false;

  constructor(limitBytes: number, clock: Clock, listener: StdoutListener) {
    this.#clock = clock;
    this.#listener = listener;
    this.#lines = new LineReader(limitBytes, {
      line: (bytes) => this.#line(bytes),
      oversized: (head, limit) => listener.oversized(head, limit),
      oversizedEnd: (tail) => listener.oversizedEnd?.(tail),
    });
  }

  /** The child whose stdout this is: it can be paused. */
  attach(child: Pick<Child, 'pause' | 'resume'>): void {
    this.#child = child;
    if (this.#pause || this.#isHeld) child.pause();
  }

  /** The receivers are behind: the pipe stays paused until they resume it. */
  hold(isHeld: boolean): void {
    this.#isHeld = isHeld;
    if (this.#isClosed) return;
    if (isHeld) this.#child?.pause();
    else if (!this.#pause) this.#child?.resume();
  }

  push(chunk: Buffer): void {
    if (this.#isClosed) return;
    if (this.#pause || this.#isStopped) this.#waiting.push(chunk);
    else this.#read(chunk);
  }

  /** No more will come: what still waits is handled now. */
  flush(): void {
    this.#endPause();
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const chunk of waiting) {
      for (let rest = chunk; rest.length > 0 && !this.#isClosed; ) {
        rest = rest.subarray(this.#lines.push(rest));
      }
    }
  }

  /** The handshake is complete: from now on the server is judged by whether it answers. */
  greeted(): void {
    this.#step({ kind: 'greeted' });
  }

  /** The line that is being handled, or the frame that was too large, belongs to no call. */
  noise(noise: Noise): void {
    // The answer to a cancelled call is late because of us, not because of the server.
    if (noise === 'late-answer') return;
    this.#isNoise = true;
    this.#noiseLines += 1;
    this.#noiseBytes += this.#lineBytes;
    this.#turnLines += 1;
    if (this.#turnLines >= linesPerTurn) this.#lines.stop();
  }

  // --- another serving process -------------------------------------------------------------

  /** Nothing is handled any more; what comes waits. */
  stop(): void {
    this.#isStopped = true;
  }

  /** What waits is handled, and what comes. */
  goOn(): void {
    this.#isStopped = false;
    if (!this.#pause && !this.#isClosed) this.#resume();
  }

  /** Ends here; what was read and not handled goes along. The child is not touched any more. */
  handOver(): { readonly state: Omit<StdoutState, 'oversizedHead'>; readonly unread: Buffer } {
    const tail = this.#lines.discarded;
    const noise = writtenNoise(this.#state, this.#clock.now());
    const unread = Buffer.concat([this.#lines.takeHeld(), ...this.#waiting]);
    this.#child = undefined;
    this.close();
    return { state: tail ? { discarded: tail.toString('base64'), noise } : { noise }, unread };
  }

  /** Begins where another one ended, stopped. */
  restore({ discarded, noise }: StdoutState, unread: Buffer): void {
    this.#isStopped = true;
    this.#state = restoredNoise(noise, this.#clock.now());
    if (discarded !== undefined) this.#lines.discard(Buffer.from(discarded, 'base64'));
    if (unread.length > 0) this.#waiting.push(unread);
  }

  // --- ending ------------------------------------------------------------------------------

  close(): void {
    this.#isClosed = true;
    this.#waiting = [];
    // A server that is being stopped must be able to finish its output.
    if (this.#pause || this.#isHeld) this.#child?.resume();
    this.#endPause();
  }

  #read(chunk: Buffer): void {
    const readBytes = this.#lines.push(chunk);
    if (this.#lines.isDiscarding) this.#noiseBytes += readBytes;
    if (this.#noiseLines > 0 || this.#noiseBytes > 0) this.#judge();
    if (this.#isClosed) return;
    if (readBytes < chunk.length) this.#waiting.unshift(chunk.subarray(readBytes));
    if (this.#turnLines >= linesPerTurn || this.#turnBytes >= bytesPerTurn) this.#wait();
  }

  #line(bytes: Buffer): void {
    this.#lineBytes = bytes.length;
    this.#isNoise = false;
    this.#listener.line(bytes);
    this.#lineBytes = 0;
    if (!this.#isNoise && this.#state.kind !== 'clean') this.#step({ kind: 'heard' });
    // What came before a valid message does not count against the server any more.
    if (!this.#isNoise && this.#state.kind === 'clean') this.#forgetNoise();
  }

  #judge(): void {
    const [lines, bytes] = [this.#noiseLines, this.#noiseBytes];
    this.#turnBytes += bytes;
    this.#forgetNoise();
    const isAwaited = this.#listener.isAwaited();
    this.#step({ kind: 'noise', at: this.#clock.now(), lines, bytes, isAwaited });
  }

  #forgetNoise(): void {
    this.#noiseLines = 0;
    this.#noiseBytes = 0;
  }

  #step(event: NoiseEvent): void {
    if (this.#isClosed) return;
    const [state, effect] = noiseStep(this.#state, event, noisePolicy);
    this.#state = state;
    if (effect === 'probe') this.#probe();
    if (effect !== 'end') return;
    this.#listener.broken(
      state.kind === 'probing'
        ? `printed ${state.lines} lines to stdout that are not MCP, and no longer answers`
        : `printed more than ${noisePolicy.startBytes} bytes to stdout that are not MCP before the handshake`,
    );
  }

  #probe(): void {
    const probed = (isAlive: boolean) => this.#step({ kind: 'probed', isAlive });
    // What `broken` throws has been reported where it was thrown.
    this.#listener
      .probe()
      .then(probed, () => probed(false))
      .catch(ignored);
  }

  // --- giving other work its turn ----------------------------------------------------------

  #wait(): void {
    this.#child?.pause();
    this.#pause = this.#clock.after(pauseMs, () => {
      try {
        this.#resume();
      } catch (error) {
        // Its pipe would stay paused for ever; the clock reports the error.
        this.#listener.broken('sent data that could not be read');
        throw error;
      }
    });
  }

  #resume(): void {
    this.#endPause();
    if (this.#isStopped) return;
    try {
      while (!this.#pause && !this.#isClosed) {
        const chunk = this.#waiting.shift();
        if (chunk === undefined) return this.#isHeld ? undefined : this.#child?.resume();
        this.#read(chunk);
      }
    } catch (error) {
      // An internal error: the clock reports it, and the child must not wait for ever.
      this.#wait();
      throw error;
    }
  }

  #endPause(): void {
    this.#pause?.[Symbol.dispose]();
    this.#pause = undefined;
    this.#turnLines = 0;
    this.#turnBytes = 0;
  }
}
