// Checks whether a server still answers. Used after a timeout, before a restart is considered. Any
// answer, even an error, shows that it is alive. Whether its session is alive too is less clear if
// the answer came with a status that says that the request was bad.

import { isRecord } from '../kernel/json-values.ts';
import { valueOf as parsed } from '../wire/decode.ts';
import { rpcCodes } from '../wire/eras.ts';
import { noParams } from '../wire/frames.ts';
import type { Message } from '../wire/scan.ts';
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

/**
 * Whether a ping that was answered with HTTP 400 was read by the code that has the session. Some
 * servers that no longer know a session repeat our id in their error (server-everything), so an id
 * proves nothing; but only a session knows whether it has such a method.
 */
export function isFromSession({ kind, bytes, error }: Message): boolean {
  if (kind === 'result') return true;
  const said = error ? parsed(bytes, error) : undefined;
  return isRecord(said) && said['code'] === rpcCodes.methodNotFound;
}
