// A call as a request on a connection: its parameters around the caller's own bytes, and the
// headers. Progress is always requested, because it keeps a long call alive.

import type { Connection, RequestOptions } from '../../upstream/connection.ts';
import { paramHeaders } from '../../upstream/http/mirror-headers.ts';
import { extensionNames } from '../../wire/eras.ts';
import type { Params } from '../../wire/frames.ts';
import { headerValue } from '../../wire/mirrored-headers.ts';
import { type OfferedTool, paramsHead } from '../lists/catalogue.ts';
import { hasTaskCalls, hasTasksExtension } from '../tasks/task-result.ts';
import type { CallDeadline } from './call-deadline.ts';
import type { CallRequest } from './call-parts.ts';
import type { Operation } from './operation.ts';

/** A call that nobody begins with for so long is not wanted any more. */
const unbegunMs = 60_000;

/** A legacy tool that can be called only as a task is called as one, whoever calls it (see task-wait). */
export function requestParams(
  { era, greeting }: Pick<Connection, 'era' | 'greeting'>,
  { operation, takesTask }: Pick<CallRequest, 'operation' | 'takesTask'>,
  offered: OfferedTool | undefined,
): Params {
  const params = ownParams(operation, offered);
  const isTask = offered?.needsTask && era === 'legacy' && takesTask !== 'legacy';
  return isTask && hasTaskCalls(greeting) ? withTask(params) : params;
}

const task = Buffer.from(',"task":{}');

/** A tool call's parameters are never empty: they begin with its name. */
function withTask({ members, ...rest }: Params): Params {
  const pieces = typeof members === 'string' ? [Buffer.from(members)] : [members].flat();
  return { members: [...pieces, task], ...rest };
}

/** The parameters as the caller gave them. */
export function ownParams(operation: Operation, offered: OfferedTool | undefined): Params {
  if (operation.params) return operation.params;
  const { args, name } = operation;
  const head = offered?.paramsHead ?? paramsHead(name ?? '');
  return {
    members: typeof args === 'string' ? head + args : Buffer.concat([Buffer.from(head), args]),
  };
}

export function requestOptions(
  connection: Connection,
  { operation, caller, idempotencyKey: key }: CallRequest,
  offered: OfferedTool | undefined,
  deadline: CallDeadline,
): RequestOptions {
  const capabilities = capabilitiesFor(connection, operation, caller);
  if (connection.keepsRequests) {
    const own = {
      progress: deadline,
      remainingMs: Math.min(deadline.limitMs, unbegunMs),
      capabilities,
    };
    const keyed = typeof key === 'string' ? { callKey: key } : {};
    return { ...own, ...keyed, ...(caller && { owner: caller, logLevel: caller.logLevel }) };
  }
  const options: RequestOptions = caller
    ? { progress: deadline, owner: caller, capabilities, logLevel: caller.logLevel }
    : { progress: deadline, capabilities };
  // Only a modern remote server reads headers.
  if (connection.child !== undefined || connection.era !== 'modern') return options;
  return { ...options, headers: mirrored(operation, offered) };
}

/**
 * A modern server may turn any tool call into a task: where the caller cannot follow it, the host
 * does. A modern client declares its own capabilities: what it has not declared, the server handles
 * itself.
 */
function capabilitiesFor(
  { era, greeting }: Connection,
  { kind }: Operation,
  caller: CallRequest['caller'],
): string | undefined {
  const own = caller?.capabilities;
  if (kind !== 'tool' || era !== 'modern' || caller?.client.isAskedInCalls) return own;
  if (!hasTasksExtension(greeting) || own?.includes(extensionNames.tasks)) return own;
  const { extensions, ...rest } = JSON.parse(own ?? '{}') as { extensions?: object };
  return JSON.stringify({ ...rest, extensions: { ...extensions, [extensionNames.tasks]: {} } });
}

function mirrored(
  { name, args }: Operation,
  offered: OfferedTool | undefined,
): Readonly<Record<string, string>> {
  if (name === null) return {};
  const header = { 'mcp-name': headerValue(name) };
  if (!offered?.hasParamHeaders) return header;
  return { ...header, ...paramHeaders(offered.tool.inputSchema, JSON.parse(args.toString())) };
}
