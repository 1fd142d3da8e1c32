// What is said to open a tunnel: a request with the name that the opener has for it, and an answer with the name of the
// acceptor. Both are proven with the secret that all replicas have, and the answer belongs to its request.

import { isRecord } from '../../kernel/json-values.ts';
import { isProof, proofOf, type TunnelEnd } from './sealed-frames.ts';

const isId = /^[a-z0-9]{8,64}$/;

/** The other end, as it has answered. */
export interface Answered extends TunnelEnd {
  /** Its replica shuts down. */
  readonly isEnding: boolean;
}

/** Nothing is accepted now. */
export const refused: Buffer = Buffer.from('{}');

export function isReplicaId(text: string): boolean {
  return isId.test(text);
}

/** `subject` is the one it goes to: it is good for no other. */
export function openingRequest(secret: Buffer, subject: string, opener: TunnelEnd): Buffer {
  const { replica, tunnel } = opener;
  const proof = proofOf(secret, ['open', subject, replica, tunnel]);
  return Buffer.from(JSON.stringify({ replica, tunnel, proof }));
}

/** Undefined for anything that no replica has sent. */
export function requestIn(
  secret: Buffer,
  subject: string,
  body: Uint8Array,
): TunnelEnd | undefined {
  const { end, proof } = endIn(body) ?? {};
  if (end === undefined) return undefined;
  return isProof(secret, ['open', subject, end.replica, end.tunnel], proof) ? end : undefined;
}

export function openingAnswer(secret: Buffer, opener: TunnelEnd, answered: Answered): Buffer {
  const { replica, tunnel, isEnding } = answered;
  const proof = proofOf(secret, answerWords(opener, answered));
  return Buffer.from(JSON.stringify({ replica, tunnel, isEnding, proof }));
}

/** Undefined for a refusal, and for anything that no replica has sent to this request. */
export function answerIn(
  secret: Buffer,
  opener: TunnelEnd,
  body: Uint8Array,
): Answered | undefined {
  const { end, isEnding, proof } = endIn(body) ?? {};
  if (end === undefined) return undefined;
  const answered = { ...end, isEnding: isEnding === true };
  return isProof(secret, answerWords(opener, answered), proof) ? answered : undefined;
}

function answerWords(opener: TunnelEnd, { replica, tunnel, isEnding }: Answered) {
  return ['answer', opener.replica, opener.tunnel, replica, tunnel, isEnding];
}

interface Said {
  readonly end: TunnelEnd;
  readonly isEnding: unknown;
  readonly proof: unknown;
}

function endIn(body: Uint8Array): Said | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(body).toString());
    if (!isRecord(value)) return undefined;
    const { replica, tunnel, isEnding, proof } = value;
    if (typeof replica !== 'string' || typeof tunnel !== 'string') return undefined;
    if (!isId.test(replica) || !isId.test(tunnel)) return undefined;
    return { end: { replica, tunnel }, isEnding, proof };
  } catch {
    return undefined;
  }
}
