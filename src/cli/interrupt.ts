// Ctrl-C and similar signals. The first one cancels: whatever runs is cancelled, the servers are
// stopped properly, and the command ends with the signal's exit code. The second one ends the
// process at once, and the reaper ends what it had running. Node cannot do that by itself: its exit
// waits for every thread, and one that waits for a disk may never end. So the signal does it, as if
// nobody had listened for it. Below a pid-holder they come from it, once each: what a terminal or a service
// manager sends to this process as well means nothing.

import { signalExitCodes } from './exit-codes.ts';

type SignalName = keyof typeof signalExitCodes;

const signalNames = Object.keys(signalExitCodes) as SignalName[];

/** A pid-holder that passes signals on. */
export interface SignalSource {
  listen(news: {
    readonly signal: (name: SignalName) => void;
    readonly hangup: () => void;
  }): unknown;
}

/** Thrown where an interrupt ended the waiting; the exit code is the signal's. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted';
}

export class Interrupt {
  readonly #controller = new AbortController();
  #arrived: Promise<void> | undefined;
  #name: SignalName | undefined;
  #hangup: (() => void) | undefined;
  /** A holder was hung up before this process knew what to do then. */
  #isHungUp = false;

  /** Handles the signals of the process from now on. */
  listen(from: NodeJS.Process, holder?: SignalSource): void {
    for (const name of signalNames) {
      from.on(name, () => {
        if (holder === undefined) this.#came(from, name);
      });
    }
    holder?.listen({
      signal: (name) => this.#came(from, name),
      hangup: () => {
        if (this.#hangup === undefined) this.#isHungUp = true;
        else this.#hangup();
      },
    });
  }

  /** What SIGHUP does that comes from a holder; it waits until this is set, and ends nothing. */
  set hangup(act: () => void) {
    this.#hangup = act;
    if (this.#isHungUp) act();
    this.#isHungUp = false;
  }

  #came(from: NodeJS.Process, name: SignalName): void {
    if (this.signal.aborted) {
      // The terminal has just shown `^C`, maybe after a line of ours.
      const lineBreak = from.stderr.isTTY ? '\n' : '';
      from.stderr.write(`${lineBreak}holdfast: stopped at once\n`);
      this.release(from);
      from.kill(from.pid, name);
      // Process 1 is not ended by a signal.
      from.exit(signalExitCodes[name]);
    }
    this.#name = name;
    this.#controller.abort();
  }

  /** From now on a signal ends the process, whatever its threads do: before it exits. */
  release(from: NodeJS.Process): void {
    for (const name of signalNames) from.removeAllListeners(name);
  }

  /** Aborted by the first signal. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Undefined as long as there was no signal. */
  get exitCode(): number | undefined {
    return this.#name && signalExitCodes[this.#name];
  }

  /** Whether it came from a keyboard. */
  get isByHand(): boolean {
    return this.#name === 'SIGINT';
  }

  /** Resolves with the first signal; never without one. */
  get arrived(): Promise<void> {
    // One for all: a command that looks again and again waits for it each time.
    this.#arrived ??= new Promise((resolve) => {
      if (this.signal.aborted) resolve();
      this.signal.addEventListener('abort', () => resolve(), { once: true });
    });
    return this.#arrived;
  }
}
