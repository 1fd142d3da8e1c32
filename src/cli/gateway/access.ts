// Who may use a gateway over HTTP with `http.auth` "token": its tokens are opened, and followed while it runs.

import { stateOfFiles, stateOfFilesIn } from '../../config/file-state.ts';
import { isTokenRecord } from '../../downstream/http/access/token-record.ts';
import { TokenUses } from '../../downstream/http/access/token-uses.ts';
import { type OpenedTokens, openTokens } from '../../downstream/http/access/tokens.ts';
import { within } from '../../kernel/clock.ts';
import type { Records } from '../../store/contract/records.ts';
import { StoreError } from '../../store/store-error.ts';
import { remark } from '../shell.ts';
import { listedTokens } from '../token-book.ts';
import {
  orAway,
  ownTokenStore,
  ownTokensIn,
  sharedTokensIn,
  tokenFolders,
  withTokenRecords,
} from '../token-records.ts';
import { assertMeantOpen, assertPrivateTokens } from './safe-start.ts';
import type { Served } from './served.ts';
import { TokenWatch } from './token-watch.ts';

export interface HttpAccess extends AsyncDisposable {
  readonly opened: OpenedTokens;
  /** Resolves when tokens that were added before this call are known, or the disk takes too long. */
  lookNow(): Promise<void> | undefined;
  /** From now on `ended` is called with the ids of principals whose access has ended. */
  follow(ended: (ids: ReadonlySet<string>) => void): Disposable;
}

/** A disk that hangs does not hold up a refusal for longer. */
const lookMs = 500;

/** Without authentication. Throws a Fault where that cannot be meant. */
export async function assertOpenAccess({ loaded, invocation, host }: Served): Promise<void> {
  const { shell } = invocation;
  const { http, store } = loaded.config;
  const now = host.clock.wallNow();
  const { file } = loaded;
  const read =
    file === null ? [] : await orAway(withTokenRecords(shell, { file, store }, listedTokens));
  if (read instanceof StoreError) {
    remark(shell, `whether there are tokens is not known: ${read.message}`);
  }
  const tokens = (read instanceof StoreError ? [] : read)
    .filter(({ role, expiresAt }) => role !== null && (expiresAt === null || now < expiresAt))
    .map(({ name }) => name);
  assertMeantOpen({ ...http, tokens });
}

export async function openAccess({
  host,
  loaded,
  invocation,
  shared,
}: Served): Promise<HttpAccess> {
  const { shell } = invocation;
  const { clock, access } = host;
  const local = host.records('tokens', { durability: 'durable', shape: isTokenRecord });
  const folders = loaded.file === null ? undefined : await tokenFolders(shell, loaded.file);
  const followed = shared === undefined ? (folders?.tokens ?? []) : folders?.tokens.slice(0, 1);
  await assertPrivateTokens(followed ?? [], process.getuid?.());
  const store = shared === undefined ? folders && ownTokenStore(shell, folders) : undefined;
  const records = shared === undefined ? store && ownTokensIn(store) : sharedTokensIn(shared);
  const changes = new ChangeCount(records?.own);
  const isOperator = (role: string | null) => access.roles.isOperator(role);
  const caught = (error: unknown) => void host.defects.caught('the tokens', error);
  const opened = await openTokens({ local, own: records?.own, isOperator }, clock, caught);
  let watch: TokenWatch | undefined;
  return {
    opened,
    lookNow: () => watch && within(clock, lookMs, watch.lookNow()),
    follow: (ended) => {
      watch = new TokenWatch({
        clock,
        tokens: opened.tokens,
        uses: records && new TokenUses(records.uses),
        stateOfFolders: async () => `${await stateOfFiles(followed ?? [])} ${changes.count}`,
        stateOfRecords: () => stateOfFilesIn(followed ?? []),
        ended,
        caught,
      });
      return watch;
    },
    [Symbol.asyncDispose]: async () => {
      changes[Symbol.dispose]();
      await store?.close();
    },
  };
}

/** How often records that tell of their changes have changed, or may have. */
class ChangeCount implements Disposable {
  count = 0;
  readonly #watching: Disposable | undefined;

  constructor(records: Records | undefined) {
    this.#watching = records?.watch?.('', () => {
      this.count += 1;
    });
  }

  [Symbol.dispose](): void {
    this.#watching?.[Symbol.dispose]();
  }
}
