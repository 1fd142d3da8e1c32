// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the placeholders are the subject
import { describe, expect, it } from 'vitest';
import { configFromObject } from './load.ts';
import { secretsOf } from './secrets.ts';

function valuesOf(entry: object, env: Record<string, string> = {}, seen = {}): readonly string[] {
  const { config } = configFromObject({ mcpServers: { a: entry } }, { baseDir: '/', env });
  const server = config.mcpServers['a'];
  if (server === undefined) throw new Error('the server is disabled');
  return secretsOf(server, seen).map(({ name, value }) => `${name}=${value}`);
}

describe('the secrets of a server', () => {
  it('are the values of its variables, but not those that every program shares', () => {
    const environment = { API_KEY: 'k-123456', PATH: '/usr/bin', LC_ALL: 'C.UTF-8' };
    expect(valuesOf({ command: 'x' }, {}, environment)).toEqual(['env API_KEY=k-123456']);
  });

  it('are what variables brought into its command line #stderr-guarded', () => {
    const env = { TOKEN: 't-123456', HOME: '/home/me' };
    const args = ['--token=${env:TOKEN}', '${HOME}/x', '${NONE:-default}'];
    expect(valuesOf({ command: 'x', args }, env)).toEqual(['env TOKEN=t-123456']);
  });

  it('are the values of its headers, also without the scheme', () => {
    const headers = { Authorization: 'Bearer ${TOKEN}' };
    expect(valuesOf({ url: 'https://x/mcp', headers }, { TOKEN: 't-123456' })).toEqual([
      'header Authorization=Bearer t-123456',
      'header Authorization=t-123456',
      'env TOKEN=t-123456',
    ]);
  });

  it('are what an address carries besides its place', () => {
    expect(valuesOf({ url: 'https://me:p%40ss-word@x/mcp?key=k-123456' })).toEqual([
      'url=p%40ss-word',
      'url=p@ss-word',
      'url=k-123456',
    ]);
    expect(valuesOf({ url: 'https://me:p%zz@x/mcp' })).toEqual(['url=p%zz', 'url=p%zz']);
    const proxy = { HTTPS_PROXY: 'http://me:hidden-word@proxy:1' };
    expect(valuesOf({ command: 'x' }, {}, proxy)).toEqual([
      'env HTTPS_PROXY=hidden-word',
      'env HTTPS_PROXY=hidden-word',
    ]);
  });
});
