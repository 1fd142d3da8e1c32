// holdfast serve: the gateway, over HTTP or, for one client, on its own standard streams. It runs
// until it is stopped, or, on stdio, until its client disconnects; then it stops its servers and
// leaves nothing behind. When it listens, it prints the config for a client, with the token if this
// start created one; the token is shown only this once.

import { join } from 'node:path';
import { type Command, Option } from 'commander';
import type { ReadConfig } from '../../config/load.ts';
import type { LoadedConfig } from '../../config/loaded.ts';
import type { Gateway } from '../../downstream/gateway.ts';
import type { OpenedHost } from '../../host/create-host.ts';
import { ownIdentity } from '../../host/identity.ts';
import { assertApproved } from '../../instance/connect/trusted-configs.ts';
import type { OwnInstance } from '../../instance/instance.ts';
import { ignored } from '../../kernel/contain.ts';
import { Fault } from '../../kernel/fault.ts';
import { reportedAtOnce } from '../command-failure.ts';
import { disabledServers } from '../disabled-servers.ts';
import { exitCodes } from '../exit-codes.ts';
import type { Invocation, Perform } from '../invocation.ts';
import { followConfig } from '../live-config.ts';
import { type Control, claimedInstance, startControl } from '../own-instance.ts';
import { connectionPage } from '../render/connection-page.ts';
import { FailureLines } from '../render/failure-lines.ts';
import { durationText } from '../render/quantity.ts';
import { remark, type Shell } from '../shell.ts';
import { loadedConfig, openHost } from '../standalone.ts';
import { ownStateDirectory, usableStateDirectory } from '../state-directory.ts';
import { assertStillApproved } from '../trust-records.ts';
import { letYoungGenerationGrow } from '../young-generation.ts';

const help = `
HTTP: MCP at /mcp (all versions), the 2024 transport at /sse; also /healthz and /readyz.
With --json it prints one line when it listens: {"url", "listen", "token", "tokenKept", "pid"};
"url" is for clients on this machine, "listen" is the actual HOST:PORT, "token" is null unless this
start created one. It ends on SIGINT or SIGTERM with exit code 0, after the running calls have been
answered (drainMs in the config); a second signal ends it at once. With --stdio it also ends when
its input has ended and all requests have been answered.
A changed config is taken over while it runs: servers whose entries are the same keep their processes
and their calls. A config that cannot be used changes nothing and is reported.

Examples:
  holdfast serve
  holdfast serve --listen 127.0.0.1:4200
  holdfast serve --stdio        as one MCP server in a client's config`;

interface ServeOptions {
  readonly listen?: string;
  readonly stdio?: boolean;
  /** Started by `holdfast connect`: it ends this many milliseconds after its last client. */
  readonly forConnect?: string;
  /** The hash of the config that may be used; absent: any. */
  readonly approved?: string;
}

export function addServe(program: Command, perform: Perform): void {
  program
    .command('serve')
    .summary('run the gateway: one MCP endpoint in front of all servers')
    .description('Run the gateway: one MCP endpoint in front of every configured server.')
    .option('--listen <HOST:PORT>', 'where to listen, instead of http.listen of the config')
    .option('--stdio', 'serve one client with MCP on standard input and output instead')
    .addOption(new Option('--for-connect <MS>').hideHelp())
    .addOption(new Option('--approved <SHA256>').hideHelp())
    .addHelpText('after', help)
    .action((options: ServeOptions, command: Command) =>
      perform(command, (invocation) => serve(invocation, options)),
    );
}

async function serve(invocation: Invocation, options: ServeOptions): Promise<number> {
  const { shell, configFile } = invocation;
  if (options.stdio === true && options.listen !== undefined) {
    throw new Fault(
      'invalid_request',
      '--stdio and --listen cannot be combined: with --stdio nothing listens; see: holdfast serve --help',
    );
  }
  const code = await underInit(shell);
  if (code !== undefined) return code;
  const loaded = await loadedConfig(shell, configFile);
  if (loaded.file !== null) assertApproved(loaded.file, options.approved);
  return await serveConfig(invocation, loaded, options);
}

/** As process 1 it runs below an init; the result is the exit code. Undefined: run here. */
async function underInit(shell: Shell): Promise<number | undefined> {
  if (process.pid !== 1) return undefined;
  const { needsInit, runUnderInit } = await import('../../supervise/process/contain/own-init.ts');
  if (!needsInit(process)) return undefined;
  const outcome = await runUnderInit();
  if (outcome.kind === 'ended') return outcome.code;
  remark(
    shell,
    'running as process 1, which must reap orphaned processes, and this version of Node cannot: ' +
      'start the container with an init (docker run --init), or use Node 22.15 or later',
  );
  return undefined;
}

