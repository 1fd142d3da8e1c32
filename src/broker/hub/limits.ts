// How much a broker keeps and takes. Each is a bound for what one mailbox, one link or all of them can hold.

export interface HubLimits {
  readonly maxBodyBytes: number;
  /** Of one kind of mail in one mailbox. */
  readonly maxLetters: number;
  readonly maxBytes: number;
  /** Of all letters. */
  readonly maxTotalBytes: number;
  /** Handed to one reader and not acknowledged yet. */
  readonly windowLetters: number;
  readonly windowBytes: number;
  /** Waiting to be sent on one link, before letters that are told are refused. */
  readonly maxBacklogBytes: number;
  /** Kinds of mail that one mailbox has at once. */
  readonly maxKinds: number;
}

const mebibyte = 1024 * 1024;

export const usualHubLimits: HubLimits = {
  maxBodyBytes: mebibyte,
  maxLetters: 50_000,
  maxBytes: 64 * mebibyte,
  maxTotalBytes: 512 * mebibyte,
  windowLetters: 256,
  windowBytes: 4 * mebibyte,
  maxBacklogBytes: 8 * mebibyte,
  maxKinds: 16,
};
