// The three pipes of one child, and the order in which its end is reported. Nothing is reported
// before `begin`; the exit is reported last, after the output that was already in the pipe, but
// without waiting for the pipe to close: a grandchild may hold it open for ever. The write path
// runs for every call and allocates nothing of its own.

import type { Readable } from 'node:stream';
import type { Clock } from '../../../kernel/clock.ts';
import { ignored } from '../../../kernel/contain.ts';
import type { ChildListener, Exit } from '../../child.ts';
import type { StartedProcess } from './process-starter.ts';

/** As the operating system reported it; a wrapper may have translated it. */
export interface RawExit {
  readonly code: number | null;
  readonly signal: string | null;
}

/** What another process has read and not reported. */
export interface ReadBytes {
  readonly stdout: Buffer;
  readonly stderr: Buffer;
}

/** How long the pipes may stay open after the exit before the rest is dropped. */
const drainMs = 100;

export class ChildStreams {
  /** The process has exited; the listener may not have been notified yet. */
  readonly exit: Promise<RawExit>;
  /** The listener has been notified of the exit. */
  readonly told: Promise<void>;
  readonly #pipes: StartedProcess;
  readonly #clock: Clock;
  /** Until `begin`, reports wait here. */
  readonly #early: ((listener: ChildListener) => void)[] = [];
  #listener: ChildListener | null = null;
  #done: ((error: Error | null) => void) | null = null;
  /** Writes that were reported as done before Node's own callback. */
  #toldEarly = 0;
  /** Writes that Node has not finished. */
  #underWay = 0;
  #idle: (() => void) | null = null;
  #isPaused = false;
  #isOver = false;
  #hasClosed = false;
  #hasExited = false;
  #resolveTold: () => void = () => {};

  constructor(pipes: StartedProcess, clock: Clock, read?: ReadBytes) {
    this.#pipes = pipes;
    this.#clock = clock;
    this.exit = new Promise((resolve) => {
      pipes.events.once('exit', (code, signal) => {
        this.#hasExited = true;
        resolve({ code, signal });
      });
    });
    this.told = new Promise((resolve) => {
      this.#resolveTold = resolve;
    });
    pipes.events.once('close', () => {
      this.#hasClosed = true;
    });
    if (read) this.#readBefore(read);
    this.#listen();
  }

