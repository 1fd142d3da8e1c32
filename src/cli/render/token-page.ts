// The list of tokens as a table. On a narrow terminal each token has lines of its own.

import { printableLine } from '../../kernel/printable.ts';
import type { ListedToken } from '../token-book.ts';
import { agoText, durationText } from './quantity.ts';
import type { Style } from './style.ts';
import { type Cell, tableLines } from './table.ts';
import { wrappedTo } from './width.ts';

export interface TokenPage {
  readonly tokens: readonly ListedToken[];
  /** The role of the local user, which its token follows; null: everything. */
  readonly localRole: string | null;
  /** Undefined: the config cannot be read. */
  readonly roles: ReadonlySet<string> | undefined;
  /** Wall time. */
  readonly now: number;
}

const minuteMs = 60_000;

/** Below this a table would cut what matters. */
const narrow = 72;

export function tokenLines(page: TokenPage, style: Style, columns: number): string[] {
  if (page.tokens.length === 0) {
    return wrappedTo(columns, 'No tokens. Make one with: holdfast token add --role ROLE');
  }
  const rows = page.tokens.map((token) => ({
    token,
    words: [roleText(token, page), endText(token, page.now), useText(token, page)] as const,
  }));
  if (columns < narrow) {
    return rows.flatMap(({ token, words }) => [
      style('bold', printableLine(token.name)),
      ...wrappedTo(columns - 2, [token.id, ...words].join(' · ')).map((line) => `  ${line}`),
    ]);
  }
  const headings = ['NAME', 'ID', 'ROLE', 'EXPIRES', 'LAST USED'].map(
    (text): Cell => ({ text, look: (heading) => style('dim', heading) }),
  );
  const cells = rows.map(({ token, words }): Cell[] => [
    { text: printableLine(token.name), look: (text) => style('bold', text) },
    { text: token.id, look: (text) => style('dim', text) },
    ...words.map((text) => ({ text })),
  ]);
  return tableLines([headings, ...cells], columns);
}

function roleText({ role }: ListedToken, { roles, localRole }: TokenPage): string {
  if (role === null) return localRole === null ? 'everything' : `${localRole} (local.role)`;
  return roles?.has(role) === false ? `${role} (not in the config)` : role;
}

export function endText({ expiresAt }: Pick<ListedToken, 'expiresAt'>, now: number): string {
  if (expiresAt === null) return 'never';
  // A token of 30 days has 30 days left a moment later, not 29.
  return expiresAt <= now ? 'expired' : `in ${durationText(expiresAt - now + minuteMs)}`;
}

function useText({ lastUsedAt }: ListedToken, { now }: TokenPage): string {
  return lastUsedAt === null ? 'not used' : `used ${agoText(Math.max(0, now - lastUsedAt))}`;
}
