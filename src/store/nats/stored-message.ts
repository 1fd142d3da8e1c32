// A message of a stream, as the API returns it or a consumer delivers it.

import type { Msg } from '@nats-io/transport-node';
import { type Members, membersOf } from '../../nats/jet-stream-api.ts';

export interface StoredMessage {
  /** The last part of its subject. */
  readonly token: string;
  /** The part before it: which stream of this name it is in. */
  readonly incarnation: string;
  readonly sequence: number;
  /** When the server has stored it, in milliseconds of the server's clock. */
  readonly storedAt: number;
  readonly headers: ReadonlyMap<string, string>;
  /** Empty if only headers were asked for. */
  readonly body: Buffer;
}

/** In the answer to STREAM.MSG.GET. */
export function messageIn(answer: Members): StoredMessage {
  const { subject, seq, hdrs, data, time } = membersOf(answer['message']);
  return {
    ...partsIn(String(subject)),
    sequence: Number(seq),
    // biome-ignore lint/style/noRestrictedGlobals: it reads a text, not a clock
    storedAt: Date.parse(`${String(time).slice(0, 23).replace(/Z$/, '')}Z`),
    headers: headersIn(typeof hdrs === 'string' ? Buffer.from(hdrs, 'base64').toString() : ''),
    body: Buffer.from(typeof data === 'string' ? data : '', 'base64'),
  };
}

/** Delivered by a consumer; undefined if it is a word of the server. */
export function messageFrom({ subject, reply, headers, data }: Msg): Delivered | undefined {
  // $JS.ACK.[DOMAIN.ACCOUNT.]STREAM.CONSUMER.DELIVERED.SEQUENCE.CONSUMER_SEQUENCE.TIME.PENDING[.MORE]
  const parts = reply?.startsWith('$JS.ACK.') ? reply.split('.') : [];
  const at = parts.length > 9 ? 7 : 5;
  if (parts.length < 9) return undefined;
  const found = new Map<string, string>();
  for (const name of headers?.keys() ?? []) found.set(name, headers?.get(name) ?? '');
  return {
    ...partsIn(subject),
    sequence: Number(parts[at]),
    storedAt: Number(parts[at + 2]) / 1_000_000,
    headers: found,
    // A copy: a message is a view of all that came with it from the socket.
    body: Buffer.from(data),
    number: Number(parts[at + 1]),
    pending: Number(parts[at + 3]),
  };
}

export interface Delivered extends StoredMessage {
  /** How many the consumer has delivered. */
  readonly number: number;
  /** How many it has still to deliver. */
  readonly pending: number;
}

function partsIn(subject: string): Pick<StoredMessage, 'token' | 'incarnation'> {
  const [incarnation = '', token = ''] = subject.split('.').slice(-2);
  return { token, incarnation };
}

/** As they are in a message: a line of their own each, after a first line. */
function headersIn(text: string): ReadonlyMap<string, string> {
  const lines = text.split('\r\n').slice(1);
  const pairs = lines.flatMap((line): (readonly [string, string])[] => {
    const colon = line.indexOf(':');
    return colon < 0 ? [] : [[line.slice(0, colon), line.slice(colon + 1).trim()]];
  });
  return new Map(pairs);
}
