// The server behind every client of the benchmark: the least an MCP stdio server can do. It
// answers `echo` with its own text, joins the answers of one turn into one write, and knows just
// enough of the handshake for every client here.

let rest = '';
let out = '';

process.stdin.setEncoding('utf8');
process.stdin.on('data', (chunk) => {
  const lines = (rest + chunk).split('\n');
  rest = lines.pop();
  for (const line of lines) handle(JSON.parse(line));
  if (out !== '') process.stdout.write(out);
  out = '';
});

function handle({ id, method, params }) {
  if (id === undefined) return;
  const result = resultOf(method, params);
  const answer = result
    ? { jsonrpc: '2.0', id, result }
    : { jsonrpc: '2.0', id, error: { code: -32601, message: 'Method not found' } };
  out += `${JSON.stringify(answer)}\n`;
}

function resultOf(method, params) {
  switch (method) {
    case 'initialize':
      return {
        protocolVersion: '2025-11-25',
        capabilities: { tools: {} },
        serverInfo: { name: 'echo', version: '1.0.0' },
      };
    case 'tools/list':
      return { tools: [{ name: 'echo', inputSchema: { type: 'object' } }] };
    case 'tools/call': {
      const { text, repeat = 1 } = params.arguments;
      return { content: [{ type: 'text', text: repeat === 1 ? text : text.repeat(repeat) }] };
    }
    case 'ping':
      return {};
    default:
      return undefined;
  }
}
