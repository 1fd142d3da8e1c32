import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { markedSchema as schema } from '../../test/support/marked-schema.ts';
import { hasBrokenMarks, headerValue, marksIn, mirroredValue } from './mirrored-headers.ts';

/** As the specification tells a server to read it. */
function decoded(value: string): string {
  const inside = /^=\?base64\?(.*)\?=$/.exec(value)?.[1];
  return inside === undefined ? value : Buffer.from(inside, 'base64').toString('utf8');
}

const base64 = (text: string) => `=?base64?${Buffer.from(text).toString('base64')}?=`;

describe('a header value', () => {
  it.each(['read_file', 'a b', 'x', '~!@#$%^&*()', '=?half', '?='])(
    'is plain where it can be: %s',
    (text) => {
      expect(headerValue(text)).toBe(text);
    },
  );

  it.each([
    '',
    ' lead',
    'trail ',
    'é',
    '日本',
    'line\nbreak',
    'tab\t',
    '\u007f',
    '=?base64?eA==?=',
  ])('goes in base64 where a header cannot carry it, or it looks like the marker: %j', (text) => {
    expect(headerValue(text)).toBe(base64(text));
  });

  it('is always printable ASCII without a line break, and reads back as what it was', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        const value = headerValue(text);
        expect(value).toMatch(/^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/);
        expect(decoded(value)).toBe(text);
        expect(mirroredValue(value)).toBe(text);
      }),
      { numRuns: 500 },
    );
  });
});

describe('the marks of a schema', () => {
  it('are found along properties only, once per schema', () => {
    const names = marksIn(schema).map(({ name }) => name);
    expect(names).toEqual(['Tenant-Id', 'x_region.v1', 'Limit', 'Dry', 'Where']);
    expect(marksIn(schema).at(-1)?.path).toEqual(['where', 'id']);
    expect(marksIn(schema)).toBe(marksIn(schema));
  });

  it('are found at any depth, and not inside lists', () => {
    const deep = { properties: { a: { properties: { b: { 'x-mcp-header': 'B' } } } } };
    expect(marksIn(deep)).toEqual([{ path: ['a', 'b'], name: 'B' }]);
    expect(marksIn({ properties: { a: { items: { 'x-mcp-header': 'B' } } } })).toEqual([]);
  });

  it.each([undefined, null, 1, 'x', [], {}, { properties: 5 }, { 'x-mcp-header': 'Root' }])(
    'are none in %j',
    (odd) => {
      expect(marksIn(odd)).toEqual([]);
    },
  );

  it.each(['a b', 'a:b', 'a\r\nEvil: 1', '', 'é'])('leave out a name no header has: %j', (name) => {
    expect(marksIn({ properties: { x: { 'x-mcp-header': name } } })).toEqual([]);
  });

  it('are not looked for without end', () => {
    const loop: Record<string, unknown> = {};
    loop['properties'] = { again: loop };
    expect(marksIn(loop)).toEqual([]);
  });
});

describe('a mark that the specification forbids', () => {
  const marked = (property: object) => ({ type: 'object', properties: { a: property } });

  it.each([
    ['has no name', marked({ type: 'string', 'x-mcp-header': '' })],
    ['has a name that is no token', marked({ type: 'string', 'x-mcp-header': 'a b' })],
    ['has a name that is no text', marked({ type: 'string', 'x-mcp-header': 7 })],
    ['is on a number', marked({ type: 'number', 'x-mcp-header': 'A' })],
    ['is on an object', marked({ type: 'object', 'x-mcp-header': 'A' })],
    ['is on the arguments themselves', { type: 'string', 'x-mcp-header': 'A' }],
    ['is inside a list', marked({ type: 'array', items: { type: 'string', 'x-mcp-header': 'A' } })],
    [
      'has the name of another in other letters',
      {
        type: 'object',
        properties: {
          a: { type: 'string', 'x-mcp-header': 'Id' },
          b: { type: 'string', 'x-mcp-header': 'iD' },
        },
      },
    ],
  ])('is one that %s', (_what, inputSchema) => {
    expect(hasBrokenMarks(inputSchema)).toBe(true);
  });

  it('is not a mark on text, whole numbers or booleans, at any depth, nor one in data', () => {
    const { list: _list, ...sound } = schema.properties;
    const data = { type: 'object', default: { 'x-mcp-header': '' } };
    expect(hasBrokenMarks({ ...schema, properties: { ...sound, data } })).toBe(false);
  });
});
