import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { scanMessage } from '../wire/scan.ts';
import { readCallTool } from './call-tool.ts';

function frame(args: string): Buffer {
  return Buffer.from(
    `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"call_tool"${args}}}`,
  );
}

function read(args: string) {
  const { bytes, paramsObject } = scanMessage(frame(`,"arguments":${args}`));
  const question = readCallTool(bytes, paramsObject?.get('arguments'));
  if (question.kind === 'invalid') return question.message;
  const inner = question.arguments;
  return { name: question.name, inner: inner && bytes.toString('utf8', inner.start, inner.end) };
}

describe('a call inside call_tool', () => {
  test('is a name and the arguments as they were written', () => {
    const inner = '{ "id": 9007199254740993, "x": 1.0, "x": "\\u0041" }';
    expect(read(`{"name":"docs__find","arguments":${inner}}`)).toEqual({
      name: 'docs__find',
      inner,
    });
  });

  test('may have its members in any order, and a name with escapes', () => {
    expect(read('{"arguments":{},"name":"docs__f\\u0069nd"}')).toEqual({
      name: 'docs__find',
      inner: '{}',
    });
  });

  test('may have no arguments', () => {
    expect(read('{"name":"docs__find"}')).toEqual({ name: 'docs__find', inner: undefined });
  });

  test('keeps every byte of its arguments', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (value) => {
        const inner = JSON.stringify(value, null, 1);
        expect(read(`{"name":"a","arguments":${inner}}`)).toEqual({ name: 'a', inner });
      }),
    );
  });
});

describe('what is not a call', () => {
  test('is call_tool without arguments', () => {
    const { bytes } = scanMessage(frame(''));
    expect(readCallTool(bytes, undefined)).toEqual({
      kind: 'invalid',
      message: 'call_tool: the arguments must be an object: {"name": "…", "arguments": {…}}',
    });
  });

  test.each([
    ['[]', 'the arguments must be an object: {"name": "…", "arguments": {…}}'],
    [
      '{}',
      'the argument "name" is missing; it must be the name of a tool as returned by search_tools',
    ],
    [
      '{"name":""}',
      'the argument "name" is an empty text; it must be the name of a tool as returned by search_tools',
    ],
    [
      '{"name":7}',
      'the argument "name" is a number; it must be the name of a tool as returned by search_tools',
    ],
    [
      '{"name":"a","arguments":"{\\"path\\":1}"}',
      'the argument "arguments" is a text; it must be an object, written as such: {"name": "…", "arguments": {…}}',
    ],
    [
      '{"name":"a","arguments":null}',
      'the argument "arguments" is null; it must be an object, written as such: {"name": "…", "arguments": {…}}',
    ],
    [
      '{"name":"a","path":"/tmp"}',
      'there is no argument "path"; what the called tool takes goes inside "arguments": {"name": "…", "arguments": {…}}',
    ],
    ['{"name":"a","name":"b"}', 'the arguments were refused: this key occurs twice in its object'],
    ['{"n\\u0061me":"b"}', 'the arguments were refused: this key must be written without escapes'],
  ])('%s is refused with what is allowed', (args, complaint) => {
    expect(read(args)).toBe(`call_tool: ${complaint}`);
  });
});
