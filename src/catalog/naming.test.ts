import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Nameable, type Names, type NamingMode, nameAll, type Offering } from './naming.ts';

const health = 'holdfast__health_snapshot';
const reserved = new Set([health]);

type Sketch = Readonly<Record<string, readonly (string | Nameable)[]>>;

function offeringsOf(sketch: Sketch): Offering[] {
  return Object.entries(sketch).map(([server, items]) => ({
    server,
    items: items.map((item) => (typeof item === 'string' ? { name: item } : item)),
  }));
}

const names = (mode: NamingMode, sketch: Sketch) => nameAll(offeringsOf(sketch), mode, reserved);

describe('prefixed names #names', () => {
  it('put the server in front and lead back to it', () => {
    const book = names('prefix', { files: ['read', 'a__b'], 'my.git': ['read-log'] });
    expect(book.exposed('files', 'read')).toBe('files__read');
    expect(book.exposed('files', 'a__b')).toBe('files__a__b');
    expect(book.exposed('my.git', 'read-log')).toBe('my.git__read-log');
    expect(book.resolve('files__a__b')).toEqual({ server: 'files', name: 'a__b' });
    expect(book.exposed('files', 'write')).toBeUndefined();
    expect(book.resolve('files__write')).toBeUndefined();
    expect(book.refused).toEqual([]);
    expect(book.displaced).toEqual([]);
  });

  it('stay as they are at 64 characters and are shortened with a hash beyond', () => {
    const [fit, long] = ['x'.repeat(57), 'x'.repeat(58)];
    const book = names('prefix', { files: [fit, long] });
    expect(book.exposed('files', fit)).toBe(`files__${fit}`);
    expect(book.exposed('files', long)).toBe(`files__${'x'.repeat(46)}_ec31e8f679`);
    expect(book.exposed('files', long)).toHaveLength(64);
  });

  it('replace what clients do not allow, and add the hash', () => {
    const book = names('prefix', { a: ['x y', 'x/y', 'x_y', '\u0441ut', '\u{1f600}', '\ud800'] });
    const exposed = ['x y', 'x/y', '\u0441ut', '\u{1f600}', '\ud800'].map((name) =>
      book.exposed('a', name),
    );
    expect(book.exposed('a', 'x_y')).toBe('a__x_y');
    expect(exposed[0]).toMatch(/^a__x_y_[0-9a-f]{10}$/);
    expect(exposed[2]).toMatch(/^a___ut_[0-9a-f]{10}$/);
    expect(exposed[3]).toMatch(/^a____[0-9a-f]{10}$/);
    expect(new Set(exposed).size).toBe(5);
  });

  it('are given to the earlier server when two would be equal, and the later gets a hash', () => {
    const book = names('prefix', { a: ['b__c'], a__b: ['c'] });
    expect(book.exposed('a', 'b__c')).toBe('a__b__c');
    const later = book.exposed('a__b', 'c');
    expect(later).toMatch(/^a__b__c_[0-9a-f]{10}$/);
    expect(book.displaced).toEqual([
      {
        kind: 'collision',
        server: 'a__b',
        name: 'c',
        wanted: 'a__b__c',
        owner: { server: 'a', name: 'b__c' },
        exposed: later,
      },
    ]);
    expect(book.refused).toEqual([]);
  });

  it('find a free name even where the usual one is taken', () => {
    const long = 'x'.repeat(80);
    const taken = names('prefix', { b: [long] }).exposed('b', long) as string;
    const book = names('prefix', { a: [{ name: 'squat', as: taken }], b: [long] });
    expect(book.exposed('a', 'squat')).toBe(taken);
    expect(book.exposed('b', long)).not.toBe(taken);
    expect(book.resolve(book.exposed('b', long) as string)).toEqual({ server: 'b', name: long });
  });

  it('are never those of the gateway', () => {
    const book = names('prefix', {
      holdfast: ['health_snapshot'],
      b: [{ name: 'x', as: health }, health],
    });
    expect(book.exposed('holdfast', 'health_snapshot')).toMatch(/^holdfast__health_snapshot_/);
    expect(book.exposed('b', 'x')).toBe('b__x');
    expect(book.resolve(health)).toBeUndefined();
    expect(book.displaced.map(({ owner }) => owner)).toEqual([null, null]);
    expect(names('prefix', { b: [health] }).resolve(health)).toBeUndefined();
  });

  it("give the operator's own name without a prefix, unless an earlier one has it", () => {
    const book = names('prefix', {
      a: [{ name: 'x', as: 'search' }, 'y'],
      b: [
        { name: 'x', as: 'search' },
        { name: 'z', as: null },
      ],
    });
    expect(book.exposed('a', 'x')).toBe('search');
    expect(book.exposed('b', 'x')).toBe('b__x');
    expect(book.exposed('b', 'z')).toBe('b__z');
    expect(book.resolve('search')).toEqual({ server: 'a', name: 'x' });
    expect(book.displaced).toMatchObject([{ wanted: 'search', exposed: 'b__x' }]);
  });
});

