import { describe, expect, test } from 'vitest';
import { textOf } from './decode.ts';
import { elementsAt, objectAt } from './parts.ts';
import { scanMessage } from './scan.ts';
import { WireError } from './wire-error.ts';

const whole = (bytes: Buffer) => ({ start: 0, end: bytes.length });

describe('looking into a scanned frame', () => {
  test('finds the tools of a list, and their names', () => {
    const bytes = Buffer.from(
      '{"jsonrpc":"2.0","id":1,"result":{"tools":[ {"name":"a"} , {"name":"b","x":{"name":"c"}}]}}',
    );
    const tools = scanMessage(bytes).resultObject?.get('tools');
    const elements = elementsAt(bytes, tools ?? whole(bytes)) ?? [];
    expect(elements.map(({ start, end }) => bytes.toString('utf8', start, end))).toEqual([
      '{"name":"a"}',
      '{"name":"b","x":{"name":"c"}}',
    ]);
    const names = elements.map((element) => objectAt(bytes, element)?.get('name'));
    expect(names.map((name) => name && textOf(bytes, name))).toEqual(['a', 'b']);
  });

  test('gives back an object that was read already', () => {
    const message = scanMessage(
      Buffer.from('{"jsonrpc":"2.0","method":"m","params":{"name":"a"}}'),
    );
    expect(message.params && objectAt(message.bytes, message.params)).toBe(message.paramsObject);
  });

  test('gives undefined for a value of another kind', () => {
    const bytes = Buffer.from('"text"');
    expect(objectAt(bytes, whole(bytes))).toBeUndefined();
    expect(elementsAt(bytes, whole(bytes))).toBeUndefined();
  });

  test('takes empty arrays and objects', () => {
    expect(elementsAt(Buffer.from('[ ]'), { start: 0, end: 3 })).toEqual([]);
    expect(objectAt(Buffer.from('{ }'), { start: 0, end: 3 })?.keys()).toEqual([]);
  });

  test('refuses an object that can be read in two ways', () => {
    for (const text of ['{"name":1,"name":2}', '{"n\\u0061me":1}', '{"x":1,"\\u0078":2}']) {
      expect(() => objectAt(Buffer.from(text), { start: 0, end: text.length })).toThrow(WireError);
    }
  });

  test('refuses an array that would cost too many spans', () => {
    const bytes = Buffer.from(`[${'1,'.repeat(65_536)}1]`);
    expect(() => elementsAt(bytes, whole(bytes))).toThrow(
      expect.objectContaining({ reason: 'too-many-elements' }),
    );
  });
});
