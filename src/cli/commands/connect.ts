// holdfast connect: what an agent has in its config as its one MCP server. It joins the running instance of
// the config, and starts one if none runs, so that all windows share one set of servers. holdfast trust:
// approves a config in a project folder for it.

import { statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { type Command, Option } from 'commander';
import { homeOf, realConfigPath } from '../../config/config-path.ts';
import { stateOfFile } from '../../config/file-state.ts';
import { configFileName, isSafeToFind, locateConfig } from '../../config/locate.ts';
import { ownIdentity } from '../../host/identity.ts';
import { type SeenText, seenConfig } from '../../instance/connect/seen-config.ts';
import { comparedVariables, sentEnvironment } from '../../instance/environment-match.ts';
import type { ClientFacts } from '../../instance/greeting.ts';
import { instancePlace } from '../../instance/place.ts';
import { readNamedFile } from '../../kernel/bounded-file.ts';
import { within } from '../../kernel/clock.ts';
import { Fault, faultFrom } from '../../kernel/fault.ts';
import { exitCodes } from '../exit-codes.ts';
import type { Invocation, Perform } from '../invocation.ts';
import { nextSteps } from '../next-step.ts';
import { notUsedText } from '../render/used-config.ts';
import { remark, type Shell } from '../shell.ts';
import { ownStateDirectory } from '../state-directory.ts';
import { instanceStatus } from '../target.ts';

/** An instance that connect has started ends so long after its last client. */
const idleEndMs = 600_000;

/** After a signal, how long the client may take to read the last answers. */
const lastWordsMs = 500;

const connectHelp = `
It serves one client with MCP on standard input and output, as holdfast serve --stdio does, but from
the instance that all windows share. That instance is holdfast serve, or one that the first connect
starts; that one ends 10 minutes after its last client. If it ends or is killed, the client's session
goes on with the next one. After holdfast shutdown, windows leave 20 seconds for holdfast serve before
one of them starts another instance, but only 2 seconds if its client waits for an answer.

A config in the working directory or above it is used only if it was approved: holdfast trust FILE.

Example, in the config of an agent:
  { "mcpServers": { "holdfast": { "command": "holdfast", "args": ["connect"] } } }`;

export function addConnect(program: Command, perform: Perform): void {
  program
    .command('connect')
    .summary("join the running gateway as one client's MCP server; start one if none runs")
    .description('An MCP server on standard input and output that joins the shared instance.')
    .addOption(new Option('--idle-end <MS>').default(String(idleEndMs)).hideHelp())
    .addHelpText('after', connectHelp)
    .action(({ idleEnd }: { idleEnd: string }, command: Command) =>
      perform(command, (invocation) => connect(invocation, idleEnd)),
    );
}

const trustHelp = `
Approves the file as it is now; after a change it has to be approved again.
With --json: {"trusted": the file}. Exit code 2: there is no such file, or it is no config that can be
used; 3: the approval could not be stored.

Example:
  holdfast trust ./holdfast.json`;

export function addTrust(program: Command, perform: Perform): void {
  program
    .command('trust')
    .summary('let connect use a config in a project folder')
    .description('Let holdfast connect use a config that is found in a project folder.')
    .argument('<FILE>', 'the config')
    .addHelpText('after', trustHelp)
    .action((file: string, _: unknown, command: Command) =>
      perform(command, (invocation) => trustFile(invocation, file)),
    );
}

async function connect({ shell, configFile }: Invocation, idleEnd: string): Promise<number> {
  const { path: config, sha256 } = await usableConfig(shell, configFile);
  using _watching = sha256 === undefined ? undefined : await tellChanges(shell, config);
  const [{ connectClient }, { startDetached }] = await Promise.all([
    import('../../instance/connect/connect.ts'),
    import('../../supervise/process/start/start-detached.ts'),
  ]);
  const stateDir = await ownStateDirectory(shell);
  const args = [process.argv[1] ?? '', 'serve', '--config', config, '--for-connect', idleEnd];
  const place = instancePlace(stateDir, config, shell.env);
  // An instance that is started later must not run what is not approved then; the config may name other
  // variables by then.
  const asItIsNow = async () => {
    const seen = sha256 === undefined ? seenConfig(config) : await trustedConfig(shell, config);
    const approved = sha256 === undefined ? [] : ['--approved', seen.sha256];
    return { approved, env: await environmentFor(shell, seen.text) };
  };
  await connectClient({
    place,
    clock: shell.clock,
    random: Math.random,
    program: ownIdentity().version,
    facts: () => factsOf(shell, config),
    start: async (logFile) => {
      const { approved, env } = await asItIsNow();
      return startDetached({
        command: process.execPath,
        args: [...args, ...approved],
        env: { ...env, HOLDFAST_STATE: stateDir },
        cwd: dirname(config),
        logFile,
      });
    },
    signal: shell.interrupt.signal,
    input: process.stdin,
    output: process.stdout,
    report: (line) => remark(shell, line),
  });
  if (shell.interrupt.signal.aborted) {
    // A client that does not read must not keep it.
    await within(shell.clock, lastWordsMs, shell.out.flushed());
    shell.out.giveUp();
  }
  return shell.interrupt.exitCode ?? exitCodes.ok;
}

/** The safe set, and what the text of the config names. */
async function environmentFor(shell: Shell, text: string): Promise<Record<string, string>> {
  const [{ variablesNamedIn }, { markerName, passedOn }] = await Promise.all([
    import('../../instance/connect/named-variables.ts'),
    import('../../supervise/process/start/environment.ts'),
  ]);
  const own = ['HOLDFAST_LOG', markerName];
  return passedOn(shell.env, [...variablesNamedIn(text), ...own]);
}

const maxConfigBytes = 67_108_864;

interface UsableConfig {
  /** Its real path. */
  readonly path: string;
  /** Of what was approved; undefined: it needs no approval. */
  readonly sha256: string | undefined;
}

/** Throws a Fault unless it was named, is the user's own, or is approved. */
async function usableConfig(shell: Shell, named: string | undefined): Promise<UsableConfig> {
  const { cwd, env } = shell;
  const around = { cwd, env, home: homeOf(env) };
  const found = locateConfig(named, around, isFile);
  if (found.kind === 'absent') {
    const told = `no ${configFileName} found: name one with --config FILE, or create ${found.looked.at(-1)}`;
    throw new Fault('invalid_request', told);
  }
  const { file, kind } = found;
  assertFile(file);
  const path = realConfigPath(file) ?? file;
  if (kind === 'named' || file === ownConfigFile(around)) return { path, sha256: undefined };
  if (!isSafeToFind(statSync(path), process.getuid?.())) {
    const told = `${path} belongs to another user or can be written by everyone, so it is not used`;
    throw new Fault('denied', `${told}; if you trust it, name it with --config ${path}`);
  }
  return { path, sha256: (await trustedConfig(shell, path)).sha256 };
}

/** Of a config that was found in a project folder. Throws a Fault unless it is trusted as it is now. */
async function trustedConfig(shell: Shell, path: string): Promise<SeenText> {
  const [{ changedFault, trustOf }, { withTrustRecords }] = await Promise.all([
    import('../../instance/connect/trusted-configs.ts'),
    import('../trust-records.ts'),
  ]);
  const seen = seenConfig(path);
  const trust = await withTrustRecords(shell, (records) => trustOf(records, seen));
  if (trust === 'trusted') return seen;
  if (trust === 'changed') throw changedFault(path);
  throw new Fault(
    'denied',
    `${path} was found in a project folder and is not used, because it may run commands; look at it, then approve it with: holdfast trust ${path}`,
  );
}

/**
 * Says on standard error when the config is changed while the window is open and the change is ignored. An instance
 * that was started with the config by its name follows it.
 */
async function tellChanges(shell: Shell, path: string): Promise<Disposable> {
  const { ConfigWatch } = await import('../../instance/config-watch.ts');
  const used = stateOfFile(path);
  const changed = async () => {
    try {
      const status = await instanceStatus(shell, path);
      if (status?.usedConfig === undefined) await trustedConfig(shell, path);
      else if (status.usedConfig.problem?.kind === 'untrusted') {
        const told = notUsedText(status, shell.clock.wallNow());
        if (told !== undefined) remark(shell, told);
      }
    } catch (error) {
      remark(shell, faultFrom(error).message);
    }
  };
  const files = () => [path];
  // Nothing depends on it but a line on standard error.
  return new ConfigWatch({ clock: shell.clock, files, changed, slowMs: 5_000 }, used);
}

/** What the instance is told of this window; variables as keyed hashes. */
function factsOf({ cwd, env }: Shell, config: string): ClientFacts {
  const own = { folder: cwd, pid: process.pid };
  try {
    const text = readNamedFile(config, maxConfigBytes).toString('utf8');
    return { ...own, environment: sentEnvironment(comparedVariables(env, text)) };
  } catch (error) {
    // An instance that runs can be joined all the same.
    if (error instanceof Error && 'code' in error) return own;
    throw error;
  }
}

/** The one that belongs to the user and not to a folder: the last place that is searched. */
function ownConfigFile(around: Parameters<typeof locateConfig>[1]): string | undefined {
  const nowhere = locateConfig(
    undefined,
    { ...around, cwd: '/', env: withoutName(around.env) },
    () => false,
  );
  return nowhere.kind === 'absent' ? nowhere.looked.at(-1) : undefined;
}

function withoutName({ HOLDFAST_CONFIG: _, ...env }: Shell['env']): Shell['env'] {
  return env;
}

/** Throws a Fault that says what is there instead. */
function assertFile(path: string): void {
  if (isFile(path)) return;
  const isFolder = statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
  const inside = join(path, configFileName);
  const told = isFolder
    ? `${path} is a directory; name the file in it${isFile(inside) ? `: ${inside}` : ''}`
    : `${path}: there is no such file; check the path`;
  throw new Fault('invalid_request', told);
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
}

async function trustFile({ shell, isJson }: Invocation, name: string): Promise<number> {
  const file = resolve(shell.cwd, name);
  assertFile(file);
  const path = realConfigPath(file) ?? file;
  const { loadConfig } = await import('../../config/load.ts');
  // A config that cannot be used is not worth approving: its problems are reported.
  const { sha256 } = loadConfig({ file: path, cwd: shell.cwd, env: shell.env });
  const [{ trust, trustOf }, { withTrustRecords }] = await Promise.all([
    import('../../instance/connect/trusted-configs.ts'),
    import('../trust-records.ts'),
  ]);
  const before = await withTrustRecords(shell, async (records) => {
    const former = await trustOf(records, { path, sha256 });
    await trust(records, { path, sha256 }).catch((error: unknown) => {
      throw error instanceof Fault ? notTrusted(path, error) : error;
    });
    return former;
  });
  if (isJson) shell.out.json({ trusted: path });
  else {
    shell.out.line(`${path} is trusted as it is now`);
    await tellReload(shell, path, before === 'changed');
  }
  return exitCodes.ok;
}

/** A disk that fails is no fault of the config. */
function notTrusted(path: string, error: Fault): Fault {
  const code = error.code === 'overloaded' ? 'unavailable' : error.code;
  return new Fault(code, `${path} is not trusted: ${error.message}`, {}, error);
}

/** An instance that does not use the change yet takes it over when it is told to. */
async function tellReload(shell: Shell, path: string, hasChanged: boolean): Promise<void> {
  const status = await instanceStatus(shell, path);
  if (status === undefined) return;
  // An older one does not tell.
  const { usedConfig } = status;
  if (usedConfig === undefined ? !hasChanged : usedConfig.problem === null) return;
  // A config that is named by its path is the same everywhere.
  const reload = nextSteps(path)('holdfast reload');
  shell.out.line(`the instance that runs takes it over with: ${reload}`);
}
