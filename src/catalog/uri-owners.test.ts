import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { UriOwners } from './uri-owners.ts';

const owners = () => new UriOwners(['a', 'b', 'c']);

describe('the owner of a URI #resource-owners', () => {
  it('is the one that listed it', () => {
    const index = owners();
    index.listed('b', ['x:1', 'x:2'], []);
    expect(index.resolve('x:1')).toEqual({ server: 'b', uri: 'x:1' });
    expect(index.exposed('b', 'x:1')).toBe('x:1');
    expect(index.resolve('x:3')).toBeUndefined();
    index.listed('b', ['x:2'], []);
    expect(index.resolve('x:1')).toBeUndefined();
    expect(index.resolve('x:2')).toEqual({ server: 'b', uri: 'x:2' });
  });

  it('is the earlier server if two listed it, and the later one is rewritten', () => {
    const index = owners();
    index.listed('c', ['x:1', 'ui://page'], []);
    expect(index.hasRewrites('c')).toBe(false);
    index.listed('b', ['x:1', 'ui://page'], []);
    expect(index.exposed('b', 'x:1')).toBe('x:1');
    expect(index.exposed('c', 'x:1')).toBe('holdfast:c:x:1');
    expect(index.exposed('c', 'ui://page')).toBe('ui://holdfast+c/page');
    expect(index.resolve('x:1')?.server).toBe('b');
    expect(index.resolve('holdfast:c:x:1')).toEqual({ server: 'c', uri: 'x:1' });
    expect(index.resolve('ui://holdfast+c/page')).toEqual({ server: 'c', uri: 'ui://page' });
    expect([index.hasRewrites('b'), index.hasRewrites('c')]).toEqual([false, true]);
    index.listed('b', [], []);
    expect(index.hasRewrites('c')).toBe(false);
  });

  it('is the one that returned it, unless another lists it', () => {
    const index = owners();
    index.returned('a', 'x:1');
    expect(index.resolve('x:1')?.server).toBe('a');
    index.listed('b', ['x:1'], []);
    expect(index.resolve('x:1')?.server).toBe('b');
    expect(index.exposed('b', 'x:1')).toBe('x:1');
    expect(index.exposed('a', 'x:1')).toBe('holdfast:a:x:1');
    expect(index.hasRewrites('a')).toBe(true);
  });

  it('is the earlier server if two returned it', () => {
    const index = owners();
    index.returned('c', 'x:1');
    index.returned('b', 'x:1');
    expect(index.exposed('b', 'x:1')).toBe('x:1');
    expect(index.exposed('c', 'x:1')).toBe('holdfast:c:x:1');
  });

  it('is the one whose template it fits, if nobody else has it', () => {
    const index = owners();
    index.listed('b', [], ['x:{id}']);
    index.listed('c', [], ['y:{id}']);
    expect(index.resolve('y:1')?.server).toBe('c');
    expect(index.resolve('x:{id}')).toEqual({ server: 'b', uri: 'x:{id}' });
    index.returned('a', 'y:1');
    expect(index.resolve('y:1')?.server).toBe('a');
  });

  it('does not lose what fits its template to a later server that returns it', () => {
    const index = owners();
    index.listed('a', [], ['x:{id}']);
    index.returned('b', 'x:1');
    expect(index.resolve('x:1')?.server).toBe('a');
    expect(index.exposed('b', 'x:1')).toBe('holdfast:b:x:1');
    expect(index.hasRewrites('b')).toBe(true);
  });

  it('is the only server there is', () => {
    expect(new UriOwners(['a']).resolve('any:thing')).toEqual({ server: 'a', uri: 'any:thing' });
    expect(new UriOwners([]).resolve('any:thing')).toBeUndefined();
    expect(new UriOwners(['a']).resolve('holdfast:b:x')).toBeUndefined();
  });

  it('stands in the rewritten URI itself, also when nothing is known yet', () => {
    const index = owners();
    expect(index.resolve('holdfast:b:x:1')).toEqual({ server: 'b', uri: 'x:1' });
    expect(index.resolve('holdfast:b:x:{id}')).toEqual({ server: 'b', uri: 'x:{id}' });
    expect(index.resolve('holdfast:nobody:x:1')).toBeUndefined();
    expect(index.resolve('ui://holdfast+nobody/x')).toBeUndefined();
    expect(index.resolve('holdfast:b')).toBeUndefined();
  });

  it('is told apart from the owner inside of a gateway behind this one', () => {
    const index = owners();
    index.listed('c', ['holdfast:b:x:1'], ['holdfast:b:{y}']);
    expect(index.exposed('c', 'holdfast:b:x:1')).toBe('holdfast:c:holdfast:b:x:1');
    expect(index.exposedTemplate('c', 'holdfast:b:{y}')).toBe('holdfast:c:holdfast:b:{y}');
    expect(index.hasRewrites('c')).toBe(true);
    expect(index.resolve('holdfast:c:holdfast:b:x:1')).toEqual({
      server: 'c',
      uri: 'holdfast:b:x:1',
    });
  });

  it('of a very long URI is known too', () => {
    const index = owners();
    const long = (last: string) => `x:${'y'.repeat(5_000)}${last}`;
    index.returned('a', long('1'));
    index.listed('b', [long('2')], []);
    expect(index.resolve(long('1'))?.server).toBe('a');
    expect(index.resolve(long('2'))?.server).toBe('b');
    expect(index.resolve(long('3'))).toBeUndefined();
  });

  it('is forgotten when it returned too many others since, and used ones last', () => {
    const index = owners();
    for (let count = 0; count < 10_000; count += 1) index.returned('a', `x:${count}`);
    index.resolve('x:0');
    index.returned('a', 'x:1');
    index.returned('a', 'x:new');
    index.returned('a', 'x:newer');
    expect(index.resolve('x:0')?.server).toBe('a');
    expect(index.resolve('x:1')?.server).toBe('a');
    expect(index.resolve('x:2')).toBeUndefined();
    expect(index.resolve('x:3')).toBeUndefined();
    expect(index.resolve('x:4')?.server).toBe('a');
  });

  it('must be one of the servers there are', () => {
    expect(() => owners().listed('z', [], [])).toThrow(RangeError);
  });
});

