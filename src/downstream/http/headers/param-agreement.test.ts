import { describe, expect, it } from 'vitest';
import { markedSchema as schema } from '../../../../test/support/marked-schema.ts';
import { scanMessage } from '../../../wire/scan.ts';
import { WireError } from '../../../wire/wire-error.ts';
import { paramRefusal } from './param-agreement.ts';

const raw = (args: string) =>
  scanMessage(
    Buffer.from(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"arguments":${args}}}`),
  );
const call = (args: unknown) => raw(JSON.stringify(args));
const base64 = (text: string) => `=?base64?${Buffer.from(text).toString('base64')}?=`;

describe('the headers of arguments', () => {
  it('agree', () => {
    const headers = {
      'mcp-param-tenant-id': 'a',
      'mcp-param-limit': '42',
      'mcp-param-dry': 'false',
      'mcp-param-where': base64('é'),
    };
    const args = { tenant: 'a', limit: 42, dry: false, where: { id: 'é' }, note: 'x' };
    expect(paramRefusal(call(args), schema, headers)).toBeUndefined();
  });

  it.each([
    ['is missing', { tenant: 'a' }, {}],
    ['says something else', { tenant: 'a' }, { 'mcp-param-tenant-id': 'b' }],
    ['is sent twice', { tenant: 'a' }, { 'mcp-param-tenant-id': 'a, a' }],
    ['has another case', { tenant: 'a' }, { 'mcp-param-tenant-id': 'A' }],
    ['has broken padding', { tenant: 'Hello' }, { 'mcp-param-tenant-id': '=?base64?SGVsbG8?=' }],
    ['is not base64', { tenant: 'Hello' }, { 'mcp-param-tenant-id': '=?base64?SGVs!!!bG8=?=' }],
    ['is empty', { limit: 0 }, { 'mcp-param-limit': '' }],
    ['is another number', { limit: 42 }, { 'mcp-param-limit': '43' }],
    ['is the other truth', { dry: true }, { 'mcp-param-dry': 'false' }],
    ['is a number for a text', { tenant: '42' }, { 'mcp-param-tenant-id': '42.0' }],
    ['is of something deeper', { where: { id: 'x' } }, { 'mcp-param-where': 'y' }],
  ])('are refused where one %s', (_, args, headers) => {
    expect(paramRefusal(call(args), schema, headers)).toMatchObject({ code: -32020 });
  });

  it.each([
    ['without the marker as they stand', 'SGVsbG8=', 'SGVsbG8='],
    ['without the end of the marker as they stand', '=?base64?SGVsbG8=', '=?base64?SGVsbG8='],
    ['decoded', 'Hello', '=?base64?SGVsbG8=?='],
  ])('are compared %s', (_, tenant, header) => {
    const headers = { 'mcp-param-tenant-id': header };
    expect(paramRefusal(call({ tenant }), schema, headers)).toBeUndefined();
  });

  it('compare numbers by value, as far as a number can tell', () => {
    const limit = (value: string, header: string) =>
      paramRefusal(raw(`{"limit":${value}}`), schema, { 'mcp-param-limit': header });
    expect(limit('42', '42.0')).toBeUndefined();
    expect(limit('4.2e1', '42')).toBeUndefined();
    expect(limit('-7', '-7')).toBeUndefined();
    expect(limit('9007199254740993', '9007199254740993')).toBeUndefined();
    expect(limit('9007199254740993', '9007199254740992')).toMatchObject({ code: -32020 });
    expect(limit('42', '0x2a')).toMatchObject({ code: -32020 });
  });

  it.each([
    ['there are no arguments', scanMessage(Buffer.from('{"jsonrpc":"2.0","id":1,"method":"x"}'))],
    ['the argument is absent', call({})],
    ['the argument is null', call({ tenant: null })],
    ['the argument is no scalar', call({ tenant: ['a'], where: 'x' })],
    ['the arguments are no object', call([1])],
  ])('are not asked for where %s', (_, message) => {
    expect(paramRefusal(message, schema, {})).toBeUndefined();
  });

  it('are not compared with arguments that can be read in two ways', () => {
    const twice = raw('{"tenant":"a","tenant":"b"}');
    expect(() => paramRefusal(twice, schema, { 'mcp-param-tenant-id': 'a' })).toThrow(WireError);
    expect(paramRefusal(twice, { type: 'object' }, {})).toBeUndefined();
  });

  it('find a key that is written with escapes', () => {
    const message = raw('{"t\\u0065nant":"a"}');
    expect(paramRefusal(message, schema, {})).toMatchObject({ code: -32020 });
  });
});
