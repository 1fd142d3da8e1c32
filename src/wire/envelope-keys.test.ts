import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { isDisguised, knownKeys } from './envelope-keys.ts';
import { refusals } from './wire-error.ts';

const page = readFileSync(new URL('../../docs/envelope.md', import.meta.url), 'utf8');

describe('docs/envelope.md', () => {
  test('lists every key that must not be written with escapes', () => {
    for (const key of knownKeys) expect(page).toContain(`\`${key}\``);
  });

  test('lists every reason for a refusal, with its code', () => {
    for (const [reason, { rpcCode }] of Object.entries(refusals)) {
      expect(page).toMatch(new RegExp(`\\| \`${reason}\` +\\| ${rpcCode} +\\|`));
    }
  });
});

describe('the keys we look up', () => {
  test('are ASCII, need no escape and occur once', () => {
    for (const key of knownKeys) expect(JSON.stringify(key)).toMatch(/^"[ -~]+"$/);
    expect(new Set(knownKeys).size).toBe(knownKeys.length);
  });

  test('are disguised by any escape but that of the slash', () => {
    expect(isDisguised('n\\u0061me', 'name')).toBe(true);
    expect(isDisguised('holdfast\\u002ffault', 'holdfast/fault')).toBe(true);
    expect(isDisguised('holdfast\\/fault', 'holdfast/fault')).toBe(false);
    expect(isDisguised('unkn\\u006fwn', 'unknown')).toBe(false);
  });
});
