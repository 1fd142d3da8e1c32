// What exists, across all servers: asked in parallel with a bound, each under a lease and through
// the gate, each with a deadline of its own. One server's failure is an entry in the list; the
// asking itself never fails. What a principal may not call is not in the answer at all.

import type { SearchOutcome, ServedTool } from '../catalog/search.ts';
import type { JsonObject, Tool } from '../catalog/tool.ts';
import { Fault, type FaultRecord, faultFrom } from '../kernel/fault.ts';
import { isAllowed } from '../policy/guard.ts';
import type { Principal } from '../policy/principal.ts';
import type { CallParts } from './call-parts.ts';
import { Interruption } from './interruption.ts';
import type { ListKind } from './listings.ts';
import type { Server } from './server.ts';

export type Discovered =
  | {
      readonly server: string;
      readonly tool: string;
      readonly title?: string;
      readonly description?: string;
      readonly schema: JsonObject;
    }
  | { readonly server: string; readonly error: FaultRecord };

export interface DiscoverOptions {
  /** How long one server may take; those that take longer are reported as an error. */
  readonly deadlineMs?: number;
}

/** How many servers are started at once: a laptop must survive a look around. */
const parallel = 8;
const defaultDeadlineMs = 10_000;

/** The tools of one server that this principal may call, fresh enough to act on. */
export async function toolsOf(
  parts: CallParts,
  server: Server,
  principal: Principal,
  deadlineMs?: number,
): Promise<readonly Tool[]> {
  if (!server.catalogue.isFresh) await freshen(parts, server, 'tools', deadlineMs);
  const offered = [...(server.catalogue.offered?.values() ?? [])];
  return offered
    .map(({ tool }) => tool)
    .filter((tool) => isAllowed(parts.guard, principal, server.name, tool.name));
}

/** Reads one of its lists anew, starting the server if need be. Throws a Fault. */
export async function freshen(
  parts: CallParts,
  server: Server,
  kind: ListKind,
  deadlineMs: number | undefined,
): Promise<void> {
  const { supervisor, catalogue } = server;
  const pass = supervisor.gate();
  const interruption = new Interruption();
  using _deadline =
    deadlineMs === undefined
      ? undefined
      : parts.clock.after(deadlineMs, () => interruption.raise(slowFault(server, deadlineMs)));
  supervisor.leases.hold();
  try {
    const connection = supervisor.connection ?? (await interruption.of(supervisor.acquire()));
    // Making the connection has usually read the list already.
    const isFresh = kind === 'tools' ? catalogue.isFresh : catalogue.lists.isFresh(kind);
    if (!isFresh) await interruption.of(catalogue.lists.load(kind, connection));
    supervisor.breaker.succeeded(pass);
  } catch (thrown) {
    supervisor.breaker.withdrawn(pass);
    throw faultFrom(thrown).with({ server: server.name });
  } finally {
    supervisor.leases.release();
  }
}

export async function discoverAll(
  parts: CallParts,
  servers: readonly Server[],
  principal: Principal,
  options: DiscoverOptions,
): Promise<readonly Discovered[]> {
  const deadlineMs = options.deadlineMs ?? defaultDeadlineMs;
  const visible = servers.filter(({ name }) => isAllowed(parts.guard, principal, name, null));
  const found = await eachOf(visible, async (server): Promise<readonly Discovered[]> => {
    try {
      const tools = await toolsOf(parts, server, principal, deadlineMs);
      return tools.map((tool) => discovered(server.name, tool));
    } catch (thrown) {
      return [{ server: server.name, error: faultFrom(thrown).record }];
    }
  });
  return found.flat();
}

export async function searchAll(
  parts: CallParts,
  servers: readonly Server[],
  principal: Principal,
  words: string,
  limit: number | undefined,
): Promise<{ readonly outcome: SearchOutcome; readonly errors: readonly FaultRecord[] }> {
  const errors: FaultRecord[] = [];
  const visible = servers.filter(({ name }) => isAllowed(parts.guard, principal, name, null));
  const served = await eachOf(visible, async (server): Promise<readonly ServedTool[]> => {
    try {
      const tools = await toolsOf(parts, server, principal, defaultDeadlineMs);
      return tools.map((tool) => ({ server: server.name, tool }));
    } catch (thrown) {
      errors.push(faultFrom(thrown).record);
      return [];
    }
  });
  // Loaded when somebody searches: the index is a library of its own.
  const { ToolSearch } = await import('../catalog/search.ts');
  return { outcome: new ToolSearch(served.flat()).search(words, limit), errors };
}

/** Maps in order, a bounded number at a time. */
export async function eachOf<T, R>(
  items: readonly T[],
  map: (item: T) => Promise<R>,
): Promise<readonly R[]> {
  const results: R[] = new Array(items.length);
  let next = 0;
  const work = async () => {
    for (let index = next++; index < items.length; index = next++) {
      results[index] = await map(items[index] as T);
    }
  };
  await Promise.all(Array.from({ length: Math.min(parallel, items.length) }, work));
  return results;
}

function discovered(server: string, tool: Tool): Discovered {
  return {
    server,
    tool: tool.name,
    ...(tool.title === undefined ? {} : { title: tool.title }),
    ...(tool.description === undefined ? {} : { description: tool.description }),
    schema: tool.inputSchema,
  };
}

function slowFault(server: Server, deadlineMs: number): Fault {
  return new Fault(
    'timeout',
    `${server.name} did not list its tools within ${deadlineMs} ms; look at it with: holdfast status ${server.name}`,
    { server: server.name },
  );
}
