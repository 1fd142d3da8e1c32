// A letter as a message of NATS: who it is from and for stands in the subject, its id and its time in headers, and
// the body is the body.

import { createHash } from 'node:crypto';
import type { MsgHdrs } from '@nats-io/transport-node';
import type { NatsClient } from '../../nats/nats-client.ts';
import { isLetterId } from '../address.ts';
import type { Letter, Sender } from '../contract.ts';

const idHeader = 'Hf-Id';
const aboutHeader = 'Hf-About';
const ttlHeader = 'Hf-Ttl';
/** By this the server knows a letter that is sent again. */
const duplicateHeader = 'Nats-Msg-Id';

export interface LetterHeaders {
  readonly id: string;
  readonly about: string | undefined;
  readonly ttlMs: number | undefined;
}

/**
 * What the server knows the same letter by when it is sent again; nobody can guess it without `origin`. Letters from
 * two seats, or for two seats, are not the same.
 */
export function duplicateIdOf(
  origin: Buffer,
  { seat: sender }: Sender,
  { id, to, seat = '', kind }: Letter,
): string {
  // None of these names has a space.
  const name = [sender, to, seat, kind, id].join(' ');
  return createHash('sha256').update(origin).update(name).digest('base64url');
}

export function headersOf(
  client: NatsClient,
  { id, about, ttlMs }: Letter,
  duplicateId?: string,
): MsgHdrs {
  const headers = client.headers();
  headers.set(idHeader, id);
  if (about !== undefined) headers.set(aboutHeader, about);
  if (ttlMs !== undefined) headers.set(ttlHeader, String(ttlMs));
  if (duplicateId !== undefined) headers.set(duplicateHeader, duplicateId);
  return headers;
}

/** Undefined if they are none of a letter: whoever may write to us may also write something else. */
export function letterHeadersIn(headers: MsgHdrs | undefined): LetterHeaders | undefined {
  if (headers === undefined) return undefined;
  const id = headers.get(idHeader);
  const about = headers.get(aboutHeader);
  const ttl = headers.get(ttlHeader);
  const ttlMs = ttl === '' ? undefined : Number(ttl);
  if (!isLetterId(id) || (about !== '' && !isLetterId(about))) return undefined;
  if (ttlMs !== undefined && !(ttlMs > 0 && ttlMs < 2 ** 42)) return undefined;
  return { id, about: about === '' ? undefined : about, ttlMs };
}
