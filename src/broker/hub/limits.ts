// How much a broker keeps and takes. Each is a bound for what one mailbox, one link or all of them can hold.

export interface HubLimits {
  readonly maxBodyBytes: number;
  /** Of one kind of mail in one mailbox. */
  readonly maxLetters: number;
  readonly maxBytes: number;
  /** Of one worker, in all mailboxes: one cannot take the room of the others. */
  readonly maxWorkerLetters: number;
  readonly maxWorkerBytes: number;
  /** How long a letter of a worker is kept that nobody reads. */
  readonly maxWorkerMs: number;
  /** Of all letters. */
  readonly maxTotalBytes: number;
  /** Handed to one reader and not acknowledged yet. */
  readonly windowLetters: number;
  readonly windowBytes: number;
  /** Of the same, those of one sender; the bytes are fewer than `maxBacklogBytes`. */
  readonly senderLetters: number;
  readonly senderBytes: number;
  /** Waiting to be sent on one link, before letters that are told are refused. */
  readonly maxBacklogBytes: number;
  /** Told by one worker to one link and not read yet, before more of it is refused. */
  readonly maxToldLetters: number;
  readonly maxToldBytes: number;
  /** Kinds of mail that one mailbox has at once: those that it reads, and as many others. */
  readonly maxKinds: number;
  /** Links of one mailbox. */
  readonly maxSeats: number;
}

/** What a letter takes besides its body, in memory and on the disk; so that letters without a body count, too. */
const overheadBytes = 512;

export function weightOf({ body }: { readonly body: Buffer }): number {
  return body.length + overheadBytes;
}

const mebibyte = 1024 * 1024;

export const usualHubLimits: HubLimits = {
  maxBodyBytes: mebibyte,
  maxLetters: 50_000,
  maxBytes: 64 * mebibyte,
  maxWorkerLetters: 5_000,
  maxWorkerBytes: 16 * mebibyte,
  maxWorkerMs: 7 * 24 * 60 * 60 * 1_000,
  maxTotalBytes: 512 * mebibyte,
  windowLetters: 4_096,
  windowBytes: 64 * mebibyte,
  senderLetters: 1_024,
  senderBytes: 4 * mebibyte,
  maxBacklogBytes: 8 * mebibyte,
  maxToldLetters: 1_024,
  maxToldBytes: 4 * mebibyte,
  maxKinds: 16,
  maxSeats: 1_024,
};
