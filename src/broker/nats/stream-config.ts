// The streams of a mailbox: one for each kind of mail, one for letters that nobody could read, one that is only there to
// learn the time of the server, and one that says which store its links use.

import type { Identity } from '../identity.ts';
import { mailboxBytes, maxAgeMs, maxLetters, maxLettersOfOne } from './limits.ts';
import { keptSubject, mailStream, ownSubject } from './subjects.ts';

export interface StreamConfig {
  readonly name: string;
  readonly subjects: readonly string[];
  readonly retention: 'limits' | 'workqueue';
  readonly discard: 'new' | 'old';
  readonly storage: 'file' | 'memory';
  readonly max_msgs: number;
  /** A subject names the sender, its credential and its seat. */
  readonly max_msgs_per_subject?: number;
  readonly discard_new_per_subject?: boolean;
  readonly max_bytes: number;
  /** Nanoseconds, as all durations here. */
  readonly max_age: number;
  readonly num_replicas: number;
  readonly duplicate_window: number;
}

export const asideStream = 'hf-aside';
export const clockStream = 'hf-clock';
export const storeStream = 'hf-store';

const perMs = 1_000_000;
/** Within this time the same letter sent again is no second one. */
const duplicateMs = 2 * 60 * 1_000;

export type Owner = Pick<Identity, 'mailbox' | 'kind'>;

/** How mail of a mailbox is kept. */
export interface Keeping {
  /** Copies, in a cluster. */
  readonly replicas?: number | undefined;
  /** At most; what nobody has read by then takes no room any more. */
  readonly keepMs?: number | undefined;
}

export function mailConfig(
  { mailbox, kind: owner }: Owner,
  kind: string,
  { replicas = 1, keepMs = maxAgeMs }: Keeping,
) {
  return {
    name: mailStream(kind),
    subjects: [keptSubject(mailbox, kind)],
    retention: 'workqueue',
    discard: 'new',
    storage: 'file',
    max_msgs: maxLetters,
    max_msgs_per_subject: maxLettersOfOne,
    discard_new_per_subject: true,
    max_bytes: mailboxBytes[owner],
    max_age: keepMs * perMs,
    num_replicas: replicas,
    duplicate_window: Math.min(duplicateMs, keepMs) * perMs,
  } as const satisfies StreamConfig;
}

export function asideConfig({ mailbox }: Owner, replicas: number) {
  return {
    name: asideStream,
    subjects: [ownSubject(mailbox, 'aside.*')],
    retention: 'limits',
    discard: 'old',
    storage: 'file',
    max_msgs: 1_000,
    max_bytes: 8 * 1024 * 1024,
    max_age: 4 * maxAgeMs * perMs,
    num_replicas: replicas,
    duplicate_window: duplicateMs * perMs,
  } as const satisfies StreamConfig;
}

/** Which store the links of an orchestrator use; the last message counts. */
export function storeConfig({ mailbox }: Owner, replicas: number) {
  return {
    name: storeStream,
    subjects: [ownSubject(mailbox, 'store')],
    retention: 'limits',
    discard: 'old',
    storage: 'file',
    max_msgs: 16,
    max_bytes: 64 * 1024,
    max_age: maxAgeMs * perMs,
    num_replicas: replicas,
    duplicate_window: duplicateMs * perMs,
  } as const satisfies StreamConfig;
}

export function clockConfig({ mailbox }: Owner) {
  return {
    name: clockStream,
    subjects: [ownSubject(mailbox, 'clock')],
    retention: 'limits',
    discard: 'old',
    storage: 'memory',
    max_msgs: 64,
    max_bytes: 64 * 1024,
    max_age: 60_000 * perMs,
    num_replicas: 1,
    duplicate_window: 60_000 * perMs,
  } as const satisfies StreamConfig;
}
