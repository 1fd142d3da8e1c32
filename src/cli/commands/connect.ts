// holdfast connect: what an agent has in its config as its one MCP server. It joins the running instance of
// the config, and starts one if none runs, so that all windows share one set of servers. holdfast trust:
// approves a config in a project folder for it.

import { statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { type Command, Option } from 'commander';
import { homeOf, realConfigPath } from '../../config/config-path.ts';
import { configFileName, isSafeToFind, locateConfig } from '../../config/locate.ts';
import { ownIdentity } from '../../host/identity.ts';
import { readNamedFile } from '../../kernel/bounded-file.ts';
import { within } from '../../kernel/clock.ts';
import { Fault } from '../../kernel/fault.ts';
import type { Records } from '../../store/contract/records.ts';
import { exitCodes } from '../exit-codes.ts';
import type { Invocation, Perform } from '../invocation.ts';
import { remark, type Shell } from '../shell.ts';
import { ownStateDirectory } from '../state-directory.ts';

/** An instance that connect has started ends so long after its last client. */
const idleEndMs = 600_000;

/** After a signal, how long the client may take to read the last answers. */
const lastWordsMs = 500;

const connectHelp = `
It serves one client with MCP on standard input and output, as holdfast serve --stdio does, but from
the instance that all windows share. That instance is holdfast serve, or one that the first connect
starts; that one ends 10 minutes after its last client. If it ends or is killed, the client's session
goes on with the next one.

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
With --json: {"trusted": the file}.

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
  const [{ connectClient }, { instancePlace }, { startDetached }] = await Promise.all([
    import('../../instance/connect/connect.ts'),
    import('../../instance/place.ts'),
    import('../../supervise/process/start/start-detached.ts'),
  ]);
  const stateDir = await ownStateDirectory(shell);
  const env = { ...(await environmentFor(shell, config)), HOLDFAST_STATE: stateDir };
  const args = [process.argv[1] ?? '', 'serve', '--config', config, '--for-connect', idleEnd];
  const place = instancePlace(stateDir, config, shell.env);
  // An instance that is started later must not run what was not approved.
  const approved = sha256 === undefined ? [] : ['--approved', sha256];
  await connectClient({
    place,
    clock: shell.clock,
    program: ownIdentity().version,
    folder: shell.cwd,
    start: (logFile) =>
      startDetached({
        command: process.execPath,
        args: [...args, ...approved],
        env,
        cwd: dirname(config),
        logFile,
      }),
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

/** The safe set, what the config names, and where the instance finds its state. */
async function environmentFor(shell: Shell, config: string): Promise<Record<string, string>> {
  const [{ variablesNamedIn }, { markerName, passedOn }] = await Promise.all([
    import('../../instance/connect/named-variables.ts'),
    import('../../supervise/process/start/environment.ts'),
  ]);
  const text = readNamedFile(config, maxConfigBytes).toString('utf8');
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
  if (!isFile(file)) {
    throw new Fault('invalid_request', `${file}: there is no such file; check the path`);
  }
  const path = realConfigPath(file) ?? file;
  if (kind === 'named' || file === ownConfigFile(around)) return { path, sha256: undefined };
  const isSafe = isSafeToFind(statSync(path), process.getuid?.());
  const { trustedHash } = await import('../../instance/connect/trusted-configs.ts');
  const sha256 = await withTrustRecords(shell, (records) => trustedHash(records, path));
  if (isSafe && sha256 !== undefined) return { path, sha256 };
  throw new Fault(
    'denied',
    `${path} was found in a project folder and is not used, because it may run commands; look at it, then approve it with: holdfast trust ${path}`,
  );
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

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
}

async function trustFile({ shell, isJson }: Invocation, name: string): Promise<number> {
  const file = resolve(shell.cwd, name);
  if (!isFile(file)) {
    throw new Fault('invalid_request', `${file}: there is no such file; check the path`);
  }
  const path = realConfigPath(file) ?? file;
  const { loadConfig } = await import('../../config/load.ts');
  // A config that cannot be used is not worth approving: its problems are reported.
  loadConfig({ file: path, cwd: shell.cwd, env: shell.env });
  const { trust } = await import('../../instance/connect/trusted-configs.ts');
  await withTrustRecords(shell, (records) => trust(records, path));
  if (isJson) shell.out.json({ trusted: path });
  else shell.out.line(`${path} is trusted as it is now`);
  return exitCodes.ok;
}

async function withTrustRecords<T>(
  shell: Shell,
  work: (records: Records) => Promise<T>,
): Promise<T> {
  const [{ openFilesStore }, { isTrustRecord }, { join }] = await Promise.all([
    import('../../store/file-store.ts'),
    import('../../instance/connect/trusted-configs.ts'),
    import('node:path'),
  ]);
  const folder = join(await ownStateDirectory(shell), 'store');
  await using store = openFilesStore(folder, {
    clock: shell.clock,
    report: ({ detail }) => remark(shell, detail),
  });
  return await work(store.records('trusted', { durability: 'durable', shape: isTrustRecord }));
}
