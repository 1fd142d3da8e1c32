// Many seeds on all cores: a few processes that each take one seed after the other, since a run uses
// the whole of its process (time, immediates, unhandled rejections). They get every option of Node
// that this process has, so that what it imports is what they import. Whatever happens here, none of
// them outlives this process.

import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { SimulationReport } from './simulate.ts';

export interface Errand {
  readonly seed: number;
  readonly minutes: number;
}

export interface CrewListener {
  /** False if no more seeds are wanted. */
  arrived(report: SimulationReport): boolean;
  /** A process ended in the middle of a run. */
  lost(seed: number, how: string): void;
}

/** So much garbage is young, and the cores are all in use: larger nurseries, no helpers. */
const memoryOptions = [
  '--max-semi-space-size=64',
  '--min-semi-space-size=64',
  '--single-threaded-gc',
];
/** A member has the next seed at hand when it is done with one. */
const inHand = 2;

export class Crew {
  readonly #jobs: number;
  readonly #members = new Set<ChildProcess>();

  constructor(jobs: number) {
    this.#jobs = jobs;
  }

  /** Resolves when all seeds are done, or no more are wanted. */
  async run(errands: readonly Errand[], listener: CrewListener): Promise<void> {
    const waiting = [...errands].reverse();
    const size = Math.min(this.#jobs, waiting.length);
    const end = () => {
      waiting.length = 0;
      this.stop();
    };
    await Promise.all(Array.from({ length: size }, () => this.#member(waiting, listener, end)));
  }

  stop(): void {
    for (const member of this.#members) member.kill('SIGKILL');
  }

  #member(waiting: Errand[], listener: CrewListener, end: () => void): Promise<void> {
    const member = fork(fileURLToPath(new URL('./crew-member.ts', import.meta.url)), {
      execArgv: [...process.execArgv, ...memoryOptions],
      serialization: 'advanced',
    });
    this.#members.add(member);
    const hands: Errand[] = [];
    const take = () => {
      for (
        let next = waiting.pop();
        next;
        next = hands.length < inHand ? waiting.pop() : undefined
      ) {
        hands.push(next);
        member.send(next);
      }
      if (hands.length === 0 && member.connected) member.disconnect();
    };
    member.on('message', (report: SimulationReport) => {
      hands.shift();
      if (!listener.arrived(report)) return end();
      take();
    });
    take();
    return new Promise((resolve) => {
      member.on('exit', (code, signal) => {
        this.#members.delete(member);
        const [unfinished] = hands;
        if (unfinished && !member.killed) listener.lost(unfinished.seed, signal ?? `code ${code}`);
        resolve();
      });
    });
  }
}
