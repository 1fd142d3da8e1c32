// holdfast doctor: runs all checks. Each server is started, initialized and stopped again, unless
// --no-start is given; nothing is left running and nothing is written. Each finding says what to do
// about it; if there is one the exit code is 1.

import { stat } from 'node:fs/promises';
import type { Command } from 'commander';
import type { LoadedConfig } from '../../config/loaded.ts';
import type { HostForCommands } from '../../host/command-face.ts';
import { listKinds } from '../../host/lists/listings.ts';
import { StoreError } from '../../store/store-error.ts';
import type { Check } from '../checks/check.ts';
import { finding } from '../checks/check.ts';
import { checkInstance } from '../checks/instance.ts';
import { exitCodes } from '../exit-codes.ts';
import type { Invocation, Perform } from '../invocation.ts';
import { type KnownThings, knownThings, ownThings, together } from '../known-things.ts';
import type { NextSteps } from '../next-step.ts';
import { checkLines } from '../render/check-lines.ts';
import { LiveLine } from '../render/live-line.ts';
import { progressBar } from '../render/progress-bar.ts';
import type { Shell } from '../shell.ts';
import { orInterrupted, withHostOf } from '../standalone.ts';
import { ownStateDirectory } from '../state-directory.ts';
import { instanceStatus } from '../target.ts';

const help = `
This checks Node, the config file and its servers, the permissions of the config file and the state
directory, the broker if the config names one, the key if the store is shared, and how server processes are contained on this machine. Every server is started as a call
would start it, asked for its lists, and stopped again, and tools that clients do not get under
their own names and patterns of roles that match nothing are reported (in "deny" that is a problem: nothing is denied);
with --no-start only commands, addresses and what stored lists show are checked. The exit code is 1 if a problem was found.
With --json: {"ok", "checks": [{"kind": "ok" | "note" | "finding", "subject", "text", "remedy"?}]}.

Examples:
  holdfast doctor
  holdfast doctor --no-start --config ~/.cursor/mcp.json`;

interface DoctorOptions {
  /** Commander's name for the absence of --no-start. */
  readonly start: boolean;
}

export function addDoctor(program: Command, perform: Perform): void {
  program
    .command('doctor')
    .summary('check the config, the servers and the permissions')
    .description('Check the config, start every server once, and report what to fix.')
    .option('--no-start', 'start no server: check only commands and addresses')
    .addHelpText('after', help)
    .action(({ start }: DoctorOptions, command: Command) =>
      perform(command, (invocation) => doctor(invocation, start)),
    );
}

async function doctor(invocation: Invocation, isStarting: boolean): Promise<number> {
  const { shell, isJson } = invocation;
  using live = new LiveLine(shell.err, shell.clock);
  live.show('checking');
  const found = await allChecks(invocation, isStarting, live);
  const checks = found.map((check) => advised(check, shell.steps));
  live.clear();
  const { out } = shell;
  const isFine = checks.every(({ kind }) => kind !== 'finding');
  if (isJson) out.json({ ok: isFine, checks });
  else for (const line of checkLines(checks, out.style, out.columns)) out.line(line);
  return isFine ? exitCodes.ok : exitCodes.failed;
}

/** With the config that the user has named in the commands that it advises. */
function advised(check: Check, steps: NextSteps): Check {
  const text = steps(check.text);
  return check.kind === 'finding'
    ? { ...check, text, remedy: steps(check.remedy) }
    : { ...check, text };
}

async function allChecks(
  invocation: Invocation,
  isStarting: boolean,
  live: LiveLine,
): Promise<readonly Check[]> {
  const { shell, configFile: file } = invocation;
  const { env, cwd, clock } = shell;
  const [{ loadConfig }, config, files, machine, isolation] = await Promise.all([
    import('../../config/load.ts'),
    import('../checks/config.ts'),
    import('../checks/file-permissions.ts'),
    import('../checks/machine.ts'),
    import('../checks/isolation.ts'),
  ]);
  const reading = config.checkConfig(() => loadConfig({ file, cwd, env }));
  const stateDir = await ownStateDirectory(shell);
  const loaded = reading.kind === 'read' ? reading.loaded : undefined;
  const [ofFile, ofServers, ofState, ofProcesses] = await Promise.all([
    loaded?.file ? files.checkConfigFile(loaded.file) : [],
    loaded ? serverChecks(invocation, loaded, isStarting, live) : [],
    files.checkStateDirectory(stateDir, process.getuid?.()),
    machine.checkContainment(clock, env, stateDir),
  ]);
  const instance = await instanceStatus(shell, loaded?.file ?? null);
  const { checkBrokerOf } = await import('../checks/broker.ts');
  const { checkReplicaKey } = await import('../checks/replica-key.ts');
  return [
    machine.checkNode(process.version),
    ...reading.checks,
    ...ofFile,
    ...ofServers,
    ...(loaded ? isolation.checkIsolation(loaded.config) : []),
    ...(loaded?.file ? await tokenChecks(shell, loaded.config, loaded.file) : []),
    ...(loaded ? await checkReplicaKey(shell, loaded) : []),
    ...checkInstance(instance, clock.wallNow()),
    ...(loaded && instance === undefined ? await checkBrokerOf(shell, loaded) : []),
    ofState,
    ...ofProcesses,
  ];
}

