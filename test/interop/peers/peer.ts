// A client that knows nothing of the product: raw JSON-RPC, of either era, over a transport of its
// own. Results are kept as they were written. A client that declares it answers roots/list with one
// root; every other question is refused, because nothing that is compared here depends on it.

import { membersOf } from '../raw-json.ts';

export type Era = 'legacy' | 'modern';

/** What a server sees of its client: a class of clients, as far as servers can tell them apart. */
export interface ClientKind {
  readonly era: Era;
  readonly capabilities: Readonly<Record<string, unknown>>;
}

export interface Peer extends AsyncDisposable {
  /** The result as it was written. Throws what the other side answered instead. */
  ask(method: string, params?: Readonly<Record<string, unknown>>): Promise<string>;
  notify(method: string): Promise<void>;
  /** Called when the other side says that a list has changed. */
  onListChanged(listener: () => void): void;
}

export const legacyVersion = '2025-11-25';
export const modernVersion = '2026-07-28';
export const identity = { name: 'interop', version: '1.0.0' };

const meta = 'io.modelcontextprotocol/';

/** The parameters of a request, with what each request of the modern era says of itself. */
export function paramsFor(kind: ClientKind, params: Readonly<Record<string, unknown>>): object {
  if (kind.era === 'legacy') return params;
  const _meta = {
    [`${meta}protocolVersion`]: modernVersion,
    [`${meta}clientInfo`]: identity,
    [`${meta}clientCapabilities`]: kind.capabilities,
  };
  return { ...params, _meta };
}

/** What is answered to a question of the server. */
export function answerTo(method: string, kind: ClientKind, rootUri: string): object {
  if (method === 'ping') return { result: {} };
  if (method === 'roots/list' && kind.capabilities['roots'] !== undefined) {
    return { result: { roots: [{ uri: rootUri, name: 'work' }] } };
  }
  return { error: { code: -32601, message: 'Method not found' } };
}

/** What the other side answered instead of a result. */
export class ErrorAnswer extends Error {
  readonly code: number;

  constructor(error: string | undefined) {
    super(`answered ${error}`);
    this.code = Number((JSON.parse(error ?? '{}') as { code?: number }).code);
  }
}

/** A message as far as a client has to look into it; `result` and `error` as they were written. */
export interface Incoming {
  readonly id: unknown;
  readonly method: string | undefined;
  readonly result: string | undefined;
  readonly error: string | undefined;
}

/** Undefined for what is not a JSON-RPC message, such as a banner on standard output. */
export function readMessage(text: string): Incoming | undefined {
  try {
    const { jsonrpc, id, method } = JSON.parse(text) as Record<string, unknown>;
    if (jsonrpc !== '2.0') return undefined;
    const members = membersOf(text);
    return {
      id,
      method: typeof method === 'string' ? method : undefined,
      result: members.get('result'),
      error: members.get('error'),
    };
  } catch {
    return undefined;
  }
}

export function isListChange(method: string | undefined): boolean {
  return method?.endsWith('/list_changed') ?? false;
}
