// Requests through a NATS server with its own client and nothing else: an account without rules, request and reply.

import { connect } from '@nats-io/transport-node';
import type { Place, Requester } from './way.ts';

const subject = 'bench';

export async function bareNatsRequester({ url, requester }: Place): Promise<Requester> {
  const connection = await connect({ servers: url, user: requester, pass: requester });
  return {
    ask: async (body) => Buffer.from((await connection.request(subject, body)).data),
    settled: async () => {},
  };
}

export async function bareNatsResponder({ url, responder }: Place): Promise<void> {
  const connection = await connect({ servers: url, user: responder, pass: responder });
  connection.subscribe(subject, {
    callback: (_error, message) => void message.respond(message.data),
  });
  await connection.flush();
}