async function tokenChecks(
  shell: Shell,
  config: LoadedConfig['config'],
  file: string,
): Promise<readonly Check[]> {
  const [{ checkOpenFront, checkTokens }, { listedTokens }, { orAway, withTokenRecords }] =
    await Promise.all([
      import('../checks/access.ts'),
      import('../token-book.ts'),
      import('../token-records.ts'),
    ]);
  const { store } = config;
  const reading = withTokenRecords(shell, { file, store }, listedTokens);
  const tokens = await orAway(reading);
  if (tokens instanceof StoreError) {
    return [finding('store', tokens.message, 'then run: holdfast doctor')];
  }
  const now = shell.clock.wallNow();
  return [...checkTokens(config, tokens, now), ...checkOpenFront(config, tokens, now)];
}

async function serverChecks(
  invocation: Invocation,
  given: LoadedConfig,
  isStarting: boolean,
  live: LiveLine,
): Promise<readonly Check[]> {
  const { checkServers } = await import('../checks/servers.ts');
  const { shell } = invocation;
  const { env, clock } = shell;
  const { config } = given;
  // It examines the config, which is the local user's own whatever its role may use.
  const loaded = { ...given, config: { ...config, local: { role: null } } };
  const total = Object.keys(config.mcpServers).length;
  const waitingFor = new Set<string>();
  let done = 0;
  const progress = (name: string, step: 'began' | 'done') => {
    if (step === 'began') waitingFor.add(name);
    else waitingFor.delete(name);
    if (step === 'done') done += 1;
    live.show(progressBar(done, total, [...waitingFor]));
  };
  const check = (host: HostForCommands | null, readLists?: (name: string) => Promise<void>) =>
    checkServers({ config, env, clock, host, progress, readLists });
  // What is stored, for all classes of clients; nothing is started or changed with this host.
  const isReadOnly = Object.keys(config.roles).length === 0 || !(await hasOwnState(shell));
  const stored = await withHostOf(invocation, loaded, { isReadOnly }, ({ gatewayHost }) =>
    knownThings(gatewayHost),
  );
  if (!isStarting) {
    const checks = await orInterrupted(shell, check(null));
    return [...checks, ...(await patternChecks(loaded, stored))];
  }
  return await withHostOf(invocation, loaded, { isReadOnly: true }, async (started) => {
    const { host, gatewayHost } = started;
    const readLists = async (name: string) => {
      const lists = await import('../read-lists.ts');
      await lists.readLists(gatewayHost, name, listMs);
    };
    const checks = check(host, readLists).then(async (found) => {
      const { checkNames } = await import('../checks/names.ts');
      const known = together(stored, await knownThings(gatewayHost));
      const names = await checkNames(gatewayHost, config);
      return [...found, ...names, ...(await patternChecks(loaded, known))];
    });
    return await orInterrupted(shell, checks).finally(() => live.clear());
  });
}

/** Whether there is a state directory that can be used as it is: using another one would change it. */
async function hasOwnState(shell: Shell): Promise<boolean> {
  const facts = await stat(await ownStateDirectory(shell)).catch(() => undefined);
  return facts?.isDirectory() === true && (facts.mode & 0o077) === 0;
}

/** Each list of a server that was just started has so long. */
const listMs = 10_000;

async function patternChecks(
  { config, disabled }: LoadedConfig,
  { things, unknown }: KnownThings,
): Promise<readonly Check[]> {
  const { checkPatterns } = await import('../checks/patterns.ts');
  const servers = [...Object.keys(config.mcpServers), ...disabled.keys()];
  // Of a disabled server nothing can be known.
  const ofDisabled = [...disabled.keys()].map((server) => ({ server, lists: listKinds }));
  const all = { things: [...things, ...ownThings(config)], unknown: [...unknown, ...ofDisabled] };
  return checkPatterns(config, servers, all);
}
