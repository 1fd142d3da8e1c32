// What a store needs of the link between two serving processes of one instance (rollout/link.ts has it): messages in
// order, each with a head in JSON and bytes that pass unchanged. A listener that throws, because a message is not what
// it should be, ends the link.

export type JsonValue =
  | null
  | boolean
  | number
  | string
  | readonly JsonValue[]
  | { readonly [key: string]: JsonValue };

export interface StoreLink {
  send(kind: string, head: JsonValue, payload?: Uint8Array): void;
  on(kind: string, heard: (head: unknown, payload: Buffer) => void): Disposable;
  readonly isOpen: boolean;
  /** Resolves when the other side is gone, or this side has closed it. */
  readonly closed: Promise<void>;
}

/** The kind of all messages of a store. */
export const storeKind = 'store';
