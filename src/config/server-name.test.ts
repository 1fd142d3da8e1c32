import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isServerName, safeNameFrom } from './server-name.ts';

describe('a server name', () => {
  it.each(['files', 'a', 'A1', 'my-server', 'my.server', 'a_b', '9lives', 'a'.repeat(64)])(
    'may be %s',
    (name) => expect(isServerName(name)).toBe(true),
  );

  it.each([
    '',
    '_a',
    'a_',
    'a__b',
    'a/b',
    'a b',
    '.hidden',
    '-flag',
    'sérver',
    'sеrver',
    'a\n',
    'a'.repeat(65),
  ])('may not be %j', (name) => expect(isServerName(name)).toBe(false));

  it('never lets server__tool be split in two ways', () => {
    const names = fc.string({
      unit: fc.constantFrom('a', 'B', '_', '.', '-'),
      minLength: 1,
      maxLength: 8,
    });
    fc.assert(
      fc.property(names, names, (server, tool) => {
        if (!isServerName(server)) return;
        const flat = `${server}__${tool}`;
        expect(flat.slice(0, flat.indexOf('__'))).toBe(server);
      }),
    );
  });

  it('is found at once where thousands have the same one', () => {
    const taken = new Set<string>();
    for (let count = 0; count < 5_000; count += 1) {
      const name = safeNameFrom('ü'.repeat(80) + 'x'.repeat(80), taken);
      expect(isServerName(name)).toBe(true);
      taken.add(name);
    }
    expect(taken.size).toBe(5_000);
  });

  it('is made from any name of another client, and never one that is taken', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary-ascii', maxLength: 100 }), (name) => {
        const first = safeNameFrom(name, new Set());
        expect(isServerName(first)).toBe(true);
        const second = safeNameFrom(name, new Set([first.toLowerCase()]));
        expect(isServerName(second)).toBe(true);
        expect(second.toLowerCase()).not.toBe(first.toLowerCase());
      }),
    );
  });
});
