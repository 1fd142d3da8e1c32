// An ordinary client among the strange ones: it sends what the specification says, in either era, and
// must be served whatever the others do.

import { agree, shortly } from './disagreement.ts';
import { answersIn, type HttpAnswer, rpcResultId } from './http-answers.ts';
import { withSession } from './http-meanings.ts';
import { bytesOf, goodCall, type HttpRequest, withBody, withHeader } from './http-request.ts';
import { talk } from './raw-socket.ts';

export interface Door {
  readonly port: number;
  readonly token: string | null;
}

/** A call in the modern era, then a session of the legacy era, from its beginning to its end. */
export async function useAsEver(door: Door, nonce: string): Promise<void> {
  const called = await ask(door, goodCall(nonce, door.port, door.token));
  agree(
    rpcResultId(called) === nonce,
    () => `a call is answered with ${shortly(called.body.toString())}`,
  );
  agree(
    called.body.includes('"text":"é"'),
    () => `a call brings ${shortly(called.body.toString())}`,
  );
  const session = await openSession(door, '2025-11-25');
  const list = await ask(door, withSession(said(door, 'tools/list', {}), session, '2025-11-25'));
  agree(list.body.includes('"files__echo"'), () => `a list is ${shortly(list.body.toString())}`);
  const ended = await endSession(door, session);
  agree(ended === 204, () => `the end of a session is answered with ${ended}`);
}

/** The id of a new legacy session. */
export async function openSession(door: Door, protocolVersion: string): Promise<string> {
  const clientInfo = { name: 'ordinary', version: '1' };
  const hello = said(door, 'initialize', { protocolVersion, capabilities: {}, clientInfo });
  const { status, headers } = await ask(
    door,
    withHeader(hello, 'MCP-Protocol-Version', protocolVersion),
  );
  const session = headers.get('mcp-session-id');
  agree(session !== undefined, () => `initialize is answered with ${status} and without a session`);
  return session;
}

/** The status of the answer. */
export async function endSession(door: Door, session: string): Promise<number> {
  const bare = { ...said(door, 'ping', {}), method: 'DELETE', body: Buffer.alloc(0) };
  return (await ask(door, withSession(bare, session, '2025-11-25'))).status;
}

function said({ port, token }: Door, method: string, params: object): HttpRequest {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  const request = withBody(goodCall('', port, token), body);
  return withHeader(withHeader(request, 'Mcp-Method', undefined), 'Mcp-Name', undefined);
}

async function ask({ port }: Door, request: HttpRequest): Promise<HttpAnswer> {
  const { heard } = await talk(port, [bytesOf(withHeader(request, 'Connection', 'close'))]);
  const [answer] = answersIn(heard, () => false).answers;
  agree(answer !== undefined, () => 'an ordinary request has no answer');
  return answer;
}
