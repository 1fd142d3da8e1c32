// Is a server still answering at all? Asked after a timeout, before anybody speaks of restarting it.
// Any answer, even an error, shows that it is alive. Whether its session is alive too is less plain, where
// the answer came with a status that says that the request was bad.

import { valueOf as parsed } from '../wire/decode.ts';
import { noParams } from '../wire/frames.ts';
import type { Message } from '../wire/scan.ts';
import { isRecord } from './classify.ts';
import type { Connection } from './connection.ts';

const probeAnswerMs = 5_000;

export function answersProbe(connection: Pick<Connection, 'era' | 'request'>): Promise<boolean> {
  const method = connection.era === 'modern' ? 'server/discover' : 'ping';
  const { answer } = connection.request(method, noParams, { deadlineMs: probeAnswerMs });
  return answer.then(
    () => true,
    () => false,
  );
}

const methodNotFound = -32601;

/**
 * Was a ping that was answered with HTTP 400 read by whoever holds the session? Some servers that do not
 * know a session any more repeat our id in their error (server-everything), so an id proves nothing; but
 * only a session knows whether it has such a method.
 */
export function isFromSession({ kind, bytes, error }: Message): boolean {
  if (kind === 'result') return true;
  const said = error ? parsed(bytes, error) : undefined;
  return isRecord(said) && said['code'] === methodNotFound;
}
