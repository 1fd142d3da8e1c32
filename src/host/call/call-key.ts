// The key by which a call runs once that its transport may bring again, also to a later process of ours (a
// broker): made from the call id, where the call must not run twice. What may run again needs none: it is found in
// the cache, and shared with others that ask the same.

import { contractOf } from '../lists/catalogue.ts';
import type { Server } from '../servers/server.ts';
import type { CallRequest } from './call-parts.ts';
import { isSafeMethod } from './operation.ts';

/** Undefined if it needs none. */
export function callKey(
  server: Server,
  { callId, operation, caller }: CallRequest,
): string | undefined {
  if (callId === undefined || mayRunAgain(server, operation, caller)) return undefined;
  // No key of a client begins so, unless it means to.
  return `holdfast/call:${callId.id}`;
}

/** Whether it has no effect that a second run would repeat. */
export function mayRunAgain(
  server: Server,
  { kind, name, method }: CallRequest['operation'],
  caller: CallRequest['caller'],
): boolean {
  if (kind !== 'tool' || name === null) return isSafeMethod(method);
  const offered = server.catalogueFor(caller).find(name);
  const { replay } = offered?.contract ?? contractOf(server.config, name, false);
  return replay === 'safe';
}
