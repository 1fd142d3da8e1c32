// A rollout in one process: the conductor of an incumbent, a holder that is played, and a successor that is the real
// one over a real link, or a script. It watches what must never be: two that serve, or none.

import { type Duplex, duplexPair } from 'node:stream';
import type { Fenced, HandOver, HolderForRollout } from '../../src/rollout/attempt.ts';
import { Conductor, type ConductorParts, type RolloutResult } from '../../src/rollout/conductor.ts';
import { type Link, linkOver } from '../../src/rollout/link.ts';
import { type RolloutCause, rolloutLimits } from '../../src/rollout/rollout-state.ts';
import type { PassedOn } from '../../src/rollout/rollout-words.ts';
import { type Prepared, succeed } from '../../src/rollout/successor.ts';
import { ManualClock, settled } from './manual-clock.ts';

/** What a successor does with its end of the link; it ends itself by `exit`. */
export type PlayedSuccessor = (stream: Duplex, run: PlayedRun) => void;

export interface PlayedRun {
  readonly exit: (how: string) => void;
  /** Whether the holder agrees. */
  readonly claim: () => boolean;
}

interface Process {
  readonly run: number;
  readonly stream: Duplex;
  readonly exit: (how: string) => void;
  hasClaimed: boolean;
  hasEnded: boolean;
}

export interface PlayedOptions {
  readonly successor?: PlayedSuccessor;
  readonly handOver?: Partial<HandOver>;
  readonly holder?: Partial<HolderForRollout>;
  readonly isAuto?: boolean;
}

export class PlayedRollout implements Disposable {
  readonly clock = new ManualClock();
  readonly results: RolloutResult[] = [];
  readonly caught: unknown[] = [];
  readonly heard: PassedOn[] = [];
  /** What parts of the incumbent have heard from successors. */
  readonly answers: unknown[] = [];
  /** Resolves when the incumbent has given away everything. */
  handingOver: () => Promise<void> = async () => {};
  /** Why successors were lost behind the fence. */
  readonly lost: RolloutCause[] = [];
  /** Lines for whoever wants to see each step. */
  readonly steps: string[] = [];
  /** What has happened, in order. */
  readonly said: string[] = [];
  readonly conductor: Conductor;
  successor: PlayedSuccessor;
  isIncumbentServing = true;
  isSuccessorServing = false;
  isAuto: boolean;
  formerLink: Link | undefined;
  #process: Process | undefined;

  constructor({ successor, handOver = {}, holder = {}, isAuto = false }: PlayedOptions = {}) {
    this.successor = successor ?? this.real();
    this.isAuto = isAuto;
    const parts: ConductorParts = {
      clock: this.clock,
      policy: () => ({ ...rolloutLimits, isAuto: this.isAuto }),
      holder: { ...this.#holder(), ...holder },
      handOver: { ...this.#handOver(), ...handOver },
      origin: { program: '1.0.0', instance: 'one' },
      report: (result) => this.results.push(result),
      lost: (cause) => this.lost.push(cause),
      caught: (error) => this.caught.push(error),
      progress: (text) => this.steps.push(text),
    };
    this.conductor = new Conductor(parts);
    this.conductor.serving();
  }

  /** The real successor, with what is different in a test. */
  real(changes: Partial<Prepared> & { instance?: string; prepare?: () => Promise<Prepared> } = {}) {
    return (stream: Duplex, { exit, claim }: PlayedRun): void => {
      const prepared: Prepared = {
        take: async (yours) => void this.said.push(`take ${yours.left}`),
        serve: async () => void this.said.push('serve'),
        ...changes,
      };
      const serve = async () => {
        await prepared.serve();
        this.isSuccessorServing = true;
        this.#check();
      };
      succeed({
        link: linkOver(stream),
        instance: changes.instance ?? 'one',
        program: '2.0.0',
        pid: 7,
        prepare: async (begin) => {
          this.said.push(`prepare ${begin.left}`);
          return { ...((await changes.prepare?.()) ?? prepared), serve };
        },
        claim: async () => claim(),
        passedOn: (wish) => this.heard.push(wish),
      }).catch(() => exit('exit code 1'));
    };
  }

  #check(): void {
    if (this.isIncumbentServing && this.isSuccessorServing) throw new Error('two serve');
  }

  #handOver(): HandOver {
    return {
      prepare: async () => [{ name: 'host', data: { servers: 2 } }],
      fence: async (link): Promise<Fenced> => {
        this.said.push('fence');
        link.send('part', { is: 'said at the fence' });
        link.on('answer', (head) => void this.answers.push(head));
        this.isIncumbentServing = false;
        await this.handingOver();
        return {
          ...{ servers: 2, sessions: 3, left: ['one stream'] },
          parts: [{ name: 'sockets', data: [1] }],
        };
      },
      giveUp: () => void this.said.push('giveUp'),
      former: (link) => {
        this.said.push('former');
        this.formerLink = link;
      },
    };
  }

  #holder(): HolderForRollout {
    return {
      pid: 42,
      startSuccessor: async (run) => {
        this.said.push('start');
        if (this.#process && !this.#process.hasEnded) throw new Error('two successors');
        const [stream, theirs] = duplexPair();
        const ended = new Promise<string>((resolve) => {
          const exit = (how: string) => {
            started.hasEnded = true;
            theirs.destroy();
            stream.destroy();
            resolve(how);
          };
          const started: Process = { run, stream, exit, hasClaimed: false, hasEnded: false };
          this.#process = started;
        });
        const { exit } = this.#process as Process;
        this.successor(theirs, { exit, claim: () => this.#claim(run) });
        return { kind: 'started', stream, ended };
      },
      abandon: async (run) => {
        this.said.push('abandon');
        if (this.#process?.run !== run) return 'ended';
        if (this.#process.hasClaimed && !this.#process.hasEnded) return 'serving';
        this.#process.exit('killed by SIGKILL');
        return 'ended';
      },
    };
  }

  #claim(run: number): boolean {
    const process = this.#process;
    if (process?.run !== run || process.hasEnded) return false;
    process.hasClaimed = true;
    return true;
  }

  /** Time passes until nothing is under way; with it the result of somebody who asked before. */
  async outcome(): Promise<RolloutResult> {
    const asked = this.conductor.ask();
    await this.clock.advanceAsync(60_000);
    const result = await Promise.race([asked, settled()]);
    if (result === undefined) throw new Error('somebody who asks is told nothing');
    return result;
  }

  [Symbol.dispose](): void {
    this.conductor[Symbol.dispose]();
    this.#process?.exit('killed by the test');
  }
}
