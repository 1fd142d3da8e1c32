// The headers and envelopes of both eras, as ordinary clients send them.

const both = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
};

export const envelope = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'crowd', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
};

export function modernHeaders(method: string, name?: string): Record<string, string> {
  const named = name === undefined ? {} : { 'mcp-name': name };
  return { ...both, 'mcp-protocol-version': '2026-07-28', 'mcp-method': method, ...named };
}

export function legacyHeaders(session?: string): Record<string, string> {
  const named = session === undefined ? {} : { 'mcp-session-id': session };
  return { ...both, 'mcp-protocol-version': '2025-11-25', ...named };
}