describe('an exposed template', () => {
  it('is rewritten if an earlier server can give the same URIs', () => {
    const index = owners();
    index.listed('a', [], ['x:{id}']);
    index.listed('b', [], ['x:{name}', 'x:a/{id}', 'ui://{page}']);
    index.listed('c', [], ['ui://{id}', 'y:{id}']);
    expect(index.exposedTemplate('a', 'x:{id}')).toBe('x:{id}');
    expect(index.exposedTemplate('b', 'x:{name}')).toBe('holdfast:b:x:{name}');
    expect(index.exposedTemplate('b', 'x:a/{id}')).toBe('x:a/{id}');
    expect(index.exposedTemplate('c', 'ui://{id}')).toBe('ui://holdfast+c/{id}');
    expect(index.exposedTemplate('c', 'y:{id}')).toBe('y:{id}');
  });

  it('is rewritten if it is too large or one of too many to be compared', () => {
    const index = owners();
    const many = Array.from({ length: 300 }, (_, count) => `x${count}:{id}`);
    index.listed('a', [], many);
    expect(index.exposedTemplate('a', 'x255:{id}')).toBe('x255:{id}');
    expect(index.exposedTemplate('a', 'x256:{id}')).toBe('holdfast:a:x256:{id}');
    expect(index.hasRewrites('a')).toBe(true);
    const large = `y:${'z'.repeat(2_000)}{id}`;
    expect(index.exposedTemplate('b', large)).toBe(`holdfast:b:${large}`);
  });
});

