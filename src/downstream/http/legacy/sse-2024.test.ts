import { describe, expect, it } from 'vitest';
import { sessionInQuery } from './sse-2024.ts';

describe('the 2024 transport', () => {
  it('reads the session, and nothing else, from the query', () => {
    expect(sessionInQuery('/messages?sessionId=a-b_c')).toBe('a-b_c');
    expect(sessionInQuery('/messages?x=1&sessionId=a')).toBe('a');
    expect(sessionInQuery('/messages?session=a')).toBeUndefined();
    expect(sessionInQuery('/messages')).toBeUndefined();
  });
});
