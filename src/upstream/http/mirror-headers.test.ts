import { describe, expect, it } from 'vitest';
import { markedSchema as schema } from '../../../test/support/marked-schema.ts';
import { paramHeaders } from './mirror-headers.ts';

const base64 = (text: string) => `=?base64?${Buffer.from(text).toString('base64')}?=`;

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

  it('are none for a schema and arguments without end', () => {
    const loop: Record<string, unknown> = { type: 'object' };
    loop['properties'] = { again: loop };
    const value: Record<string, unknown> = {};
    value['again'] = value;
    expect(paramHeaders(loop, value)).toBeUndefined();
  });
});
