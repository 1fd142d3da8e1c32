// The gateway that is rolled over in a proof: how it is started, what it says of each step of a rollout, and a look into
// the memory of its serving process. The steps are read from its log at HOLDFAST_LOG=debug, as anybody could.

import { spawn } from 'node:child_process';
import { EventEmitter } from 'node:events';
import { createInterface } from 'node:readline';
import { lookIntoHeap } from '../chaos/inspector.ts';
import { mainProgram } from '../support/build.ts';
import { type GatewayHome, Started } from '../support/gateway-home.ts';

/** In this order, if nothing happens to it. */
export const steps = ['started', 'ready', 'told', 'claimed', 'serves'] as const;
export type Step = (typeof steps)[number];

const stepLines: Readonly<Record<Step, RegExp>> = {
  started: /^holdfast: rollout \d+: a successor is started$/,
  ready: /^holdfast: rollout \d+: the successor is ready, nothing new begins here$/,
  told: /^holdfast: rollout \d+: it is told in (\d+) bytes what it takes over$/,
  claimed: /^holdfast: process (\d+) is the serving process$/,
  serves: /^holdfast: rollout \d+: the successor serves$/,
};

/** `holdfast serve` over HTTP. */
export interface Instance {
  readonly url: string;
  readonly pid: number;
  readonly started: Started;
  readonly log: StepLog;
  /** Of holder and serving processes, in the order in which they were started; empty without `isInspected`. */
  readonly inspectors: readonly string[];
}

export interface ServedOptions {
  /** An installed program; absent: the build. */
  readonly main?: string | undefined;
  readonly isInspected?: boolean;
}

export interface Said {
  readonly step: Step;
  /** By this process's clock. */
  readonly at: number;
  /** Of one that has claimed. */
  readonly pid: number | undefined;
}

/** The steps of rollouts in the order in which they were said. */
export class StepLog {
  /** Some for each rollout. */
  readonly said: Said[] = [];
  /** What each successor was told, in bytes. */
  readonly sizes: number[] = [];
  readonly #news = new EventEmitter();

  heard(line: string): void {
    const step = steps.find((one) => stepLines[one].test(line));
    if (step === undefined) return;
    const number = stepLines[step].exec(line)?.[1];
    if (step === 'told') this.sizes.push(Number(number));
    const pid = step === 'claimed' ? Number(number) : undefined;
    this.said.push({ step, at: performance.now(), pid });
    this.#news.emit('step');
  }

  /** Resolves when this step is said, beyond so many that were said before; false: the signal was first. */
  says(step: Step, before: number, signal: AbortSignal): Promise<boolean> {
    return new Promise((resolve) => {
      const look = () => {
        const isSaid = this.said.slice(before).some((one) => one.step === step);
        if (!isSaid && !signal.aborted) return;
        this.#news.off('step', look);
        signal.removeEventListener('abort', look);
        resolve(isSaid);
      };
      this.#news.on('step', look);
      signal.addEventListener('abort', look);
      look();
    });
  }
}

export async function served(
  home: GatewayHome,
  { main = mainProgram, isInspected = false }: ServedOptions = {},
): Promise<Instance> {
  const flags = isInspected ? ['--inspect=127.0.0.1:0'] : [];
  const words = [main, 'serve', '--config', home.configFile, '--listen', '127.0.0.1:0', '--json'];
  const child = spawn(process.execPath, [...flags, ...words], {
    cwd: home.folder,
    env: { ...home.env, HOLDFAST_LOG: 'debug' },
  });
  child.stdin.end();
  const log = new StepLog();
  const inspectors: string[] = [];
  createInterface(child.stderr).on('line', (line) => {
    const address = /^Debugger listening on (ws:\S+)$/.exec(line)?.[1];
    if (address !== undefined) inspectors.push(address);
    log.heard(line);
  });
  const started = new Started(child);
  await started.printed('\n');
  const line = started.stdout.slice(0, started.stdout.indexOf('\n'));
  const { url, pid } = JSON.parse(line) as Pick<Instance, 'url' | 'pid'>;
  return { url, pid, started, log, inspectors };
}

const mebi = 1_048_576;

/** Of what is in use, on the heap and in buffers, after everything that nothing holds was collected. */
export async function usedMiB(address: string | undefined): Promise<number> {
  if (address === undefined) throw new Error('the process has no inspector');
  const { usedBytes, bufferBytes } = await lookIntoHeap(address);
  return (usedBytes + bufferBytes) / mebi;
}
