// How a request looks in each of the two eras, as the bytes of its frame and the headers around it.

export type Era = 'modern' | 'legacy';

const modernVersion = '2026-07-28';
const legacyVersion = '2025-11-25';

const common = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
};

const envelope = {
  'io.modelcontextprotocol/protocolVersion': modernVersion,
  'io.modelcontextprotocol/clientInfo': { name: 'chaos', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
};

/** Clients of several classes: a server may be told to offer each of them something else. */
export const classes = [{}, { sampling: {}, elicitation: {} }, { roots: { listChanged: true } }];

/** What a modern request carries that says what its client can do. */
export function ability(capabilities: object): object {
  return { 'io.modelcontextprotocol/clientCapabilities': capabilities };
}

export function requestFrame(
  era: Era,
  id: number | string,
  method: string,
  params: object = {},
  meta: object = {},
): string {
  const own = Object.keys(meta).length === 0 ? params : { ...params, _meta: meta };
  const said = era === 'modern' ? { ...params, _meta: { ...envelope, ...meta } } : own;
  return JSON.stringify({ jsonrpc: '2.0', id, method, params: said });
}

export function notificationFrame(method: string, params: object = {}): string {
  return JSON.stringify({ jsonrpc: '2.0', method, params });
}

export const helloParams = {
  protocolVersion: legacyVersion,
  capabilities: {},
  clientInfo: { name: 'chaos', version: '1' },
};

export function modernHeaders(method: string, name?: string): Record<string, string> {
  const named = name === undefined ? {} : { 'mcp-name': name };
  return { ...common, 'mcp-protocol-version': modernVersion, 'mcp-method': method, ...named };
}

export function legacyHeaders(session?: string): Record<string, string> {
  const owned = session === undefined ? {} : { 'mcp-session-id': session };
  return { ...common, 'mcp-protocol-version': legacyVersion, ...owned };
}
