import { describe, expect, it } from 'vitest';
import { Fault } from '../kernel/fault.ts';
import { argumentSource } from './tool-arguments.ts';

const textOf = (...words: string[]) => {
  const source = argumentSource(words);
  return source.kind === 'text' ? source.text : source.kind;
};

describe('the arguments of a tool', () => {
  it('are an empty object where none are given', () => {
    expect(textOf()).toBe('{}');
  });

  it('are sent unchanged if they are one JSON object', () => {
    const text = ' {"b": 1.0,  "a":9007199254740993, "a": 2}';
    expect(textOf(text)).toBe(text);
  });

  it('come from standard input where they are a hyphen', () => {
    expect(argumentSource(['-'])).toEqual({ kind: 'stdin' });
  });

  it('take a value as JSON where it is JSON, in its own spelling', () => {
    expect(textOf('id=9007199254740993', 'x=1.0', 'all=true', 'no=null', 'list=[1, "a"]')).toBe(
      '{"id":9007199254740993,"x":1.0,"all":true,"no":null,"list":[1, "a"]}',
    );
  });

  it('take any other value as a string, with everything behind the first equals sign', () => {
    expect(textOf('path=a b', 'q=x=y', 'empty=', 'half={"a":', 'quoted="5"')).toBe(
      '{"path":"a b","q":"x=y","empty":"","half":"{\\"a\\":","quoted":"5"}',
    );
  });

  it('can have any key, which is quoted', () => {
    expect(textOf('a"b=1', 'c.d=2', '__proto__=3')).toBe('{"a\\"b":1,"c.d":2,"__proto__":3}');
  });

  it.each([
    [['word'], "'word' is neither"],
    [['=value'], "'=value' is neither"],
    [['[1]'], "'[1]' is neither"],
    [
      ['a=1', 'a=2', 'b=3'],
      `'a' is given twice; give it once, or as JSON if it is a list, such as a='["x","y"]'`,
    ],
    [['{}', 'a=1'], "'a=1' follows it"],
    [['-', 'a=1'], "'a=1' follows it"],
  ])('are refused where they are %j', (words, problem) => {
    expect(() => argumentSource(words)).toThrow(problem);
    expect(() => argumentSource(words)).toThrow(Fault);
  });
});
