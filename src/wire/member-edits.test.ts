import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type MemberChanges, memberEdits } from './member-edits.ts';
import { objectAt } from './parts.ts';
import { splice } from './splice.ts';

function changed(text: string, changes: MemberChanges): string {
  const bytes = Buffer.from(text);
  const object = objectAt(bytes, { start: 0, end: bytes.length });
  if (object === undefined) throw new Error('not an object');
  return splice(bytes, memberEdits(object, changes)).toString();
}

describe('memberEdits', () => {
  test('sets a member in its place and leaves the others as they are written', () => {
    expect(changed('{ "name" : "a" , "x":1.0 }', { name: '"b"' })).toBe(
      '{ "name" : "b" , "x":1.0 }',
    );
  });

  test('adds members behind the last one', () => {
    expect(changed('{"x":1}', { name: '"a"', uri: '"b"' })).toBe('{"x":1,"name":"a","uri":"b"}');
    expect(changed('{ }', { name: '"a"', uri: Buffer.from('"b"') })).toBe(
      '{"name":"a","uri":"b" }',
    );
  });

  test('removes a member with one comma, at any position', () => {
    const text = '{"name":1, "uri":2, "cursor":3}';
    expect(changed(text, { name: null })).toBe('{"uri":2, "cursor":3}');
    expect(changed(text, { uri: null })).toBe('{"name":1, "cursor":3}');
    expect(changed(text, { cursor: null })).toBe('{"name":1, "uri":2}');
    expect(changed(text, { name: null, uri: null, cursor: null })).toBe('{}');
    expect(changed(text, { level: null })).toBe(text);
  });

  test('finds a key that PHP wrote', () => {
    expect(
      changed('{"holdfast\\/idempotencyKey":"k","x":1}', { 'holdfast/idempotencyKey': null }),
    ).toBe('{"x":1}');
  });

  test('does the same as changing the parsed object, for any changes at once', () => {
    const keys = ['name', 'uri', 'cursor', 'level', 'ref', 'task'] as const;
    const property = fc.property(
      fc.uniqueArray(fc.constantFrom(...keys, 'other', '"q"'), { maxLength: 8 }),
      fc.dictionary(fc.constantFrom(...keys), fc.constantFrom('1', '"two"', '[3]', null)),
      fc.boolean(),
      (present, changes, isSpaced) => {
        const before = Object.fromEntries(present.map((key, index) => [key, index]));
        const expected: Record<string, unknown> = { ...before };
        for (const [key, value] of Object.entries(changes)) {
          if (value === null) delete expected[key];
          else expected[key] = JSON.parse(value);
        }
        const text = JSON.stringify(before, null, isSpaced ? 2 : 0);
        expect(JSON.parse(changed(text, changes))).toEqual(expected);
      },
    );
    fc.assert(property, { numRuns: 1000 });
  });
});