/** The same for a config that is loaded already. */
async function serveConfig(
  invocation: Invocation,
  loaded: ReadConfig,
  options: ServeOptions,
): Promise<number> {
  const { shell } = invocation;
  const { loadConfig } = await import('../../config/load.ts');
  const readConfig = async () => {
    const file = loaded.file ?? undefined;
    const read = loadConfig({ file, cwd: shell.cwd, env: shell.env });
    if (file !== undefined) await assertStillApproved(shell, file, options.approved);
    return read;
  };
  const failures = new FailureLines();
  // A gateway keeps trying to use a directory that fails now.
  const usable = await usableStateDirectory(shell);
  const stateDir = await ownStateDirectory(shell);
  const startedBy = options.forConnect === undefined ? 'serve' : 'connect';
  const keepsState = loaded.config.store === 'sqlite';
  await using instance =
    options.stdio === true ? undefined : await claimedInstance(shell, loaded, usable, startedBy);
  let serves = () => {};
  const serving = new Promise<void>((resolve) => {
    serves = resolve;
  });
  const host = await openHost(shell, loaded, {
    gateway: {
      stateDir,
      database: instance && keepsState ? instance.place.database : null,
      startedBy,
      serving,
    },
    onEvent: (event) => {
      const line = failures.lineFor(event);
      if (line !== undefined && !shell.logs('info')) remark(shell, line);
    },
  });
  try {
    await using gateway = await gatewayFor(host, loaded);
    for (const { name, cause, isSwitchedOff } of disabledServers(loaded)) {
      if (!isSwitchedOff) remark(shell, `${name} is disabled: ${cause}`);
    }
    host.startPinned();
    using _watching = await followConfig(shell, host, loaded, readConfig);
    const ownsDatabase = instance !== undefined && keepsState;
    const onServing = () => {
      letYoungGenerationGrow();
      serves();
    };
    const common = { host, gateway, loaded, invocation, instance };
    const served = { ...common, readConfig, ownsDatabase, onServing };
    return await reportedAtOnce(invocation, () => {
      if (options.stdio === true) return serveStreams(served);
      const { forConnect, listen } = options;
      if (forConnect !== undefined) return serveSocket(served, Number(forConnect));
      return serveHttp(served, listen);
    });
  } finally {
    await host.close();
  }
}

async function gatewayFor(host: OpenedHost, { config }: LoadedConfig): Promise<Gateway> {
  const { Gateway } = await import('../../downstream/gateway.ts');
  const { naming, surface, hostTools, listWaitMs } = config;
  return new Gateway({
    host,
    clock: host.clock,
    identity: ownIdentity(),
    settings: { naming, surface, hostTools, listWaitMs },
  });
}

/** Of one message of a client. */
const frameBytes = 16_777_216;
/** Clients send TERM two seconds after they have closed our input, and KILL two seconds later. */
const stdioDrainMs = 1_500;
/** How long the client may take to read the last answers. */
const lastWordsMs = 500;

async function serveStreams({ host, gateway, invocation, onServing }: Served): Promise<number> {
  const { shell } = invocation;
  const { startStdio } = await import('../../downstream/stdio/stdio-front.ts');
  const { OutgoingBudget } = await import('../../downstream/outgoing/outgoing-budget.ts');
  const { holdUpServers } = await import('../../downstream/outgoing/hold-up.ts');
  const { clock, interrupt } = shell;
  const { stdin: input, stdout: output } = process;
  const outgoing = new OutgoingBudget(clock, (line) => remark(shell, line));
  const held = (isHeld: boolean) => holdUpServers(host, isHeld);
  const parts = { front: gateway, input, output, frameBytes, clock, outgoing, held };
  const front = startStdio(parts);
  onServing();
  await Promise.race([front.inputEnded, front.gone, interrupt.arrived]);
  const hurriedMs = Math.min(host.config.drainMs, stdioDrainMs);
  const hurry = () => drainTelling(shell, gateway, hurriedMs);
  interrupt.arrived.then(hurry).catch(ignored);
  const drainMs = interrupt.signal.aborted ? hurriedMs : host.config.drainMs;
  const lost = await Promise.race([gateway.drain(drainMs), front.gone]);
  const [isRead] = await Promise.all([front.close(lastWordsMs), host.close()]);
  if (!isRead) shell.out.giveUp();
  return lost === 'not-reading' ? exitCodes.unavailable : exitCodes.ok;
}

/** After Ctrl-C, says what is being waited for, and how to stop at once; `others` are not the gateway's. */
function drainTelling(shell: Shell, gateway: Gateway, drainMs: number, others = 0): Promise<void> {
  const drained = gateway.drain(drainMs);
  const { err, interrupt } = shell;
  // Requests that only listen have ended by now.
  const count = gateway.underWay + others;
  if (interrupt.isByHand && count > 0) {
    // The terminal has just shown `^C`.
    if (err.isTerminal) err.line();
    const calls = count === 1 ? '1 call' : `${count} calls`;
    const told = `waiting for ${calls} to end, up to ${durationText(drainMs)} (drainMs)`;
    remark(shell, `${told}; press Ctrl-C again to end at once`);
  }
  return drained;
}

