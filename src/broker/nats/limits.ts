// How much a mailbox on NATS holds, and how much of it a link asks for at once.

const mebibyte = 1024 * 1024;

/** Of one kind of mail; a worker's is smaller, because a server sets this much of its disk apart for each. */
export const mailboxBytes = { orchestrator: 64 * mebibyte, worker: 16 * mebibyte } as const;
export const maxLetters = 50_000;
/**
 * With one subject, which names the place in the mailbox, the sender, its credential and its seat. NATS counts exact
 * subjects only, and a worker chooses its seat: so this stops one link that sends without end, and not a worker that
 * means to fill the mailbox, which 13 seats do.
 */
export const maxLettersOfOne = 4_096;
/** A letter that nobody reads is kept this long, where its reader says nothing else. */
export const maxAgeMs = 7 * 24 * 60 * 60 * 1_000;
export const maxBodyBytes = mebibyte;
/** Handed to the reader of one kind and not acknowledged yet. */
export const windowLetters = 4_096;
export const windowBytes = 64 * mebibyte;
/** Asked for at once. */
export const requestLetters = 128;
export const requestBytes = 4 * mebibyte;
