// The credentials that a running broker knows: whose a secret is, and who has a mailbox. They are read from the
// stored records, and read again when those have changed. A secret is found by its hash: who can measure how long
// that takes learns something about hashes of what they have sent themselves. The identity of a credential is
// the same object as long as its record stays the same, so that a change is seen by comparing two of them.

import { hashOfSecret } from '../../kernel/bearer-secret.ts';
import type { Clock } from '../../kernel/clock.ts';
import { Turns } from '../../kernel/turns.ts';
import type { Records } from '../../store/contract/records.ts';
import { readAgain } from '../../store/read-again.ts';
import type { Identity } from '../identity.ts';
import { type CredentialRecord, credentialIn } from './credential-record.ts';

/** Who has access now, as `TokenWatch` compares it. */
export interface CredentialHolder {
  readonly id: string;
  /** Everything that its credential says; another text if that has changed. */
  readonly role: string;
}

export class CredentialTable {
  readonly #records: Records;
  readonly #clock: Clock;
  #known: readonly CredentialRecord[] = [];
  /** One for each record. */
  #byMailbox: ReadonlyMap<string, CredentialRecord> = new Map();
  #byHash: ReadonlyMap<string, CredentialRecord> = new Map();
  readonly #turns = new Turns(1);
  #wasWhole = false;

  constructor(records: Records, clock: Clock) {
    this.#records = records;
    this.#clock = clock;
  }

  /** Reads the records; resolves to whether each of them could be read. */
  read(): Promise<boolean> {
    return this.#turns.run(async () => {
      const before = this.#known;
      const { records, isWhole } = await readAgain(
        this.#records,
        before,
        credentialIn,
        ({ mailbox }) => mailbox,
      );
      this.#known = records.map((record) => this.#same(record) ?? record);
      this.#byMailbox = new Map(this.#known.map((record) => [record.mailbox, record]));
      this.#byHash = new Map(this.#known.map((record) => [record.hash, record]));
      this.#wasWhole ||= isWhole;
      return isWhole;
    });
  }

  /** Whether each record could be read at least once: one that cannot be read later counts as it was before. */
  get wasWhole(): boolean {
    return this.#wasWhole;
  }

  /** Those whose credentials are valid now. */
  get principals(): readonly CredentialHolder[] {
    return this.#known
      .filter((record) => this.#isValid(record))
      .map((record) => ({ id: record.id, role: JSON.stringify(record) }));
  }

  /** Whose secret this is; undefined: nobody's, or its time is over. */
  authenticate(secret: string): Identity | undefined {
    return this.#ifValid(this.#byHash.get(hashOfSecret(secret)));
  }

  /** Who has this mailbox; undefined: nobody has, or their time is over. */
  ownerOf(mailbox: string): Identity | undefined {
    return this.#ifValid(this.#byMailbox.get(mailbox));
  }

  #same(record: CredentialRecord): CredentialRecord | undefined {
    const before = this.#byMailbox.get(record.mailbox);
    return before && JSON.stringify(before) === JSON.stringify(record) ? before : undefined;
  }

  #ifValid(record: CredentialRecord | undefined): Identity | undefined {
    return record && this.#isValid(record) ? record : undefined;
  }

  #isValid({ expiresAt }: CredentialRecord): boolean {
    return expiresAt === null || this.#clock.wallNow() < expiresAt;
  }
}
