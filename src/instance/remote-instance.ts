// An instance in another process, as commands see it: each operation is a request over the control socket.

import type { Progress } from '../host/call-result.ts';
import type { Discovered } from '../host/discovery.ts';
import type { FaultRecord } from '../kernel/fault.ts';
import type { OutputPage } from '../observe/server-output.ts';
import type { SentSearch } from './answering.ts';
import { type ControlClient, faultOf } from './control-client.ts';
import type {
  InstanceOperations,
  InstanceStatus,
  ListedTools,
  ReloadedConfig,
  RolloutTold,
} from './operations.ts';

/** Both sides are of the same protocol version, so that an answer has the type of its request. */
export function remoteInstance(client: ControlClient): InstanceOperations {
  const ask = async <T>(...request: Parameters<ControlClient['ask']>): Promise<T> =>
    (await client.ask(...request)) as T;
  return {
    call: async (server, tool, { args, signal, timeoutMs, onProgress }) => {
      const text = Buffer.from(args).toString('base64');
      const wanted = onProgress ? { progress: true } : {};
      const asked = { ask: 'call', server, tool, args: text, timeoutMs, ...wanted } as const;
      const item = (value: unknown) => onProgress?.(value as Progress);
      return Buffer.from(await ask<string>(asked, { signal, item }), 'base64');
    },
    tools: async (server, { kept }) => {
      const { definitions, mark, entry } = await ask<ListedTools>({ ask: 'tools', server, kept });
      return { definitions, mark, entry };
    },
    discover: ({ kept }) => ask<readonly Discovered[]>({ ask: 'discover', kept }),
    search: async (words, { limit, kept }) => {
      const found = await ask<SentSearch>({ ask: 'search', words, limit, kept });
      return { ...found, kept: new Map(found.kept) };
    },
    requireServer: (server) => ask({ ask: 'requireServer', server }),
    unknownTool: async (server, tool) =>
      faultOf(await ask<FaultRecord>({ ask: 'unknownTool', server, tool })),
    capabilitiesBehind: (server, tool) => ask({ ask: 'capabilitiesBehind', server, tool }),
    status: () => ask<InstanceStatus>({ ask: 'status' }),
    knownTools: async (server) =>
      (await ask<readonly string[] | null>({ ask: 'knownTools', server })) ?? undefined,
    start: (server) => ask({ ask: 'start', server }),
    stop: (server) => ask({ ask: 'stop', server }),
    output: (server, place) => ask<OutputPage>({ ask: 'output', server, place }),
    reload: (server) => ask({ ask: 'reload', server }),
    reloadConfig: ({ dryRun }) => ask<ReloadedConfig>({ ask: 'reload', dryRun }),
    rollout: () => ask<RolloutTold>({ ask: 'rollout' }),
    shutdown: () => ask({ ask: 'shutdown' }),
  };
}
