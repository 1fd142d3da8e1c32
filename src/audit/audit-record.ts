// What the audit log says, one record for each line. A call has two: `begin` before anything is asked of
// its server, `end` after; `id` joins them. A call that was not allowed has one. Payloads are never part of
// a record: arguments, results and messages of servers have no place in these types. Everything that
// somebody else has chosen (names, methods) is cut to a length.

import type { Dispatched, FaultCode } from '../kernel/fault.ts';
import { cutText } from '../kernel/text-cut.ts';

/** Who wants what. */
export interface AuditedCall {
  /** The id of the credential, without the path. */
  readonly principal: string;
  /** The name of the token, so that it is known whose it was after it was revoked; absent: it has none. */
  readonly token?: string;
  readonly role: string | null;
  /** The path that narrows: `server/NAME` or `role/NAME`; null: none. */
  readonly path: string | null;
  /** Null: the gateway itself, or no server has what was asked for. */
  readonly server: string | null;
  readonly what: string;
  readonly name: string | null;
  readonly method: string;
}

export type AuditOutcome = 'ok' | 'is_error' | 'cached' | FaultCode;

export interface BeginRecord extends AuditedCall {
  readonly kind: 'begin';
  readonly at: number;
  readonly id: string;
}

export interface EndRecord {
  readonly kind: 'end';
  readonly at: number;
  readonly id: string;
  readonly outcome: AuditOutcome;
  readonly dispatched: Dispatched;
  readonly ms: number;
}

export interface DeniedRecord extends AuditedCall {
  readonly kind: 'denied';
  readonly at: number;
  readonly id: string;
  /** Why; the caller does not get to see it. */
  readonly reason: string;
  /** So many more of the same, since the line that says so first; absent: this one. */
  readonly count?: number;
}

/** The last line of another track, as a process has found it when it began. */
export interface TrackEnd {
  readonly track: string;
  readonly n: number;
  /** SHA-256 of the whole line. */
  readonly hash: string;
}

/** Where the line of a start was written, so that it proves nothing elsewhere. Logs of earlier versions lack it. */
export interface LinePlace {
  /** The folder of the config, and the track in it. */
  readonly config: string;
  readonly track: string;
  /** The number of the first line of its file. */
  readonly file: number;
}

/** A process begins to write. */
export interface StartRecord extends LinePlace {
  readonly kind: 'start';
  readonly at: number;
  readonly process: string;
  readonly pid: number;
  readonly program: string;
  readonly startedBy: string;
  /** The first characters of the SHA-256 of the key; null: the lines have no MAC. */
  readonly key: string | null;
  /** An unfinished line that was cut off, left by a crash or a full disk. */
  readonly cut?: { readonly bytes: number; readonly hash: string };
  readonly others: readonly TrackEnd[];
}

/** Records that could not be written and are not here, and calls that were refused for that. */
export interface LostRecord {
  readonly kind: 'lost';
  readonly at: number;
  readonly records: number;
  readonly refused: number;
}

export type AuditRecord =
  | BeginRecord
  | EndRecord
  | DeniedRecord
  | StartRecord
  /** The first line of a further file of the same process. */
  | (LinePlace & { readonly kind: 'more'; readonly at: number; readonly process: string })
  | LostRecord
  /** This process had written lines up to `had`, and somebody has removed some of them since. */
  | { readonly kind: 'gap'; readonly at: number; readonly had: number }
  /** The process ends in good order. */
  | { readonly kind: 'stop'; readonly at: number; readonly process: string };

const lengths = {
  principal: 256,
  token: 64,
  role: 128,
  path: 256,
  server: 128,
  name: 512,
  method: 128,
};
const longestReason = 512;

/** With everything at a length that a line has room for. */
export function boundedCall(call: AuditedCall): AuditedCall {
  const { principal, token, role, path, server, what, name, method } = call;
  return {
    principal: cutText(lengths.principal, principal),
    ...(token !== undefined && { token: cutText(lengths.token, token) }),
    role: role && cutText(lengths.role, role),
    path: path && cutText(lengths.path, path),
    server: server && cutText(lengths.server, server),
    what,
    name: name && cutText(lengths.name, name),
    method: cutText(lengths.method, method),
  };
}

export function boundedReason(reason: string): string {
  return cutText(longestReason, reason);
}
