// What a front and the one that replaces it say to each other over the link between their processes: the news of legacy
// sessions, each of which is confirmed, so that a client is told that its session is kept only when it is. Connections
// travel another way, because they are no bytes.

import { isRecord } from '../../../kernel/json-values.ts';
import type { HttpFront, Successor } from '../listener.ts';
import type { WrittenNews } from './session-news.ts';

/** What is used of the link. */
export interface FrontLink extends Disposable {
  send(kind: string, head: object, payload?: Uint8Array): void;
  on(kind: string, heard: (head: unknown, payload: Buffer) => void): Disposable;
  readonly isOpen: boolean;
  readonly closed: Promise<void>;
}

const kind = 'http';

/** For `handOver`: the process at the other end of this link. */
export function successorOver(
  link: FrontLink,
  connection: Successor['connection'],
  caught: (error: unknown) => void,
): Successor {
  /** By number, until it is confirmed or the link has ended. */
  const unheard = new Map<number, () => void>();
  let next = 1;
  link.on(kind, (head) => {
    const heard = isRecord(head) ? head['heard'] : undefined;
    if (typeof heard !== 'number') return;
    unheard.get(heard)?.();
    unheard.delete(heard);
  });
  link.closed
    .then(() => {
      for (const heard of unheard.values()) heard();
      unheard.clear();
    })
    .catch(caught);
  const session = ({ head, payload }: WrittenNews) =>
    new Promise<void>((resolve) => {
      if (!link.isOpen) return resolve();
      const number = next++;
      unheard.set(number, resolve);
      link.send(kind, { number, news: head }, payload);
    });
  return {
    get isOpen() {
      return link.isOpen;
    },
    connection,
    session,
  };
}

/** This front replaces the one at the other end; what cannot be read ends the link. */
export function followFormer(
  link: FrontLink,
  front: Pick<HttpFront, 'heardOfSessions'>,
): Disposable {
  return link.on(kind, (head, payload) => {
    const { number, news } = isRecord(head) ? head : {};
    if (typeof number !== 'number' || !front.heardOfSessions(news, payload)) {
      return link[Symbol.dispose]();
    }
    link.send(kind, { heard: number });
  });
}
