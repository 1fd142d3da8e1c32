// What a request carries, as far as that decides where it is served. New work may be done by any replica; what
// continues something belongs to the one that has it: an answer, a cancellation, and a client that comes back for the
// answer to a request of its own.

import type { IncomingMessage } from 'node:http';
import type { Message } from '../../../wire/scan.ts';
import { placeOf } from '../legacy/resumable-stream.ts';

export interface Carried {
  /** None where it could not be read, and for a GET or DELETE. */
  readonly messages: readonly Message[];
  readonly isBatch: boolean;
}

export const nothing: Carried = { messages: [], isBatch: false };

/** A subscription has no end of its own. */
export const endless = 'subscriptions/listen';

export function carriedOne(message: Message): Carried {
  return { messages: [message], isBatch: false };
}

export function requestsIn({ messages }: Carried): readonly Message[] {
  return messages.filter(({ kind }) => kind === 'request');
}

type Head = Pick<IncomingMessage, 'method' | 'headers'>;

/** A client that comes back for the answer to a request: not for what belongs to none. */
export function resumesAnswer({ method, headers }: Head): boolean {
  const last = headers['last-event-id'];
  return method === 'GET' && typeof last === 'string' && placeOf(last)?.kind === 'post';
}

/** Whether it begins something. */
export function isNewWork(head: Head, carried: Carried): boolean {
  if (head.method === 'GET') return !resumesAnswer(head);
  return requestsIn(carried).length > 0;
}

/** Whether it ends by itself: then a replica that shuts down waits for its answer. */
export function hasEnd(head: Head, carried: Carried): boolean {
  if (head.method === 'GET') return resumesAnswer(head);
  return !carried.messages.some(({ method }) => method === endless);
}
