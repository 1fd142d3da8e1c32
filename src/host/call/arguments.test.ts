import { describe, expect, it } from 'vitest';
import { argumentsFromText, argumentsFromValue } from './arguments.ts';

describe('arguments as text or bytes', () => {
  it.each([
    '{}',
    '{"n":9007199254740993,"x":1.0,"e":1e400,"z":-0}',
    '{"a":1,"a":2}',
    '  {"deep":{"b":[1,2,{"c":null}]}} ',
    '{"text":"a\\nb é \\ud83d\\ude00 😀 \\ud800"}',
  ])('cross as they are: %s', (text) => {
    expect(argumentsFromText(text).toString()).toBe(text);
    expect(argumentsFromText(Buffer.from(text)).toString()).toBe(text);
    expect(argumentsFromText(new TextEncoder().encode(text)).toString()).toBe(text);
  });

  it('are read from where they stand in their memory', () => {
    const bytes = new TextEncoder().encode('xx{"a":1}yy').subarray(2, 9);
    expect(argumentsFromText(bytes).toString()).toBe('{"a":1}');
  });

  it('lose the line breaks between their tokens, which could end a frame, and keep those inside strings', () => {
    const bytes = argumentsFromText('{\r\n  "a":\n1,"b":"x\\ny"\n}');
    expect(bytes.includes('\n')).toBe(false);
    expect(bytes.includes('\r')).toBe(false);
    expect(JSON.parse(bytes.toString())).toEqual({ a: 1, b: 'x\ny' });
  });

  it('do not change what the caller gave', () => {
    const given = Buffer.from('{"a":\n1}');
    argumentsFromText(given);
    expect(given.toString()).toBe('{"a":\n1}');
  });

  it.each([
    '',
    ' ',
    '{',
    '{"a":}',
    '{"a":1}{"b":2}',
    '{"a":1} x',
    "{'a':1}",
    '{"a":01}',
    'undefined',
    '{"a":"\n"}',
  ])('are refused when they are not JSON: %j', (text) => {
    expect(() => argumentsFromText(text)).toThrow(
      expect.objectContaining({
        code: 'invalid_request',
        message: expect.stringMatching(/not JSON.*at byte \d+/),
      }),
    );
  });

  it.each(['[]', '[{"a":1}]', 'null', '1', '"{}"', 'true'])(
    'are refused when they are not one object: %s',
    (text) => {
      expect(() => argumentsFromText(text)).toThrow(
        expect.objectContaining({
          code: 'invalid_request',
          message: expect.stringContaining('object'),
        }),
      );
    },
  );

  it('are refused rather than changed when a string holds half a character', () => {
    expect(() => argumentsFromText('{"a":"\ud800"}')).toThrow(
      expect.objectContaining({ code: 'invalid_request' }),
    );
    expect(argumentsFromText('{"a":"\ufffd"}').toString()).toBe('{"a":"\ufffd"}');
  });

  it('are refused when they are not UTF-8', () => {
    const broken = Buffer.concat([Buffer.from('{"a":"'), Buffer.from([0xff]), Buffer.from('"}')]);
    expect(() => argumentsFromText(broken)).toThrow(
      expect.objectContaining({ code: 'invalid_request' }),
    );
  });
});

describe('arguments as a value', () => {
  it('are written down once; none are an empty object', () => {
    expect(argumentsFromValue({ b: 1, a: [true, null], c: undefined })).toBe(
      '{"b":1,"a":[true,null]}',
    );
    expect(argumentsFromValue(undefined)).toBe('{}');
    expect(argumentsFromValue({ half: '\ud800' })).toBe('{"half":"\\ud800"}');
  });

  it.each([[[1]], [null], ['{}'], [1], [() => {}]])(
    'are refused when they are no object: %s',
    (value) => {
      expect(() => argumentsFromValue(value)).toThrow(
        expect.objectContaining({ code: 'invalid_request' }),
      );
    },
  );

  it('are refused when they cannot be written as an object', () => {
    const circle: Record<string, unknown> = {};
    circle['self'] = circle;
    for (const value of [
      circle,
      { big: 1n },
      { toJSON: () => 'text' },
      { toJSON: () => undefined },
    ]) {
      expect(() => argumentsFromValue(value)).toThrow(
        expect.objectContaining({ code: 'invalid_request' }),
      );
    }
  });
});