describe('bare names', () => {
  const sketch = { a: ['one', 'both'], b: ['two', 'both', { name: 'odd', as: 'even' }] };

  it('are understood where exactly one server has them', () => {
    const book = names('prefix', sketch);
    expect(book.resolve('one')).toEqual({ server: 'a', name: 'one' });
    expect(book.resolve('odd')).toEqual({ server: 'b', name: 'odd' });
    expect(book.resolve('both')).toBeUndefined();
    expect(book.resolve('none')).toBeUndefined();
  });

  it('are unambiguous if the asker may see only one of them', () => {
    const book = names('prefix', sketch);
    expect(book.resolve('both', ({ server }) => server === 'b')).toEqual({
      server: 'b',
      name: 'both',
    });
    expect(book.resolve('one', ({ server }) => server === 'b')).toBeUndefined();
  });

  it('give way to an exposed name', () => {
    const book = names('prefix', { a: ['x'], b: ['a__x'] });
    expect(book.resolve('a__x')).toEqual({ server: 'a', name: 'x' });
  });

  it('do not receive the calls of a server whose list is not known', () => {
    const far = 's'.repeat(64);
    const lost = names('prefix', { [far]: ['x'] }).exposed(far, 'x') as string;
    const book = names('prefix', { a: [], [far]: [], b: ['a__x', 'b__y', lost] });
    expect(book.resolve('a__x')).toBeUndefined();
    expect(book.resolve(lost)).toBeUndefined();
    expect(book.resolve('b__y')).toEqual({ server: 'b', name: 'b__y' });
  });

  it('do not bring back what was refused', () => {
    const book = names('transparent', { a: ['read'], b: ['Read'] });
    expect(book.resolve('Read')).toBeUndefined();
  });
});

describe('transparent names', () => {
  it('are used unchanged, whatever they are', () => {
    const odd = ['x'.repeat(200), 'a b', '\u8aad\u3080', 'test_simple_text'];
    const book = names('transparent', { a: odd });
    for (const name of odd) {
      expect(book.exposed('a', name)).toBe(name);
      expect(book.resolve(name)).toEqual({ server: 'a', name });
    }
  });

  it('are refused to the later server when they are taken or look alike', () => {
    const book = names('transparent', {
      a: ['read', 'write', 'Write'],
      b: ['read', 'WRITE', 'r\u0435ad', 'list'],
      c: [{ name: 'x', as: 'list' }, 'holdfast__Health-Snapshot', health],
    });
    expect(book.exposed('a', 'Write')).toBe('Write');
    expect(book.exposed('b', 'list')).toBe('list');
    expect(book.refused).toEqual([
      owned('b', 'WRITE', 'look_alike', { server: 'a', name: 'Write' }),
      owned('b', 'read', 'collision', { server: 'a', name: 'read' }),
      owned('b', 'r\u0435ad', 'look_alike', { server: 'a', name: 'read' }),
      { ...owned('c', 'x', 'collision', { server: 'b', name: 'list' }), wanted: 'list' },
      owned('c', 'holdfast__Health-Snapshot', 'look_alike', null),
      owned('c', health, 'collision', null),
    ]);
    for (const { server, name } of book.refused) {
      expect(book.exposed(server, name)).toBeUndefined();
    }
    expect(book.displaced).toEqual([]);
  });
});

const owned = (server: string, name: string, kind: string, owner: unknown) => ({
  kind,
  server,
  name,
  wanted: name,
  owner,
});

