// Those who look for a planted bug: the commands `simulate`, `chaos` and `strangers` in a small size, and unit tests.
// Each is given a build, or a copy of the source, and the rules that have to speak, and says which rules
// were broken; which bug there is, if any, it does not know.

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
  /** Where unit tests look for it: their files. */
  readonly tests?: readonly string[] | undefined;
  /** When it aborts, whatever runs ends, and the search rejects. */
  readonly signal?: AbortSignal | undefined;
}

const most = {
  ...{ seeds: 600, minutes: 3 },
  ...{ chaosSeconds: 20, chaosSeed: 12 },
  ...{ requests: 3_000, names: 1_000, strangersSeed: 12 },
};

/** At most so much is looked at: a bug that takes more is not found. */
export const sizes: Readonly<Record<FinderName, string>> = {
  simulation: `${most.seeds} seeds`,
  chaos: `one run of ${most.chaosSeconds} s`,
  strangers: `${most.requests} requests and ${most.names} names`,
  tests: 'its test files',
};

export function search(finder: FinderName, build: string, wanted: Wanted): Promise<Search> {
  return finders[finder](build, wanted);
}

const finders: Readonly<Record<FinderName, (build: string, wanted: Wanted) => Promise<Search>>> = {
  simulation: simulated,
  strangers: estranged,
  tests: tested,
  async chaos(build, { signal }) {
    const { chaosSeconds, chaosSeed } = most;
    const size = ['--seconds', `${chaosSeconds}`, '--seed', `${chaosSeed}`, '--no-neighbours'];
    const report = await reported(['test/chaos/main.ts', '--build', build, ...size], {}, signal);
    return { findings: findingsIn(report), extent: `${figureOf(report, 'calls')} calls` };
  },
};

/** Its rules are its parts; without a rule all of them. */
async function estranged(build: string, { rules, signal }: Wanted): Promise<Search> {
  const { requests, names, strangersSeed } = most;
  const command = ['--import', './test/proof/built.mjs', 'test/strangers/main.ts'];
  const size = ['--requests', `${requests}`, '--names', `${names}`, '--seed', `${strangersSeed}`];
  const parts = rules.flatMap((rule) => ['--only', rule]);
  const report = await reported([...command, ...size, ...parts], { HOLDFAST_BUILD: build }, signal);
  const extent = rules.length === 0 ? 'all parts' : `its part ${rules.join(' and ')}`;
  return { findings: findingsIn(report), extent };
}

/** Each promise that stands in the title of a test which fails is a rule that has spoken. */
async function tested(source: string, { tests = [], signal }: Wanted): Promise<Search> {
  const vitest = ['node_modules/vitest/vitest.mjs', 'run', ...tests, '--reporter', 'json'];
  const config = ['--config', 'test/controls/planted-source.config.ts'];
  const args = [...vitest, ...config];
  const results: TestResults = await reported(
    args,
    { HOLDFAST_SOURCE: source },
    signal,
    '--outputFile',
  );
  const all = results.testResults.flatMap(({ assertionResults }) => assertionResults);
  if (all.length === 0) throw new Error(`no test was run: ${tests.join(' ')}`);
  const findings = all.flatMap(({ status, fullName }) => {
    if (status !== 'failed') return [];
    const promises = [...fullName.matchAll(/#([\w-]+)/g)].map(([, promise = '']) => promise);
    return (promises.length > 0 ? promises : ['']).map((rule) => ({ rule, words: fullName }));
  });
  return { findings, extent: `${all.length} tests` };
}

/** As vitest writes it. */
interface TestResults {
  readonly testResults: readonly {
    readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[];
  }[];
}

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

/** Runs a proof as anyone would; its report, which `option` has it write. Throws if it ends without one. */
async function reported<T = Report>(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  signal: AbortSignal | undefined,
  option = '--json',
): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-controls-'));
  const file = join(folder, 'report.json');
  try {
    // What a proof keeps for whoever looks into a finding goes with the folder.
    const around = { ...process.env, ...env, TMPDIR: folder };
    const { code, complaint } = await run([...args, option, file], around, signal);
    if (existsSync(file)) return JSON.parse(readFileSync(file, 'utf8')) as T;
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

/** The simulation writes `seed 1, RULE at ...`, the others `[RULE] ...`. */
function ruleIn(words: string): string {
  const [, simulation, other] = /^(?:seed \d+, ([\w-]+) at |\[([\w-]+)\])/.exec(words) ?? [];
  return simulation ?? other ?? '';
}

function figureOf({ figures }: Report, name: string): number {
  return Number(figures.find((figure) => figure.name === name)?.value ?? 0);
}
