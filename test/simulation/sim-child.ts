// A simulated process behind the contract of a child: two pipes that carry bytes with latency, in
// pieces cut anywhere, a pipe that can fill up, break or be ignored, signals that can be ignored, an
// exit that is told last, and strays that only a sweep ends. In a rollout its pipes go from one process of
// the host to the next: what it prints meanwhile waits in them. What runs in the process is a program;
// this file knows as little of MCP as the real one does.

import { Fault } from '../../src/kernel/fault.ts';
import type { Child, ChildListener, Exit, HandedChild } from '../../src/supervise/child.ts';
import type { Tether } from './tether.ts';
import type { World } from './world.ts';

/** What runs in a process. */
export interface Program {
  /** Called once, when the process runs. */
  begin(process: SimChild): void;
  line(text: string): void;
  /** When it last printed a message that is valid; 0 if never. */
  readonly saidAt: number;
  /** Has it been asked whether it lives, and not answered? */
  readonly owesProbe: boolean;
}

const reaperMs = 2_000;

export interface SimChildParts {
  readonly name: string;
  readonly pid: number;
  readonly program: Program;
}

/** Who has its pipes. */
export interface Owner {
  readonly listener: ChildListener;
  /** The process of the host that has it. */
  readonly tether: Tether;
  /** Reports begin when the owner has the child in its hands. */
  hasBegun: boolean;
}

export class SimChild {
  readonly pid: number;
  readonly name: string;
  readonly #world: World;
  readonly #program: Program;
  #owner: Owner | undefined;
  readonly #ignoresEof: boolean;
  readonly #ignoresTerm: boolean;
  /** What may wait in its stdin while it does not read. */
  readonly #pipeBytes: number;
  #strays: number;
  #isAlive = true;
  #isReading = true;
  #isStdinBroken = false;
  #isStdinClosed = false;
  #isSignalled = false;
  #isStdoutClosed = false;
  #isPaused = false;
  #unread = 0;
  #unfinished = '';
  #writing: ((error: Error | null) => void) | undefined;
  /** Read by its owner, who has paused it. */
  #held: Buffer[] = [];
  /** In its pipes while nobody reads them. */
  #waiting: ((listener: ChildListener) => void)[] = [];
  /** Told when no write is under way any more. */
  readonly #writtenAll: (() => void)[] = [];
  #isOrphan = false;
  #isExitTold = false;
  /** When the last byte that was written so far is through; order is kept in either direction. */
  #stdinAt = 0;
  #stdoutAt = 0;

