// The subjects of NATS that letters travel by. A subject says everything that the server guarantees: for whom the
// letter is, of which kind, and by its last four parts who has sent it, with which role and which credential. Each
// worker's credential, and each orchestrator, is an account of its own, and the config (`nats-config.ts`) lets an account
// send only with its own name in these parts. So a reader takes the sender from the subject, never from a header, a body or
// a reply address. A letter to a worker may name the credential that it is for: once that one is revoked, the server
// refuses it.

import { BrokerError } from '../broker-error.ts';
import type { Letter, Sender } from '../contract.ts';

/** Kept letters, or told ones. */
type Way = 'mail' | 'tell';

/** In place of a seat. No name of ours has a "~". */
export const anySeat = '~any';
export const everySeat = '~all';
/** In place of a role, and of the credential of an orchestrator. */
const none = '~none';
/** In place of the credential that a letter is for: whichever the mailbox has. */
export const anyCredential = '~now';
/** A told letter of this kind says that its sender has a link. */
const hereKind = '~here';

/** The part of a subject for a mailbox or a role. */
export function partOf(name: string): string {
  return name.replaceAll('.', '~');
}

/** The parts that say who has sent it; `seat` may be a wildcard. */
export function senderParts({ mailbox, seat, role, credential = none }: Sender): string {
  return `${partOf(mailbox)}.${role === null ? none : partOf(role)}.${credential}.${seat}`;
}

export function subjectOf(way: Way, letter: Letter, sender: Sender): string {
  const { to, credential = anyCredential, kind, seat, toAll } = letter;
  const place = toAll ? everySeat : (seat ?? anySeat);
  return `hf.${way}.${partOf(to)}.${credential}.${kind}.${place}.${senderParts(sender)}`;
}

/** `credential`: the one of the mailbox that it is for; absent: whichever it has. */
export function hereSubject(to: string, sender: Sender, credential = anyCredential): string {
  return `hf.tell.${partOf(to)}.${credential}.${hereKind}.${everySeat}.${senderParts(sender)}`;
}

/** Undefined if the subject is none of a letter. */
export function senderIn(subject: string): Sender | undefined {
  const [, , , , , , from, role, credential, seat, ...more] = subject.split('.');
  if (from === undefined || role === undefined || seat === undefined || more.length > 0)
    return undefined;
  return {
    mailbox: from.replaceAll('~', '.'),
    seat,
    role: role === none ? null : role.replaceAll('~', '.'),
    ...(credential !== none && { credential }),
  };
}

/** For whom a letter with this subject is. */
export function recipientIn(subject: string): string {
  return (subject.split('.')[2] ?? subject).replaceAll('~', '.');
}

export function mayNotWrite(to: string): BrokerError {
  return new BrokerError('not_allowed', `this credential may not write to ${to}`);
}

/** What comes to a mailbox: of one kind for one place, from anybody. */
export function incoming(way: Way, mailbox: string, kind: string, place: string): string {
  return `hf.${way}.${partOf(mailbox)}.*.${kind}.${place}.*.*.*.*`;
}

export function hereIncoming(mailbox: string): string {
  return incoming('tell', mailbox, hereKind, everySeat);
}

/** Everything of one kind that is kept for a mailbox. */
export function keptSubject(mailbox: string, kind: string): string {
  return `hf.mail.${partOf(mailbox)}.*.${kind}.>`;
}

/** The same in the first form of subjects, which did not name the credential that a letter is for. */
export function firstKeptSubject(mailbox: string, kind: string): string {
  return `hf.mail.${partOf(mailbox)}.${kind}.>`;
}

/** An orchestrator asks here who of its workers has a link. */
export function whoSubject(orchestrator: string): string {
  return `hf.who.${partOf(orchestrator)}`;
}

/** Here a sender asks which queues a mailbox has. */
export function queuesSubject(mailbox: string): string {
  return `hf.queues.${partOf(mailbox)}`;
}

/** What links of one mailbox say among themselves; no other account hears it. */
export function ownSubject(mailbox: string, about: string): string {
  return `hf.own.${partOf(mailbox)}.${about}`;
}

/** The stream in which mail of one kind is kept. */
export function mailStream(kind: string): string {
  return `hf-mail-${kind}`;
}
