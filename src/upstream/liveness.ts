// Is a server still answering at all? Asked after a timeout, before anybody speaks of restarting it.
// Any answer, even an error, shows that it is alive.

import type { Clock } from '../kernel/clock.ts';
import { Fault } from '../kernel/fault.ts';
import { type Connection, noParams } from './connection.ts';

const probeAnswerMs = 5_000;

export async function answersProbe(
  connection: Pick<Connection, 'era' | 'request'>,
  server: string,
  clock: Clock,
): Promise<boolean> {
  const method = connection.era === 'modern' ? 'server/discover' : 'ping';
  const exchange = connection.request(method, noParams);
  using _deadline = clock.after(probeAnswerMs, () =>
    exchange.cancel(new Fault('timeout', `${server} does not answer a probe`)),
  );
  return await exchange.answer.then(
    () => true,
    () => false,
  );
}
