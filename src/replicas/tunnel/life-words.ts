// What replicas say to each other as a sign of life: the asking one names the tunnels that it has to the other, by the
// other's names for them, and the answer names those which the other one has no more. Both are proven with the secret of all
// replicas, and the answer belongs to its question.

import { isRecord } from '../../kernel/json-values.ts';
import { isReplicaId } from './openings.ts';
import { isProof, proofOf } from './sealed-frames.ts';

/** Of one question: it tells its answer from those of others. */
export interface LifeQuestion {
  readonly subject: string;
  readonly nonce: string;
  readonly tunnels: readonly string[];
}

/** A name with quotes and a comma, at most. */
const nameBytes = 67;
/** What is beside the names. */
const besideNames = 512;
const mostBytes = 262_144;

/** How many names there may be in one question, where a message may have so many bytes. */
export function mostNames(maxBytes: number): number {
  return Math.max(1, Math.floor((Math.min(maxBytes, mostBytes) - besideNames) / nameBytes));
}

/** The names that are next, and where the following question begins: each has its turn. */
export function namesFrom(
  names: readonly string[],
  from: number,
  most: number,
): readonly [part: readonly string[], next: number] {
  const start = from < names.length ? from : 0;
  const end = start + most;
  return [names.slice(start, end), end < names.length ? end : 0];
}

export function questionBytes(secret: Buffer, question: LifeQuestion): Buffer {
  const { nonce, tunnels } = question;
  const proof = proofOf(secret, questionWords(question));
  return Buffer.from(JSON.stringify({ nonce, tunnels, proof }));
}

/** Undefined for anything that no replica has asked. */
export function questionIn(
  secret: Buffer,
  subject: string,
  body: Uint8Array,
): LifeQuestion | undefined {
  const { nonce, tunnels, proof } = wordsIn(body);
  if (typeof nonce !== 'string' || !isNames(tunnels)) return undefined;
  const question = { subject, nonce, tunnels };
  return isProof(secret, questionWords(question), proof) ? question : undefined;
}

export function answerBytes(
  secret: Buffer,
  question: LifeQuestion,
  unknown: readonly string[],
): Buffer {
  const proof = proofOf(secret, answerWords(question, unknown));
  return Buffer.from(JSON.stringify({ unknown, proof }));
}

/** Those that the other one has no more; none where it has not said so. */
export function unknownIn(
  secret: Buffer,
  question: LifeQuestion,
  body: Uint8Array,
): readonly string[] {
  const { unknown, proof } = wordsIn(body);
  if (!isNames(unknown)) return [];
  return isProof(secret, answerWords(question, unknown), proof) ? unknown : [];
}

function questionWords({ subject, nonce, tunnels }: LifeQuestion) {
  return ['life', subject, nonce, tunnels.join()];
}

function answerWords({ subject, nonce }: LifeQuestion, unknown: readonly string[]) {
  return ['life answer', subject, nonce, unknown.join()];
}

function isNames(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((one) => typeof one === 'string' && isReplicaId(one));
}

function wordsIn(body: Uint8Array): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(Buffer.from(body).toString());
    return isRecord(value) ? value : {};
  } catch {
    return {};
  }
}
