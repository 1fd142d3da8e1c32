// The frames of the embedded broker, version 1 of its protocol (docs/broker.md): each is one binary WebSocket
// message with the length of a JSON header in four bytes, the header, and the body of the letter as it is. Both
// sides decode with the same rules; what does not fit them is no frame. The rules are written out, because a
// schema took more time than everything else that is done with a small letter (bench/broker).

import { isCredentialId, isKind, isLetterId, isMailbox, isSeat } from '../address.ts';
import { type BrokerRefusal, isBrokerRefusal } from '../broker-error.ts';
import { headerText } from './header-text.ts';
import { letterHeaderIn, mailHeaderIn } from './letter-header.ts';
import type { Head } from './web-socket-head.ts';

export const protocolVersion = 1;
/** Named in the request for the WebSocket, so that something else does not answer by mistake. */
export const subprotocol = 'holdfast-broker';
export const maxHeaderBytes = 64 * 1024;
/** Numbers in one frame that confirms or acknowledges several letters. */
export const maxNumbers = 4_096;

interface LetterHeader {
  readonly n: number;
  readonly id: string;
  readonly to: string;
  readonly seat?: string | undefined;
  readonly kind: string;
  readonly about?: string | undefined;
  readonly ttl?: number | undefined;
  /** Of the mailbox that it is for. */
  readonly credential?: string | undefined;
}

export type ClientFrame =
  | {
      readonly is: 'hello';
      readonly version: number;
      readonly seat: string;
      /** Whose it believes itself to be; with another mailbox it is refused. */
      readonly mailbox?: string | undefined;
      readonly store?: string | undefined;
    }
  | ({ readonly is: 'deliver' } & LetterHeader)
  | ({ readonly is: 'tell'; readonly all?: boolean | undefined } & LetterHeader)
  | { readonly is: 'receive'; readonly n: number; readonly kind: string }
  | { readonly is: 'ack'; readonly mails: readonly number[] }
  | { readonly is: 'aside'; readonly mail: number; readonly why: string }
  | { readonly is: 'present'; readonly n: number };

export type HubFrame =
  | {
      readonly is: 'welcome';
      readonly version: number;
      readonly mailbox: string;
      readonly seat: string;
      readonly role: string | null;
      readonly maxBody: number;
    }
  | {
      readonly is: 'mail';
      /** What to acknowledge it by; 0: it is not kept. */
      readonly mail: number;
      readonly id: string;
      readonly from: string;
      readonly seat: string;
      readonly role: string | null;
      readonly kind: string;
      readonly about?: string | undefined;
      readonly ttl?: number | undefined;
      /** Of a worker that has sent it. */
      readonly credential?: string | undefined;
    }
  /** Everything with these numbers is done; letters: kept. */
  | { readonly is: 'done'; readonly ns: readonly number[] }
  /** Its body has the mailboxes, one on each line: a header would be too small for all of a large fleet. */
  | { readonly is: 'present'; readonly n: number }
  | {
      readonly is: 'refused';
      readonly n: number;
      readonly reason: BrokerRefusal;
      readonly detail: string;
    };

export interface Decoded<Header> {
  readonly header: Header;
  readonly body: Buffer;
}

/** `before`: what comes before a frame of this length. */
export function encodeFrame(
  header: ClientFrame | HubFrame,
  body?: Buffer,
  before?: (length: number) => Head,
): Buffer {
  const text = headerText(header);
  const length = Buffer.byteLength(text);
  const bytes = 4 + length + (body?.length ?? 0);
  const head = before?.(bytes);
  const start = head?.bytes ?? 0;
  const frame = Buffer.allocUnsafe(start + bytes);
  head?.write(frame);
  frame.writeUInt32BE(length, start);
  frame.write(text, start + 4);
  body?.copy(frame, start + 4 + length);
  return frame;
}

/** Undefined if it is none. */
export function decodeClientFrame(bytes: Buffer): Decoded<ClientFrame> | undefined {
  return decoded(isClientFrame, letterHeaderIn, bytes);
}

/** Undefined if it is none. */
export function decodeHubFrame(bytes: Buffer): Decoded<HubFrame> | undefined {
  return decoded(isHubFrame, mailHeaderIn, bytes);
}

/** Whether the other side takes this for a frame: it ends the link otherwise. */
export function isSendable(frame: ClientFrame): boolean {
  return isClientFrame(frame as unknown as Members);
}

/** How long its header says that it is; 0 if it says nothing. */
export function headerBytesOf(frame: Buffer): number {
  return frame.length < 4 ? 0 : Math.min(frame.length, frame.readUInt32BE(0));
}

