// A process whose parent is the holder, in the serving process that has it: sockets over the handles that the holder
// has sent, and the events that Node would emit for a child of our own, in the same order.

import { EventEmitter } from 'node:events';
import { Socket } from 'node:net';
import type {
  HeldByHolder,
  ProcessEvents,
  StartedProcess,
} from '../supervise/process/start/process-starter.ts';
import type { HeldExit } from './holder/messages.ts';
import type { RawHandle } from './holder/raw-handle.ts';

export interface HeldParts {
  readonly id: number;
  readonly pid: number;
  /** stdin, stdout, stderr and, where there is one, the report. */
  readonly pipes: readonly RawHandle[];
  readonly give: () => void;
  /** It has ended and its pipes are closed here. */
  readonly released: () => void;
}

export class HeldChild implements StartedProcess {
  readonly pid: number;
  readonly events: ProcessEvents;
  readonly stdin: Socket;
  readonly stdout: Socket;
  readonly stderr: Socket;
  readonly report: Socket | null;
  readonly held: HeldByHolder;
  readonly #parts: HeldParts;
  readonly #events = new EventEmitter();
  #open = 0;
  #exit: HeldExit | undefined;
  #isGiven = false;

  constructor(parts: HeldParts) {
    const [stdin, stdout, stderr, report] = parts.pipes;
    if (stdin === undefined || stdout === undefined || stderr === undefined) {
      throw new Error('the holder has sent too few pipes');
    }
    this.#parts = parts;
    this.held = { id: parts.id, give: () => this.#give() };
    this.pid = parts.pid;
    this.events = this.#events as unknown as ProcessEvents;
    this.stdin = this.#socket(stdin, false);
    this.stdout = this.#socket(stdout, true);
    this.stderr = this.#socket(stderr, true);
    this.report = report === undefined ? null : this.#socket(report, true);
  }

  exited(exit: HeldExit): void {
    if (this.#isGiven || this.#exit !== undefined) return;
    this.#exit = exit;
    this.stdin.destroy();
    this.#events.emit('exit', exit.code, exit.signal);
    // As Node does for its own children: what is left in them is little, and would otherwise keep them open.
    for (const stream of [this.stdout, this.stderr, this.report]) {
      if (stream?.readable) process.nextTick(() => stream.resume());
    }
    this.#look();
  }

  #give(): void {
    this.#isGiven = true;
    this.#parts.give();
  }

  #socket(handle: RawHandle, readable: boolean): Socket {
    const socket = new Socket({ handle, readable, writable: !readable } as object);
    this.#open += 1;
    socket.on('error', () => {});
    socket.once('close', () => {
      this.#open -= 1;
      this.#look();
    });
    return socket;
  }

  #look(): void {
    if (this.#isGiven || this.#exit === undefined || this.#open > 0) return;
    this.#events.emit('close');
    this.#parts.released();
  }
}