describe('whatever servers list and return', () => {
  const server = fc.constantFrom('a', 'b', 'c');
  const uri = fc.constantFrom('x:1', 'x:2', 'y:1', 'ui://p', 'holdfast:a:x:1', 'ui://holdfast+b/p');
  const template = fc.constantFrom('x:{n}', 'x:{m}', 'y:{n}', '{+all}', 'ui://{p}', 'holdfast:{x}');
  const listing = fc.record({
    kind: fc.constant('listed' as const),
    server,
    uris: fc.uniqueArray(uri, { maxLength: 3 }),
    templates: fc.uniqueArray(template, { maxLength: 2 }),
  });
  const returning = fc.record({ kind: fc.constant('returned' as const), server, uri });
  const history = fc.array(fc.oneof(listing, returning), { maxLength: 12 });

  function replay(events: typeof history extends fc.Arbitrary<infer T> ? T : never) {
    const index = owners();
    const claims = new Map<string, Set<string>>();
    const listed = new Map<string, { uris: readonly string[]; templates: readonly string[] }>();
    for (const event of events) {
      if (event.kind === 'returned') {
        index.returned(event.server, event.uri);
        claims.set(event.server, (claims.get(event.server) ?? new Set()).add(event.uri));
      } else {
        index.listed(event.server, event.uris, event.templates);
        listed.set(event.server, event);
      }
    }
    for (const [name, { uris }] of listed) {
      claims.set(name, new Set([...(claims.get(name) ?? []), ...uris]));
    }
    return { index, claims, listed };
  }

  it('every URI that a client is shown leads back to where it came from', () => {
    const property = fc.property(history, (events) => {
      const { index, claims } = replay(events);
      for (const [name, uris] of claims) {
        for (const one of uris) {
          const shown = index.exposed(name, one);
          expect(index.resolve(shown)).toEqual({ server: name, uri: one });
          if (shown !== one) expect(index.hasRewrites(name)).toBe(true);
        }
      }
    });
    fc.assert(property, { numRuns: 500 });
  });

  it('a URI stays as it is if one server alone has to do with it', () => {
    const property = fc.property(history, server, (events, name) => {
      const { index, claims } = replay(events.filter((event) => event.server === name));
      for (const one of claims.get(name) ?? []) {
        if (!one.includes('holdfast')) expect(index.exposed(name, one)).toBe(one);
      }
    });
    fc.assert(property, { numRuns: 500 });
  });

  it('lists look the same whatever was returned', () => {
    const property = fc.property(history, (events) => {
      const { index, listed } = replay(events);
      const quiet = replay(events.filter((event) => event.kind === 'listed')).index;
      for (const [name, { uris, templates }] of listed) {
        for (const one of uris) expect(index.exposed(name, one)).toBe(quiet.exposed(name, one));
        for (const one of templates) {
          expect(index.exposedTemplate(name, one)).toBe(quiet.exposedTemplate(name, one));
          expect(index.resolve(index.exposedTemplate(name, one))).toEqual({
            server: name,
            uri: one,
          });
        }
      }
    });
    fc.assert(property, { numRuns: 500 });
  });

  it('the order of events does not matter to what is listed', () => {
    const property = fc.property(history, (events) => {
      const { index, listed } = replay(events);
      const again = owners();
      for (const [name, { uris, templates }] of [...listed].reverse()) {
        again.listed(name, uris, templates);
      }
      for (const [name, { uris }] of listed) {
        for (const one of uris) expect(again.exposed(name, one)).toBe(index.exposed(name, one));
      }
    });
    fc.assert(property, { numRuns: 500 });
  });
});

