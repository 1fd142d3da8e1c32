// The text of one call, with `@ID@` where its number goes: the same 1 KB of arguments for every
// subject, in the protocol version that it uses. A legacy session has its version in the
// handshake; 2026-07-28 carries it in every call, and over HTTP also in headers.

export type Dialect =
  | { readonly kind: 'modern' }
  | { readonly kind: 'session'; readonly sessionId: string };

const version = '2026-07-28';
const line = 'src/relay.ts:120 "the frame" was cut on the line feed, never inside of a string\n';
const text = line.repeat(11).slice(0, 820);

export function callFrame(tool: string, { kind }: Dialect): string {
  const call = {
    jsonrpc: '2.0',
    id: 0,
    method: 'tools/call',
    params: {
      ...(kind === 'modern' && { _meta: envelope }),
      name: tool,
      arguments: { path: 'src/relay.ts', line: 120, deep: true, tags: ['a', 'b'], text },
    },
  };
  return JSON.stringify(call).replace('"id":0', '"id":@ID@');
}

const envelope = {
  'io.modelcontextprotocol/protocolVersion': version,
  'io.modelcontextprotocol/clientCapabilities': {},
  'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '0' },
};

export function callHeaders(tool: string, dialect: Dialect): Record<string, string> {
  const common = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
  };
  return dialect.kind === 'modern'
    ? { ...common, 'mcp-protocol-version': version, 'mcp-method': 'tools/call', 'mcp-name': tool }
    : { ...common, 'mcp-protocol-version': '2025-11-25', 'mcp-session-id': dialect.sessionId };
}

/** A whole HTTP request; every number that takes the place of `@ID@` has nine digits. */
export function httpRequest(url: URL, headers: Record<string, string>, frame: string): string {
  const length = Buffer.byteLength(frame.replace('@ID@', '000000000'));
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `POST ${url.pathname} HTTP/1.1\r\nhost: ${url.host}\r\n${lines.join('')}content-length: ${length}\r\n\r\n${frame}`;
}
