// From a server's config to a live connection: which transport, with which parameters. What we say
// a legacy server may ask its client is decided here too, because such a server hears it once, when
// it is greeted: everything, if clients stand behind this host, and nothing if not.

import type { ServerConfig } from '../config/schema.ts';
import type { Connection, ConnectionListener } from '../upstream/connection.ts';
import { connectHttp, type HttpParts, NotStreamable } from '../upstream/http.ts';
import { connectSse } from '../upstream/sse.ts';
import { connectStdio } from '../upstream/stdio.ts';
import type { ServerParts } from './server.ts';

/** Whoever asks is carried to a client that can do it, or refused by one that cannot. */
const everything = JSON.stringify({
  roots: { listChanged: true },
  sampling: { tools: {}, context: {} },
  elicitation: { form: {}, url: {} },
  extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html;profile=mcp-app'] } },
});

interface Destination {
  readonly name: string;
  readonly config: ServerConfig;
  readonly specHash: string;
}

export function openConnection(
  server: Destination,
  parts: ServerParts,
  generation: number,
  signal: AbortSignal,
  listener: ConnectionListener,
): Promise<Connection> {
  const { config, name, specHash } = server;
  const { clock, identity, verdicts, hasClients } = parts;
  const capabilities = hasClients ? everything : '{}';
  const frameBytes = config.limits.frameBytes;
  const shared = { server: name, specHash, frameBytes, clock, identity, verdicts, capabilities };
  if (config.type !== 'stdio') {
    const { url, headers, type } = config;
    const remote = { ...shared, url: new URL(url), headers, http: parts.http };
    return openRemote(remote, type, generation, signal, listener);
  }
  const { command, args, env, inheritEnv, cwd, limits } = config;
  const { memoryMb, processes } = limits;
  const spec = { name, command, args, env, inheritEnv, cwd, memoryMb, processes };
  return connectStdio({ ...shared, spec, spawn: parts.spawn }, generation, signal, listener);
}

async function openRemote(
  parts: HttpParts,
  type: 'http' | 'sse',
  generation: number,
  signal: AbortSignal,
  listener: ConnectionListener,
): Promise<Connection> {
  if (type === 'sse') return connectSse(parts, generation, signal, listener);
  try {
    return await connectHttp(parts, generation, signal, listener);
  } catch (error) {
    if (!(error instanceof NotStreamable)) throw error;
    return connectSse(parts, generation, signal, listener);
  }
}
