import { describe, expect, test } from 'vitest';
import { objectAt } from './parts.ts';
import { memberKey } from './span.ts';

function objectFrom(text: string) {
  const bytes = Buffer.from(text);
  const object = objectAt(bytes, { start: 0, end: bytes.length });
  if (object === undefined) throw new Error('not an object');
  return { bytes, object };
}

describe('ObjectSpan', () => {
  test('finds members by their whole key', () => {
    const { bytes, object } = objectFrom('{ "name" : "a" ,"names":2,"nam":3,"NAME":4}');
    const name = object.get('name');
    expect(name && bytes.toString('utf8', name.start, name.end)).toBe('"a"');
    expect(object.get('uri')).toBeUndefined();
  });

  test('lists its members in the order of the document, keys decoded', () => {
    const { bytes, object } = objectFrom('{"b":1,"ü":{},"a\\/\\ud83e\\udd80":[2] }');
    expect(object.keys()).toEqual(['b', 'ü', 'a/🦀']);
    const members = object
      .members()
      .map((member) => [
        memberKey(bytes, member),
        bytes.toString('utf8', member.keyStart, member.keyEnd),
        bytes.toString('utf8', member.start, member.end),
      ]);
    expect(members).toEqual([
      ['b', 'b', '1'],
      ['ü', 'ü', '{}'],
      ['a/🦀', 'a\\/\\ud83e\\udd80', '[2]'],
    ]);
  });

  test('spans the braces', () => {
    expect(objectFrom('{"a":1}').object).toMatchObject({ start: 0, end: 7 });
    expect(objectFrom('{}').object.get('name')).toBeUndefined();
  });
});
