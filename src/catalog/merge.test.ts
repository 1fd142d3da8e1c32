import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Era } from '../wire/eras.ts';
import { Cursors, type ListName } from './cursors.ts';
import { readDefinitions } from './definitions.ts';
import { type ListPart, type ListView, listResult } from './merge.ts';

const cursors = new Cursors(Buffer.alloc(32, 1)).of('');

function part(server: string, array: string, list: ListName, facts: Partial<ListPart> = {}) {
  const bytes = Buffer.from(array);
  const { definitions } = readDefinitions(bytes, { start: 0, end: bytes.length }, list);
  return { server, definitions, ttlMs: 1_000, scope: 'public', ...facts } as const;
}

const tool = (name: string, rest = '') =>
  `{"name":"${name}","inputSchema":{"type":"object"}${rest}}`;

function view(parts: readonly ListPart[], facts: Partial<ListView> = {}): ListView {
  return {
    list: 'tools',
    parts,
    isFiltered: false,
    expose: (server, key) => `${server}__${key}`,
    cursors,
    maxItems: 100,
    ...facts,
  };
}

function text(of: ListView, era: Era = 'legacy', cursor?: string): string | undefined {
  return listResult(of, era, cursor)?.toString();
}

const tools = (server: string, names: readonly string[], facts: Partial<ListPart> = {}) =>
  part(server, `[${names.map((name) => tool(name)).join()}]`, 'tools', facts);

describe('a merged list', () => {
  it('has the servers in their order and every byte but the names as it came', () => {
    const odd =
      '[ {"x":1.0,\n "name" : "a\\u0062" ,"inputSchema":{"type":"object","type":"object"}} ]';
    const merged = text(view([part('b', odd, 'tools'), tools('a', ['z', 'y'])]));
    expect(merged).toBe(
      `{"tools":[{"x":1.0,\n "name" : "b__ab" ,"inputSchema":{"type":"object","type":"object"}},${tool('a__z')},${tool('a__y')}]}`,
    );
  });

  it('says in the modern era how long it holds and for whom', () => {
    const parts = [tools('a', ['x'], { ttlMs: 500.9 }), tools('b', [])];
    const expected = (ttlMs: number, scope: string) =>
      `{"resultType":"complete","tools":[${tool('a__x')}],"ttlMs":${ttlMs},"cacheScope":"${scope}"}`;
    expect(text(view(parts), 'modern')).toBe(expected(500, 'public'));
    expect(text(view(parts, { isFiltered: true }), 'modern')).toBe(expected(500, 'private'));
    const endless = [tools('a', ['x'], { ttlMs: Number.POSITIVE_INFINITY })];
    expect(text(view(endless), 'modern')).toBe(expected(86_400_000, 'public'));
    const unknown = [...parts, tools('c', [], { ttlMs: Number.NaN })];
    expect(text(view(unknown), 'modern')).toBe(expected(0, 'public'));
    const withPrivate = [...parts, tools('c', [], { scope: 'private', ttlMs: -1 })];
    expect(text(view(withPrivate), 'modern')).toBe(expected(0, 'private'));
  });

  it('is empty if there is nothing', () => {
    expect(text(view([]))).toBe('{"tools":[]}');
    expect(text(view([]), 'modern')).toBe(
      '{"resultType":"complete","tools":[],"ttlMs":0,"cacheScope":"public"}',
    );
  });

  it('keeps the spelling of a name that stays', () => {
    const array = '[{"name":"\\u0061"}]';
    const same = view([part('a', array, 'prompts')], { list: 'prompts', expose: (_, key) => key });
    expect(text(same)).toBe(`{"prompts":${array}}`);
  });

  it('leaves out what has no name', () => {
    const expose = (_: string, key: string) => (key === 'x' ? undefined : key);
    expect(text(view([tools('a', ['x', 'y'])], { expose }))).toBe(`{"tools":[${tool('y')}]}`);
  });

  it('puts in URIs and templates', () => {
    const resources = part('a', '[{"uri":"x:1","name":"n"}]', 'resources');
    const expose = (server: string, key: string) => `holdfast:${server}:${key}`;
    expect(text(view([resources], { list: 'resources', expose, exposeUri: expose }))).toBe(
      '{"resources":[{"uri":"holdfast:a:x:1","name":"n"}]}',
    );
    const templates = part('a', '[{"name":"n","uriTemplate":"x:{a}"}]', 'resourceTemplates');
    expect(text(view([templates], { list: 'resourceTemplates', expose }))).toBe(
      '{"resourceTemplates":[{"name":"n","uriTemplate":"holdfast:a:x:{a}"}]}',
    );
  });

  it('puts in the page of a tool, before and after its name', () => {
    const page = '"_meta":{"ui":{"resourceUri":"ui://p"}}';
    const schema = '"inputSchema":{"type":"object","uri":"ui://p"}';
    const array = `[{${page},"name":"x",${schema}},{"name":"y",${schema},${page}}]`;
    const exposeUri = (server: string, uri: string) => uri.replace('//', `//holdfast+${server}/`);
    const moved = page.replace('//', '//holdfast+a/');
    expect(text(view([part('a', array, 'tools')], { exposeUri }))).toBe(
      `{"tools":[{${moved},"name":"a__x",${schema}},{"name":"a__y",${schema},${moved}}]}`,
    );
    expect(text(view([part('a', array, 'tools')]))).toContain(page);
  });
});

