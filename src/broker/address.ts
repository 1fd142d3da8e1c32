// Names in letters: mailboxes, kinds of mail, seats and the ids of letters. They come from outside, and become
// parts of subjects, of rows and of messages to people, so each has a small alphabet.

/** As parts of patterns. */
export const namePatterns = {
  mailbox: '[a-z0-9][a-z0-9_.-]{0,63}',
  kind: '[a-z][a-z0-9-]{0,31}',
  seat: '[A-Za-z0-9_-]{1,32}',
} as const;

const mailbox = new RegExp(`^${namePatterns.mailbox}$`);
const kind = new RegExp(`^${namePatterns.kind}$`);
const seat = new RegExp(`^${namePatterns.seat}$`);
const credentialId = /^[0-9a-f]{16}$/;
const letterId = /^[\x21-\x7e]{1,128}$/;

/** 1 to 64 of a-z, 0-9, "_", "." and "-", the first a letter or a digit. */
export function isMailbox(text: string): boolean {
  return mailbox.test(text);
}

export function isKind(text: string): boolean {
  return kind.test(text);
}

export function isSeat(text: string): boolean {
  return seat.test(text);
}

/** What tells a credential from an earlier one of the same name. */
export function isCredentialId(text: string): boolean {
  return credentialId.test(text);
}

export function isLetterId(text: string): boolean {
  return letterId.test(text);
}

/** The mailbox in which a worker gets its answers, apart from its other mail. */
export function mailboxOfWorker(name: string): string {
  return `${name}.mcp`;
}

/** Whether it is the mailbox of a worker; no name of an orchestrator ends like one. */
export function isOfWorker(mailbox: string): boolean {
  return mailbox.endsWith(mailboxOfWorker(''));
}