/** `usual`: reads and checks the most frequent ones. */
function decoded<Header>(
  isHeader: (header: Members) => boolean,
  usual: (text: string) => Header | undefined,
  bytes: Buffer,
): Decoded<Header> | undefined {
  if (bytes.length < 4) return undefined;
  const length = bytes.readUInt32BE(0);
  if (length > maxHeaderBytes || 4 + length > bytes.length) return undefined;
  const text = bytes.toString('utf8', 4, 4 + length);
  const header = usual(text) ?? (checked(isHeader, jsonIn(text)) as Header | undefined);
  return header && { header, body: bytes.subarray(4 + length) };
}

function checked(isHeader: (header: Members) => boolean, value: unknown): Members | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  return isHeader(value as Members) ? (value as Members) : undefined;
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // It is no frame.
    return undefined;
  }
}

type Members = Readonly<Record<string, unknown>>;

function isClientFrame(header: Members): boolean {
  const { is, n } = header;
  switch (is) {
    case 'deliver':
      return isLetterHeader(header);
    case 'tell':
      return isLetterHeader(header) && isOptional(header['all'], isBoolean);
    case 'ack':
      return isNumbers(header['mails']);
    case 'aside':
      return isCount(header['mail']) && isText(header['why']);
    case 'receive':
      return isCount(n) && isNamed(header['kind'], isKind);
    case 'present':
      return isCount(n);
    case 'hello':
      return (
        isCount(header['version']) &&
        isNamed(header['seat'], isSeat) &&
        isOptional(header['mailbox'], (one) => isNamed(one, isMailbox)) &&
        isOptional(header['store'], (one) => isNamed(one, isSeat))
      );
    default:
      return false;
  }
}

function isHubFrame(header: Members): boolean {
  const { is, n } = header;
  switch (is) {
    case 'mail':
      return isMailHeader(header);
    case 'done':
      return isNumbers(header['ns']);
    case 'refused':
      return isCount(n) && isBrokerRefusal(header['reason']) && isText(header['detail']);
    case 'present':
      return isCount(n);
    case 'welcome':
      return (
        isCount(header['version']) &&
        isNamed(header['mailbox'], isMailbox) &&
        isNamed(header['seat'], isSeat) &&
        isRole(header['role']) &&
        isCount(header['maxBody'])
      );
    default:
      return false;
  }
}

function isLetterHeader(header: Members): boolean {
  const { n, id, to, seat, kind, about, ttl, credential } = header;
  return (
    isCount(n) &&
    isOptional(credential, isCredential) &&
    isNamed(id, isLetterId) &&
    isNamed(to, isMailbox) &&
    isOptional(seat, (one) => isNamed(one, isSeat)) &&
    isNamed(kind, isKind) &&
    isOptional(about, (one) => isNamed(one, isLetterId)) &&
    isOptional(ttl, isDuration)
  );
}

function isMailHeader(header: Members): boolean {
  const { mail, id, from, seat, role, kind, about, ttl, credential } = header;
  return (
    isCount(mail) &&
    isOptional(credential, isCredential) &&
    isNamed(id, isLetterId) &&
    isNamed(from, isMailbox) &&
    isNamed(seat, isSeat) &&
    isRole(role) &&
    isNamed(kind, isKind) &&
    isOptional(about, (one) => isNamed(one, isLetterId)) &&
    isOptional(ttl, isDuration)
  );
}

function isNamed(value: unknown, isName: (text: string) => boolean): boolean {
  return typeof value === 'string' && isName(value);
}

function isCredential(value: unknown): boolean {
  return isNamed(value, isCredentialId);
}

function isOptional(value: unknown, is: (value: unknown) => boolean): boolean {
  return value === undefined || is(value);
}

function isNumbers(value: unknown): boolean {
  return Array.isArray(value) && value.length <= maxNumbers && value.every(isCount);
}

/** In the body of `present`. */
export function mailboxesIn(body: Buffer): readonly string[] {
  return body.toString('utf8').split('\n').filter(isMailbox);
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** Milliseconds; no longer than a century. */
function isDuration(value: unknown): boolean {
  return typeof value === 'number' && value > 0 && value < 2 ** 42;
}

function isBoolean(value: unknown): boolean {
  return typeof value === 'boolean';
}

function isText(value: unknown): boolean {
  return typeof value === 'string';
}

function isRole(value: unknown): boolean {
  return value === null || typeof value === 'string';
}
