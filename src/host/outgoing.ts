// A call as a request on a connection: its parameters around the caller's own bytes, and what goes
// beside them. Progress is always asked for, because it is what keeps a long call alive.

import type { Connection, Params, RequestOptions } from '../upstream/connection.ts';
import { headerValue, paramHeaders } from '../upstream/mirror-headers.ts';
import type { CallRequest } from './call-parts.ts';
import { type OfferedTool, paramsHead } from './catalogue.ts';
import type { Operation } from './operation.ts';
import type { Patience } from './patience.ts';

export function requestParams(operation: Operation, offered: OfferedTool | undefined): Params {
  if (operation.params) return operation.params;
  const { args, name } = operation;
  const head = offered?.paramsHead ?? paramsHead(name ?? '');
  return {
    members: typeof args === 'string' ? head + args : Buffer.concat([Buffer.from(head), args]),
  };
}

export function requestOptions(
  connection: Connection,
  { operation, caller }: CallRequest,
  offered: OfferedTool | undefined,
  patience: Patience,
): RequestOptions {
  const options: RequestOptions = caller
    ? {
        progress: patience,
        owner: caller,
        capabilities: caller.capabilities,
        logLevel: caller.logLevel,
      }
    : { progress: patience };
  // Only a modern remote server reads headers.
  if (connection.child !== undefined || connection.era !== 'modern') return options;
  return { ...options, headers: mirrored(operation, offered) };
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
