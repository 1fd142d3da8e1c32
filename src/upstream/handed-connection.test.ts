import { describe, expect, it } from 'vitest';
import { connectionStateFrom, firstIdAfter } from './handed-connection.ts';

const greeting = {
  era: 'legacy',
  protocolVersion: '2025-11-25',
  serverInfo: { name: 'files' },
  capabilities: { tools: {} },
  instructions: 'Read first.',
};
const shared = { generation: 3, nextId: 17, greeting };
const stdout = {
  discarded: 'YWJj',
  oversizedHead: 'eyI=',
  noise: { quietMs: 1, lines: 2, bytes: 3 },
};
const stdio = { transport: 'stdio', ...shared, stdout, stderr: ['a line'] };
const http = { transport: 'http', ...shared, sessionId: 's-1', lastEventId: 'e-1' };

describe('the state of a connection that was handed over', () => {
  it.each([
    ['stdio', stdio],
    ['http', http],
    ['with little in it', { transport: 'http', ...shared }],
    ['without noise', { ...stdio, stdout: { noise: null }, stderr: [] }],
    [
      'of a server that says little',
      { ...http, greeting: { era: 'modern', protocolVersion: 'x', capabilities: {} } },
    ],
  ])('is read as it was written: %s', (_name, state) => {
    const read = connectionStateFrom(JSON.parse(JSON.stringify(state)));
    expect(JSON.parse(JSON.stringify(read))).toEqual(state);
    expect(firstIdAfter(read)).toBe(1_000_017);
  });

  it.each([
    ['not an object', null],
    ['another transport', { ...http, transport: 'sse' }],
    ['no generation', { ...http, generation: undefined }],
    ['a generation of nothing', { ...http, generation: 0 }],
    ['ids without end', { ...http, nextId: Number.MAX_SAFE_INTEGER }],
    ['half an id', { ...http, nextId: 1.5 }],
    ['no greeting', { ...http, greeting: undefined }],
    ['another era', { ...http, greeting: { ...greeting, era: 'next' } }],
    ['no version', { ...http, greeting: { ...greeting, protocolVersion: 1 } }],
    ['capabilities as a list', { ...http, greeting: { ...greeting, capabilities: [] } }],
    ['instructions as a number', { ...http, greeting: { ...greeting, instructions: 1 } }],
    ['a session that would be two headers', { ...http, sessionId: 'a\r\nb: c' }],
    ['an event that is no text', { ...http, lastEventId: 7 }],
    ['no stdout', { ...stdio, stdout: undefined }],
    ['no noise', { ...stdio, stdout: {} }],
    ['negative noise', { ...stdio, stdout: { noise: { quietMs: -1, lines: 2, bytes: 3 } } }],
    ['bytes that are not base64', { ...stdio, stdout: { ...stdout, discarded: 'ä' } }],
    ['a head that is not base64', { ...stdio, stdout: { ...stdout, oversizedHead: '{' } }],
    ['stderr as a text', { ...stdio, stderr: 'a line' }],
    ['a line that is no text', { ...stdio, stderr: [1] }],
    ['lines without end', { ...stdio, stderr: Array(1_001).fill('x') }],
  ])('is refused with %s', (_name, state) => {
    expect(() => connectionStateFrom(state)).toThrow(
      expect.objectContaining({ name: 'Fault', code: 'internal' }),
    );
  });
});
