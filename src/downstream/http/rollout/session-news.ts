// What a former tells its successor about legacy sessions, as messages of a head, which is JSON, and bytes: a session with
// what was sent in it, what was sent or ended in one since, and that one has ended. The other process may run another
// version: what is read here is checked whole, and a message that is none is told from one.

import { isRecord } from '../../../kernel/json-values.ts';
import type { Frame } from '../../../wire/frames.ts';
import type { KeptEvent } from '../legacy/kept-events.ts';
import { isStoredSession } from '../legacy/kept-sessions.ts';
import type { HandedSession } from './handed-sessions.ts';

export type SessionNews =
  | { readonly kind: 'session'; readonly session: HandedSession }
  | { readonly kind: 'sent'; readonly id: string; readonly events: readonly KeptEvent[] }
  | { readonly kind: 'ended'; readonly id: string };

export interface WrittenNews {
  readonly head: object;
  readonly payload: Buffer;
}

/** Resolves when the other process has heard it, or is gone. */
export type ToldOfSessions = (news: WrittenNews) => Promise<void>;

/** Stream, place, kind, and how many bytes of the payload it has. */
type EventHead = readonly [string | null, number, string | null, number];

export function written(news: SessionNews): WrittenNews {
  if (news.kind === 'ended') return { head: news, payload: Buffer.alloc(0) };
  const events = news.kind === 'sent' ? news.events : news.session.events;
  const bodies = events.map(({ frame }) => bytesOf(frame));
  const heads = events.map(({ stream = null, place, kind = null }, at): EventHead => {
    return [stream, place, kind, bodies[at]?.length ?? 0];
  });
  const payload = Buffer.concat(bodies);
  if (news.kind === 'sent') return { head: { ...news, events: heads }, payload };
  return { head: { kind: 'session', session: { ...news.session, events: heads } }, payload };
}

/** Undefined: it is none. */
export function read(head: unknown, payload: Buffer): SessionNews | undefined {
  if (!isRecord(head)) return undefined;
  const { kind, id, session } = head;
  if (kind === 'ended') return typeof id === 'string' ? { kind, id } : undefined;
  if (kind === 'sent') {
    const events = eventsIn(head['events'], payload);
    return typeof id === 'string' && events ? { kind, id, events } : undefined;
  }
  const read = kind === 'session' ? sessionIn(session, payload) : undefined;
  return read && { kind: 'session', session: read };
}

function sessionIn(value: unknown, payload: Buffer): HandedSession | undefined {
  if (!isRecord(value) || !isStoredSession(value)) return undefined;
  const { principal, setup } = value;
  const { id, from, life, made, abandoned }: Record<string, unknown> = { ...value };
  const events = eventsIn((value as Record<string, unknown>)['events'], payload);
  const isWhole =
    typeof id === 'string' &&
    (from === undefined || typeof from === 'string') &&
    typeof life === 'string' &&
    /^[0-9a-f]{8}$/.test(life) &&
    isCount(made) &&
    isTexts(abandoned);
  return isWhole && events
    ? { id, from, life, made, abandoned, principal, setup, events }
    : undefined;
}

function eventsIn(heads: unknown, payload: Buffer): readonly KeptEvent[] | undefined {
  if (!Array.isArray(heads)) return undefined;
  const events: KeptEvent[] = [];
  let at = 0;
  for (const head of heads) {
    if (!isEventHead(head)) return undefined;
    const [stream, place, kind, length] = head;
    // A copy: one event would hold all the others.
    const frame = [Buffer.from(payload.subarray(at, at + length))];
    at += length;
    events.push({ stream: stream ?? undefined, place, kind: kind ?? undefined, frame });
  }
  return at === payload.length ? events : undefined;
}

function isEventHead(value: unknown): value is EventHead {
  if (!Array.isArray(value) || value.length !== 4) return false;
  const [stream, place, kind, length] = value as readonly unknown[];
  const isText = (text: unknown) => text === null || typeof text === 'string';
  return isText(stream) && isText(kind) && isCount(place) && isCount(length);
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((one) => typeof one === 'string');
}

function bytesOf(frame: Frame): Buffer {
  return Buffer.concat(
    frame.map((piece) => (typeof piece === 'string' ? Buffer.from(piece) : piece)),
  );
}
