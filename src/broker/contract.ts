// The contract of a broker, as its users see it: a link belongs to one mailbox, writes letters to others and
// receives mail. Which mailbox and role a link has is decided by its credential, and the broker stamps both on
// every letter: nothing in a letter can claim another. A mailbox has one queue for each kind of mail, so that one
// kind cannot take the room of another, and what nobody asks for stays where it is.
//
// A letter that is delivered is kept: it survives any crash of the broker until its reader has acknowledged it,
// or its time is over. It may arrive more than once, with the same id. A letter that is told is not kept: it
// arrives at once, or not at all. A letter of a worker whose credential was revoked before anybody has read it is handed to
// nobody, and what is kept for it is not handed to the next holder of its name. Several links may share a mailbox, each in a seat of its own: mail for a seat
// goes to that seat, other mail to one of them. A newer link in the same seat replaces the older one, whose
// acknowledgements count no longer.
//
// An implementation passes test/support/broker-suite.

import type { BrokerError } from './broker-error.ts';

/** Who has written a letter, as the broker knows it. */
export interface Sender {
  readonly mailbox: string;
  readonly seat: string;
  /** The role that its credential was made for; null for an orchestrator. */
  readonly role: string | null;
  /** The id of the credential of a worker; absent: it has none, or is an orchestrator. */
  readonly credential?: string | undefined;
}

export interface Letter {
  /**
   * The same each time that it is sent again, because nobody knows whether it has arrived; see `isLetterId`. The same
   * id from the same seat for the same seat is one letter, also if it was read a short while ago: who wants
   * another one read uses another id.
   */
  readonly id: string;
  /** A mailbox. */
  readonly to: string;
  /** One seat there. Absent: any one of them. */
  readonly seat?: string | undefined;
  /** Told letters only: every seat there. */
  readonly toAll?: boolean;
  /** The credential of the mailbox that it is for: refused as `not_allowed` if that is another one now. Absent: any. */
  readonly credential?: string | undefined;
  readonly kind: string;
  /** The id of the letter that it answers or is about. */
  readonly about?: string | undefined;
  /** How long from now it is of use; absent: until it is read. */
  readonly ttlMs?: number | undefined;
  readonly body: Buffer;
}

export interface Mail {
  readonly id: string;
  readonly from: Sender;
  readonly kind: string;
  readonly about: string | undefined;
  /** How long from now it is of use. */
  readonly ttlMs: number | undefined;
  readonly body: Buffer;
  /** It was delivered, and comes again until it is acknowledged; false: it was told. */
  readonly isKept: boolean;
  /**
   * It is done with, and does not come again, unless broker or link end before that is written down. Does
   * nothing for what was told.
   */
  ack(): void;
  /** It cannot be read by us: it is put aside for a person, and reported by the broker. */
  setAside(why: string): void;
}

/** Must not throw, and returns at once. */
export type MailReader = (mail: Mail) => void;

export interface Link extends AsyncDisposable {
  readonly self: Sender;
  /** The longest body of a letter. */
  readonly maxBodyBytes: number;
  /** Bytes of what was sent or told and has not left this process, as far as that is known. */
  readonly backlogBytes: number;
  /** Resolves when it is kept. Rejects with a BrokerError. */
  deliver(letter: Letter): Promise<void>;
  /**
   * Does not wait. `refused` is called if the broker does not pass it on, or the link ends before it could
   * say so; not called: it was passed on, or nobody knows.
   */
  tell(letter: Letter, refused?: (why: BrokerError) => void): void;
  /**
   * From now on mail of this kind comes here, kept and told; once for each kind. `isOnlyTold`: nobody delivers
   * mail of this kind, and no room is needed for it. Rejects with a BrokerError.
   */
  receive(kind: string, reader: MailReader, isOnlyTold?: boolean): Promise<void>;
  /** Which of the mailboxes that we may write to have a link now. */
  present(): Promise<readonly string[]>;
  /**
   * Resolves when the link has ended, with why. What waits is rejected with the same, or as `lost`: it may have
   * arrived.
   */
  readonly ended: Promise<BrokerError>;
  close(): Promise<void>;
}

/** Opens a link, or rejects with a BrokerError. */
export type OpenLink = (signal: AbortSignal) => Promise<Link>;
