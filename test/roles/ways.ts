// The ways to a thing in the tables of roles: every method that names one, as any client says it, and how
// clients name it. A client here is whatever takes a method and its parameters.

import type { Thing } from './objects.ts';

export interface Asks<T> {
  request(method: string, params: Record<string, unknown>): T;
}

export interface Way {
  readonly title: string;
  readonly kinds: readonly Thing['kind'][];
  ask<T>(peer: Asks<T>, name: string, thing: Thing): T;
}

/** As clients name it; addresses that several have are those of the first who is seen. */
export function exposed({ server, kind, name }: Thing): string {
  return kind === 'tool' || kind === 'prompt' ? `${server}__${name}` : name.replace('{n}', '1');
}

/** The methods that list, and the kind of what each lists. */
export const lists = [
  ...['tools/list', 'prompts/list', 'resources/list', 'resources/templates/list', 'skills/list'],
];
export const listedKinds = ['tool', 'prompt', 'resource', 'template', 'skill'] as const;

export const ways: readonly Way[] = [
  {
    title: 'call',
    kinds: ['tool'],
    ask: (peer, name) => peer.request('tools/call', { name, arguments: {} }),
  },
  {
    title: 'call with a key',
    kinds: ['tool'],
    ask: (peer, name) =>
      peer.request('tools/call', {
        ...{ name, arguments: { keyed: true } },
        _meta: { 'holdfast/idempotencyKey': name },
      }),
  },
  { title: 'get', kinds: ['prompt'], ask: (peer, name) => peer.request('prompts/get', { name }) },
  {
    title: 'complete a prompt',
    kinds: ['prompt'],
    ask: (peer, name) =>
      peer.request('completion/complete', {
        ref: { type: 'ref/prompt', name },
        argument: { name: 'x', value: '' },
      }),
  },
  {
    title: 'complete a template',
    kinds: ['template'],
    ask: (peer, _, { name }) =>
      peer.request('completion/complete', {
        ref: { type: 'ref/resource', uri: name },
        argument: { name: 'n', value: '' },
      }),
  },
  {
    title: 'read',
    kinds: ['resource', 'template', 'skill'],
    ask: (peer, uri) => peer.request('resources/read', { uri }),
  },
  {
    title: 'read a folder',
    kinds: ['resource', 'skill'],
    ask: (peer, uri) => peer.request('resources/directory/read', { uri }),
  },
  { title: 'skill', kinds: ['skill'], ask: (peer, uri) => peer.request('skills/get', { uri }) },
];
