// Who may use a gateway over HTTP with `http.auth` "token": its tokens are opened, and followed while it runs.

import { stateOfFiles, stateOfFilesIn } from '../../config/file-state.ts';
import { isTokenRecord } from '../../downstream/http/access/token-record.ts';
import { TokenUses } from '../../downstream/http/access/token-uses.ts';
import { type OpenedTokens, openTokens } from '../../downstream/http/access/tokens.ts';
import { within } from '../../kernel/clock.ts';
import { listedTokens } from '../token-book.ts';
import { ownTokenStore, ownTokensIn, tokenFolders, withTokenRecords } from '../token-records.ts';
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
  const { http } = loaded.config;
  const now = host.clock.wallNow();
  const listed =
    loaded.file === null ? [] : await withTokenRecords(shell, loaded.file, listedTokens);
  const tokens = listed
    .filter(({ role, expiresAt }) => role !== null && (expiresAt === null || now < expiresAt))
    .map(({ name }) => name);
  assertMeantOpen({ ...http, tokens });
}

export async function openAccess({ host, loaded, invocation }: Served): Promise<HttpAccess> {
  const { shell } = invocation;
  const { clock, access } = host;
  const local = host.records('tokens', { durability: 'durable', shape: isTokenRecord });
  const folders = loaded.file === null ? undefined : await tokenFolders(shell, loaded.file);
  await assertPrivateTokens(folders?.tokens ?? [], process.getuid?.());
  const store = folders && ownTokenStore(shell, folders);
  const records = store && ownTokensIn(store);
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
        stateOfFolders: () => stateOfFiles(folders?.tokens ?? []),
        stateOfRecords: () => stateOfFilesIn(folders?.tokens ?? []),
        ended,
        caught,
      });
      return watch;
    },
    [Symbol.asyncDispose]: async () => await store?.close(),
  };
}