  /** Tells the listener everything from now on. `exitFrom` is asked at the very end. */
  begin(listener: ChildListener, exitFrom: (raw: RawExit) => Exit): void {
    this.#listener = listener;
    for (const tell of this.#early.splice(0)) tell(listener);
    if (!this.#isPaused) this.#pipes.stdout.resume();
    this.#pipes.stderr.resume();
    const over = (raw: RawExit) => {
      try {
        this.#failWrite();
      } finally {
        // The exit is reported whatever the owner of the write does.
        this.#afterDrain(() => this.#finish(exitFrom(raw)));
      }
    };
    this.exit.then(over).catch(ignored);
  }

  write(bytes: Uint8Array | string, done: (error: Error | null) => void): void {
    const { stdin } = this.#pipes;
    if (!stdin.writable) {
      process.nextTick(done, brokenPipe());
    } else if (this.#done === null) {
      this.#done = done;
      this.#underWay += 1;
      stdin.write(bytes, this.#written);
      this.#tellIfTaken();
    } else {
      // The contract allows one write at a time; a caller who violates it still gets its callback.
      this.#underWay += 1;
      stdin.write(bytes, (error) => {
        this.#finished();
        done(error ?? null);
      });
    }
  }

  closeStdin(): void {
    this.#pipes.stdin.end();
  }

  pause(): void {
    this.#isPaused = true;
    this.#pipes.stdout.pause();
  }

  resume(): void {
    this.#isPaused = false;
    if (this.#listener !== null) this.#pipes.stdout.resume();
  }

  /** By which the holder knows the process; undefined: nobody else can have it. */
  get heldId(): number | undefined {
    return this.#pipes.held?.id;
  }

  /** Resolves when no write is under way. */
  async settled(): Promise<void> {
    if (this.#underWay === 0) return;
    await new Promise<void>((resolve) => {
      this.#idle = resolve;
    });
  }

  /**
   * Ends the use of the pipes here, at once, without that the process notices; undefined if that is not possible any
   * more: it has exited, its input was closed, or nobody has listened to it yet. Nothing is reported from now on.
   */
  handOver(): ReadBytes | undefined {
    const { stdin, stdout, stderr, held } = this.#pipes;
    const isUsed = this.#listener !== null && !this.#isOver && !this.#hasExited;
    if (held === undefined || !isUsed || !stdin.writable || this.#underWay > 0) return undefined;
    this.#isOver = true;
    held.give();
    const read = { stdout: restOf(stdout), stderr: restOf(stderr) };
    for (const stream of [stdin, stdout, stderr]) stream.destroy();
    return read;
  }

  #readBefore({ stdout, stderr }: ReadBytes): void {
    if (stdout.length > 0) this.#early.push((listener) => listener.stdout(stdout));
    if (stderr.length > 0) this.#early.push((listener) => listener.stderr(stderr));
  }

  #finished(): void {
    this.#underWay -= 1;
    if (this.#underWay > 0) return;
    this.#idle?.();
    this.#idle = null;
  }

  #listen(): void {
    const { stdin, stdout, stderr } = this.#pipes;
    stdout.on('data', (chunk: Buffer) => {
      if (this.#listener === null) this.#early.push((listener) => listener.stdout(chunk));
      else if (!this.#isOver) this.#listener.stdout(chunk);
    });
    stderr.on('data', (chunk: Buffer) => {
      if (this.#listener === null) this.#early.push((listener) => listener.stderr(chunk));
      else if (!this.#isOver) this.#listener.stderr(chunk);
    });
    stdout.once('end', () => {
      if (this.#listener === null) this.#early.push((listener) => listener.ended());
      else if (!this.#isOver) this.#listener.ended();
    });
    // A broken pipe reaches `write` through its callback, and the end through 'exit'.
    for (const stream of [stdin, stdout, stderr]) stream.on('error', () => {});
    // Until somebody listens the child may wait. When it exits, Node resumes both by itself, paused
    // or not: what is in a pipe then is little, and would otherwise be lost.
    stdout.pause();
    stderr.pause();
  }

  // The kernel has usually taken all of it before `write` returns, and Node reports that only a
  // turn later. Reporting it at once lets the next frames follow while the server works on the
  // first.
  #tellIfTaken(): void {
    const { stdin } = this.#pipes;
    // A broken pipe is known at once too, but only by the error: the bytes are gone either way.
    if (stdin.writableLength > 0 || stdin.errored !== null || this.#done === null) return;
    const done = this.#done;
    this.#done = null;
    this.#toldEarly += 1;
    done(null);
  }

  readonly #written = (error?: Error | null): void => {
    this.#finished();
    if (this.#toldEarly > 0) {
      this.#toldEarly -= 1;
      return;
    }
    const done = this.#done;
    this.#done = null;
    done?.(error ?? null);
  };

  /** The child will never read what is still under way, even if a grandchild holds the pipe. */
  #failWrite(): void {
    this.#pipes.stdin.destroy();
    const done = this.#done;
    this.#done = null;
    done?.(brokenPipe());
  }

  #afterDrain(task: () => void): void {
    if (this.#hasClosed) return task();
    const onClose = (): void => {
      alarm[Symbol.dispose]();
      task();
    };
    const alarm = this.#clock.after(drainMs, () => {
      this.#pipes.events.off('close', onClose);
      task();
    });
    this.#pipes.events.once('close', onClose);
  }

  #finish(exit: Exit): void {
    const { stdout, stderr } = this.#pipes;
    this.#isOver = true;
    stdout.destroy();
    stderr.destroy();
    this.#listener?.exited(exit);
    this.#resolveTold();
  }
}

/** Read by Node and not given out, because the stream is paused. Reading stops with it. */
function restOf(stream: Readable): Buffer {
  stream.removeAllListeners('data');
  stream.pause();
  const chunks: Buffer[] = [];
  for (let chunk = stream.read(); chunk !== null; chunk = stream.read()) chunks.push(chunk);
  return Buffer.concat(chunks);
}

function brokenPipe(): Error {
  return Object.assign(new Error('the process no longer reads its input'), { code: 'EPIPE' });
}
