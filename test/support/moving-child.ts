// A process in the memory of a test whose pipes can go from one serving process to another, as the
// holder of a real one does it: what it prints while nobody has the pipes waits, and one that has
// given them up hears and writes nothing more. A test reads what it was sent byte by byte, and
// prints bytes.

import type {
  Adopt,
  Child,
  ChildListener,
  Exit,
  HandedChild,
  Spawn,
} from '../../src/supervise/child.ts';

export class MovingProcess {
  readonly written: Buffer[] = [];
  /** Ends the write under way, where writes are held. */
  readonly openWrites: (() => void)[] = [];
  /** Writes end when the test says so. */
  holdsWrites = false;
  /** Read from its pipe and not reported when it is given up. */
  unreported: Buffer = Buffer.alloc(0);
  /** How long it takes to give it up. */
  givingUp: Promise<void> = Promise.resolve();
  /** What happens while it is being given up. */
  beforeGivingUp: () => void = () => {};
  /** What was called in vain by one that had given the pipes up. */
  readonly strays: string[] = [];
  readonly signals: string[] = [];
  isGone = false;
  /** Printed while nobody has read the pipes. */
  #waiting: Buffer[] = [];
  #errors: Buffer[] = [];
  #listener: ChildListener | undefined;
  #owner: MovingChild | undefined;
  #exit: Exit | undefined;

  /** Everything that it was sent. */
  get stdin(): Buffer {
    return Buffer.concat(this.written);
  }

  /** Whole lines that it was sent. */
  get lines(): readonly string[] {
    return this.stdin.toString().split('\n').slice(0, -1);
  }

  print(bytes: Buffer | string): void {
    if (this.#listener) this.#listener.stdout(Buffer.from(bytes as string));
    else this.#waiting.push(Buffer.from(bytes as string));
  }

  printError(text: string): void {
    if (this.#listener) this.#listener.stderr(Buffer.from(text));
    else this.#errors.push(Buffer.from(text));
  }

  exit(exit: Exit = { code: 1, signal: null }): void {
    this.isGone = true;
    this.#exit = exit;
    this.#listener?.exited(exit);
  }

  finishWrite(): void {
    this.openWrites.shift()?.();
  }

  readonly spawn: Spawn = async (_spec, listener) => {
    this.#listener = listener;
    this.#owner = new MovingChild(this);
    return this.#owner;
  };

  readonly adopt: Adopt = async ({ stdout, stderr }, listener) => {
    this.#owner = new MovingChild(this);
    setImmediate(() => {
      this.#listener = listener;
      const later = this.#waiting;
      this.#waiting = [];
      for (const chunk of [stdout, ...later]) if (chunk.length > 0) listener.stdout(chunk);
      for (const chunk of [stderr, ...this.#errors.splice(0)]) {
        if (chunk.length > 0) listener.stderr(chunk);
      }
      if (this.#exit) listener.exited(this.#exit);
    });
    return this.#owner;
  };

  isOwnedBy(child: MovingChild): boolean {
    return this.#owner === child;
  }

  giveUp(): HandedChild {
    this.beforeGivingUp();
    this.#listener = undefined;
    this.#owner = undefined;
    const stdout = this.unreported;
    this.unreported = Buffer.alloc(0);
    return { state: { id: 1 }, stdout, stderr: Buffer.alloc(0) };
  }
}

class MovingChild implements Child {
  readonly pid = 4711;
  readonly containment = 'group';
  readonly isStateHidden = false;
  readonly enforced = 'none';
  readonly #process: MovingProcess;

  constructor(process: MovingProcess) {
    this.#process = process;
  }

  readonly handOver = async (): Promise<HandedChild> => {
    await this.#process.givingUp;
    if (this.#process.openWrites.length > 0) throw new Error('a write is under way');
    return this.#process.giveUp();
  };

  #isMine(what: string): boolean {
    const isMine = this.#process.isOwnedBy(this);
    if (!isMine) this.#process.strays.push(what);
    return isMine;
  }

  write(bytes: Uint8Array | string, done: (error: Error | null) => void): void {
    if (!this.#isMine('write')) return done(new Error('not mine'));
    this.#process.written.push(Buffer.from(bytes as string));
    if (this.#process.holdsWrites) this.#process.openWrites.push(() => done(null));
    else done(null);
  }

  closeStdin(): void {
    if (this.#isMine('closeStdin')) this.#process.exit({ code: 0, signal: null });
  }

  pause(): void {
    this.#isMine('pause');
  }

  resume(): void {
    this.#isMine('resume');
  }

  signal(name: 'SIGTERM' | 'SIGKILL'): void {
    if (!this.#isMine(name)) return;
    this.#process.signals.push(name);
    this.#process.exit({ code: null, signal: name });
  }

  sweep(): Promise<number> {
    return Promise.resolve(0);
  }
}
