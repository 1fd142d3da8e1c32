// holdfast check: whether servers and tools are there and can be used, for scripts. A server that does not
// run counts as ready if its list is known, because its first call starts it. Nothing is started unless
// --wait allows it.

import type { Command } from 'commander';
import type { LoadedConfig } from '../../config/loaded.ts';
import type { ServerStatus } from '../../host/status.ts';
import type { Operations } from '../../instance/operations.ts';
import { faultFrom } from '../../kernel/fault.ts';
import { printableLine } from '../../kernel/printable.ts';
import { exitCodes } from '../exit-codes.ts';
import type { Invocation, Perform } from '../invocation.ts';
import { localDenial } from '../local-role.ts';
import { notUsedText } from '../render/used-config.ts';
import { seconds } from '../seconds-option.ts';
import { remark, type Shell } from '../shell.ts';
import { withTarget } from '../target.ts';
import { type PartialAddress, partialAddress } from '../tool-address.ts';

const help = `
Ready is a server that runs, or that does not run and whose tools are known from an earlier start; a
tool is ready if its server is, and lists it. Each is reported. Exit code 0: all are ready; 2: one is
unknown; 3: none is unknown, and one is not ready. --wait starts servers and waits up to so many seconds until they are ready.
With --json: {"checks": [{"server", "tool", "ready", "known", "state", "cause"}]}; "state" is null if there
is no such server.

Examples:
  holdfast check files git/log
  holdfast check files --wait 30 && holdfast call files/read_text_file path=README.md`;

export function addCheck(program: Command, perform: Perform): void {
  program
    .command('check')
    .summary('check whether servers and tools can be used')
    .description('Check whether servers and tools are there and can be used.')
    .argument('<SERVER[/TOOL]...>', 'servers and tools')
    .option('--wait <SECONDS>', 'start what does not run, and wait so long', seconds)
    .addHelpText('after', help)
    .action((words: string[], { wait }: { wait?: number }, command: Command) =>
      perform(command, (invocation) => check(invocation, words, wait)),
    );
}

interface Checked {
  readonly server: string;
  readonly tool: string | null;
  readonly ready: boolean;
  /** False: there is no such server or tool. */
  readonly known: boolean;
  /** Null: there is no such server. */
  readonly state: ServerStatus['state'] | null;
  readonly cause: string | null;
}

async function check(
  invocation: Invocation,
  words: readonly string[],
  wait: number | undefined,
): Promise<number> {
  const { shell, isJson } = invocation;
  const addresses = words.map(partialAddress);
  return await withTarget(invocation, {}, async ({ operations, instance, loaded }) => {
    const refusals =
      wait === undefined ? new Map() : await startAll(shell, operations, addresses, wait);
    const checks: Checked[] = [];
    for (const address of addresses) {
      const found = await checked(operations, address);
      const refusal = found.known
        ? (denialOf(loaded, address) ?? refusals.get(address.server))
        : undefined;
      checks.push(refusal === undefined ? found : { ...found, ready: false, cause: refusal });
    }
    const told = checks.map((one) => ({ ...one, cause: one.cause && shell.steps(one.cause) }));
    if (isJson) shell.out.json({ checks: told });
    else for (const one of told) shell.out.line(lineOf(one));
    // A file that cannot be used was told already.
    const status = loaded && instance ? await instance.status() : undefined;
    const note = status && notUsedText(status, shell.clock.wallNow());
    if (note !== undefined) remark(shell, note);
    if (checks.some(({ known }) => !known)) return exitCodes.usage;
    return checks.every(({ ready }) => ready) ? exitCodes.ok : exitCodes.unavailable;
  });
}

/** Why the local user may not use it; undefined if it may, or the config cannot be read. */
function denialOf(
  loaded: LoadedConfig | undefined,
  { server, tool }: PartialAddress,
): string | undefined {
  return loaded && localDenial(loaded.config, server, tool);
}

/** Failures are seen in the states afterwards. The result is why some cannot be started at all. */
async function startAll(
  { clock, interrupt }: Shell,
  operations: Operations,
  addresses: readonly PartialAddress[],
  wait: number,
): Promise<ReadonlyMap<string, string>> {
  const known = new Set((await operations.status()).servers.map(({ name }) => name));
  const named = [...new Set(addresses.map(({ server }) => server))];
  const servers = named.filter((server) => known.has(server));
  const refusals = new Map<string, string>();
  const start = async (server: string) => {
    const fault = await operations.start(server).then(() => undefined, faultFrom);
    if (fault?.code === 'invalid_request') refusals.set(server, fault.message);
  };
  const started = Promise.all(servers.map(start));
  let timer: Disposable | undefined;
  const over = new Promise<void>((resolve) => {
    timer = clock.after(wait * 1_000, resolve);
  });
  await Promise.race([started, over, interrupt.arrived]).finally(() => timer?.[Symbol.dispose]());
  return refusals;
}

async function checked(operations: Operations, { server, tool }: PartialAddress): Promise<Checked> {
  const { servers } = await operations.status();
  const found = servers.find(({ name }) => name === server);
  if (found === undefined) {
    const fault = await operations.requireServer(server).then(() => undefined, faultFrom);
    const why = fault?.message ?? `there is no server '${server}'`;
    return { server, tool: tool ?? null, ready: false, known: false, state: null, cause: why };
  }
  const { state, cause } = found;
  const known = state === 'disabled' ? undefined : await operations.knownTools(server);
  const isUsable = state === 'ready' || (state === 'idle' && known !== undefined);
  if (tool !== undefined && isUsable && known !== undefined && !known.includes(tool)) {
    const { message } = await operations.unknownTool(server, tool);
    return { server, tool, ready: false, known: false, state, cause: message };
  }
  const why = cause ?? (state === 'idle' ? 'its tools are not known yet; use --wait' : null);
  const shown = isUsable ? null : why;
  return { server, tool: tool ?? null, ready: isUsable, known: true, state, cause: shown };
}

function lineOf({ server, tool, ready, known, state, cause }: Checked): string {
  const name = tool === null ? server : `${server}/${tool}`;
  if (ready) return `${name} ready`;
  if (!known) return printableLine(`${name} unknown: ${cause}`);
  return printableLine(`${name} not ready: ${state}${cause === null ? '' : `, ${cause}`}`);
}
