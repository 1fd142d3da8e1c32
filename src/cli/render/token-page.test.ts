// The list of tokens, on wide and on narrow terminals.

import { describe, expect, it } from 'vitest';
import { tokenLines } from './token-page.ts';
import { widthOf } from './width.ts';

const plain = (_look: string, text: string) => text;
const now = 1_000_000_000;
const token = {
  id: '0123456789abcdef',
  name: 'ci',
  role: 'reader',
  createdAt: 0,
  expiresAt: null,
  lastUsedAt: null,
};
const tokens = [
  { ...token, id: 'local', name: 'the local user', role: null, lastUsedAt: now - 5_000 },
  { ...token, expiresAt: now - 1 },
  { ...token, name: 'n'.repeat(64), role: 'gone', expiresAt: now + 3_600_000 * 5 },
];

describe('the list of tokens', () => {
  it('says whose they are, when they end, and when they were used', () => {
    const page = { tokens, roles: new Set(['reader']), localRole: null, now };
    const lines = tokenLines(page, plain, Number.POSITIVE_INFINITY);
    expect(lines[1]).toMatch(/^the local user +local +everything +never +used 5 s ago$/);
    expect(lines[2]).toMatch(/^ci +0123456789abcdef +reader +expired +not used$/);
    expect(lines[3]).toMatch(/ gone \(not in the config\) +in 5 h +not used$/);
    const unread = tokenLines({ ...page, roles: undefined }, plain, Number.POSITIVE_INFINITY);
    expect(unread[3]).not.toContain('not in the config');
  });

  it('shows the role of the local user, which its token follows, and all days of a new token', () => {
    const fresh = { ...token, expiresAt: now + 30 * 86_400_000 - 1_500 };
    const page = { tokens: [...tokens.slice(0, 1), fresh], roles: new Set(['reader']), now };
    const lines = tokenLines({ ...page, localRole: 'reader' }, plain, Number.POSITIVE_INFINITY);
    expect(lines[1]).toContain(' reader (local.role) ');
    expect(lines[2]).toContain(' in 30 days ');
  });

  it('fits on forty columns, and cuts no id', () => {
    const page = { tokens: tokens.slice(0, 2), roles: new Set<string>(), localRole: null, now };
    const lines = tokenLines(page, plain, 40);
    for (const line of lines) expect(widthOf(line), line).toBeLessThanOrEqual(40);
    expect(lines.join('\n')).toContain('0123456789abcdef');
    expect(lines.join(' ')).toContain('not in');
  });

  it('that is empty says how to make one', () => {
    const lines = tokenLines({ tokens: [], roles: undefined, localRole: null, now }, plain, 40);
    expect(lines.join(' ')).toContain('holdfast token add --role ROLE');
  });
});
