// Runs the official conformance suite, as it comes, in a process of its own, and reads the result
// files that it writes: one checks.json per scenario. Nothing is read from its console output,
// which is kept for the message when there are no results at all.

import { spawn } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suiteEnv, suiteNode, suiteProgram } from './installation.ts';
import { type Leg, type Revision, requirementsOf } from './requirements.ts';

export interface Check {
  readonly id: string;
  readonly status: 'SUCCESS' | 'FAILURE' | 'WARNING' | 'SKIPPED' | 'INFO';
  readonly errorMessage?: string;
  readonly details?: unknown;
}

export interface ScenarioResult {
  readonly name: string;
  readonly isRequired: boolean;
  /** Every check of a required scenario has to succeed; a warning is a SHOULD that was not kept. */
  readonly passed: boolean;
  readonly succeeded: number;
  readonly failed: number;
  readonly warnings: number;
  readonly checks: readonly Check[];
}

/** All server scenarios of the revision, required or not, against the server at `url`. */
export async function runServerSuite(
  url: string,
  revision: Revision,
): Promise<readonly ScenarioResult[]> {
  const { required, unscored } = await requirementsOf(revision, 'server');
  const args = ['server', '--url', url, '--requirements', revision];
  return results([...required, ...unscored], required, await suiteOutput(args, 'server'));
}

/** One scenario that no revision requires, such as those of an extension. */
export async function runServerScenario(
  url: string,
  scenario: string,
  revision: Revision,
): Promise<ScenarioResult> {
  const args = ['server', '--url', url, '--scenario', scenario, '--spec-version', revision];
  const [result] = results([scenario], [], await suiteOutput([...args, '--force'], 'server'));
  if (result === undefined) throw new Error(`no result for ${scenario}`);
  return result;
}

/** One client scenario: the suite plays the server and starts `command` with its address. */
export async function runClientScenario(
  command: string,
  scenario: string,
  revision: Revision,
): Promise<ScenarioResult> {
  const { required } = await requirementsOf(revision, 'client');
  const args = ['client', '--command', command, '--scenario', scenario];
  const output = await suiteOutput([...args, '--spec-version', revision, '--force'], 'client');
  const [result] = results([scenario], required, output);
  if (result === undefined) throw new Error(`no result for ${scenario}`);
  // The suite judges the client's own ending, too: it may have crashed after its last request.
  return output.code === 0 ? result : { ...result, passed: false };
}

interface SuiteOutput {
  readonly code: number | null;
  readonly console: string;
  readonly checksOf: ReadonlyMap<string, readonly Check[]>;
}

function results(
  names: readonly string[],
  required: readonly string[],
  { checksOf, console }: SuiteOutput,
): readonly ScenarioResult[] {
  if (checksOf.size === 0) throw new Error(`the suite left no results:\n${console}`);
  return names.map((name) => judge(name, required.includes(name), checksOf.get(name)));
}

function judge(name: string, isRequired: boolean, found?: readonly Check[]): ScenarioResult {
  const checks = found ?? [
    { id: name, status: 'FAILURE', errorMessage: 'the suite left no result' },
  ];
  const count = (status: Check['status']) =>
    checks.filter((check) => check.status === status).length;
  const [succeeded, failed, warnings] = [count('SUCCESS'), count('FAILURE'), count('WARNING')];
  const passed = failed === 0 && warnings === 0;
  return { name, isRequired, passed, succeeded, failed, warnings, checks };
}

async function suiteOutput(args: readonly string[], leg: Leg): Promise<SuiteOutput> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-conformance-'));
  try {
    const { code, console } = await run([suiteProgram, ...args, '-o', folder]);
    return { code, console, checksOf: await readChecks(folder, leg) };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function run(args: readonly string[]): Promise<{ code: number | null; console: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(suiteNode, args, {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...suiteEnv },
    });
    let console = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        console += text;
      });
    }
    child.on('error', reject).on('close', (code) => resolve({ code, console }));
  });
}

/** The suite names its folders "server-<scenario>-<time>" and "<scenario>-<time>". */
async function readChecks(folder: string, leg: Leg): Promise<Map<string, Check[]>> {
  const checksOf = new Map<string, Check[]>();
  for (const name of await readdir(folder)) {
    const scenario = /^(.+)-\d{4}-\d\d-\d\dT[\d-]+Z$/.exec(name)?.[1];
    if (scenario === undefined) continue;
    const text = await readFile(join(folder, name, 'checks.json'), 'utf8').catch(() => undefined);
    if (text === undefined) continue; // it broke down in this scenario, which is judged as failed
    checksOf.set(leg === 'server' ? scenario.slice('server-'.length) : scenario, JSON.parse(text));
  }
  return checksOf;
}