  constructor(world: World, { name, pid, program }: SimChildParts) {
    const { faults, dice } = world;
    this.#world = world;
    this.name = name;
    this.pid = pid;
    this.#program = program;
    this.#ignoresEof = faults.occurs('ignore-eof');
    this.#ignoresTerm = faults.occurs('ignore-term');
    this.#strays = faults.occurs('leave-strays') ? dice.between(1, 3) : 0;
    this.#pipeBytes = dice.pick([0, 1_000, 65_536]);
    world.clock.later(dice.between(0, 3), () => {
      if (this.#isAlive) program.begin(this);
    });
  }

  get isAlive(): boolean {
    return this.#isAlive;
  }

  /** What runs in it. */
  get program(): Program {
    return this.#program;
  }

  /** Nothing that is written to it arrives. */
  get isDeaf(): boolean {
    return !this.#isReading || this.#isStdinBroken;
  }

  /** Alive and well connected, as far as its pipes are concerned. */
  get isSound(): boolean {
    return this.#isAlive && !this.isDeaf && !this.#isStdoutClosed;
  }

  /** The host has begun to end it. */
  get isBeingClosed(): boolean {
    return this.#isStdinClosed || this.#isSignalled;
  }

  /** Its host was killed; it is the reaper's. */
  get isOrphan(): boolean {
    return this.#isOrphan;
  }

  /** Of the process of the host that has it; undefined between two of them. */
  get tether(): Tether | undefined {
    return this.#owner?.tether;
  }

  /** Alive or leaving something behind that nobody has ended yet. */
  get isLeft(): boolean {
    return this.#isAlive || this.#strays > 0;
  }

  // --- from one process of the host to the next ----------------------------------------------

  /** Its pipes are this one's from now on. `read`: by the one before, and not reported. */
  ownedBy(listener: ChildListener, tether: Tether, hasBegun: boolean, read?: Buffer): Child {
    const owner: Owner = { listener, tether, hasBegun };
    if (this.#owner !== undefined) this.#world.misused(`${this.name} ${this.pid} has two readers`);
    this.#owner = owner;
    if (read && read.length > 0) this.#waiting.unshift((told) => this.#stdout(read, told));
    if (!hasBegun) {
      tether.later(0, () => {
        owner.hasBegun = true;
        this.#flush();
      });
    }
    return new Grip(this, owner);
  }

  has(owner: Owner, what: string): boolean {
    if (this.#owner === owner) return true;
    this.#world.misused(`${what} of ${this.name} ${this.pid} by a process that has given it up`);
    return false;
  }

  async giveUp(owner: Owner): Promise<HandedChild> {
    if (this.#writing) await new Promise<void>((resolve) => this.#writtenAll.push(resolve));
    if (this.#isExitTold || this.isBeingClosed || this.#writing || this.#isOrphan) {
      throw new Fault('unavailable', 'the process is ending');
    }
    if (!this.has(owner, 'the hand-over')) throw new Fault('internal', 'it is not ours');
    this.#owner = undefined;
    this.#isPaused = false;
    const { dice } = this.#world;
    const held = this.#held;
    this.#held = [];
    // What was read may have been reported or not; the rest is still in the pipe.
    const read = dice.chance(0.5) ? held.splice(0) : [];
    const unread = held.map((bytes) => (listener: ChildListener) => this.#stdout(bytes, listener));
    this.#waiting = [...unread, ...this.#waiting];
    await owner.tether.pause(dice.between(0, 5));
    return { state: { id: this.pid }, stdout: Buffer.concat(read), stderr: Buffer.alloc(0) };
  }

  /** Comes to whoever has its pipes then. */
  #tell(afterMs: number, tell: (listener: ChildListener) => void): void {
    this.#world.clock.later(afterMs, () => {
      this.#waiting.push(tell);
      this.#flush();
    });
  }

  #flush(): void {
    while (this.#waiting.length > 0 && this.#owner?.hasBegun) {
      const tell = this.#waiting.shift();
      if (!this.#owner.tether.isCut) tell?.(this.#owner.listener);
    }
  }

  // --- the host's side ---------------------------------------------------------------------

  write(bytes: Uint8Array | string, done: (error: Error | null) => void): void {
    const { clock, dice, faults } = this.#world;
    if (faults.occurs('write-error')) this.#isStdinBroken = true;
    if (!this.#isAlive || this.#isStdinBroken || this.#isStdinClosed) {
      this.#owner?.tether.later(dice.between(0, 1), () => done(brokenPipe()));
      return;
    }
    const text = Buffer.from(bytes).toString('utf8');
    this.#stdinAt = Math.max(this.#stdinAt, clock.now() + dice.between(0, 3));
    clock.later(this.#stdinAt - clock.now(), () => this.#read(text));
    if (!this.#isReading) this.#unread += bytes.length;
    if (this.#unread > this.#pipeBytes) this.#writing = done;
    else if (dice.chance(0.5)) done(null);
    else this.#tellWritten(done);
  }

  #tellWritten(done: (error: Error | null) => void): void {
    this.#writing = done;
    this.#owner?.tether.later(this.#world.dice.between(0, 2), () => {
      if (this.#writing !== done) return;
      this.#writing = undefined;
      for (const tell of this.#writtenAll.splice(0)) tell();
      done(null);
    });
  }

  closeStdin(): void {
    this.#isStdinClosed = true;
    if (this.#ignoresEof || !this.#isReading) return;
    this.#endSoon({ code: 0, signal: null }, 200);
  }

  signal(name: 'SIGTERM' | 'SIGKILL'): void {
    this.#isSignalled = true;
    if (name === 'SIGTERM' && this.#ignoresTerm) return;
    this.#endSoon({ code: null, signal: name }, name === 'SIGKILL' ? 5 : 500);
  }

  #endSoon(exit: Exit, longestMs: number): void {
    const { clock, dice } = this.#world;
    clock.later(dice.between(0, longestMs), () => this.exit(exit));
  }

  pause(): void {
    this.#isPaused = true;
  }

  resume(): void {
    this.#isPaused = false;
    for (const bytes of this.#held.splice(0)) this.#stdout(bytes);
  }

  /** Also of what was paused again meanwhile. */
  #stdout(bytes: Buffer, listener = this.#owner?.listener): void {
    if (this.#isPaused || listener === undefined) this.#held.push(bytes);
    else listener.stdout(bytes);
  }

  sweep(): Promise<number> {
    return new Promise((resolve) => {
      this.#owner?.tether.later(this.#world.dice.between(0, 50), () => {
        const swept = this.#strays;
        this.#strays = 0;
        if (!this.#isAlive) this.#world.left.delete(this);
        resolve(swept);
      });
    });
  }

  /** Its host is gone. Within two seconds the reaper ends it and all that it has started. */
  orphaned(): void {
    if (this.#isOrphan) return;
    this.#isOrphan = true;
    this.#isSignalled = true;
    const { clock, dice, left } = this.#world;
    clock.later(dice.between(0, reaperMs), () => {
      this.#strays = 0;
      this.exit({ code: null, signal: 'SIGKILL' });
      left.delete(this);
    });
  }

  // --- the program's side ------------------------------------------------------------------

  #read(text: string): void {
    if (!this.#isAlive || !this.#isReading || this.#isStdinBroken) return;
    const lines = (this.#unfinished + text).split('\n');
    this.#unfinished = lines.pop() ?? '';
    for (const line of lines) if (this.#isAlive) this.#program.line(line);
  }

  /** Writes to stdout, cut into pieces if that fault happens. False if it is closed. */
  print(text: string): boolean {
    if (!this.#isAlive || this.#isStdoutClosed) return false;
    const { dice, faults } = this.#world;
    const bytes = Buffer.from(text);
    let start = 0;
    if (bytes.length > 1 && faults.occurs('torn-chunks')) {
      for (let cuts = dice.between(1, 3); cuts > 0; cuts -= 1) {
        const end = dice.between(start, bytes.length - 1);
        if (end > start) this.#deliver(bytes.subarray(start, end));
        start = end;
      }
    }
    this.#deliver(bytes.subarray(start));
    return true;
  }

  complain(text: string): void {
    this.#tell(0, (listener) => {
      if (this.#isAlive) listener.stderr(Buffer.from(`${text}\n`));
    });
  }

  #deliver(bytes: Buffer): void {
    const { clock, dice } = this.#world;
    this.#stdoutAt = Math.max(this.#stdoutAt, clock.now() + dice.between(0, 3));
    this.#tell(this.#stdoutAt - clock.now(), (listener) => this.#stdout(bytes, listener));
  }

  stopReading(): void {
    this.#isReading = false;
  }

  breakStdin(): void {
    this.#isStdinBroken = true;
  }

  closeStdout(): void {
    if (this.#isStdoutClosed || !this.#isAlive) return;
    this.#isStdoutClosed = true;
    const { clock } = this.#world;
    this.#stdoutAt = Math.max(this.#stdoutAt, clock.now());
    this.#tell(this.#stdoutAt - clock.now(), (listener) => listener.ended());
  }

  /** Ends the process. What it has printed is still read; then the exit is told, and nothing more. */
  exit(exit: Exit): void {
    if (!this.#isAlive) return;
    const { clock, dice, left } = this.#world;
    // A stray holds the pipe open, so its end is not seen.
    if (this.#strays === 0) this.closeStdout();
    this.#isAlive = false;
    if (this.#strays === 0) left.delete(this);
    const writing = this.#writing;
    this.#writing = undefined;
    const toldMs = Math.max(this.#stdoutAt, clock.now()) - clock.now() + dice.between(0, 5);
    for (const tell of this.#writtenAll.splice(0)) tell();
    if (writing) {
      this.#owner?.tether.later(dice.between(0, toldMs), () => writing(brokenPipe()));
    }
    this.#tell(toldMs, (listener) => {
      this.#isExitTold = true;
      this.resume();
      listener.exited(exit);
    });
  }
}

/** A process in the hands of one process of the host: of no use to it once it has given it up. */
class Grip implements Child {
  readonly containment = 'marker';
  readonly isStateHidden = false;
  readonly enforced = 'none';
  readonly #child: SimChild;
  readonly #owner: Owner;

  constructor(child: SimChild, owner: Owner) {
    this.#child = child;
    this.#owner = owner;
  }

  get pid(): number {
    return this.#child.pid;
  }

  readonly handOver = (): Promise<HandedChild> => this.#child.giveUp(this.#owner);

  write(bytes: Uint8Array | string, done: (error: Error | null) => void): void {
    if (this.#has('a write')) this.#child.write(bytes, done);
  }

  closeStdin(): void {
    if (this.#has('the end of the input')) this.#child.closeStdin();
  }

  signal(name: 'SIGTERM' | 'SIGKILL'): void {
    if (this.#has(name)) this.#child.signal(name);
  }

  pause(): void {
    if (this.#has('a pause')) this.#child.pause();
  }

  resume(): void {
    if (this.#has('the end of a pause')) this.#child.resume();
  }

  async sweep(): Promise<number> {
    return this.#has('a sweep') ? await this.#child.sweep() : 0;
  }

  #has(what: string): boolean {
    return this.#child.has(this.#owner, what);
  }
}

function brokenPipe(): Error {
  return Object.assign(new Error('write EPIPE'), { code: 'EPIPE' });
}
