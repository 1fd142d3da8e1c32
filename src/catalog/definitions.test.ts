import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ListName } from './cursors.ts';
import { distinctDefinitions, keyMembers, readDefinitions } from './definitions.ts';

const inputSchema = '"inputSchema":{"type":"object"}';

function read(list: ListName, array: string) {
  const bytes = Buffer.from(`{"x":${array}}`);
  return readDefinitions(bytes, { start: 5, end: bytes.length - 1 }, list);
}

/** The keys of those that are shown; what is wrong with the others. */
function judged(list: ListName, ...written: readonly unknown[]) {
  const { definitions, leftOut } = read(list, JSON.stringify(written));
  const words = leftOut.map((one) => ('member' in one ? `${one.name}.${one.member}` : one.kind));
  return { shown: definitions.map(({ key }) => key), words };
}

describe('reading definitions', () => {
  it('keeps the bytes, the key and the place of the key', () => {
    const written = [
      `{"title":"T" , "name": "a\\u0062",${inputSchema},"n":1.0}`,
      `{"name":"c",${inputSchema}}`,
    ];
    const { definitions, leftOut } = read('tools', `[ ${written.join(' , ')}]`);
    expect(leftOut).toEqual([]);
    const texts = definitions.map(({ bytes, start, end }) => bytes.toString('utf8', start, end));
    expect(texts).toEqual(written);
    const spelled = definitions.map(({ bytes, keySpan }) =>
      bytes.toString('utf8', keySpan.start, keySpan.end),
    );
    expect(spelled).toEqual(['"a\\u0062"', '"c"']);
    expect(definitions.map(({ key }) => key)).toEqual(['ab', 'c']);
    expect(definitions.map(({ tool }) => tool?.title)).toEqual(['T', undefined]);
  });

  it('does not hold on to the frame it came in', () => {
    const bytes = Buffer.from(`[{"name":"a",${inputSchema}}]`);
    const { definitions } = readDefinitions(bytes, { start: 0, end: bytes.length }, 'tools');
    bytes.fill(0);
    expect(definitions[0]?.bytes.toString()).toBe(`[{"name":"a",${inputSchema}}]`);
  });

  it('leaves out an invalid tool and keeps the others', () => {
    const { definitions, leftOut } = read(
      'tools',
      `[null,{"name":"a"},{"name":"b","name":"b",${inputSchema}},{"n\\u0061me":"c",${inputSchema}},
        {${inputSchema}},{"name":"d",${inputSchema}},{"name":"d",${inputSchema}}]`,
    );
    expect(definitions.map(({ key }) => key)).toEqual(['d']);
    expect(leftOut).toEqual([
      { kind: 'not_an_object', index: 0 },
      { kind: 'bad_member', index: 1, name: 'a', member: 'inputSchema' },
      { kind: 'ambiguous', index: 2, reason: 'duplicate-key' },
      { kind: 'ambiguous', index: 3, reason: 'escaped-key' },
      { kind: 'no_name', index: 4 },
      { kind: 'duplicate', index: 6, name: 'd' },
    ]);
  });

  it('leaves out a prompt without a name, or whose arguments have none', () => {
    const { shown, words } = judged(
      'prompts',
      { name: 'a' },
      { name: 'b', title: 'B', description: 'b', arguments: [{ name: 'x' }], _meta: {}, x: 1 },
      { name: '' },
      { name: 'c', title: 1 },
      { name: 'd', arguments: {} },
      { name: 'e', arguments: [{}] },
      { name: 'f', _meta: [] },
      7,
    );
    expect(shown).toEqual(['a', 'b']);
    const wrong = ['c.title', 'd.arguments', 'e.arguments', 'f._meta'];
    expect(words).toEqual(['no_name', ...wrong, 'not_an_object']);
  });

  it('leaves out a resource or a template without an address or a name', () => {
    const name = 'n';
    const resources = judged(
      'resources',
      { uri: 'x:1', name, size: 1, mimeType: 'text/plain', annotations: {} },
      { name },
      { uri: 'x:2' },
      { uri: 'x:3', name, size: '1' },
      { uri: 'x:4', name, mimeType: null },
      { uri: 'x:5', name, annotations: 'a' },
    );
    expect(resources.shown).toEqual(['x:1']);
    const wrong = ['x:2.name', 'x:3.size', 'x:4.mimeType', 'x:5.annotations'];
    expect(resources.words).toEqual(['no_name', ...wrong]);
    const templates = judged(
      'resourceTemplates',
      { uriTemplate: 'x:{a}', name },
      { uri: 'x', name },
    );
    expect(templates).toEqual({ shown: ['x:{a}'], words: ['no_name'] });
  });

  it.each(['null', '{}', '"tools"', '[]'])('reads none from %s', (array) => {
    expect(read('tools', array)).toEqual({ definitions: [], leftOut: [] });
  });

  it('keeps the first of each key over several pages', () => {
    const pages = ['first', 'second'].map(
      (title) => read('prompts', `[{"name":"a","title":"${title}"}]`).definitions,
    );
    const all = distinctDefinitions(pages.flat());
    expect(all.definitions).toEqual(pages[0]);
    expect(all.leftOut).toEqual([{ kind: 'duplicate', index: 1, name: 'a' }]);
  });

  it('judges each by itself, whatever the others are', () => {
    const member = fc.constantFrom('name', 'uri', 'uriTemplate', 'title', 'inputSchema', 'size');
    const value = fc.oneof(fc.constantFrom('a', 'b', '', 1, null, { type: 'object' }), fc.string());
    const definition = fc.oneof(fc.dictionary(member, value), fc.constantFrom(1, null, 'x', []));
    const lists = Object.keys(keyMembers) as ListName[];
    const property = fc.property(
      fc.array(definition, { maxLength: 5 }),
      fc.constantFrom(...lists),
      (all, list) => {
        const { shown, words } = judged(list, ...all);
        const alone = all.flatMap((one) => judged(list, one).shown);
        expect(shown).toEqual([...new Set(alone)]);
        expect(shown.length + words.length).toBe(all.length);
      },
    );
    fc.assert(property, { numRuns: 500 });
  });
});
