// A tool call as a request on a connection: its parameters around the caller's own bytes, and what
// goes beside them. Progress is always asked for, because it is what keeps a long call alive.

import type { Connection, Params, RequestOptions } from '../upstream/connection.ts';
import { headerValue, paramHeaders } from '../upstream/mirror-headers.ts';
import type { CallRequest } from './call-parts.ts';
import { type OfferedTool, paramsHead } from './catalogue.ts';
import type { Patience } from './patience.ts';

export function callParams({ tool, args }: CallRequest, offered: OfferedTool | undefined): Params {
  const head = offered?.paramsHead ?? paramsHead(tool);
  return {
    members: typeof args === 'string' ? head + args : Buffer.concat([Buffer.from(head), args]),
  };
}

export function callOptions(
  connection: Connection,
  request: CallRequest,
  offered: OfferedTool | undefined,
  patience: Patience,
): RequestOptions {
  // Only a modern remote server reads headers.
  if (connection.child !== undefined || connection.era !== 'modern') return { progress: patience };
  return { progress: patience, headers: mirrored(request, offered) };
}

function mirrored(
  { tool, args }: CallRequest,
  offered: OfferedTool | undefined,
): Readonly<Record<string, string>> {
  const name = { 'mcp-name': headerValue(tool) };
  if (!offered?.hasParamHeaders) return name;
  return { ...name, ...paramHeaders(offered.tool.inputSchema, JSON.parse(args.toString())) };
}
