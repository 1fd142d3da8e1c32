// What may be done with a host: options with their types, and none of its internals.

import { createHost, type Fault, type Guard, type Principal } from 'holdfast';

await using host = await createHost();

await host.spawn(
  { name: 'git', command: 'uvx', args: ['mcp-server-git'] },
  { lazy: true, keepAliveMs: 60_000 },
);
await host.spawn({ name: 'docs', url: 'https://example.com/mcp' }, { headers: { A: 'b' } });
await host.spawn({ name: 'git' }); // error at {
await host.spawn({ command: 'uvx' }); // error at {
await host.spawn({ name: 'git', command: 'uvx' }, { lasy: true }); // error at lasy
await host.spawn({ name: 'git', command: 'uvx' }, { keepAliveMs: '60s' }); // error at keepAliveMs

const { signal } = new AbortController();
const principal: Principal = { id: 'token:ci', role: null };
await host.call('git', 'log', { max: 3 }, { signal, timeoutMs: 1_000, principal });
await host.call('git', 'log', {}, { idempotencyKey: 'a', onProgress: ({ total }) => total });
await host.call('git', 'log', {}, { timeout: 1_000 }); // error at timeout
await host.call('git', 'log', {}, { timeoutMs: '1s' }); // error at timeoutMs
await host.call('git', 'log', '{}'); // error at '{}'
await host.callRaw('git', 'log', { max: 3 }); // error at max
await host.callCommand('node server.js', 'echo'); // error at 'node server.js'
await host.discover({ deadline: 1 }); // error at deadline
await host.search('commits', { limit: '3' }); // error at limit
await host.lease('git', {}); // error at {
await host.withBudget({ call: 10 }, () => 1); // error at call

const guard: Guard = (who, server) =>
  who.role === 'reader' && server === 'docs'
    ? { allow: true }
    : { allow: false, reason: 'readers use docs' };
host.setGuard(guard);
host.setGuard(null);
host.setGuard(() => ({ allow: false })); // error at (
host.setGuard(() => true); // error at (

export const internals = [
  host.clock, // error at clock
  host.cache, // error at cache
  host.parts, // error at parts
  host.find('git'), // error at find
  host.servers(), // error at servers
  host.carry({}), // error at carry
];

const { servers, calls } = host.status({ principal });
export const pids: readonly (number | null)[] = servers.map(({ pid }) => pid);
export const replays: number = calls.replays;
export const unknownState = servers.filter(({ state }) => state === 'broken'); // error at state

for await (const event of host.events(signal)) {
  if (event.kind === 'ready') console.log(event.startMs, event.protocolVersion);
  if (event.kind === 'idle') console.log(event.startMs); // error at startMs
}

export function isSafeToRepeat({ code, record }: Fault): boolean {
  if (code === 'outcome_unkown') return false; // error at code
  return record.dispatched === 'no' && record.retryable;
}
