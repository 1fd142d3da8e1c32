// What a role and a token are worth. Nobody is told anything that was made for another principal, or by a tool
// that it may not use; no call runs that was not allowed at any moment between its sending and its end; a
// second after a token was revoked nothing of its holder runs or is open; and nobody is refused what it was
// allowed all the time. What was allowed when is in access-book.ts; whose something is stands in its marks.

import type { AccessBook, Span, Who } from './access-book.ts';
import { type Call, named } from './call.ts';
import type { Trace } from './ledger-book.ts';
import type { UnreadCalls } from './unread-calls.ts';
import type { Verdict } from './verdict.ts';

/** Marks in what a client was told, asked for at the earliest at `from`. */
export interface Told extends Span {
  readonly marks: readonly string[];
  readonly place: string;
}

export interface Stream {
  closedAt: number;
  readonly place: string;
}

/** Of one client. */
export interface Holding {
  readonly client: string;
  readonly who: Who;
  readonly told: readonly Told[];
  readonly streams: readonly Stream[];
}

/** A fact: a busy machine is no defect. What is left when the gateway has read its tokens again is one. */
const LATE = 'roles: calls and streams of a token later than a second after its revocation';
const graceMs = 1000;

export class PrincipalRule {
  readonly #access: AccessBook;
  readonly #unread: UnreadCalls;
  readonly #verdict: Verdict;

  constructor(access: AccessBook, unread: UnreadCalls, verdict: Verdict) {
    this.#access = access;
    this.#unread = unread;
    this.#verdict = verdict;
  }

  /** Did its gateway end this call because its token was revoked? */
  isExcused({ who, fate, turnedAt }: Call): boolean {
    if (who === undefined || fate !== 'cut' || turnedAt === undefined) return false;
    return (this.#access.token(who.token)?.revokingAt ?? turnedAt + 1) <= turnedAt;
  }

  holding({ client, who, told, streams }: Holding): void {
    if (this.#access.token(who.token) === undefined) {
      this.#verdict.violates('evidence', `nobody gave client ${client} the token ${who.token}`);
    }
    for (const one of told) this.#told(client, who, one);
    const endAt = this.#endAt(who);
    for (const { closedAt, place } of streams) {
      this.#verdict.adds('roles: streams that stayed open');
      if (closedAt > this.#revokedAt(who) + graceMs) this.#verdict.adds(LATE);
      if (closedAt <= endAt) continue;
      const ms = Math.round(closedAt - this.#revokedAt(who));
      const finding = `client ${client}, ${place}: a stream was open ${ms} ms after the revocation of ${who.token}`;
      this.#verdict.violates('afterRevocation', finding);
    }
  }

  /** Was it refused by right, because of a role or a token? */
  isDenied(call: Call): boolean {
    if (call.who === undefined || call.answers[0]?.kind !== 'rpc-error') return false;
    return !this.#access.wasAlwaysAllowed(call.who, toolOf(call), spanOf(call));
  }

  /** `group`: all calls with this nonce, of one principal on one path; one of them has run, if any. */
  take(call: Call, trace: Trace, group: readonly Call[]): void {
    const { who } = call;
    if (who === undefined) return;
    const mayRun = group.some((one) =>
      this.#access.wasEverAllowed(who, toolOf(one), spanOf(one, trace)),
    );
    this.#count(call, trace, mayRun);
    if (trace.receipts.length > 0 && !mayRun && call === group[0]) {
      const finding = `${named(call)}: ${who.token} was not allowed it at any time; ${trace.lines.join(', ')}`;
      this.#verdict.violates('deniedRan', finding);
    }
    const isRefused = call.answers[0]?.kind === 'rpc-error' && trace.receipts.length === 0;
    if (isRefused && !this.isDenied(call)) {
      const finding = `${named(call)}: ${who.token} was allowed it all the time`;
      this.#verdict.violates('wronglyDenied', finding);
    }
    this.#afterwards(call, who, trace, group);
  }

  #afterwards(call: Call, who: Who, trace: Trace, group: readonly Call[]): void {
    const { to: ended } = spanOf(call);
    const endAt = this.#endAt(who);
    const late = trace.receipts.filter(({ at }) => at > endAt);
    if (trace.receipts.some(({ at }) => at > this.#revokedAt(who) + graceMs))
      this.#verdict.adds(LATE);
    // One that is refused was not open; whether it was received is asked above.
    const isRefused = call.answers[0]?.kind === 'rpc-error';
    // Nor is it known how one would have ended that its client gave up before it was received.
    const isGivenUp = call.fate === 'cancelled' && trace.receipts.length === 0;
    // What its gateway had written cannot be taken back, however late its client reads it.
    const isUnread = (call.unreadAt ?? Number.POSITIVE_INFINITY) <= endAt;
    const isOver = isRefused || isGivenUp || isUnread;
    const wasOpen = call.sentAt <= endAt && ended > endAt && !isOver;
    const isServed = call.sentAt > endAt && call.answers.length > 0 && !isRefused;
    if (call.sentAt > endAt) this.#verdict.adds('roles: calls with a token that was revoked');
    if (late.length === 0 && !wasOpen && !isServed) return;
    const what = late.length > 0 ? 'it was received' : wasOpen ? 'it was open' : 'it was answered';
    const ms = Math.round(Math.max(ended, ...late.map(({ at }) => at)) - this.#revokedAt(who));
    const finding = `${named(call)}: ${what} ${ms} ms after the revocation of ${who.token}; ${trace.lines.join(', ')}`;
    const [receipt] = late;
    const isSentInTime = group.some(({ sentAt }) => sentAt <= endAt);
    if (receipt === undefined || wasOpen || isServed || !isSentInTime) {
      this.#verdict.violates('afterRevocation', finding);
    } else this.#unread.late({ endAt, run: receipt.run, at: receipt.at, finding });
  }

  #told(client: string, who: Who, { marks, from, to, place }: Told): void {
    for (const mark of marks) {
      const tool = /^by~(.+)~$/.exec(mark)?.[1];
      this.#verdict.adds(`roles: marks of ${tool === undefined ? 'principals' : 'tools'} read`);
      const isOwn =
        tool === undefined
          ? mark === who.mark
          : this.#access.wasEverAllowed(who, tool, { from, to });
      if (isOwn) continue;
      const finding = `client ${client} of ${who.token} (${who.mark}), ${place}: it was told ${mark}`;
      this.#verdict.violates('foreignBytes', finding);
    }
  }

  #count({ answers, key }: Call, { receipts }: Trace, mayRun: boolean): void {
    if (!mayRun) this.#verdict.adds('roles: calls that were not allowed');
    else if (answers[0]?.kind === 'result') {
      this.#verdict.adds('roles: calls that were allowed, with a result');
      if (receipts.length === 0) this.#verdict.adds('roles: results of them that were kept');
      if (key !== undefined) this.#verdict.adds('roles: results of them under a key');
    }
  }

  #revokedAt({ token }: Who): number {
    return this.#access.token(token)?.revokedAt ?? Number.NaN;
  }

  /** From here on nothing of it may be left. */
  #endAt({ token }: Who): number {
    return this.#access.token(token)?.overAt ?? Number.POSITIVE_INFINITY;
  }
}

function toolOf({ server, tool }: Call): string {
  return `${server}/${tool}`;
}

/** From its sending to its end; one that was given up may still reach a server. */
function spanOf(call: Call, trace?: Trace): Span {
  const { sentAt, turnedAt = sentAt, answers } = call;
  const received = trace?.receipts.map(({ at }) => at) ?? [];
  return { from: sentAt, to: answers[0]?.at ?? Math.max(turnedAt, ...received) };
}
