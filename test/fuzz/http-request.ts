// A request as its parts, and the bytes they make. The parts can be wrong one at a time; the bytes are
// written as they are given, whatever a client library would think of them.

export interface HttpRequest {
  readonly method: string;
  readonly target: string;
  readonly version: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Buffer;
  /** How the end of the body is told; with `none` nothing tells it. */
  readonly framing: 'length' | 'chunked' | 'none';
  readonly lineEnd?: string;
}

/** What every modern request carries in its `_meta`. */
export const envelope = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'fuzz', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
};

/** A call that is right in every respect: the server writes its nonce into the ledger. */
export function goodCall(nonce: string, port: number, token: string | null): HttpRequest {
  const name = 'files__echo';
  const params = { name, arguments: { nonce, text: 'é' }, _meta: envelope };
  const body = JSON.stringify({ jsonrpc: '2.0', id: nonce, method: 'tools/call', params });
  return {
    method: 'POST',
    target: '/mcp',
    version: 'HTTP/1.1',
    headers: [
      ['Host', `127.0.0.1:${port}`],
      ...(token === null ? [] : [['Authorization', `Bearer ${token}`] as const]),
      ['Content-Type', 'application/json'],
      ['Accept', 'application/json, text/event-stream'],
      ['MCP-Protocol-Version', '2026-07-28'],
      ['Mcp-Method', 'tools/call'],
      ['Mcp-Name', name],
    ],
    body: Buffer.from(body),
    framing: 'length',
  };
}

/** The request with a header of another value, at its place; undefined leaves it out. */
export function withHeader(
  request: HttpRequest,
  name: string,
  value: string | undefined,
): HttpRequest {
  const isMeant = (other: string) => other.toLowerCase() === name.toLowerCase();
  const headers = request.headers.flatMap((header) => {
    if (!isMeant(header[0])) return [header];
    return value === undefined ? [] : [[name, value] as const];
  });
  const isNew = value !== undefined && !request.headers.some(([other]) => isMeant(other));
  return { ...request, headers: isNew ? [...headers, [name, value]] : headers };
}

export function withBody(request: HttpRequest, body: string | Buffer): HttpRequest {
  return { ...request, body: Buffer.from(body as string) };
}

export function bytesOf(request: HttpRequest): Buffer {
  const { method, target, version, headers, body, framing, lineEnd = '\r\n' } = request;
  const lines = [
    `${method} ${target} ${version}`,
    ...headers.map(([name, value]) => `${name}: ${value}`),
  ];
  if (framing === 'length') lines.push(`Content-Length: ${body.length}`);
  if (framing === 'chunked') lines.push('Transfer-Encoding: chunked');
  const head = Buffer.from(`${lines.join(lineEnd)}${lineEnd}${lineEnd}`, 'latin1');
  return Buffer.concat([head, framing === 'chunked' ? chunked(body) : body]);
}

function chunked(body: Buffer): Buffer {
  const middle = Math.floor(body.length / 2);
  const pieces = [body.subarray(0, middle), body.subarray(middle)].filter(
    ({ length }) => length > 0,
  );
  return Buffer.concat([
    ...pieces.flatMap((piece) => [
      Buffer.from(`${piece.length.toString(16)}\r\n`),
      piece,
      Buffer.from('\r\n'),
    ]),
    Buffer.from('0\r\n\r\n'),
  ]);
}
