import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  hasBrokenParamHeaders,
  hasParamHeaders,
  headerValue,
  paramHeaders,
} from './mirror-headers.ts';

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
      }),
      { numRuns: 500 },
    );
  });
});

const schema = {
  type: 'object',
  properties: {
    tenant: { type: 'string', 'x-mcp-header': 'Tenant-Id' },
    region: { type: 'string', 'x-mcp-header': 'x_region.v1' },
    limit: { type: 'integer', 'x-mcp-header': 'Limit' },
    dry: { type: 'boolean', 'x-mcp-header': 'Dry' },
    where: { type: 'object', properties: { id: { type: 'string', 'x-mcp-header': 'Where' } } },
    note: { type: 'string' },
    list: { type: 'array', items: { type: 'string', 'x-mcp-header': 'Never' } },
  },
};

describe('the headers that mirror arguments', () => {
  it('are those the schema marks, by their values, at any depth', () => {
    const args = { tenant: 'a', region: 'eu', limit: 3, dry: false, where: { id: 'é' }, note: 'n' };
    expect(paramHeaders(schema, args)).toEqual({
      'mcp-param-tenant-id': 'a',
      'mcp-param-x_region.v1': 'eu',
      'mcp-param-limit': '3',
      'mcp-param-dry': 'false',
      'mcp-param-where': base64('é'),
    });
  });

  it.each([
    ['absent', {}],
    ['null', { tenant: null }],
    ['an object', { tenant: { a: 1 } }],
    ['an array', { tenant: ['a'], list: ['b'] }],
    ['a fraction', { limit: 1.5 }],
    ['beyond what a number can say exactly', { limit: 2 ** 53 }],
    ['inherited', Object.create({ tenant: 'a' })],
    ['inside something that is no object', { where: 'x' }],
  ])('leave out a value that is %s', (_name, args) => {
    expect(paramHeaders(schema, args)).toBeUndefined();
  });

  it.each(['a b', 'a:b', 'a\r\nEvil: 1', '', 'é', 'a/b'])(
    'leave out a name that no header can have: %j',
    (name) => {
      const marked = { properties: { x: { type: 'string', 'x-mcp-header': name } } };
      expect(paramHeaders(marked, { x: 'v' })).toBeUndefined();
    },
  );

  it('are looked for only where a schema marks something', () => {
    expect(hasParamHeaders(schema)).toBe(true);
    expect(
      hasParamHeaders({ properties: { a: { properties: { b: { 'x-mcp-header': 'B' } } } } }),
    ).toBe(true);
    expect(hasParamHeaders({ properties: { a: { type: 'string' } } })).toBe(false);
    expect(hasParamHeaders({ properties: { a: { items: { 'x-mcp-header': 'B' } } } })).toBe(false);
    for (const odd of [undefined, null, 1, 'x', []]) expect(hasParamHeaders(odd)).toBe(false);
  });

  it('are not looked for without end', () => {
    const loop: Record<string, unknown> = { type: 'object' };
    loop['properties'] = { again: loop };
    const value: Record<string, unknown> = {};
    value['again'] = value;
    expect(hasParamHeaders(loop)).toBe(false);
    expect(paramHeaders(loop, value)).toBeUndefined();
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
    expect(hasBrokenParamHeaders(inputSchema)).toBe(true);
  });

  it('is none on text, whole numbers and truth values, at any depth, nor in data', () => {
    const { list: _list, ...sound } = schema.properties;
    const data = { type: 'object', default: { 'x-mcp-header': '' } };
    expect(hasBrokenParamHeaders({ ...schema, properties: { ...sound, data } })).toBe(false);
  });
});
