// Who may own and read the files of tokens; what a front without authentication may have.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { assertMeantOpen, assertPrivateTokens, openness } from './safe-start.ts';

describe('the files of tokens', () => {
  it.each([
    [0o100600, 1, undefined],
    [0o40700, 1, undefined],
    [0o100640, 1, 'mode'],
    [0o100604, 1, 'mode'],
    [0o100602, 1, 'mode'],
    [0o40710, 1, 'mode'],
    [0o100600, 2, 'owner'],
    [0o100600, 0, 'owner'],
  ])('with mode %o of user %i are open by their %s #secure-start', (mode, uid, problem) => {
    expect(openness({ mode, uid }, 1)).toBe(problem);
  });

  it('are looked at one by one; a folder in the place of one is none #secure-start', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'tokens-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const uid = process.getuid?.() ?? -1;
    mkdirSync(join(folder, 'one.record', 'inside'), { recursive: true, mode: 0o755 });
    await assertPrivateTokens([folder, join(folder, 'none')], uid);
    writeFileSync(join(folder, 'two.record'), '', { mode: 0o644 });
    await expect(assertPrivateTokens([folder], uid)).rejects.toThrow(/two\.record is open/);
  });
});

describe('a front without authentication', () => {
  const open = (more: object) =>
    assertMeantOpen({ allowedHosts: [], allowedOrigins: [], tokens: [], ...more });

  it.each([
    { allowedHosts: ['gateway.example.com'] },
    { allowedHosts: ['localhost', '192.168.1.5:4100'] },
    { allowedOrigins: ['https://app.example.com'] },
    { allowedOrigins: ['https://localhost.example.com'] },
    { allowedOrigins: ['null'] },
    { tokens: ['ci'] },
  ])('is refused with %j #secure-start', (more) => {
    expect(() => open(more)).toThrow(
      /^refusing to start: "http.auth" is "none".*set "http.auth" to "token"/,
    );
  });

  it.each([
    {},
    { allowedHosts: ['localhost:5173', '[::1]:80', '127.0.0.1'] },
    { allowedOrigins: ['http://localhost:5173', 'http://127.0.0.1', 'http://[::1]:80'] },
  ])('is allowed with %j', (more) => {
    expect(() => open(more)).not.toThrow();
  });
});
