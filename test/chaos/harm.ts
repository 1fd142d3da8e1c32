// Harm that comes from outside of the protocol: processes that are killed or stand still, ports that
// close, servers that start badly, clients that vanish, gateways that are killed. Each is counted when it has been done.

import { join } from 'node:path';
import type { Misbehaviour } from '../fixtures/servers/faulty/misbehaviour.ts';
import type { Dice } from '../support/dice.ts';
import { writeControl } from '../support/faulty.ts';
import { type Client, pauseMs } from './client.ts';
import type { StdioClient } from './client-stdio.ts';
import { processesOf, signal } from './server-processes.ts';
import { filesOf, type ServerSpec } from './servers.ts';
import type { Tally } from './tally.ts';
import type { WebServer } from './web-server.ts';

export interface Victims {
  /** Of the run. */
  readonly folder: string;
  readonly claims: string;
  readonly servers: readonly ServerSpec[];
  readonly webServers: readonly WebServer[];
  readonly clients: readonly Client[];
  /** Those whose gateway may be killed. */
  readonly mortal: readonly StdioClient[];
}

export class Harm {
  readonly #victims: Victims;
  readonly #dice: Dice;
  readonly #tally: Tally;
  readonly #isOver: AbortSignal;
  #orders = 0;
  #killed = 0;

  constructor(victims: Victims, dice: Dice, tally: Tally, isOver: AbortSignal) {
    this.#victims = victims;
    this.#dice = dice;
    this.#tally = tally;
    this.#isOver = isOver;
  }

  /** Does harm until it is over, and leaves nobody standing still. */
  async run(): Promise<void> {
    await Promise.all([
      this.#every(600, 2000, () => this.#kill()),
      this.#every(2000, 6000, () => this.#standStill()),
      this.#every(3000, 8000, () => this.#closePort()),
      this.#every(1000, 3000, () => this.#spoilStart()),
      this.#every(1500, 5000, () => this.#vanish()),
      this.#every(2500, 6000, () => this.#killGateway()),
    ]);
  }

  #kill(): void {
    const pid = this.#someProcess(this.#victims.servers);
    if (pid !== undefined && signal(pid, 'SIGKILL')) this.#tally.happened('kill -9');
  }

  async #standStill(): Promise<void> {
    // One that stands still before it has asked for roots is called without them after a while.
    const meant = this.#victims.servers.filter(({ isRooted }) => isRooted !== true);
    const pid = this.#someProcess(meant);
    if (pid === undefined || !signal(pid, 'SIGSTOP')) return;
    this.#tally.happened('SIGSTOP, SIGCONT');
    await pauseMs(this.#dice.between(200, 5000));
    signal(pid, 'SIGCONT');
  }

  #closePort(): void {
    const server = this.#dice.pick(this.#victims.webServers);
    server.down(this.#dice.between(300, 2500));
    this.#tally.happened('port closed');
  }

  /** The next start of a rough server goes wrong, and the next start is soon. */
  async #spoilStart(): Promise<void> {
    const rough = this.#victims.servers.filter(({ isRough }) => isRough === true);
    const spec = this.#dice.pick(rough);
    const fault = this.#dice.pick(startFaults);
    this.#orders += 1;
    const once = join(this.#victims.claims, `process-${this.#orders}-${fault.kind}`);
    await writeControl(filesOf(this.#victims.folder, spec).control, [{ ...fault, once }]);
    const pid = this.#someProcess([spec]);
    if (pid !== undefined && signal(pid, 'SIGKILL')) this.#tally.happened('kill -9');
  }

  async #vanish(): Promise<void> {
    await this.#dice.pick(this.#victims.clients).vanish();
  }

  /** In turn, so that each way of holding processes together is tried. */
  async #killGateway(): Promise<void> {
    this.#killed += 1;
    const { mortal } = this.#victims;
    await mortal[this.#killed % mortal.length]?.die();
  }

  async #every(leastMs: number, mostMs: number, harm: () => unknown): Promise<void> {
    while (!this.#isOver.aborted) {
      await pauseMs(this.#dice.between(leastMs, mostMs));
      if (!this.#isOver.aborted) await harm();
    }
  }

  /** Of a server that faults are meant for. */
  #someProcess(specs: readonly ServerSpec[]): number | undefined {
    const meant = specs.filter(({ faultShare }) => faultShare > 0);
    const running = processesOf(this.#victims.folder, meant);
    return running.length === 0 ? undefined : this.#dice.pick(running);
  }
}

/** What may go wrong when a server starts, or is asked for the first time. */
const startFaults: readonly Misbehaviour[] = [
  { kind: 'crash-before-effect', when: 'at-start', code: 1 },
  { kind: 'crash-before-effect', when: 'at-discover', signal: 'SIGKILL' },
  { kind: 'crash-before-effect', when: 'at-list', code: 3 },
  { kind: 'slow-start', ms: 1500 },
  { kind: 'hang', when: 'at-start' },
  { kind: 'hang', when: 'at-discover' },
  { kind: 'hang', when: 'at-list' },
  { kind: 'freeze', when: 'at-start' },
  { kind: 'garbage', when: 'at-discover', form: 'result' },
  { kind: 'garbage', when: 'at-list', form: 'text' },
  { kind: 'half-line', when: 'at-list', afterwards: 'exit' },
  { kind: 'banner', lines: 300, lineBytes: 200 },
  { kind: 'stderr-flood', bytes: 2_000_000 },
  { kind: 'fork', n: 3, hold: true },
  { kind: 'setsid-child', n: 2, doubleFork: true, ignoreTerm: true },
  { kind: 'ignore-term' },
  { kind: 'ignore-eof' },
  { kind: 'endless-cursor' },
  { kind: 'many-tools' },
  { kind: 'wide-list' },
  { kind: 'changed-definition' },
];
