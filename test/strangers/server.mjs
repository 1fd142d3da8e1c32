// A server with something of everything that can be asked for by name: tools, prompts, resources, a template,
// completions and tasks. Half of it is called open, half of it closed; roles decide about the rest. Every call of a
// tool is an effect: a line in the ledger, its first argument. The second is its own name, which is in its addresses.

import { appendFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const [ledger, own, count] = process.argv.slice(2);
const names = ['open', 'closed'].flatMap((word) =>
  Array.from({ length: Number(count) }, (_, at) => `${word}_${String(at).padStart(3, '0')}`),
);
const uris = names.map((name) => `note://${own}/${name}`);
let tasks = 0;

const greeting = {
  protocolVersion: '2025-11-25',
  capabilities: {
    tools: {},
    prompts: {},
    resources: {},
    completions: {},
    tasks: { requests: { tools: { call: {} } } },
  },
  serverInfo: { name: 'strangers', version: '1' },
};

const answers = {
  initialize: () => greeting,
  ping: () => ({}),
  'tools/list': () => ({
    tools: names.map((name) => ({
      name,
      inputSchema: { type: 'object' },
      execution: { taskSupport: 'optional' },
    })),
  }),
  'prompts/list': () => ({ prompts: names.map((name) => ({ name })) }),
  'resources/list': () => ({ resources: uris.map((uri) => ({ uri, name: uri })) }),
  'resources/templates/list': () => ({ resourceTemplates: [] }),
  'tools/call': ({ name, task }) => {
    appendFileSync(ledger, `${name}\n`);
    return task ? { task: newTask(task) } : { content: [{ type: 'text', text: name }] };
  },
  'prompts/get': () => ({ messages: [] }),
  'resources/read': ({ uri }) => ({ contents: [{ uri, text: 'read' }] }),
  'completion/complete': () => ({ completion: { values: ['one'] } }),
  'tasks/get': ({ taskId }) => describedTask(taskId, null),
};

function newTask({ ttl = null }) {
  tasks += 1;
  return describedTask(`task-${tasks}`, ttl);
}

function describedTask(taskId, ttl) {
  const now = new Date().toISOString();
  return { taskId, status: 'working', createdAt: now, lastUpdatedAt: now, ttl };
}

createInterface(process.stdin).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  const answer = Object.hasOwn(answers, method) ? answers[method] : undefined;
  const outcome = answer
    ? { result: answer(params ?? {}) }
    : { error: { code: -32601, message: `Method not found: ${method}` } };
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...outcome })}\n`);
});
