// The client on stdio as one process hands it over to the next one in a rollout: its session, the requests that the
// former still works on, and the bytes of its input that were read and not handled. From then on both sides talk over
// a link: the former sends whole lines for the client, and the successor, which alone reads and writes, sends the
// client's lines that are for work of the former. What comes from the other process is checked here.

import { isRecord } from '../../kernel/json-values.ts';
import {
  isWatchedAddress,
  type SessionState,
  sessionStateIn,
  type WatchedAddress,
} from '../clients/session-state.ts';
import type { OpenRequest } from '../contract.ts';

/** What is said beside the bytes: JSON. */
export type LinkHead = { readonly [member: string]: LinkValue };
type LinkValue = string | number | readonly LinkValue[] | LinkHead;

/** What the two sides need of the link between the two processes (src/rollout). */
export interface ClientLink {
  send(kind: string, head: LinkHead, payload?: Uint8Array): void;
  on(kind: string, heard: (head: unknown, payload: Buffer) => void): Disposable;
  readonly closed: Promise<void>;
}

/** JSON. */
export interface StdioState {
  /** `undecided`: it has not sent a request yet. */
  readonly era: 'undecided' | 'legacy' | 'modern';
  /** Of a legacy client. */
  readonly session?: SessionState;
  /** What the former, or one before it, still works on. */
  readonly open: readonly OpenRequest[];
  /** Requests of a modern client that stay open to listen, as it sent them: they go on in the successor. */
  readonly listening: readonly string[];
  /** The same for those whose client was not told yet that they do: they are begun in the successor. */
  readonly unacknowledged: readonly string[];
  /** The rest of a message beyond the limit is still to be dropped. */
  readonly isDiscarding: boolean;
  readonly isInputEnded: boolean;
  /** Everything that the former has written is with the system; if not, it says later when it is. */
  readonly isDrained: boolean;
}

/** How the former's part goes on, at the former. */
export interface RestOfClient {
  /** Where its lines go from now on. */
  attach(link: ClientLink): void;
  /** Resolves when it has no open request of the client any more, or nobody can be told. */
  readonly done: Promise<void>;
}

export interface HandedStdio {
  readonly state: StdioState;
  readonly unread: Buffer;
}

/** What the successor is given. */
export interface RestoredStdio extends HandedStdio {
  /** To the former; absent: it has ended. */
  readonly link?: ClientLink | undefined;
}

export const linkKind = 'stdio';

/** What the former says to the successor; the payload is a line, without its end. */
export interface ToSuccessor {
  readonly say: 'line' | 'over' | 'watched' | 'drained' | 'done';
  /** `over`: these requests have ended. */
  readonly ids?: readonly (string | number)[];
  readonly watched?: WatchedAddress;
}

/** What the successor says to the former; the payload is a line of the client. */
export interface ToFormer {
  readonly say: 'line' | 'taken' | 'ended' | 'gone';
  /** `taken`: so many bytes of its lines do not wait any longer. */
  readonly bytes?: number;
}

/** Undefined if it is none. */
export function stdioStateIn(value: unknown): StdioState | undefined {
  if (!isRecord(value)) return undefined;
  const { era, session, open, isDiscarding, isInputEnded, isDrained } = value;
  const { listening, unacknowledged } = value;
  const isWhole =
    (era === 'undecided' || era === 'legacy' || era === 'modern') &&
    (era === 'legacy') === (session !== undefined) &&
    (session === undefined || sessionStateIn(session) !== undefined) &&
    Array.isArray(open) &&
    open.every(isOpenRequest) &&
    [listening, unacknowledged].every(isLines) &&
    [isDiscarding, isInputEnded, isDrained].every((one) => typeof one === 'boolean');
  return isWhole ? (value as unknown as StdioState) : undefined;
}

function isLines(value: unknown): boolean {
  return Array.isArray(value) && value.every((line) => typeof line === 'string');
}

function isOpenRequest(value: unknown): value is OpenRequest {
  return isRecord(value) && isId(value['id']) && typeof value['method'] === 'string';
}

function isId(value: unknown): value is string | number {
  return typeof value === 'string' || typeof value === 'number';
}

/** Throws a TypeError if it is none: the link ends with it. */
export function toSuccessorIn(head: unknown): ToSuccessor {
  if (isRecord(head)) {
    const { say, ids, watched } = head;
    if (say === 'line' || say === 'drained' || say === 'done') return { say };
    if (say === 'over' && Array.isArray(ids) && ids.every(isId)) return { say, ids };
    if (say === 'watched' && isWatchedAddress(watched)) return { say, watched };
  }
  throw new TypeError('this is nothing that a former says about the client on stdio');
}

/** Throws a TypeError if it is none: the link ends with it. */
export function toFormerIn(head: unknown): ToFormer {
  if (isRecord(head)) {
    const { say, bytes } = head;
    if (say === 'line' || say === 'ended' || say === 'gone') return { say };
    const isCount = typeof bytes === 'number' && Number.isSafeInteger(bytes) && bytes >= 0;
    if (say === 'taken' && isCount) return { say, bytes };
  }
  throw new TypeError('this is nothing that a successor says about the client on stdio');
}