describe('the pages of a merged list', () => {
  const parts = [tools('a', ['1', '2', '3']), tools('b', []), tools('c', ['1', '2'])];

  function names(of: ListView, cursor?: string): { names: string[]; next: string | undefined } {
    const result = text(of, 'legacy', cursor);
    if (result === undefined) throw new Error('the cursor was refused');
    const { tools: listed, nextCursor } = JSON.parse(result);
    return { names: listed.map((one: { name: string }) => one.name), next: nextCursor };
  }

  it('end where the list does', () => {
    const first = names(view(parts, { maxItems: 3 }));
    expect(first.names).toEqual(['a__1', 'a__2', 'a__3']);
    const second = names(view(parts, { maxItems: 3 }), first.next);
    expect(second).toEqual({ names: ['c__1', 'c__2'], next: undefined });
    expect(names(view(parts, { maxItems: 5 })).next).toBeUndefined();
    expect(names(view(parts, { maxItems: 0 })).names).toEqual(['a__1']);
  });

  it('go on where they were although the list has changed', () => {
    const { next } = names(view(parts, { maxItems: 2 }));
    const goingOn = (changed: readonly string[]) =>
      names(view([tools('a', changed), ...parts.slice(1)], { maxItems: 1 }), next).names;
    expect(goingOn(['0', '1', '2', '3'])).toEqual(['a__3']);
    expect(goingOn(['2', '1', '3'])).toEqual(['a__1']);
    expect(goingOn(['1', '3'])).toEqual(['a__3']);
    expect(goingOn([])).toEqual(['c__1']);
  });

  it('do not begin at a cursor from elsewhere', () => {
    const { next } = names(view(parts, { maxItems: 1 }));
    for (const cursor of ['', 'x', `${next}x`]) {
      expect(listResult(view(parts), 'modern', cursor)).toBeUndefined();
    }
    expect(listResult(view(parts, { list: 'prompts' }), 'legacy', next)).toBeUndefined();
    expect(listResult(view(parts.slice(1)), 'legacy', next)).toBeUndefined();
  });

  it('together are the whole list, in order, byte for byte', () => {
    const name = fc.string({ unit: 'binary', minLength: 1, maxLength: 6 });
    const list = fc.uniqueArray(name, { maxLength: 6 });
    const property = fc.property(
      fc.uniqueArray(fc.record({ server: fc.constantFrom(...'abcd'), list }), {
        selector: ({ server }) => server,
        maxLength: 4,
      }),
      fc.integer({ min: 1, max: 5 }),
      fc.integer({ min: 2, max: 7 }),
      (servers, maxItems, hiddenLength) => {
        const all = servers.map(({ server, list: keys }) => {
          const items = keys.map((key) => ({ description: '\u00e9', name: key }));
          return part(server, JSON.stringify(items, null, 1), 'prompts');
        });
        const expose = (server: string, key: string) =>
          key.length === hiddenLength ? undefined : `${server}__${key}`;
        const expected = servers.flatMap(({ server, list: keys }) =>
          keys.flatMap((key) => expose(server, key) ?? []),
        );
        const of = view(all, { list: 'prompts', expose, maxItems });
        const whole = JSON.parse(text({ ...of, maxItems: 1_000 }) ?? '').prompts;
        expect(whole).toEqual(expected.map((key) => ({ description: '\u00e9', name: key })));
        const paged: unknown[] = [];
        let cursor: string | undefined;
        do {
          const { prompts, nextCursor } = JSON.parse(text(of, 'modern', cursor) ?? '');
          expect(prompts.length).toBe(Math.min(maxItems, whole.length - paged.length));
          paged.push(...prompts);
          cursor = nextCursor;
        } while (cursor !== undefined);
        expect(paged).toEqual(whole);
      },
    );
    fc.assert(property, { numRuns: 100 });
  });
});
