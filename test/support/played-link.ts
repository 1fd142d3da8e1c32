// The link between two serving processes of one instance, played in one process: messages arrive in a later turn, in
// order, as JSON and copied bytes. A test can cut it: then nothing arrives any more, and both ends are told.

import type { JsonValue, StoreLink } from '../../src/store/remote/store-link.ts';

type Heard = (head: unknown, payload: Buffer) => void;

export interface PlayedEnd extends StoreLink {
  /** Why it has ended, if a listener has thrown. */
  readonly fault: unknown;
}

export interface PlayedLink {
  /** The end of the process before. */
  readonly former: PlayedEnd;
  readonly next: PlayedEnd;
  /** What is on its way is lost. */
  cut(): void;
  /** Called with each message before it is heard; true: the link is cut instead. */
  cutsAt: (head: unknown) => boolean;
}

export function playedLink(): PlayedLink {
  let isOpen = true;
  let end = () => {};
  let fault: unknown;
  const closed = new Promise<void>((resolve) => {
    end = resolve;
  });
  const link = {
    cut: () => {
      isOpen = false;
      end();
    },
    cutsAt: (_: unknown): boolean => false,
  };
  const heard = [new Map<string, Heard>(), new Map<string, Heard>()] as const;
  const early: [string, unknown, Buffer][][] = [[], []];
  const deliver = (to: 0 | 1, kind: string, head: unknown, payload: Buffer) => {
    if (!isOpen) return;
    if (link.cutsAt(head)) return link.cut();
    const listener = heard[to].get(kind);
    if (listener === undefined) return void early[to]?.push([kind, head, payload]);
    try {
      listener(head, payload);
    } catch (error) {
      fault = error;
      link.cut();
    }
  };
  const endOf = (own: 0 | 1): PlayedEnd => ({
    send: (kind: string, head: JsonValue, payload: Uint8Array = Buffer.alloc(0)) => {
      const [text, bytes] = [JSON.stringify(head), Buffer.from(payload)];
      setImmediate(() => deliver(own === 0 ? 1 : 0, kind, JSON.parse(text), bytes));
    },
    on: (kind, listener) => {
      heard[own].set(kind, listener);
      const waiting = early[own] ?? [];
      early[own] = [];
      for (const message of waiting) setImmediate(() => deliver(own, ...message));
      return { [Symbol.dispose]: () => void heard[own].delete(kind) };
    },
    get isOpen() {
      return isOpen;
    },
    get fault() {
      return fault;
    },
    closed,
  });
  return Object.assign(link, { former: endOf(0), next: endOf(1) });
}
