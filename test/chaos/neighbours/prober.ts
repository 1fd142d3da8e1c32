// A process of its own that calls the healthy servers at a steady rate, whatever the answers do, and
// measures each from the moment at which it was due: a stall is felt by every call that falls into it.

import { Agent, request } from 'node:http';
import { modernHeaders, requestFrame } from '../dialects.ts';

export interface ProbeOrder {
  readonly url: string;
  readonly servers: readonly string[];
  readonly perSecond: number;
  readonly ms: number;
}

export interface Probed {
  readonly latenciesMs: readonly number[];
  /** Answers that were no echo. */
  readonly failures: number;
}

/** How long it waits for the last answers. */
const lastMs = 5000;

process.on('message', async (order: ProbeOrder) => {
  process.send?.(await probe(order));
});

async function probe({ url, servers, perSecond, ms }: ProbeOrder): Promise<Probed> {
  const agent = new Agent({ keepAlive: true });
  const latenciesMs: number[] = [];
  let failures = 0;
  const count = Math.floor((ms / 1000) * perSecond);
  const start = performance.now();
  const calls: Promise<void>[] = [];
  const callAt = async (index: number) => {
    const dueMs = start + (index * 1000) / perSecond;
    const isEcho = await echo(url, agent, String(servers[index % servers.length]), index);
    latenciesMs.push(performance.now() - dueMs);
    if (!isEcho) failures += 1;
  };
  for (let index = 0; index < count; ) {
    const due = Math.floor(((performance.now() - start) / 1000) * perSecond);
    for (; index <= due && index < count; index += 1) calls.push(callAt(index));
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  const late = new Promise((resolve) => setTimeout(resolve, lastMs));
  await Promise.race([Promise.all(calls), late]);
  agent.destroy();
  return { latenciesMs, failures: failures + count - latenciesMs.length };
}

function echo(url: string, agent: Agent, server: string, id: number): Promise<boolean> {
  const name = `${server}__echo`;
  const headers = modernHeaders('tools/call', name);
  return new Promise((resolve) => {
    const sent = request(url, { method: 'POST', headers, agent }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
      });
      response.on('end', () => resolve(text.includes('"structuredContent"')));
      response.on('error', () => resolve(false));
    });
    sent.on('error', () => resolve(false));
    sent.end(requestFrame('modern', id, 'tools/call', { name, arguments: { text: 'healthy' } }));
  });
}
