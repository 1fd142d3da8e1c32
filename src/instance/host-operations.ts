// The operations of a host in this process.

import type { ReadConfig } from '../config/load.ts';
import type { HostForCommands } from '../host/command-face.ts';
import type { InstanceFacts, InstanceOperations, Operations, RolloutTold } from './operations.ts';

export function hostOperations(host: HostForCommands): Operations {
  return {
    call: (server, tool, { args, ...options }) => host.callRaw(server, tool, args, options),
    tools: async (server, options) => {
      const definitions = await host.tools(server, options);
      return { definitions, mark: host.keptMark(server), entry: host.shownEntry(server) };
    },
    discover: (options) => host.discover(options),
    search: (words, options) => host.search(words, options),
    requireServer: async (server) => host.requireServer(server),
    unknownTool: (server, tool) => host.unknownTool(server, tool),
    capabilitiesBehind: async (server, tool) => host.capabilitiesBehind(server, tool),
    status: async () => host.status(),
    knownTools: (server) => host.knownTools(server),
    start: async (server) => {
      const lease = await host.lease(server, { owner: 'holdfast start' });
      lease.release();
    },
  };
}

export interface InstanceHooks {
  /** Reads the config file again. Throws a Fault. */
  readonly readConfig: () => Promise<ReadConfig>;
  /** It is used from now on. */
  readonly taken: (config: ReadConfig) => void;
  readonly facts: () => Promise<InstanceFacts>;
  /** Throws a Fault. */
  readonly rollout: () => Promise<RolloutTold>;
  /** Begins the end of the process. */
  readonly shutdown: () => Promise<void>;
}

export function instanceOperations(
  host: HostForCommands,
  { readConfig, taken, facts, rollout, shutdown }: InstanceHooks,
): InstanceOperations {
  return {
    ...hostOperations(host),
    status: async () => ({ ...host.status(), ...(await facts()) }),
    stop: (server) => host.stop(server),
    output: async (server, place) => host.output(server, place),
    reload: (server) => host.reload(server),
    reloadConfig: async ({ dryRun }) => {
      const loaded = await readConfig();
      if (!dryRun) {
        const applied = await host.applyLoaded(loaded);
        taken(loaded);
        return { ...applied, isDone: true };
      }
      const disabled = [...loaded.disabled].map(([name, cause]) => ({ name, cause }));
      return { ...host.planFor(loaded), failed: [], disabled, isDone: false };
    },
    rollout,
    shutdown,
  };
}