describe('all names', () => {
  // Few letters, so that names meet; lengths around the limit; some of the operator's own.
  const word = fc.oneof(
    fc.string({ unit: fc.constantFrom(...'aA_.- \u0430\u200b'), minLength: 1, maxLength: 4 }),
    fc.constantFrom('a__a', 'a__a__a', 'x'.repeat(60), 'x'.repeat(61), health),
    fc.string({ unit: 'binary', minLength: 1, maxLength: 70 }),
  );
  const item = fc.record<Nameable>({ name: word, as: fc.option(word) });
  const items = fc.uniqueArray(item, { selector: ({ name }) => name, maxLength: 6 });
  const server = fc.constantFrom('a', 'A', 'a_a', 'a__a', 'a-a', 's'.repeat(63), 'holdfast');
  const offerings: fc.Arbitrary<Offering[]> = fc.uniqueArray(fc.record({ server, items }), {
    selector: (offering) => offering.server,
    maxLength: 5,
  });
  const mode = fc.constantFrom<NamingMode>('prefix', 'transparent');
  const runs = { numRuns: 500 };

  const exposedOf = (book: Names, all: readonly Offering[]) =>
    all.flatMap((one) => one.items.map(({ name }) => book.exposed(one.server, name)));

  it('are unique, lead back to their owner, and are missing only if refused', () => {
    const property = fc.property(offerings, mode, (all, how) => {
      const book = nameAll(all, how, reserved);
      const given = exposedOf(book, all).filter((name) => name !== undefined);
      expect(new Set(given).size).toBe(given.length);
      expect(given).not.toContain(health);
      const total = all.reduce((sum, one) => sum + one.items.length, 0);
      expect(given.length + book.refused.length).toBe(total);
      if (how === 'prefix') expect(book.refused).toEqual([]);
      for (const one of all) {
        for (const { name, as } of one.items) {
          const exposed = book.exposed(one.server, name);
          if (exposed === undefined) continue;
          expect(book.resolve(exposed)).toEqual({ server: one.server, name });
          if (how === 'prefix' && exposed !== as) expect(exposed).toMatch(/^[\w.-]{1,64}$/);
        }
      }
    });
    fc.assert(property, runs);
  });

  it('do not change when a server is added at the end', () => {
    const property = fc.property(offerings, mode, (all, how) => {
      const before = all.slice(0, -1);
      const book = nameAll(before, how, reserved);
      expect(exposedOf(nameAll(all, how, reserved), before)).toEqual(exposedOf(book, before));
    });
    fc.assert(property, runs);
  });

  it('do not depend on the order in which a server lists them', () => {
    const property = fc.property(offerings, mode, (all, how) => {
      const turned = all.map((one) => ({ ...one, items: one.items.toReversed() }));
      const [book, other] = [nameAll(all, how, reserved), nameAll(turned, how, reserved)];
      expect(exposedOf(other, all)).toEqual(exposedOf(book, all));
      expect(other.refused).toEqual(book.refused);
    });
    fc.assert(property, runs);
  });

  it('depend on server and tool only, unless somebody takes them', () => {
    const property = fc.property(offerings, (all) => {
      const book = nameAll(all, 'prefix', reserved);
      const moved = new Set(book.displaced.map(({ server: s, name }) => JSON.stringify([s, name])));
      for (const one of all) {
        for (const item of one.items) {
          if (moved.has(JSON.stringify([one.server, item.name]))) continue;
          const alone = nameAll([{ server: one.server, items: [item] }], 'prefix', reserved);
          expect(book.exposed(one.server, item.name)).toBe(alone.exposed(one.server, item.name));
        }
      }
    });
    fc.assert(property, runs);
  });

  it('of two servers never look alike in transparent mode', () => {
    const property = fc.property(offerings, (all) => {
      const book = nameAll(all, 'transparent', reserved);
      const shapes = new Map<string, string>();
      for (const one of all) {
        for (const { name } of one.items) {
          const exposed = book.exposed(one.server, name);
          if (exposed === undefined) continue;
          const shape = exposed
            .replace(/\u200b/g, '')
            .replaceAll('\u0430', 'a')
            .toLowerCase();
          expect(shapes.get(shape) ?? one.server).toBe(one.server);
          shapes.set(shape, one.server);
        }
      }
    });
    fc.assert(property, runs);
  });
});

