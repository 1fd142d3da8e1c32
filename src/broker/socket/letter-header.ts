// Headers of letters, as `header-text.ts` writes them, read by one pattern that is also their whole check: most frames
// are letters, and reading them as any JSON takes more than twice the time. Whatever is written otherwise is left to
// those who read any JSON.

import { namePatterns } from '../address.ts';
import type { ClientFrame, HubFrame } from './frames.ts';

type LetterFrame = Extract<ClientFrame, { readonly is: 'deliver' | 'tell' }>;
type MailFrame = Extract<HubFrame, { readonly is: 'mail' }>;

const count = '(0|[1-9][0-9]{0,14})';
/** Without what JSON has an escape for. */
const id = '"([!#-\\[\\]-~]{1,128})"';
const mailbox = `"(${namePatterns.mailbox})"`;
const kind = `"(${namePatterns.kind})"`;
const seat = `"(${namePatterns.seat})"`;
const role = '(?:null|"([ !#-\\[\\]-~]*)")';
/** Below the longest time that a frame may have. */
const duration = '([1-9][0-9]{0,11}(?:\\.[0-9]{1,20})?)';
const credential = '(?:,"credential":"([0-9a-f]{16})")?';
const optional = `(?:,"about":${id})?(?:,"ttl":${duration})?${credential}`;

const letter = new RegExp(
  `^\\{"is":"(deliver|tell)","n":${count},"id":${id},"to":${mailbox},"kind":${kind}(?:,"seat":${seat})?${optional}\\}$`,
);
const mail = new RegExp(
  `^\\{"is":"mail","mail":${count},"id":${id},"from":${mailbox},"seat":${seat},"role":${role},"kind":${kind}${optional}\\}$`,
);

/** Undefined if it is none, or written otherwise. */
export function letterHeaderIn(text: string): LetterFrame | undefined {
  const found = letter.exec(text);
  if (found === null) return undefined;
  const [, is, n, letterId = '', to = '', of = '', forSeat, about, ttl, holder] = found;
  const header = {
    n: Number(n),
    id: letterId,
    to,
    kind: of,
    seat: forSeat,
    about,
    credential: holder,
  };
  const ttlMs = ttl === undefined ? undefined : Number(ttl);
  return is === 'tell' ? { is, ...header, ttl: ttlMs } : { is: 'deliver', ...header, ttl: ttlMs };
}

/** The same for letters from the broker. */
export function mailHeaderIn(text: string): MailFrame | undefined {
  const found = mail.exec(text);
  if (found === null) return undefined;
  const [, number, letterId = '', from = '', fromSeat = '', asRole = null, of = '', ...rest] =
    found;
  const [about, ttl, holder] = rest;
  return {
    is: 'mail',
    mail: Number(number),
    id: letterId,
    from,
    seat: fromSeat,
    role: asRole,
    kind: of,
    about,
    ttl: ttl === undefined ? undefined : Number(ttl),
    credential: holder,
  };
}
