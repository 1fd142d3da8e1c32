// Checks of single servers. First from outside: does the command exist, does the address answer?
// Then, unless --no-start is given, each server is started as a call would start it, initialized,
// asked for its tools, and stopped. Several at a time, but not all at once: forty servers that
// start together would only show that the machine is slow.

import { inFolder, runsInFolders } from '../../config/client-folders.ts';
import type { Config, ServerConfig, StdioServerConfig } from '../../config/schema.ts';
import type { HostForCommands } from '../../host/command-face.ts';
import { UnreadValue } from '../../host/servers/late-secrets.ts';
import { redactorFor } from '../../host/servers/open-connection.ts';
import type { ServerStatus } from '../../host/status.ts';
import type { Clock } from '../../kernel/clock.ts';
import { Fault, faultFrom } from '../../kernel/fault.ts';
import type { Redactor, Secret } from '../../kernel/redactor.ts';
import { Turns } from '../../kernel/turns.ts';
import { resolveCommand } from '../../supervise/process/start/command.ts';
import { childEnvironment, type Environment } from '../../supervise/process/start/environment.ts';
import { createHttpClient, type HttpClient } from '../../upstream/http/http-client.ts';
import { shownAddress } from '../../upstream/http/remote-words.ts';
import { shellWord } from '../shell-word.ts';
import { type Check, finding, note, ok } from './check.ts';
import { addressProblem } from './remote-address.ts';

export interface ServerChecks {
  readonly config: Config;
  readonly env: Environment;
  readonly clock: Clock;
  /** Does the handshakes; null: no server is started. */
  readonly host: HostForCommands | null;
  /** Reads the lists of a server that runs; absent: its tools are enough. */
  readonly readLists?: ((name: string) => Promise<void>) | undefined;
  /** Called when a server's check begins and ends. */
  readonly progress: (name: string, step: 'began' | 'done') => void;
}

export async function checkServers(checks: ServerChecks): Promise<readonly Check[]> {
  await using http = createHttpClient();
  const { config, host, env, progress } = checks;
  const turns = new Turns(looksAtOnce);
  const look = async ([name, server]: readonly [string, ServerConfig]) => {
    progress(name, 'began');
    const check = await checkServer(name, server, checks, http);
    progress(name, 'done');
    return redacted(check, redactorFor([server], env, [], isNoSetting));
  };
  const checking = Object.entries(config.mcpServers).map(async (entry) => {
    if (host === null) return await turns.run(() => look(entry));
    using _turn = await host.startTurn(entry[0]);
    return await look(entry);
  });
  return await Promise.all(checking);
}

/**
 * A setting such as LOG_LEVEL=warning is a word that our own sentences may have: it is not replaced in them, unless
 * the name of its variable speaks of a secret.
 */
export function isNoSetting({ name, value }: Secret): boolean {
  const isWord = name.startsWith('env ') && /^[A-Za-z]{1,16}$/.test(value);
  return !isWord || secretName.test(name);
}

const secretName = /key|token|secret|pass|pwd|auth|cred|pin|cookie|session|sign|private|salt/i;

/** Each uses an open file or a socket. */
const looksAtOnce = 32;

async function checkServer(
  name: string,
  server: ServerConfig,
  { host, env, clock, readLists }: ServerChecks,
  http: HttpClient,
): Promise<Check> {
  if (server.type === 'stdio') {
    if (runsInFolders(server)) return await checkInFolders(name, server, env);
    const check = await checkCommand(name, server, env);
    if (check.kind === 'finding' || host === null) return check;
    return await checkHandshake({ host, clock, readLists }, name, check.text, async () => ({
      remedy: byHand(server),
    }));
  }
  const explain = () => addressProblem(name, server, http, clock);
  const place = shownAddress(new URL(server.url));
  if (host !== null) return await checkHandshake({ host, clock, readLists }, name, place, explain);
  const problem = await explain();
  return problem ? finding(name, problem.text, problem.remedy) : ok(name, `${place} is reachable`);
}

// --- from outside --------------------------------------------------------------------------

/** It runs in the folder of each window: there is none here to start it in. */
async function checkInFolders(
  name: string,
  server: StdioServerConfig,
  env: Environment,
): Promise<Check> {
  const cwd = process.cwd();
  const command = inFolder(server.command, cwd);
  const check = await checkCommand(name, { ...server, command, cwd }, env);
  if (check.kind === 'finding') return check;
  const where = 'runs in the folder of each window (cwd: "client"), and was not started here';
  return note(name, `${check.text} · ${where}`);
}

async function checkCommand(
  name: string,
  { command, cwd, env: declared, inheritEnv, allowEnv }: StdioServerConfig,
  env: Environment,
): Promise<Check> {
  const { PATH: path } = childEnvironment(env, { env: declared, inheritEnv, allowEnv, token: '' });
  try {
    return ok(name, await resolveCommand({ server: name, command, cwd, path }));
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return finding(
      name,
      error.message,
      `correct "command" or "cwd" of '${name}' in the config, or install the program`,
    );
  }
}

// --- a real start --------------------------------------------------------------------------

/** More about a failure than the handshake itself shows. */
interface Explanation {
  /** Replaces the message of the fault. */
  readonly text?: string;
  readonly remedy: string;
}

interface Handshake extends Pick<ServerChecks, 'clock' | 'readLists'> {
  readonly host: HostForCommands;
}

async function checkHandshake(
  { host, clock, readLists }: Handshake,
  name: string,
  place: string,
  explain: () => Promise<Explanation | undefined>,
): Promise<Check> {
  const startedAt = clock.now();
  try {
    const lease = await host.lease(name, { owner: 'doctor' });
    const seconds = ((clock.now() - startedAt) / 1_000).toFixed(1);
    const check = ok(
      name,
      `${place} · ${greetingText(host.serverStatus(name))} · ready in ${seconds} s`,
    );
    await readLists?.(name);
    lease.release();
    return check;
  } catch (error) {
    const { message, cause } = faultFrom(error);
    if (cause instanceof UnreadValue) return finding(name, message, unreadRemedy);
    const { text = message, remedy = 'correct its entry in the config' } = (await explain()) ?? {};
    return finding(name, text, remedy);
  } finally {
    await host.stop(name);
  }
}

/** The command of the server itself was not run. */
const unreadRemedy =
  'correct that value in the config, or run the command or read the file in it by hand';

function greetingText({ protocolVersion, tools }: ServerStatus): string {
  const count = tools === null ? 'tools could not be listed' : `${tools} tools`;
  return `MCP ${protocolVersion} · ${tools === 1 ? '1 tool' : count}`;
}

/** The whole line: the folder decides what a relative path means. */
function byHand({ command, args, cwd }: StdioServerConfig): string {
  const line = [command, ...args].map(shellWord).join(' ');
  return `fix the cause, or run it by hand: cd ${shellWord(cwd)} && ${line}`;
}

function redacted(check: Check, redactor: Redactor): Check {
  const text = redactor.text(check.text);
  return check.kind === 'finding'
    ? { ...check, text, remedy: redactor.text(check.remedy) }
    : { ...check, text };
}