describe('a name that was given #names #name-owner', () => {
  const again = (mode: NamingMode, before: Sketch, after: Sketch, unlisted: string[] = []) => {
    const { given } = names(mode, before);
    const offerings = offeringsOf(after).map((offering) => ({
      ...offering,
      isListed: !unlisted.includes(offering.server),
    }));
    return nameAll(offerings, mode, reserved, given);
  };

  it('stays with its owner when an earlier server comes for it, which is refused', () => {
    const book = again('transparent', { a: ['x'], b: ['send'] }, { a: ['x', 'send'], b: ['send'] });
    expect(book.resolve('send')).toEqual({ server: 'b', name: 'send' });
    expect(book.exposed('a', 'send')).toBeUndefined();
    expect(book.refused).toEqual([
      {
        kind: 'collision',
        server: 'a',
        name: 'send',
        wanted: 'send',
        owner: { server: 'b', name: 'send' },
      },
    ]);
  });

  it('is not lost to one that only looks like it', () => {
    const book = again('transparent', { a: [], b: ['send'] }, { a: ['s\u0435nd'], b: ['send'] });
    expect(book.exposed('b', 'send')).toBe('send');
    expect(book.refused).toMatchObject([{ kind: 'look_alike', server: 'a' }]);
  });

  it('stays also where a prefix can be read in two ways, or a name was changed to fit', () => {
    const book = again('prefix', { a: [], a__b: ['c'] }, { a: ['b__c'], a__b: ['c'] });
    expect(book.exposed('a__b', 'c')).toBe('a__b__c');
    expect(book.exposed('a', 'b__c')).toMatch(/^a__b__c_[0-9a-f]{10}$/);
    expect(book.displaced).toMatchObject([{ server: 'a', name: 'b__c', wanted: 'a__b__c' }]);
  });

  it('goes to the next when its owner does not offer it any more, or is gone', () => {
    const before = { a: ['x'], b: ['send'] };
    expect(again('transparent', before, { a: ['send'], b: [] }).exposed('a', 'send')).toBe('send');
    expect(again('transparent', before, { a: ['send'] }).exposed('a', 'send')).toBe('send');
  });

  it('is kept for an owner whose list is not known yet, and leads there', () => {
    const book = again('transparent', { a: [], b: ['send'] }, { a: ['send'], b: [] }, ['b']);
    expect(book.exposed('a', 'send')).toBeUndefined();
    expect(book.resolve('send')).toEqual({ server: 'b', name: 'send' });
    expect(book.refused).toMatchObject([{ server: 'a', owner: { server: 'b' } }]);
  });

  it('is given up for another that the operator chooses', () => {
    const renamed = { a: ['send'], b: [{ name: 'send', as: 'mail' }] };
    const book = again('transparent', { a: [], b: ['send'] }, renamed);
    expect([book.exposed('a', 'send'), book.exposed('b', 'send')]).toEqual(['send', 'mail']);
  });

  it('is never one of the gateway, whatever is remembered', () => {
    const given = new Map([[health, { server: 'a', name: 'health_snapshot' }]]);
    const sketch = offeringsOf({ a: [{ name: 'health_snapshot', as: health }], b: [] });
    const book = nameAll(sketch, 'transparent', reserved, given);
    expect(book.resolve(health)).toBeUndefined();
    const unlisted = [{ server: 'a', items: [], isListed: false }];
    expect(nameAll(unlisted, 'transparent', reserved, given).resolve(health)).toBeUndefined();
  });

  it('stays whatever the servers list afterwards, while its owner offers it', () => {
    const list = fc.uniqueArray(fc.constantFrom('a', 'b', 'A', 'a b', 'a_b', 'c'));
    const sketch = fc.record({ x: list, y: list, x__a: list });
    const mode = fc.constantFrom<NamingMode>('prefix', 'transparent');
    fc.assert(
      fc.property(mode, sketch, sketch, (chosen, before, after) => {
        const first = names(chosen, before);
        const book = again(chosen, before, after);
        for (const [exposed, { server, name }] of first.given) {
          const offered = (after as Sketch)[server] ?? [];
          const isWanted = first.displaced.every((one) => one.exposed !== exposed);
          if (isWanted && offered.includes(name)) expect(book.exposed(server, name)).toBe(exposed);
        }
      }),
    );
  });
});

describe('names that look alike in prefix mode #name-owner', () => {
  it('are reported, and offered all the same', () => {
    const book = names('prefix', { files: ['read'], fi1es: ['read', 'write'], other: ['read'] });
    expect(book.exposed('fi1es', 'read')).toBe('fi1es__read');
    expect(book.refused).toEqual([]);
    expect(book.alike).toEqual([
      {
        kind: 'look_alike',
        server: 'fi1es',
        name: 'read',
        wanted: 'fi1es__read',
        exposed: 'fi1es__read',
        owner: { server: 'files', name: 'read' },
      },
    ]);
  });

  it('are not those of one server among themselves', () => {
    expect(names('prefix', { files: ['read', 'READ', 'rea-d'] }).alike).toEqual([]);
  });
});
