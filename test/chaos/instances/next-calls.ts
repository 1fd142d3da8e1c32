// When nobody ends the instance any more, every window works: whatever became of its last calls, the next one
// is answered with a result, and one process is the instance.

import { until } from '../../support/until.ts';
import type { ClientRow } from '../clients.ts';
import type { Fleet } from '../fleet.ts';
import { type ServerSpec, windowServers } from '../servers.ts';

export async function nextCalls(windows: readonly ClientRow[], fleet: Fleet): Promise<void> {
  const [calm] = windowServers;
  if (calm === undefined) return;
  await Promise.all(windows.map((row) => nextCall(row, calm, fleet)));
  const isOne = () => fleet.instances.processes().length === 1;
  await until(isOne, 'one instance').catch(({ message }: Error) => fleet.report(message));
}

/** To a server that is not harmed itself. */
export async function nextCall(
  { name, client }: ClientRow,
  calm: ServerSpec,
  fleet: Fleet,
): Promise<void> {
  const order = { server: calm.name, tool: 'echo', args: {} } as const;
  // It may still meet the end of the last one.
  await client.call(order);
  const seen = await client.call(order);
  if (seen?.kind === 'result') return;
  fleet.report(`[next-call] the next call of ${name} ended in ${JSON.stringify(seen)}`);
}
