// Is a server still answering at all? Asked after a timeout, before anybody speaks of restarting it.
// Any answer, even an error, shows that it is alive.

import { type Connection, noParams } from './connection.ts';

const probeAnswerMs = 5_000;

export function answersProbe(connection: Pick<Connection, 'era' | 'request'>): Promise<boolean> {
  const method = connection.era === 'modern' ? 'server/discover' : 'ping';
  const { answer } = connection.request(method, noParams, { deadlineMs: probeAnswerMs });
  return answer.then(
    () => true,
    () => false,
  );
}
