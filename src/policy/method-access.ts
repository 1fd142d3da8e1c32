// What the guard must allow before an MCP method of a client is answered: one row for every method
// of either era that the gateway implements, and one for all others. The pipeline takes the action
// of a call from here; a test compares the rows with the methods that are answered, and calls a
// guard for each.

import type { Action, Kind } from './access.ts';

/** What has to be allowed. */
export type AskedAbout =
  /** The tool, prompt or resource that the request names. */
  | 'what it names'
  /** Each entry of the list: denied entries are omitted. */
  | 'each entry'
  /** Each server: nothing about denied servers is returned. */
  | 'each server'
  /** The tool whose call became the task. */
  | "the task's tool"
  /** Each resource and task that is to be watched; denied ones are not granted. */
  | 'each watched thing'
  /** The method, at the only server that it can be for. */
  | 'the method'
  /** Nothing: it concerns only the client's own session or connection. */
  | 'nothing';

export interface MethodAccess {
  readonly action: Action;
  readonly kind: Kind;
  readonly about: AskedAbout;
}

const rows: readonly (readonly [string, Action, Kind, AskedAbout])[] = [
  ['initialize', 'list', 'server', 'each server'],
  ['server/discover', 'list', 'server', 'each server'],
  ['tools/list', 'list', 'tool', 'each entry'],
  ['prompts/list', 'list', 'prompt', 'each entry'],
  ['resources/list', 'list', 'resource', 'each entry'],
  ['resources/templates/list', 'list', 'resource', 'each entry'],
  ['skills/list', 'list', 'resource', 'each entry'],
  ['tools/call', 'call', 'tool', 'what it names'],
  ['prompts/get', 'get', 'prompt', 'what it names'],
  ['resources/read', 'read', 'resource', 'what it names'],
  ['resources/directory/read', 'read', 'resource', 'what it names'],
  ['skills/get', 'read', 'resource', 'what it names'],
  ['completion/complete', 'complete', 'prompt', 'what it names'],
  ['resources/subscribe', 'subscribe', 'resource', 'what it names'],
  ['subscriptions/listen', 'subscribe', 'resource', 'each watched thing'],
  ['tasks/get', 'task', 'tool', "the task's tool"],
  ['tasks/result', 'task', 'tool', "the task's tool"],
  ['tasks/update', 'task', 'tool', "the task's tool"],
  ['tasks/cancel', 'task', 'tool', "the task's tool"],
  ['tasks/list', 'task', 'tool', "the task's tool"],
  ['resources/unsubscribe', 'subscribe', 'resource', 'nothing'],
  ['logging/setLevel', 'list', 'server', 'nothing'],
  ['ping', 'list', 'server', 'nothing'],
];

export const methodAccess: ReadonlyMap<string, MethodAccess> = new Map(
  rows.map(([method, action, kind, about]) => [method, { action, kind, about }]),
);

/** A method that MCP does not define. */
export const customAccess: MethodAccess = { action: 'request', kind: 'other', about: 'the method' };

/** A notification of a client that is forwarded to servers. */
export const notificationAccess: MethodAccess = {
  action: 'notify',
  kind: 'other',
  about: 'the method',
};

export function accessOf(method: string): MethodAccess {
  return methodAccess.get(method) ?? customAccess;
}
