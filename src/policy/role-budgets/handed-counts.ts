// What was spent of the budgets of roles, as it goes to the next process of an instance in a rollout: every count at the
// moment of the hand-over, and then what calls add that the former process had begun. It is counted once, by the process
// that serves. A message that is none throws, which ends the link.

import { isRecord } from '../../kernel/json-values.ts';
import type { StoreLink } from '../../store/remote/store-link.ts';
import type { CallsOfSecond } from '../minute-window.ts';
import type { Spent } from './budget-rules.ts';

/** One count, as exactly as the former process knows it. */
export interface HandedCount extends Spent {
  readonly role: string;
  readonly owner: string | null;
  readonly mark: string;
  readonly minute: readonly CallsOfSecond[];
}

/** What one call of the former process has added; a call that was never sent gives back. */
export interface LateCount extends Spent {
  readonly role: string;
  readonly owner: string | null;
  readonly mark: string;
}

const kind = 'budgets';
/** In one message. */
const maxCounts = 1_000;

/** `as`: the kind of the messages, where they are not about counts that outlive their clients. */
export function sendCounts(link: StoreLink, counts: readonly HandedCount[], as = kind): void {
  for (let at = 0; at < counts.length; at += maxCounts) {
    const some = counts.slice(at, at + maxCounts).map((one) => ({ ...one, minute: one.minute }));
    link.send(as, { counts: some });
  }
}

export function sendLate(link: StoreLink, late: LateCount, as = kind): void {
  link.send(as, { late: { ...late } });
}

export interface CountsHeard {
  readonly takeOver: (counts: readonly HandedCount[]) => void;
  readonly add: (late: LateCount) => void;
}

export function hearCounts(link: StoreLink, { takeOver, add }: CountsHeard, as = kind): Disposable {
  return link.on(as, (head) => {
    const { counts, late } = isRecord(head) ? head : {};
    if (Array.isArray(counts) && counts.every(isHandedCount)) return takeOver(counts);
    if (isLateCount(late) && Math.abs(late.calls) <= 1) return add(late);
    throw new TypeError('a message about budgets has no counts of this version');
  });
}

export function isHandedCount(value: unknown): value is HandedCount {
  const { minute, calls, bytes } = isRecord(value) ? value : {};
  const isMinute = Array.isArray(minute) && minute.every(isCallsOfSecond);
  return isLateCount(value) && isMinute && Number(calls) >= 0 && Number(bytes) >= 0;
}

function isLateCount(value: unknown): value is LateCount {
  const { role, owner, mark, calls, bytes } = isRecord(value) ? value : {};
  const isOwner = owner === null || typeof owner === 'string';
  const isSpent = Number.isSafeInteger(calls) && Number.isSafeInteger(bytes);
  return typeof role === 'string' && isOwner && typeof mark === 'string' && isSpent;
}

function isCallsOfSecond(value: unknown): value is CallsOfSecond {
  return (
    Array.isArray(value) &&
    value.length === 2 &&
    value.every((one) => Number.isSafeInteger(one) && Number(one) >= 0)
  );
}
