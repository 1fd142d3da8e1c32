// Answers one request of an operator: checks it, carries it out, and turns the result into plain values
// that JSON has. The other side is in remote-instance.ts.

import type { Searched } from '../host/discovery.ts';
import type { InstanceOperations } from './operations.ts';
import type { Ask } from './protocol.ts';

/** `Searched` with its map as a list. */
export interface SentSearch extends Omit<Searched, 'kept'> {
  readonly kept: readonly (readonly [string, { readonly listedAt: number | null }])[];
}

export interface Answering {
  readonly operations: InstanceOperations;
  readonly signal: AbortSignal;
  /** Something that belongs to the request, before its answer. */
  readonly item: (value: unknown) => void;
}

/** Throws a Fault. */
export async function operatorAnswer(
  ask: Ask,
  { operations, signal, item }: Answering,
): Promise<unknown> {
  switch (ask.ask) {
    case 'status':
      return await operations.status();
    case 'requireServer':
      return await operations.requireServer(ask.server);
    case 'unknownTool':
      return (await operations.unknownTool(ask.server, ask.tool)).record;
    case 'capabilitiesBehind':
      return await operations.capabilitiesBehind(ask.server, ask.tool);
    case 'tools':
      return await operations.tools(ask.server, { kept: ask.kept ?? false });
    case 'discover':
      return await operations.discover({ kept: ask.kept ?? false });
    case 'search': {
      const { limit, kept = false } = ask;
      const found = await operations.search(ask.words, { limit, kept });
      return { ...found, kept: [...found.kept] } satisfies SentSearch;
    }
    case 'call': {
      const { server, tool, args, timeoutMs, progress } = ask;
      const result = await operations.call(server, tool, {
        args: Buffer.from(args, 'base64'),
        signal,
        timeoutMs,
        ...(progress === true ? { onProgress: item } : {}),
      });
      return result.toString('base64');
    }
    case 'knownTools':
      return await operations.knownTools(ask.server);
    case 'start':
      return await operations.start(ask.server);
    case 'output':
      return await operations.output(ask.server, ask.place);
    case 'stop':
      return await operations.stop(ask.server);
    case 'reload':
      if (ask.server !== undefined) return await operations.reload(ask.server);
      return await operations.reloadConfig({ dryRun: ask.dryRun ?? false });
    case 'rollout':
      return await operations.rollout();
    case 'shutdown':
      return await operations.shutdown();
  }
}
