import { describe, expect, it } from 'vitest';
import { configFromObject } from './load.ts';
import { specHash } from './spec-hash.ts';

const hashOf = (entry: object): string => {
  const { config } = configFromObject({ mcpServers: { it: entry } }, { baseDir: '/', env: {} });
  const server = config.mcpServers['it'];
  if (server === undefined) throw new Error('the entry is disabled');
  return specHash(server);
};
const base = { command: 'x', args: ['a', 'b'], env: { A: '1', B: '2' }, inheritEnv: ['P', 'Q'] };
const remote = { url: 'http://x/', headers: { Authorization: 'Bearer s3cret', X: '1' } };

describe('the fingerprint of a server', () => {
  it.each([
    ['command', { ...base, command: 'y' }],
    ['args', { ...base, args: ['ab'] }],
    ['order of args', { ...base, args: ['b', 'a'] }],
    ['env', { ...base, env: { A: '1', B: '3' } }],
    ['cwd', { ...base, cwd: '/tmp' }],
    ['inheritEnv', { ...base, inheritEnv: ['P'] }],
    ['allowEnv', { ...base, allowEnv: ['LD_PRELOAD'] }],
    ['limits', { ...base, limits: { memoryMb: 64 } }],
    ['kind', remote],
  ])('changes with the %s', (_, entry) => expect(hashOf(entry)).not.toBe(hashOf(base)));

  it.each([
    ['url', { ...remote, url: 'http://y/' }],
    ['headers', { ...remote, headers: { Authorization: 'Bearer other', X: '1' } }],
    ['type', { ...remote, type: 'sse' }],
  ])('of a remote server changes with the %s', (_, entry) => {
    expect(hashOf(entry)).not.toBe(hashOf(remote));
  });

  it.each([
    ['order of variables', { ...base, env: { B: '2', A: '1' } }],
    ['order of inherited names', { ...base, inheritEnv: ['Q', 'P', 'P'] }],
    [
      'policy',
      { ...base, lazy: false, callTimeoutMs: 5, queue: 1, tools: { a: { hidden: true } } },
    ],
  ])('does not change with the %s', (_, entry) => expect(hashOf(entry)).toBe(hashOf(base)));

  it('does not care how header names are written', () => {
    const headers = { x: '1', AUTHORIZATION: 'Bearer s3cret' };
    expect(hashOf({ ...remote, headers })).toBe(hashOf(remote));
  });

  it('is the same on every run', () => {
    expect(hashOf(base)).toMatch(/^[0-9a-f]{64}$/);
    expect(hashOf({ command: 'x' })).toMatchInlineSnapshot(
      `"44e6e4f8725df33f87c0ada0a239f559f08a33e12f417cec78489241bd9de0c6"`,
    );
  });
});