describe('an address that a client was shown #resource-owners #name-owner', () => {
  it('stays with its server when an earlier one lists it too, which is rewritten', () => {
    const index = owners();
    index.listed('b', ['x:1'], []);
    expect(index.resolve('x:1')?.server).toBe('b');
    index.listed('a', ['x:1', 'x:2'], []);
    expect(index.resolve('x:1')?.server).toBe('b');
    expect(index.exposed('a', 'x:1')).toBe('holdfast:a:x:1');
    expect([index.hasRewrites('a'), index.hasRewrites('b')]).toEqual([true, false]);
    index.listed('b', ['x:1', 'x:2'], []);
    expect(index.exposed('b', 'x:2')).toBe('holdfast:b:x:2');
  });

  it('goes to the other when its server does not list it any more', () => {
    const index = owners();
    index.listed('b', ['x:1'], []);
    index.resolve('x:1');
    index.listed('a', ['x:1'], []);
    index.listed('b', [], []);
    expect(index.resolve('x:1')?.server).toBe('a');
    index.listed('b', ['x:1'], []);
    expect(index.resolve('x:1')?.server).toBe('a');
  });

  it('stays with the server of the template that it fits', () => {
    const index = owners();
    index.listed('b', [], ['x:{id}']);
    expect(index.resolve('x:1')?.server).toBe('b');
    index.listed('a', [], ['x:{name}']);
    expect(index.resolve('x:1')?.server).toBe('b');
    expect(index.exposedTemplate('b', 'x:{id}')).toBe('x:{id}');
    expect(index.exposedTemplate('a', 'x:{name}')).toBe('holdfast:a:x:{name}');
    expect(index.hasRewrites('a')).toBe(true);
  });

  it('stays after a restart, also while its server has not listed yet', () => {
    const before = owners();
    before.listed('b', ['x:1', 'x:3'], ['y:{id}']);
    before.resolve('x:1');
    before.listed('a', ['x:1', 'x:2'], ['y:{name}']);
    expect(before.held()).toEqual([{ server: 'b', uris: ['x:1', 'y:{id}'] }]);
    const after = owners();
    after.recall(before.held());
    after.listed('a', ['x:1', 'x:2', 'x:3'], ['y:{name}']);
    expect([after.resolve('x:1')?.server, after.resolve('x:3')?.server]).toEqual(['b', 'a']);
    expect(after.held()).toEqual([{ server: 'b', uris: ['x:1', 'y:{id}'] }]);
    after.listed('b', ['x:1', 'x:3'], ['y:{id}']);
    expect(after.resolve('x:1')?.server).toBe('b');
    expect(after.resolve('y:7')?.server).toBe('b');
    expect(after.held()).toEqual([{ server: 'b', uris: ['x:1', 'y:{id}'] }]);
    after.listed('b', [], []);
    expect(after.resolve('x:1')?.server).toBe('a');
    expect(after.held()).toEqual([]);
  });

  it('is not remembered where nothing was claimed twice', () => {
    const index = owners();
    index.listed('b', ['x:1'], []);
    index.resolve('x:1');
    index.listed('c', ['x:1'], []);
    expect(index.held()).toEqual([]);
  });
});

describe('a skill #skills', () => {
  const main = 'skill://pdf/SKILL.md';

  it('is one folder: all of its files belong to the server whose skill it is', () => {
    const index = owners();
    index.listed('a', [], ['skill://{+path}'], [main]);
    index.listed('b', ['skill://pdf/more.md'], ['skill://{+path}'], [main, 'skill://own/SKILL.md']);
    const shown = (server: string, uri: string) => index.exposed(server, uri);
    expect([shown('a', main), shown('a', 'skill://pdf/x/y.md')]).toEqual([
      main,
      'skill://pdf/x/y.md',
    ]);
    expect([
      shown('b', main),
      shown('b', 'skill://pdf/more.md'),
      shown('b', 'skill://pdf'),
    ]).toEqual([
      'skill://holdfast+b/pdf/SKILL.md',
      'skill://holdfast+b/pdf/more.md',
      'skill://holdfast+b/pdf',
    ]);
    expect(index.resolve('skill://holdfast+b/pdf/more.md')).toEqual({
      server: 'b',
      uri: 'skill://pdf/more.md',
    });
    expect(shown('b', 'skill://own/x.md')).toBe('skill://own/x.md');
    expect(index.resolve('skill://own/x.md')?.server).toBe('b');
    expect(index.resolve('skill://other/x.md')?.server).toBe('a');
    expect(index.hasRewrites('c')).toBe(true);
  });

  it('stays with its server when an earlier one has it too, also after a restart', () => {
    const before = owners();
    before.listed('b', [], [], [main]);
    expect(before.resolve('skill://pdf/x.md')?.server).toBe('b');
    before.listed('a', [], [], [main]);
    expect(before.resolve('skill://pdf/x.md')?.server).toBe('b');
    const after = owners();
    after.recall(before.held());
    after.listed('a', [], [], [main]);
    expect(after.resolve('skill://pdf/x.md')?.server).toBe('b');
    after.listed('b', [], [], [main]);
    expect(after.exposed('a', main)).toBe('skill://holdfast+a/pdf/SKILL.md');
  });

  it('is found however deep or odd an address is', () => {
    const index = owners();
    index.listed('b', [], [], ['skill://acme/team/pdf/SKILL.md', 'odd:skill']);
    expect(index.resolve('skill://acme/team/pdf/')?.server).toBe('b');
    expect(index.resolve('skill://acme/team')).toBeUndefined();
    expect(index.resolve('odd:skill/x')?.server).toBe('b');
    const deep = `skill://acme/team/pdf/${'x/'.repeat(100_000)}`;
    expect(index.resolve(deep)?.server === 'b').toBe(true);
    for (const uri of ['', '/', '://', 'skill://']) expect(index.resolve(uri)).toBeUndefined();
  });
});

