// Follows the tokens of a running gateway, or the credentials of a running broker: commands of other processes
// add and revoke them, and each ends at its time. Four times a second the state of the folders is compared, which
// costs one `stat` for each, and every second time that of the files in them too: one that is emptied or closed in
// its place does not change its folder. Records are read only after a change. Timestamps of files can be coarse, so
// for a while after a change they are read at every look.

import type { TokenUses } from '../../downstream/http/access/token-uses.ts';
import { backoffMs } from '../../kernel/backoff.ts';
import type { Clock } from '../../kernel/clock.ts';
import { ignored } from '../../kernel/contain.ts';

/** A table of tokens, as far as it is followed. */
export interface FollowedTokens {
  /** Reads the records; resolves to whether each of them could be read. */
  read(): Promise<boolean>;
  /** Those who have access now; one whose role is another has lost what it had. */
  readonly principals: readonly { readonly id: string; readonly role: string | null }[];
  /** When each was last used, by id; absent: it is not known. */
  readonly uses?: ReadonlyMap<string, number>;
}

export interface TokenWatchParts {
  readonly clock: Clock;
  readonly tokens: FollowedTokens;
  readonly uses: Pick<TokenUses, 'keep'> | undefined;
  /** A text that is another one when something in the folders has changed. */
  readonly stateOfFolders: () => Promise<string>;
  /** The same of each file in them. */
  readonly stateOfRecords: () => Promise<string>;
  /** The access of these principals has ended, by id. */
  readonly ended: (ids: ReadonlySet<string>) => void;
  /** An unexpected error. */
  readonly caught: (error: unknown) => void;
}

const betweenLooksMs = 250;
/** The coarsest timestamps there are. */
const settleMs = 2_000;
/** Before what cannot be read is tried again: soon, because somebody may have been revoked, and less often later. */
const again = { firstMs: betweenLooksMs, longestMs: 5_000 };

export class TokenWatch implements Disposable {
  readonly #parts: TokenWatchParts;
  /** The role of each principal that has access, by id; one for each token. */
  #valid: ReadonlyMap<string, string | null>;
  #seenFolders: string | undefined;
  #seenRecords: string | undefined;
  #looks = 0;
  #settledAt = 0;
  /** When to read once more what could not be read. */
  #againAt = Number.POSITIVE_INFINITY;
  /** How often in a row something could not be read. */
  #failures = 0;
  #isReading = false;
  /** The one that is under way, or the last one. */
  #reading: Promise<void> = Promise.resolve();
  /** The one after it, if somebody waits for it. */
  #nextLook: Promise<void> | undefined;
  #isOver = false;
  #timer: Disposable;

  constructor(parts: TokenWatchParts) {
    this.#parts = parts;
    this.#valid = rolesOf(parts.tokens);
    this.#timer = this.#lookLater();
  }

  /**
   * Resolves when what was changed before this call has been read. Those who ask while one reading is under way
   * share the next; it never rejects.
   */
  lookNow(): Promise<void> {
    const next = this.#nextLook ?? this.#reading.then(() => this.#readOnce());
    this.#nextLook = next;
    return next;
  }

  [Symbol.dispose](): void {
    this.#isOver = true;
    this.#timer[Symbol.dispose]();
  }

  #lookLater(): Disposable {
    return this.#parts.clock.after(betweenLooksMs, () => this.#look(), true);
  }

  #look(): void {
    this.#timer = this.#lookLater();
    const { tokens, uses } = this.#parts;
    // A disk that hangs does not keep an expired token alive.
    this.#compare();
    if (tokens.uses !== undefined) uses?.keep(tokens.uses);
    if (!this.#isReading) this.lookNow().catch(ignored);
  }

  /** Never rejects. */
  #readOnce(): Promise<void> {
    this.#nextLook = undefined;
    this.#isReading = true;
    const failed = (error: unknown) => {
      // The stores are closed after the end.
      if (!this.#isOver) this.#parts.caught(error);
    };
    this.#reading = this.#readChanges()
      .catch(failed)
      .finally(() => {
        this.#isReading = false;
      });
    return this.#reading;
  }

  async #readChanges(): Promise<void> {
    const { clock, tokens } = this.#parts;
    if (await this.#isChanged()) this.#settledAt = clock.now() + settleMs;
    if (clock.now() > this.#settledAt && clock.now() < this.#againAt) return;
    const isWhole = await tokens.read();
    this.#againAt = isWhole
      ? Number.POSITIVE_INFINITY
      : clock.now() + backoffMs(again, this.#failures);
    const isSettled = clock.now() > this.#settledAt;
    this.#failures = isWhole || !isSettled ? 0 : this.#failures + 1;
    this.#compare();
  }

  async #isChanged(): Promise<boolean> {
    const { stateOfFolders, stateOfRecords } = this.#parts;
    const folders = await stateOfFolders();
    this.#looks += 1;
    const records = this.#looks % 2 === 0 ? this.#seenRecords : await stateOfRecords();
    const isChanged = folders !== this.#seenFolders || records !== this.#seenRecords;
    this.#seenFolders = folders;
    this.#seenRecords = records;
    return isChanged;
  }

  /** Who had access at the last look and has none now, or another role. */
  #compare(): void {
    const before = this.#valid;
    const now = rolesOf(this.#parts.tokens);
    this.#valid = now;
    const ended = [...before].filter(([id, role]) => now.get(id) !== role);
    if (ended.length === 0) return;
    try {
      this.#parts.ended(new Set(ended.map(([id]) => id)));
    } catch (error) {
      // Something of theirs may be left: they are told again at the next look.
      this.#valid = new Map([...now, ...ended]);
      this.#parts.caught(error);
    }
  }
}

function rolesOf({ principals }: FollowedTokens): ReadonlyMap<string, string | null> {
  return new Map(principals.map(({ id, role }) => [id, role]));
}
