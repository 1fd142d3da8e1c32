import { describe, expect, it } from 'vitest';
import { bytesInUse } from '../../test/support/memory.ts';
import { Fault } from '../kernel/fault.ts';
import { documentFrom, parseDocument } from './document.ts';

const faultOf = (text: string) => {
  try {
    parseDocument(text, 'holdfast.json');
  } catch (error) {
    if (error instanceof Fault) return error;
  }
  return undefined;
};

describe('the text of a config file', () => {
  it('is not held by the values in it #no-growth', () => {
    const command = 'a text that is long enough to be cut out of another';
    const comment = `// ${'x'.repeat(262_144)}`;
    const before = bytesInUse();
    const values = Array.from({ length: 16 }, (_, n) => {
      return parseDocument(`{ "a": { "command": "${command} ${n}" } } ${comment}`, 'f').value;
    });
    const bytes = bytesInUse() - before;
    expect(values[15]).toEqual({ a: { command: `${command} 15` } });
    expect(bytes / values.length).toBeLessThan(65_536);
  });

  it('may hold comments and trailing commas', () => {
    const { value, problems } = parseDocument('{ // why\n "a": [1, 2,], /* b */ "c": {}, }', 'f');
    expect(value).toEqual({ a: [1, 2], c: {} });
    expect(problems).toEqual([]);
  });

  it.each([
    ['{\n  "a" 1\n}', '2:7', '":"'],
    ['{\n  "a": 1\n  "b": 2\n}', '3:3', '","'],
    ['{\n  a: 1\n}', '2:3', 'double quotes'],
    ['{ "a": [1, 2 }', '1:14', 'closing bracket'],
    ['{ "a": "x', '1:8', 'never closed'],
    ['{ "a": 1', '1:9', '"}"'],
    ['{ } {}', '1:5', 'end of the file'],
    ['{ "a": yes }', '1:8', 'true, false'],
  ])('with a syntax error in %j names the place and what is expected', (text, place, words) => {
    const fault = faultOf(text);
    expect(fault?.code).toBe('invalid_request');
    expect(fault?.message).toContain(`holdfast.json:${place}: `);
    expect(fault?.message).toContain(words);
    expect(fault?.message).not.toContain('\n');
  });

  it('may not give a key twice, however it is spelt', () => {
    const document = parseDocument('{\n "a": 1,\n "\\u0061": 2\n}', 'f');
    expect(document.problems).toMatchObject([
      { path: ['a'], text: expect.stringContaining('twice') },
    ]);
    expect(document.placeOf(['a'])).toBe('3:2');
  });

  it.each(['__proto__', 'constructor', 'prototype'])(
    'may not use the key %s at any depth',
    (key) => {
      const { value, problems } = parseDocument(`{ "a": [{ "${key}": { "x": 1 } }] }`, 'f');
      expect(problems).toMatchObject([{ path: ['a', 0, key] }]);
      expect(Object.getPrototypeOf(value)).toBeNull();
      expect(({} as { x?: unknown }).x).toBeUndefined();
    },
  );

  it('is refused without a crash when it is nested without end', () => {
    expect(faultOf('['.repeat(200_000))?.code).toBe('invalid_request');
    expect(parseDocument(`${'['.repeat(99)}${']'.repeat(99)}`, 'f').problems).toHaveLength(1);
    const wide = `${'['.repeat(65)}${'1,'.repeat(999)}${']'.repeat(65)}`;
    expect(parseDocument(wide, 'f').problems).toHaveLength(1);
    const most = `${'['.repeat(64)}1${']'.repeat(64)}`;
    expect(parseDocument(most, 'f').problems).toEqual([]);
  });

  it('gives the place of the nearest thing around a missing one', () => {
    const document = parseDocument('{\n  "a": {\n    "b": [1,\n 2]\n  }\n}', 'f');
    expect(document.placeOf(['a', 'b', 1])).toBe('4:2');
    expect(document.placeOf(['a', 'zzz', 'y'])).toBe('2:3');
    expect(document.placeOf([])).toBe('1:1');
  });
});

describe('a config given as an object', () => {
  it('is held to the same rules', () => {
    expect(documentFrom(JSON.parse('{"a":{"__proto__":{"x":1}}}')).problems).toMatchObject([
      { path: ['a', '__proto__'] },
    ]);
  });

  it('may be circular without harm', () => {
    const circle: { self?: unknown } = {};
    circle.self = circle;
    expect(documentFrom(circle).problems).toHaveLength(1);
  });
});
