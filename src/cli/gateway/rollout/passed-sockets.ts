// Connections of clients that the process before gives to this one, through the pid-holder, as bare handles. They may come
// before anybody here can take them, and then wait, for a moment.

import { isRecord } from '../../../kernel/json-values.ts';
import type { RawHandle } from '../../../rollout/holder/raw-handle.ts';
import type { HolderClient } from '../../../rollout/holder-client.ts';

export type PassedHead = Readonly<Record<string, unknown>>;
/** Whoever takes a handle closes it. */
export type TakesSocket = (handle: RawHandle, head: PassedHead) => void;

interface Waiting {
  readonly handle: RawHandle;
  readonly head: PassedHead;
}

export class PassedSockets {
  readonly #holder: HolderClient;
  /** By what they take, at most one for each of the two kinds of clients with connections. */
  readonly #takers = new Map<string, TakesSocket>();
  /** In the order in which they came, until somebody takes them; as many as the process before had. */
  #waiting: Waiting[] = [];

  constructor(holder: HolderClient) {
    this.#holder = holder;
    holder.listen({ passed: (head, handle) => this.#passed(head, handle) });
  }

  /** To the next process, which takes it for what it is. Nothing may use it here any more. */
  pass(handle: RawHandle, head: PassedHead & { readonly what: string }): void {
    this.#holder.passSocket(handle, head);
  }

  /** Those of one kind, from now on, and those that wait. */
  take(what: string, take: TakesSocket): void {
    this.#takers.set(what, take);
    const mine = this.#waiting.filter(({ head }) => head['what'] === what);
    this.#waiting = this.#waiting.filter(({ head }) => head['what'] !== what);
    for (const { handle, head } of mine) take(handle, head);
  }

  #passed(given: unknown, handle: RawHandle): void {
    const head = isRecord(given) ? given : {};
    const take = this.#takers.get(String(head['what']));
    if (take === undefined) this.#waiting.push({ handle, head });
    else take(handle, head);
  }
}