/** The end of an instance: nothing new begins, and calls may end. */
async function drainAll(served: Served, control: Control | undefined): Promise<void> {
  const { host, gateway, instance } = served;
  const { shell } = served.invocation;
  const { drainMs } = host.config;
  const isAsked = control?.isEndAsked() ?? false;
  await Promise.all([
    drainTelling(shell, gateway, drainMs, instance?.underWay),
    instance?.drain(drainMs, isAsked),
  ]);
}

interface Served {
  readonly host: OpenedHost;
  readonly gateway: Gateway;
  readonly loaded: LoadedConfig;
  readonly invocation: Invocation;
  readonly instance: OwnInstance | undefined;
  readonly readConfig: () => Promise<ReadConfig>;
  /** What it keeps outlives the process. */
  readonly ownsDatabase: boolean;
  /** Called when clients can come. */
  readonly onServing: () => void;
}

/** For the clients of `holdfast connect` alone: nothing listens on a port. */
async function serveSocket(served: Served, idleMs: number): Promise<number> {
  const { host, gateway, instance } = served;
  const { shell } = served.invocation;
  if (instance === undefined) throw new Fault('unavailable', 'there is no place for its socket');
  const { OutgoingBudget } = await import('../../downstream/outgoing/outgoing-budget.ts');
  const outgoing = new OutgoingBudget(host.clock, (line) => remark(shell, line));
  const { readConfig, ownsDatabase: keepsKeys } = served;
  const { env } = shell;
  const parts = { host, gateway, outgoing, readConfig, keepsKeys, url: null, env };
  const control = await startControl(instance, parts);
  served.onServing();
  await Promise.race([shell.interrupt.arrived, control.endAsked, control.clients.idleFor(idleMs)]);
  await drainAll(served, control);
  await control.clients.close();
  await instance.stopListening();
  await host.close();
  return exitCodes.ok;
}

/** Those that are open, and as many that earlier processes have left. */
const maxStoredSessions = 20_000;

async function serveHttp(served: Served, listen: string | undefined): Promise<number> {
  const { host, gateway, instance } = served;
  const { config, file: configFile, disabled } = served.loaded;
  const { shell, isJson } = served.invocation;
  const { startHttp } = await import('../../downstream/http/listener.ts');
  const { addressText } = await import('../../downstream/http/access/listen-address.ts');
  const { isTokenRecord, openTokens, tokenAuthenticator } = await import(
    '../../downstream/http/access/tokens.ts'
  );
  const { out, interrupt } = shell;
  const { clock } = host;
  const http = { ...config.http, listen: listen ?? config.http.listen };
  const opened =
    http.auth === 'none'
      ? undefined
      : await openTokens(
          host.records('tokens', { durability: 'durable', shape: isTokenRecord }),
          clock,
        );
  const { OutgoingBudget } = await import('../../downstream/outgoing/outgoing-budget.ts');
  const outgoing = new OutgoingBudget(clock, (line) => remark(shell, line));
  const { isStoredSession } = await import('../../downstream/http/legacy/kept-sessions.ts');
  const { readConfig, ownsDatabase } = served;
  // Only the owner of a database: others would keep them in files that any gateway reads.
  const shape = isStoredSession;
  const sessions = ownsDatabase
    ? host.records('sessions', { durability: 'durable', shape, maxEntries: maxStoredSessions })
    : undefined;
  const front = await startHttp({
    outgoing,
    sessions,
    principals: opened?.principals,
    front: gateway,
    config: http,
    clock,
    authenticator: opened && tokenAuthenticator(opened.tokens),
    identity: ownIdentity(),
    report: (line) => remark(shell, line),
    isReady: () => gateway.isAccepting,
  });
  const { url } = front;
  const { env } = shell;
  const parts = { host, gateway, outgoing, readConfig, keepsKeys: ownsDatabase, url, env };
  const control = instance && (await startControl(instance, parts));
  const secret = opened?.secret ?? null;
  const isKept = opened?.isKept ?? true;
  const at = addressText(front.address);
  if (isJson)
    out.json({
      url,
      listen: at,
      token: secret,
      tokenKept: secret === null ? null : isKept,
      pid: process.pid,
    });
  else {
    const servers = host.servers().map(({ name }) => name);
    const tokenFolder = join(await ownStateDirectory(shell), 'store', 'tokens');
    const listensOn = `http://${at}/mcp`;
    const known = { servers, disabled: disabled.size, configFile };
    const page = { url, listensOn, auth: http.auth, secret, isKept, tokenFolder, ...known };
    for (const line of connectionPage(page, out.style, shell.steps)) out.line(line);
  }
  served.onServing();
  await Promise.race([interrupt.arrived, ...(control ? [control.endAsked] : [])]);
  const drained = drainAll(served, control);
  front.drain();
  await drained;
  await Promise.all([front.close(), control?.clients.close()]);
  // The lock is released after the host has closed the database.
  await instance?.stopListening();
  await host.close();
  return exitCodes.ok;
}
