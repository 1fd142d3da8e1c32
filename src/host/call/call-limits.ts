// How long a call may take: without a word from its server, and in all.

import type { Server } from '../servers/server.ts';
import type { CallRequest } from './call-parts.ts';

/** Without a word from its server. */
export function limitMsOf(server: Server, { operation, timeoutMs }: CallRequest): number {
  const tool = operation.kind === 'tool' ? operation.name : null;
  const toolMs = tool === null ? null : server.toolConfig(tool)?.timeoutMs;
  return timeoutMs ?? toolMs ?? server.config.callTimeoutMs;
}

/** However often its server says something. */
export function longestMsOf(server: Server, request: CallRequest): number {
  return Math.max(limitMsOf(server, request), server.config.maxCallMs);
}