describe('servers that come, go and change places', () => {
  it('take nothing from those that have shown it #live-config', () => {
    const uris = new UriOwners(['b']);
    uris.listed('b', ['x:1'], ['f:///{p}']);
    expect(uris.exposed('b', 'x:1')).toBe('x:1');
    uris.reorder(['a', 'b']);
    uris.listed('a', ['x:1'], ['f:///{q}']);
    expect(uris.exposed('b', 'x:1')).toBe('x:1');
    expect(uris.exposedTemplate('b', 'f:///{p}')).toBe('f:///{p}');
    const other = uris.exposed('a', 'x:1');
    expect(other).not.toBe('x:1');
    expect(uris.resolve(other)).toEqual({ server: 'a', uri: 'x:1' });
    expect(uris.hasRewrites('a')).toBe(true);
  });

  it('keep what they had in the order of before, however often it changes #live-config', () => {
    const uris = new UriOwners(['a', 'b', 'c']);
    for (const server of ['c', 'b', 'a']) uris.listed(server, ['x:1'], ['f:///{p}']);
    expect(uris.exposed('a', 'x:1')).toBe('x:1');
    for (const order of ['c b a', 'b a c', 'a c b', 'c a b']) {
      uris.reorder(order.split(' '));
      expect(uris.resolve('x:1')?.server).toBe('a');
      expect(uris.exposedTemplate('a', 'f:///{p}')).toBe('f:///{p}');
      expect(uris.exposedTemplate('b', 'f:///{p}')).not.toBe('f:///{p}');
    }
    // The next in line is the one that was the next before.
    uris.listed('a', [], []);
    expect(uris.resolve('x:1')?.server).toBe('b');
    expect(uris.exposedTemplate('b', 'f:///{p}')).toBe('f:///{p}');
    expect(uris.held()).toEqual([{ server: 'b', uris: ['x:1', 'f:///{p}'] }]);
  });

  it('leave what was theirs to the others, and nothing behind #live-config', () => {
    const uris = new UriOwners(['a', 'b']);
    uris.listed('a', ['x:1'], []);
    uris.listed('b', ['x:1'], []);
    uris.returned('a', 'y:1');
    const rewritten = uris.exposed('b', 'x:1');
    uris.reorder(['b', 'c']);
    expect(uris.exposed('b', 'x:1')).toBe('x:1');
    expect(uris.hasRewrites('b')).toBe(false);
    expect(uris.resolve('y:1')).toBeUndefined();
    // What a client was shown of it still leads to the same server.
    expect(uris.resolve(rewritten)).toEqual({ server: 'b', uri: 'x:1' });
    uris.reorder(['a', 'b', 'c']);
    expect(uris.resolve('y:1')).toBeUndefined();
  });

  it('do not make another the owner of what the only server has returned #live-config', () => {
    const uris = new UriOwners(['a']);
    expect(uris.resolve('any:1')).toEqual({ server: 'a', uri: 'any:1' });
    uris.reorder(['a', 'b']);
    expect(uris.resolve('any:1')).toBeUndefined();
    expect(uris.firstServer('any:1')).toEqual({ server: 'a', uri: 'any:1' });
    uris.reorder(['b', 'c']);
    expect(uris.firstServer('any:1')).toBeUndefined();
  });

  it('may still be answering when they are gone #live-config', () => {
    const uris = owners();
    uris.listed('a', ['x:1'], []);
    expect(uris.exposed('z', 'y:1')).toBe('y:1');
    const shown = uris.exposed('z', 'x:1');
    expect(shown).not.toBe('x:1');
    expect(uris.resolve(shown)).toBeUndefined();
    expect(() => uris.returned('z', 'x:1')).not.toThrow();
    expect(uris.hasRewrites('z')).toBe(true);
    expect(() => uris.listed('z', [], [])).toThrow(RangeError);
  });
});
