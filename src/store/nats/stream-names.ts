// Names and settings of the store's streams. A stream is named after the namespace, the word and the name of what it
// holds; its subjects also have a random part that is made with the stream: a stream that was deleted and made anew
// has another one, so that nothing which is meant for the old one is stored in the new one.

import { createHash, randomBytes } from 'node:crypto';

/** Records, counters, queues, logs and the parts of large values. */
export type StreamWord = 'r' | 'n' | 'q' | 'l' | 'p';

export interface StreamSpec {
  readonly namespace: string;
  readonly word: StreamWord;
  readonly name: string;
  /** How many messages at most; -1: any number. */
  readonly maxMessages: number;
  /** In the memory of the server, the oldest making way: for what may be forgotten. */
  readonly isForgetful: boolean;
}

/** What is forgettable has this much of the server's memory. */
const forgetfulBytes = 64 * 1024 * 1024;

/** No namespace has the character between the parts of it: so no two have a stream of the same name. */
export function streamName({ namespace, word, name }: StreamSpec): string {
  return `hf_${namespace}_${word}_${name}`;
}

/** As streams were named before; one of another namespace may have the same. */
export function olderStreamName({ namespace, word, name }: StreamSpec): string {
  return `hf-${namespace}-${word}-${name}`;
}

export function newIncarnation(): string {
  return randomBytes(8).toString('hex');
}

export function subjectOf(
  { namespace, word, name }: StreamSpec,
  incarnation: string,
  token: string,
): string {
  return `hfs.${namespace}.${word}.${name}.${incarnation}.${token}`;
}

/** The random part in the subjects of a stream; undefined if it is none of ours. */
export function incarnationIn(spec: StreamSpec, subjects: unknown): string | undefined {
  const [subject] = Array.isArray(subjects) ? subjects : [];
  const incarnation = typeof subject === 'string' ? subject.split('.').at(-2) : undefined;
  if (incarnation === undefined || !/^[0-9a-f]{16}$/.test(incarnation)) return undefined;
  return subject === subjectOf(spec, incarnation, '*') ? incarnation : undefined;
}

export function streamConfig(spec: StreamSpec, incarnation: string) {
  const { maxMessages, isForgetful } = spec;
  return {
    name: streamName(spec),
    subjects: [subjectOf(spec, incarnation, '*')],
    retention: 'limits',
    discard: isForgetful ? 'old' : 'new',
    storage: isForgetful ? 'memory' : 'file',
    max_msgs: maxMessages,
    max_msgs_per_subject: perSubject(spec),
    max_bytes: isForgetful ? forgetfulBytes : -1,
    max_age: 0,
    num_replicas: 1,
    // Servers before 2.11 ignore it; what they say of the stream shows that.
    allow_msg_ttl: true,
  };
}

/**
 * A durable stream keeps what was replaced until we erase it: what the server removes because of such a limit, it may
 * bring back when it is killed.
 */
export function perSubject({ isForgetful }: StreamSpec): number {
  return isForgetful ? 1 : -1;
}

/** The part of a subject for a key; JSON tells all texts apart, also those that are not Unicode. */
export function tokenOf(key: string): string {
  return createHash('sha256').update(JSON.stringify(key)).digest('base64url');
}
