// Those who look for a planted bug: the commands `simulate` and `chaos` in a small size. Each is given a build and the rules that have to speak, and
// says which rules were broken; which bug there is, if any, it does not know.

import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Report } from '../proof/report.ts';
import type { FinderName } from './patches.ts';

export interface Finding {
  readonly rule: string;
  readonly words: string;
}

export interface Search {
  readonly findings: readonly Finding[];
  /** How far it went. */
  readonly extent: string;
}

export interface Wanted {
  /** It ends when one of these has spoken; without any, when anything was found. */
  readonly rules: readonly string[];
  /** When it aborts, whatever runs ends, and the search rejects. */
  readonly signal?: AbortSignal | undefined;
}

const most = { seeds: 200, minutes: 3, chaosSeconds: 20, chaosSeed: 12 };

/** At most so much is looked at: a bug that takes more is not found. */
export const sizes: Readonly<Record<FinderName, string>> = {
  simulation: `${most.seeds} seeds`,
  chaos: `one run of ${most.chaosSeconds} s`,
};

export function search(finder: FinderName, build: string, wanted: Wanted): Promise<Search> {
  return finders[finder](build, wanted);
}

const finders: Readonly<Record<FinderName, (build: string, wanted: Wanted) => Promise<Search>>> = {
  simulation: simulated,
  async chaos(build, { signal }) {
    const { chaosSeconds, chaosSeed } = most;
    const size = ['--seconds', `${chaosSeconds}`, '--seed', `${chaosSeed}`, '--no-neighbours'];
    const report = await reported(['test/chaos/main.ts', '--build', build, ...size], {}, signal);
    return { findings: findingsIn(report), extent: `${figureOf(report, 'calls')} calls` };
  },
};

/** Seed after seed; one that breaks another rule than those on trial does not end it. */
async function simulated(build: string, { rules, signal }: Wanted): Promise<Search> {
  const command = ['--import', './test/proof/built.mjs', 'test/simulation/main.ts'];
  const manner = ['--minutes', String(most.minutes), '--until-found', '--jobs', '1'];
  const findings: Finding[] = [];
  let seeds = 0;
  const isOver = () => (rules.length === 0 ? findings.length > 0 : hasSpoken(rules, findings));
  while (seeds < most.seeds && !isOver()) {
    const part = ['--from', String(seeds + 1), '--seeds', String(most.seeds - seeds)];
    const args = [...command, ...manner, ...part];
    const report = await reported(args, { HOLDFAST_BUILD: build }, signal);
    findings.push(...findingsIn(report));
    const done = figureOf(report, 'seeds');
    if (done < 1) throw new Error('the simulation has run no seed');
    seeds += done;
  }
  return { findings, extent: seeds === 1 ? '1 seed' : `${seeds} seeds` };
}

export function hasSpoken(rules: readonly string[], findings: readonly Finding[]): boolean {
  return findings.some(({ rule }) => rules.includes(rule));
}

// --- a proof as a process ----------------------------------------------------------------------

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Runs a proof as anyone would; its report. Throws if it ends without one. */
async function reported(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  signal: AbortSignal | undefined,
): Promise<Report> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-controls-'));
  const file = join(folder, 'report.json');
  try {
    // What a proof keeps for whoever looks into a finding goes with the folder.
    const around = { ...process.env, ...env, TMPDIR: folder };
    const { code, complaint } = await run([...args, '--json', file], around, signal);
    if (existsSync(file)) return JSON.parse(readFileSync(file, 'utf8')) as Report;
    throw new Error(`node ${args.join(' ')} ended with ${code} and no report: ${complaint}`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function run(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  signal: AbortSignal | undefined,
): Promise<{ readonly code: number | string; readonly complaint: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ['--import', 'tsx', ...args], {
      cwd: root,
      env,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const end = () => child.kill('SIGTERM');
    signal?.addEventListener('abort', end);
    let complaint = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      complaint = `${complaint}${text}`.slice(-2_000);
    });
    child.on('error', reject);
    child.on('close', (code, ended) => {
      signal?.removeEventListener('abort', end);
      resolve({ code: code ?? ended ?? 'no exit code', complaint: complaint.trim() });
    });
  });
}

/** What it wrote down, or else the goals that it missed. */
function findingsIn({ figures, findings }: Report): readonly Finding[] {
  if (findings.length > 0) return findings.map((words) => ({ rule: ruleIn(words), words }));
  const missed = figures.filter(({ isMet }) => isMet === false);
  return missed.map(({ name, value, goal }) => ({
    rule: '',
    words: `${name}: ${value}, goal ${goal}`,
  }));
}

/** The simulation writes `seed 1, RULE at ...`, the chaos `[RULE] ...`. */
function ruleIn(words: string): string {
  const [, simulation, chaos] = /^(?:seed \d+, ([\w-]+) at |\[([\w-]+)\])/.exec(words) ?? [];
  return simulation ?? chaos ?? '';
}

function figureOf({ figures }: Report, name: string): number {
  return Number(figures.find((figure) => figure.name === name)?.value ?? 0);
}
