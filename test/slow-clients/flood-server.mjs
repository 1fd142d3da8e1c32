// An MCP server of the legacy era that says much more than it is asked: progress without end, large
// answers, news of its lists and of a resource. It stops a call that is cancelled. No dependencies.

import { createInterface } from 'node:readline';

/** Calls under way, by id. */
const running = new Map();

const say = (message) =>
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
const note = (method, params = {}) => say({ method, params });
const text = (words) => ({ content: [{ type: 'text', text: words }] });
const turn = () => new Promise((resolve) => setImmediate(resolve));
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

const tools = {
  echo: (args) => text(args.text ?? ''),
  big: (args) => text('x'.repeat(args.bytes)),
  async flood({ pieces, bytes }, id, token) {
    const message = 'x'.repeat(bytes);
    for (let progress = 1; progress <= pieces && running.has(id); progress += 1) {
      note('notifications/progress', { progressToken: token, progress, message });
      await turn();
    }
    return text('done');
  },
  async update({ times, bytes }, id) {
    const title = 'x'.repeat(bytes);
    for (let n = 0; n < times && running.has(id); n += 1) {
      note('notifications/resources/updated', { uri: 'flood://one', title });
      await turn();
    }
    return text('done');
  },
  async change({ times, everyMs }, id) {
    for (let n = 0; n < times && running.has(id); n += 1) {
      note('notifications/tools/list_changed');
      await pause(everyMs);
    }
    return text('done');
  },
};

const answers = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: { listChanged: true }, resources: { subscribe: true } },
    serverInfo: { name: 'flood', version: '1' },
  }),
  ping: () => ({}),
  'tools/list': () => ({
    tools: Object.keys(tools).map((name) => ({ name, inputSchema: { type: 'object' } })),
  }),
  'resources/list': () => ({ resources: [{ uri: 'flood://one', name: 'one' }] }),
  'resources/subscribe': () => ({}),
  'resources/unsubscribe': () => ({}),
};

async function called(id, { name, arguments: args = {}, _meta = {} }) {
  running.set(id, name);
  const result = await tools[name](args, id, _meta.progressToken);
  if (running.delete(id)) say({ id, result });
}

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params = {} } = JSON.parse(line);
  if (method === 'notifications/cancelled') running.delete(params.requestId);
  else if (method === 'tools/call') void called(id, params);
  else if (id !== undefined && Object.hasOwn(answers, method)) {
    say({ id, result: answers[method](params) });
  } else if (id !== undefined) say({ id, error: { code: -32601, message: 'Method not found' } });
}
