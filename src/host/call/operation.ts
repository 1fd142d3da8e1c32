// What a call asks of a server: a method, what it is about, and its parameters as they are to be
// sent. A tool call is the one whose contract has to be looked up; for everything else the
// protocol itself says whether it may be repeated (lists, reads, prompts and completion may,
// what we do not know may not).

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
  /** The same request with more input (modern): never answered from memory, never kept. */
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
 * Does it only wait for work that the server does anyway? It may take as long as that work: it takes
 * no place among the server's calls, and its end says nothing about the server's health.
 */
export function isWaiting(method: string): boolean {
  return method === 'tasks/result';
}

/** What counts and events call it: the tool, else the method. */
export function subjectOf({
  kind,
  name,
  method,
}: Pick<Operation, 'kind' | 'name' | 'method'>): string {
  return kind === 'tool' && name !== null ? name : method;
}
