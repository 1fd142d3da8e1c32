import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Cursors, type ListName } from './cursors.ts';

const key = Buffer.alloc(32, 7);
const cursors = new Cursors(key).of('me');
const lists = ['tools', 'prompts', 'resources', 'resourceTemplates'] as const;
const position = { server: 'files', after: 'read_file', index: 3 };

describe('a cursor', () => {
  it('is read back with the same key, for the same list', () => {
    const property = fc.property(
      fc.constantFrom<ListName>(...lists),
      fc.string({ maxLength: 64 }),
      fc.option(fc.string({ unit: 'binary', maxLength: 128 })),
      fc.nat(),
      (list, server, after, index) => {
        const cursor = cursors.write(list, { server, after, index });
        expect(cursor).toMatch(/^[\w-]+$/);
        const shown = Buffer.from(cursor, 'base64url');
        if (server.length > 4) expect(shown.includes(server)).toBe(false);
        expect(new Cursors(key).of('me').read(list, cursor)).toEqual({ server, after, index });
      },
    );
    fc.assert(property, { numRuns: 500 });
  });

  it('stays short, and then has only the position', () => {
    const cursor = cursors.write('resources', { server: 'a', after: 'x'.repeat(9_999), index: 4 });
    expect(cursor.length).toBeLessThan(100);
    expect(cursors.read('resources', cursor)).toEqual({ server: 'a', after: null, index: 5 });
    const longest = { server: 's'.repeat(64), after: '\u0001'.repeat(256), index: 2 ** 32 };
    expect(cursors.read('tools', cursors.write('tools', longest))).toEqual(longest);
  });

  it('is not valid for another list or under another key', () => {
    const cursor = cursors.write('tools', position);
    for (const list of lists.slice(1)) expect(cursors.read(list, cursor)).toBeUndefined();
    expect(new Cursors(Buffer.alloc(32, 8)).of('me').read('tools', cursor)).toBeUndefined();
    expect(new Cursors(key).of('you').read('tools', cursor)).toBeUndefined();
  });

  it.each([
    ['nothing', ''],
    ['a seal alone', Buffer.alloc(16).toString('base64url')],
    ['the cursor of another', 'eyJvZmZzZXQiOjEwfQ=='],
    ['no base64', '\u0000\u{1f600}'],
    ['a page number', '2'],
    ['far too much', 'A'.repeat(100_000)],
  ])('is not %s', (_, text) => {
    expect(cursors.read('tools', text)).toBeUndefined();
  });

  it('cannot be changed in any place, lengthened, cut or spelled otherwise', () => {
    const cursor = cursors.write('tools', position);
    const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_=+/ \n';
    const property = fc.property(
      fc.nat(cursor.length),
      fc.constantFrom('', ...letters),
      fc.nat(2),
      (at, letter, dropped) => {
        const changed = cursor.slice(0, at) + letter + cursor.slice(at + dropped);
        if (changed !== cursor) expect(cursors.read('tools', changed)).toBeUndefined();
      },
    );
    fc.assert(property, { numRuns: 500 });
    expect(cursors.read('tools', `${cursor}=`)).toBeUndefined();
    expect(cursors.read('tools', cursor)).toEqual(position);
  });

  it('needs a key that is long enough', () => {
    expect(() => new Cursors(Buffer.alloc(16))).toThrow(RangeError);
  });
});
