import { describe, expect, it } from 'vitest';
import { statusFault } from './http-status.ts';

describe('an HTTP status', () => {
  it.each([
    [301, 'protocol_violation', 'maybe'],
    [400, 'unavailable', 'maybe'],
    [401, 'auth_required', 'no'],
    [403, 'auth_required', 'maybe'],
    [404, 'unavailable', 'maybe'],
    [405, 'unavailable', 'no'],
    [413, 'invalid_request', 'no'],
    [415, 'unavailable', 'no'],
    [421, 'unavailable', 'no'],
    [429, 'unavailable', 'no'],
    [500, 'unavailable', 'maybe'],
    [502, 'unavailable', 'maybe'],
    [503, 'unavailable', 'maybe'],
    [504, 'unavailable', 'maybe'],
  ] as const)('%i is %s, dispatched %s (contract 4)', (status, code, dispatched) => {
    const { record } = statusFault('docs', status, undefined, undefined);
    expect(record).toMatchObject({ code, dispatched, server: 'docs' });
    expect(record.detail).toContain('docs');
  });

  it.each([
    ['3', 3_000],
    ['0.5', 500],
    ['0', 0],
    ['', undefined],
    ['Wed, 21 Oct 2026 07:28:00 GMT', undefined],
    ['-1', undefined],
    ['soon', undefined],
    [undefined, undefined],
  ])('says when to come back if the server does: %j -> %j', (header, retryAfterMs) => {
    expect(statusFault('docs', 429, header, undefined).record.retryAfterMs).toBe(retryAfterMs);
  });

  it('names the place a server has moved to, and what to do about it', () => {
    const { message } = statusFault('docs', 308, undefined, 'https://elsewhere.example/mcp');
    expect(message).toMatch(/https:\/\/elsewhere\.example\/mcp.*config/);
    expect(statusFault('docs', 302, undefined, undefined).message).toContain('another place');
  });
});
