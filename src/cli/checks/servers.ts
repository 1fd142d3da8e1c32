// Checks of single servers, without starting any: can its command be found and run from its working
// directory, or its address be reached? Any HTTP status means reachable, since only an MCP client
// would get a proper answer; 401 and 403 mean that the credentials are missing or wrong.

import type { Config, RemoteServerConfig, StdioServerConfig } from '../../config/schema.ts';
import type { Clock } from '../../kernel/clock.ts';
import { Fault } from '../../kernel/fault.ts';
import { resolveCommand } from '../../supervise/process/command.ts';
import { childEnvironment, type Environment } from '../../supervise/process/environment.ts';
import { createHttpClient, type HttpClient, type HttpRequest } from '../../upstream/http-client.ts';
import { type Check, finding, ok } from './check.ts';

export async function checkServers(
  config: Config,
  env: Environment,
  clock: Clock,
): Promise<readonly Check[]> {
  await using http = createHttpClient();
  return await Promise.all(
    Object.entries(config.mcpServers).map(([name, server]) =>
      server.type === 'stdio'
        ? checkCommand(name, server, env)
        : checkAddress(name, server, http, clock),
    ),
  );
}

async function checkCommand(
  name: string,
  { command, cwd, env: declared, inheritEnv }: StdioServerConfig,
  env: Environment,
): Promise<Check> {
  const { PATH: path } = childEnvironment(env, { env: declared, inheritEnv, token: '' });
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

const longestProbeMs = 5_000;

async function checkAddress(
  name: string,
  server: RemoteServerConfig,
  http: HttpClient,
  clock: Clock,
): Promise<Check> {
  const url = new URL(server.url);
  const shown = `${url.origin}${url.pathname}`;
  const outcome = await probe(questionFor(url, server), http, clock);
  if (outcome.kind === 'silent') {
    return finding(
      name,
      `${shown} did not answer within ${longestProbeMs / 1_000} s`,
      'check the address and the network',
    );
  }
  if (outcome.kind === 'failed') {
    return finding(name, `${shown} cannot be reached (${outcome.code})`, remedyFor(outcome.code));
  }
  const { status } = outcome;
  if (status === 401 || status === 403) {
    return finding(
      name,
      `${shown} answers ${status}: it wants other credentials`,
      `set "headers" of '${name}', such as { "Authorization": "Bearer \${env:TOKEN}" }`,
    );
  }
  return ok(name, `${shown} is reachable`);
}

/** What every server may be asked at any time without anything coming of it. */
const harmless = '{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{}}';

function questionFor(url: URL, { type, headers }: RemoteServerConfig): HttpRequest {
  const accept = 'application/json, text/event-stream';
  if (type === 'sse') return { url, method: 'GET', headers: { ...headers, accept }, body: null };
  const all = { ...headers, accept, 'content-type': 'application/json' };
  return { url, method: 'POST', headers: all, body: harmless };
}

type Probe =
  | { readonly kind: 'answered'; readonly status: number }
  | { readonly kind: 'failed'; readonly code: string }
  | { readonly kind: 'silent' };

function probe(request: HttpRequest, http: HttpClient, clock: Clock): Promise<Probe> {
  return new Promise((resolve) => {
    const end = (outcome: Probe) => {
      timer[Symbol.dispose]();
      resolve(outcome);
      inFlight.abort();
    };
    const inFlight = http.send(request, {
      sent: () => {},
      response: (status) => end({ kind: 'answered', status }),
      data: () => {},
      ended: () => {},
      failed: (error) => end({ kind: 'failed', code: codeOf(error) }),
    });
    const timer = clock.after(longestProbeMs, () => end({ kind: 'silent' }));
  });
}

function codeOf(error: Error): string {
  return 'code' in error ? String(error.code) : error.name;
}

function remedyFor(code: string): string {
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return 'check the host name in its "url"';
  if (code === 'ECONNREFUSED') return 'start the server there, or correct the port in its "url"';
  return 'check its "url", the network and any certificate in between';
}
