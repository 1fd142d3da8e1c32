// The smallest useful MCP server: newline-delimited JSON-RPC on the standard streams, tools and
// nothing else, no dependencies. `serve` answers until its standard input ends. A tool is
// { description, inputSchema, annotations?, run }; `run` is given the arguments and a function that
// reports progress, and returns the text of the answer.

import { createInterface } from 'node:readline';

const newestVersion = '2025-11-25';

/** @typedef {(message: string) => void} Report */
/**
 * @typedef {object} Tool
 * @property {string} description
 * @property {object} inputSchema
 * @property {object} [annotations]
 * @property {(args: Record<string, any>, report: Report) => string | Promise<string>} run
 */

/** @param {string} name @param {Record<string, Tool>} tools */
export function serve(name, tools) {
  const lines = createInterface({ input: process.stdin });
  lines.on('line', (line) => {
    const { id, method, params } = JSON.parse(line);
    if (id === undefined) return; // a notification
    answer(method, params)
      .then((result) => send({ id, result }))
      .catch((error) =>
        send({ id, error: { code: error.code ?? -32603, message: error.message } }),
      );
  });

  async function answer(method, params) {
    switch (method) {
      case 'initialize':
        return {
          protocolVersion: params.protocolVersion ?? newestVersion,
          capabilities: { tools: {} },
          serverInfo: { name, version: '1.0.0' },
        };
      case 'ping':
        return {};
      case 'tools/list':
        return {
          tools: Object.entries(tools).map(([tool, { run, ...rest }]) => ({ name: tool, ...rest })),
        };
      case 'tools/call':
        return await call(params);
      default:
        throw Object.assign(new Error(`unknown method ${method}`), { code: -32601 });
    }
  }

  async function call({ name: tool, arguments: args = {}, _meta }) {
    const { run } = tools[tool] ?? {};
    if (!run) throw Object.assign(new Error(`unknown tool ${tool}`), { code: -32602 });
    const progressToken = _meta?.progressToken;
    let progress = 0;
    const report = (message) => {
      if (progressToken === undefined) return;
      progress += 1;
      send({ method: 'notifications/progress', params: { progressToken, progress, message } });
    };
    try {
      return { content: [{ type: 'text', text: await run(args, report) }] };
    } catch (error) {
      return { content: [{ type: 'text', text: error.message }], isError: true };
    }
  }
}

/** @param {object} message */
function send(message) {
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
}
