// What a call requests from a server: a method, its subject, and its parameters as they are sent.
// Only a tool call has a contract that has to be looked up; for everything else the protocol itself
// says whether it may be repeated (lists, reads, prompts and completion may, unknown methods may
// not).

import type { Params } from '../../wire/frames.ts';

export interface Operation {
  readonly method: string;
  readonly kind: 'tool' | 'prompt' | 'resource' | 'other';
  /** The tool's or prompt's name, the resource's URI; null where the method names nothing. */
  readonly name: string | null;
  /** A tool's arguments: one JSON object, checked, on one line. */
  readonly args: string | Buffer;
  /** The parameters as they go out; made of name and arguments if absent. */
  readonly params?: Params;
  /** The same request with more input (modern): never answered from the cache, never cached. */
  readonly isFollowUp?: boolean;
}

export function toolCall(tool: string, args: string | Buffer): Operation {
  return { method: 'tools/call', kind: 'tool', name: tool, args };
}

const safeMethods: ReadonlySet<string> = new Set([
  'resources/read',
  'resources/directory/read',
  'skills/get',
  'prompts/get',
  'completion/complete',
  'tools/list',
  'prompts/list',
  'resources/list',
  'resources/templates/list',
  'skills/list',
  'server/discover',
  'resources/subscribe',
  'resources/unsubscribe',
  'logging/setLevel',
  'tasks/get',
  'tasks/list',
]);

/** By the protocol, for everything but a tool. */
export function isSafeMethod(method: string): boolean {
  return safeMethods.has(method);
}

/**
 * Whether it only waits for work that is already running. It may take as long as that work: it
 * takes no slot of the server, and its end says nothing about the server's health.
 */
export function isWaiting(method: string): boolean {
  return method === 'tasks/result';
}

/** Its name in counters and events: the tool, else the method. */
export function subjectOf({
  kind,
  name,
  method,
}: Pick<Operation, 'kind' | 'name' | 'method'>): string {
  return kind === 'tool' && name !== null ? name : method;
}
