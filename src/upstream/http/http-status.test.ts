import { describe, expect, it } from 'vitest';
import { statusFault } from './http-status.ts';

const docs = { server: 'docs', url: new URL('https://docs.example/mcp?key=hidden') };
const headers = (values: Record<string, string> = {}) => new Map(Object.entries(values));

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
    const { record } = statusFault(docs, status, headers());
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
    const received = headers(header === undefined ? {} : { 'retry-after': header });
    expect(statusFault(docs, 429, received).record.retryAfterMs).toBe(retryAfterMs);
  });

  it('names the place a server has moved to, and what to do about it', () => {
    const location = 'https://elsewhere.example/mcp';
    const { message } = statusFault(docs, 308, headers({ location }));
    expect(message).toMatch(/https:\/\/elsewhere\.example\/mcp.*put the new address into "url"/);
    expect(statusFault(docs, 302, headers()).message).toContain('another address');
  });

  it.each([
    [
      401,
      /^docs: https:\/\/docs\.example\/mcp answers 401: it requires a login; set "headers" of 'docs'/,
    ],
    [
      404,
      /answers 404: there is nothing at this path; correct the path in "url" of 'docs'.*doctor$/,
    ],
    [502, /answers 502: the server there has an internal error; .*; check with: holdfast doctor$/],
    [400, /^docs answered HTTP 400; check with: holdfast doctor$/],
  ])('%i is described with the messages of the doctor, without the query', (status, words) => {
    const { message } = statusFault(docs, status, headers());
    expect(message).toMatch(words);
    expect(message).not.toContain('hidden');
  });
});
