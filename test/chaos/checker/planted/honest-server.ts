// A server behind an honest gateway, as small as the contract allows: a queue of its own with so many
// places, a pipe that is first in, first out and holds so much, a process that reads it, works and dies.
// Everything is told truthfully, to the calls and to the ledger. Which of the possible steps happens is
// the chaos's business (honest-run.ts).

import { FACTS, type PlantedRun } from './run.ts';

type Facts = (typeof FACTS.servers)[number];

export interface Running {
  readonly nonce: string;
  readonly isSafe: boolean;
  readonly bytes: number;
  attempts: number;
  /** Whether a frame of it was ever handed over: then `maybe` is true. */
  wasSent: boolean;
  generation: number;
}

/** Says the answer of a call; it can be said again when the call is repeated under its key. */
export type Answering = (nonce: string, dispatched: string, say: () => void) => void;

export class HonestServer {
  readonly name: string;
  readonly places: number;
  readonly isPipe: boolean;
  generation = 1;
  isUp = true;
  #queue: Running[] = [];
  /** Sent, and somebody waits for the answer: each has a place. */
  #held: Running[] = [];
  /** Frames in the pipe, whether or not anybody still waits for their answer. */
  #pipe: Running[] = [];
  /** What the process has read and not finished. */
  #inHand: Running[] = [];
  readonly #answer: Answering;
  readonly #run: PlantedRun;

  constructor(run: PlantedRun, { name, concurrency, transport }: Facts, answer: Answering) {
    this.#run = run;
    this.#answer = answer;
    this.name = name;
    this.places = concurrency;
    this.isPipe = transport === 'stdio';
  }

  get open(): readonly Running[] {
    return [...this.#queue, ...this.#held];
  }

  admit(nonce: string, isSafe: boolean, bytes: number): void {
    if (this.#queue.length >= 8) this.#fault(nonce, 'overloaded', 'no', 0);
    else if (!this.isUp && !this.isPipe) this.#fault(nonce, 'unavailable', 'no', 0);
    else {
      const call: Running = {
        nonce,
        isSafe,
        bytes,
        attempts: 0,
        wasSent: false,
        generation: 0,
      };
      this.#queue.push(call);
    }
  }

  /** The next frame goes out if there is a place and the pipe takes it. */
  dispatch(): void {
    const call = this.#queue[0];
    if (call === undefined || !this.isUp || this.#held.length >= this.places || this.#isFull())
      return;
    this.#queue.shift();
    Object.assign(call, { wasSent: true, generation: this.generation });
    call.attempts += 1;
    this.#held.push(call);
    this.#pipe.push(call);
  }

  /** The process reads the next frame; over HTTP any, and it may turn it away. */
  read(isTurnedAway: boolean, index: number): void {
    const at = this.isPipe ? 0 : index % Math.max(1, this.#pipe.length);
    const [call] = this.#pipe.splice(at, 1);
    if (call === undefined || !this.isUp) return;
    this.#note(call, 'received');
    const isRefused = isTurnedAway && !this.isPipe && call.attempts === 1;
    if (!isRefused) this.#inHand.push(call);
    else if (this.#release(call)) this.#fault(call.nonce, 'unavailable', 'no', 1);
  }

  /** The process ends one of the calls in hand, whether or not anybody waits for it. */
  work(index: number, isTooLarge: boolean): void {
    const [call] = this.#inHand.splice(index % Math.max(1, this.#inHand.length), 1);
    if (call === undefined) return;
    const { nonce, attempts } = call;
    this.#note(call, 'begin done');
    if (!this.#release(call)) return;
    if (isTooLarge) this.#fault(nonce, 'frame_too_large', 'yes', attempts, call.generation);
    else this.#answer(nonce, 'yes', () => this.#run.result(nonce));
  }

  timeOut(index: number): void {
    const call = this.open[index % Math.max(1, this.open.length)];
    if (call === undefined || !this.#release(call)) return;
    const dispatched = call.wasSent ? 'maybe' : 'no';
    this.#fault(call.nonce, 'timeout', dispatched, call.attempts, call.generation);
  }

  /** Nobody waits for this call any more; its frame stays where it is. */
  abandon(nonce: string): void {
    const call = this.open.find((one) => one.nonce === nonce);
    if (call !== undefined) this.#release(call);
  }

  /** The process dies with all that it held; what is safe and was sent once goes out again. */
  die(): void {
    const lost = this.#held;
    this.isUp = false;
    [this.#held, this.#pipe, this.#inHand] = [[], [], []];
    for (const call of lost) {
      if (!call.isSafe)
        this.#fault(call.nonce, 'outcome_unknown', 'maybe', call.attempts, call.generation);
      else if (call.attempts < 2) this.#queue.push(call);
      else this.#fault(call.nonce, 'unavailable', 'maybe', call.attempts, call.generation);
    }
  }

  start(): void {
    if (this.isUp) return;
    this.isUp = true;
    this.generation += 1;
  }

  #isFull(): boolean {
    const held = this.#pipe.reduce((sum, { bytes }) => sum + bytes, 0);
    return this.isPipe && held > FACTS.pipeBytes; // the frame that went beyond is the one outstanding
  }

  /** True if it was still open. */
  #release(call: Running): boolean {
    const isOpen = this.open.includes(call);
    this.#queue = this.#queue.filter((one) => one !== call);
    this.#held = this.#held.filter((one) => one !== call);
    return isOpen;
  }

  #note({ nonce }: Running, phases: string): void {
    this.#run.ledger(nonce, phases, { run: `${this.name}-${this.generation}` });
  }

  #fault(nonce: string, code: string, dispatched: string, attempts: number, generation = 1): void {
    const more = { attempts, generation };
    this.#answer(nonce, dispatched, () => this.#run.fault(nonce, code, dispatched, more));
  }
}
