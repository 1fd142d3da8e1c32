// holdfast serve: the gateway, over HTTP or, for one client, on its own standard streams. It runs
// until it is stopped, or, on stdio, until its client disconnects; then it stops its servers and
// leaves nothing behind. When it listens, it prints the config for a client, with the token if this
// start created one; the token is shown only this once.

import { type Command, Option } from 'commander';
import { isMailbox } from '../../broker/address.ts';
import { assertApproved } from '../../instance/connect/trusted-configs.ts';
import { Fault } from '../../kernel/fault.ts';
import { installedAtStart } from '../../rollout/installed-files.ts';
import type { Invocation, Perform } from '../invocation.ts';
import { remark, type Shell } from '../shell.ts';
import { loadedConfig } from '../standalone.ts';
import { badMailbox } from './proxy.ts';

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

export interface ServeOptions {
  readonly listen?: string;
  readonly stdio?: boolean;
  readonly broker?: string;
  readonly as?: string;
  readonly tlsCa?: string;
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
    .option(
      '--broker <URL>',
      'also serve workers through this broker: ws://, wss://, nats:// or tls://',
    )
    .option('--as <NAME>', 'the name of this gateway at the broker (token add --orchestrator NAME)')
    .option('--tls-ca <FILE>', "a certificate of the broker to trust besides the system's")
    .addOption(new Option('--for-connect <MS>').hideHelp())
    .addOption(new Option('--approved <SHA256>').hideHelp())
    // For measurements only: what a pid-holder costs. Nothing is there to start it again, or a successor.
    .addOption(new Option('--no-holder').hideHelp())
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
  assertBrokerOptions(options);
  const code = await underInit(shell);
  if (code !== undefined) return code;
  const installed = installedAtStart(process.argv[1] ?? '');
  const loaded = await loadedConfig(shell, configFile);
  const { file: path, sha256 } = loaded;
  if (path !== null) assertApproved({ path, sha256 }, options.approved);
  const { serveConfig } = await import('../gateway/serve-config.ts');
  return await serveConfig(invocation, loaded, options, installed);
}

function assertBrokerOptions({ broker, as, stdio }: ServeOptions): void {
  const wrong = (text: string) =>
    new Fault('invalid_request', `${text}; see: holdfast serve --help`);
  if (broker !== undefined && stdio === true) {
    throw wrong('--stdio and --broker cannot be combined: a gateway for one client keeps no calls');
  }
  if ((broker === undefined) !== (as === undefined)) {
    throw wrong(
      '--broker and --as belong together: the address and the name of this gateway there',
    );
  }
  if (as !== undefined && !isMailbox(as)) throw badMailbox('--as', as);
}

/** As process 1 it runs below an init; the result is the exit code. Undefined: run here. */
async function underInit(shell: Shell): Promise<number | undefined> {
  if (process.pid !== 1) return undefined;
  const { needsInit, runUnderInit } = await import('../../supervise/process/contain/own-init.ts');
  if (!needsInit(process)) return undefined;
  // Signals are for the program below: here each of them is one of many, and a second is no reason to end.
  shell.interrupt.release(process);
  const outcome = await runUnderInit();
  if (outcome.kind === 'ended') return outcome.code;
  shell.interrupt.listen(process);
  remark(
    shell,
    'running as process 1, which must reap orphaned processes, and this version of Node cannot: ' +
      'start the container with an init (docker run --init), or use Node 22.15 or later',
  );
  return undefined;
}
