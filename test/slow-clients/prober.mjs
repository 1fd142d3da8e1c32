// A healthy client in a process of its own: it calls the echo of a healthy server, one call after
// another, and prints how long each took and what went wrong when its input ends. No dependencies.

import { Agent, request } from 'node:http';

const [port] = process.argv.slice(2);
const agent = new Agent({ keepAlive: true, maxSockets: 1 });
const meta = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
};
const headers = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
  'mcp-protocol-version': '2026-07-28',
  'mcp-method': 'tools/call',
  'mcp-name': 'healthy__echo',
};
const latenciesMs = [];
const problems = [];
let isOver = false;

process.stdin.resume().on('end', () => {
  isOver = true;
});

function call(id) {
  const params = { name: 'healthy__echo', arguments: { text: `call ${id}` }, _meta: meta };
  const body = JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params });
  return new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port: Number(port), path: '/mcp', method: 'POST' };
    const sent = request({ ...options, headers, agent }, (response) => {
      let answer = '';
      response.setEncoding('utf8').on('data', (chunk) => {
        answer += chunk;
      });
      response.on('end', () => resolve(answer));
      response.on('error', reject);
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

for (let id = 1; !isOver; id += 1) {
  const began = performance.now();
  try {
    const answer = await call(id);
    if (!answer.includes(`"call ${id}"`)) problems.push(answer.slice(0, 300));
  } catch (error) {
    problems.push(String(error));
  }
  latenciesMs.push(performance.now() - began);
  await new Promise((resolve) => setTimeout(resolve, 2));
}
agent.destroy();
process.stdout.write(JSON.stringify({ latenciesMs, problems: problems.slice(0, 5) }));
