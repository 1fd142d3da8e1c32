import { describe, expect, it } from 'vitest';
import type * as z from 'zod';
import { configKeys, serverKeys } from './live-keys.ts';
import { configFromObject } from './load.ts';
import { planOf } from './plan.ts';
import { configSchema } from './schema.ts';
import { serverSchema } from './server-schema.ts';

const read = (input: object) => configFromObject(input, { baseDir: '/', env: {} }).config;
const plan = (old: object, next: object) => planOf(read(old), read(next));
const servers = (mcpServers: object) => ({ mcpServers });
const nothing = { added: [], removed: [], changed: [], settings: [], order: false };

describe('the table of what a changed key needs', () => {
  it('has every key of a server and no other #live-config', () => {
    const kinds = (serverSchema.out as z.ZodDiscriminatedUnion<z.ZodObject[]>).options;
    const keys = new Set(kinds.flatMap((kind) => Object.keys(kind.shape)));
    expect(keys.size).toBeGreaterThan(10);
    expect(Object.keys(serverKeys).sort()).toEqual([...keys].sort());
  });

  it('has every key of the top level and no other #live-config', () => {
    expect(Object.keys(configKeys).sort()).toEqual(Object.keys(configSchema.shape).sort());
  });
});

describe('the plan from one config to another', () => {
  it('is empty for the same config, also in other words #live-config', () => {
    const one = { a: { command: 'x', env: { A: '1', B: '2' } }, b: { url: 'http://h/mcp' } };
    const other = {
      a: { env: { B: '2', A: '1' }, args: [], type: 'stdio', command: 'x' },
      b: { type: 'http', url: 'http://h/mcp', headers: {} },
    };
    expect(plan(servers(one), { ...servers(other), naming: 'prefix' })).toEqual(nothing);
  });

  it('names the added and removed servers, in the order of the config', () => {
    const one = { a: { command: 'x' }, b: { command: 'x' }, c: { command: 'x' } };
    const other = { z: { command: 'x' }, c: { command: 'x' }, y: { command: 'x' } };
    expect(plan(servers(one), servers(other))).toEqual({
      ...nothing,
      added: ['z', 'y'],
      removed: ['a', 'b'],
    });
  });

  it.each([
    ['args', { args: ['1'] }, true],
    ['env', { env: { A: '1' } }, true],
    ['limits', { limits: { memoryMb: 10 } }, true],
    ['isolation', { isolation: 'client' }, true],
    ['tools', { tools: { t: { hidden: true } } }, false],
    ['concurrency', { concurrency: 1 }, false],
    ['lazy', { lazy: false }, false],
    ['restart', { restart: { max: 1 } }, false],
  ])('says that %s has changed, and whether that takes a restart', (key, more, restart) => {
    const changed = plan(
      servers({ a: { command: 'x' } }),
      servers({ a: { command: 'x', ...more } }),
    );
    expect(changed).toEqual({ ...nothing, changed: [{ name: 'a', keys: [key], restart }] });
  });

  it('has a restart where a process becomes a remote server', () => {
    const { changed } = plan(
      servers({ a: { command: 'x' } }),
      servers({ a: { url: 'http://h/mcp' } }),
    );
    expect(changed[0]).toMatchObject({ name: 'a', restart: true });
    expect(changed[0]?.keys).toEqual(expect.arrayContaining(['type', 'command', 'url']));
  });

  it('takes a server that is switched off for one that goes', () => {
    const off = servers({ a: { command: 'x', disabled: true } });
    expect(plan(servers({ a: { command: 'x' } }), off)).toEqual({ ...nothing, removed: ['a'] });
  });

  it('reports a changed order only of the servers that stay', () => {
    const x = { command: 'x' };
    expect(plan(servers({ a: x, b: x }), servers({ b: x, a: x })).order).toBe(true);
    expect(plan(servers({ a: x, b: x }), servers({ a: x, n: x, b: x })).order).toBe(false);
    expect(plan(servers({ a: x, g: x, b: x }), servers({ a: x, b: x })).order).toBe(false);
  });

  it('says which settings wait for the next start of the host', () => {
    const next = { maxIdle: 3, naming: 'transparent', http: { listen: '127.0.0.1:1' } };
    expect(plan({}, next).settings).toEqual(
      expect.arrayContaining([
        { key: 'naming', applies: 'restart-host' },
        { key: 'maxIdle', applies: 'live' },
        { key: 'http', applies: 'restart-host' },
      ]),
    );
  });

  it('is not misled by names that every object inherits', () => {
    const odd = servers({ valueOf: { command: 'x' }, toString: { command: 'y' } });
    expect(plan({}, odd).added).toEqual(['valueOf', 'toString']);
    expect(plan(odd, {}).removed).toEqual(['valueOf', 'toString']);
  });
});
