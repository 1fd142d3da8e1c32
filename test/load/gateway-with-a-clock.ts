// A program: the gateway on HTTP with a clock that is moved by hand, so that half an hour passes at a
// word. It reads words from its standard input, one per line, and answers each with a line of JSON:
// `heap` is what is in use after two forced collections, `idle` lets the sessions' time run out.
// Needs `node --expose-gc --import tsx`.

import { createInterface } from 'node:readline';
import { Gateway } from '../../src/downstream/gateway.ts';
import { defaultLimits } from '../../src/downstream/http/http-limits.ts';
import { startHttp } from '../../src/downstream/http/listener.ts';
import { faultyStdio } from '../support/faulty.ts';
import { gatewayHostWith } from '../support/host.ts';
import { ManualClock, settled } from '../support/manual-clock.ts';

const clock = new ManualClock();
const identity = { name: 'holdfast', version: '0' };
const host = gatewayHostWith({ files: faultyStdio() });
const settings = {
  naming: 'prefix',
  surface: 'direct',
  hostTools: true,
  listWaitMs: 10_000,
} as const;
const gateway = new Gateway({ host, clock, identity, settings });
const http = await startHttp({
  front: gateway,
  config: { listen: '127.0.0.1:0', auth: 'none', allowedHosts: [], allowedOrigins: [] },
  clock,
  identity,
  report: (line) => void process.stderr.write(`${line}\n`),
});

say({ url: http.url });
for await (const word of createInterface(process.stdin)) {
  if (word === 'idle') clock.advance(defaultLimits.sessionIdleMs + 1);
  await settled();
  say(word === 'heap' ? await heap() : {});
}
await http.close();
await gateway[Symbol.asyncDispose]();
await host.close();

async function heap(): Promise<object> {
  for (let collection = 0; collection < 2; collection += 1) {
    await globalThis.gc?.({ execution: 'async', type: 'major' });
  }
  const { heapUsed, external, arrayBuffers } = process.memoryUsage();
  return { heapUsed, external, arrayBuffers };
}

function say(line: object): void {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}
