import { describe, expect, test } from 'vitest';
import {
  errorFrame,
  notificationFrame,
  requestFrame,
  resultFrame,
  toolCallParams,
} from './compose.ts';
import { scanMessage } from './scan.ts';

const awkward = '{"n":9007199254740993,"f":1.0,"big":1e400,"z":-0,"s":"\\ud800","d":1,"d":2}';

describe('composed frames', () => {
  test('carry their params verbatim, from bytes and from text', () => {
    const expected = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":${awkward}}\n`;
    expect(requestFrame(7, 'tools/call', Buffer.from(awkward)).toString()).toBe(expected);
    expect(requestFrame(7, 'tools/call', awkward).toString()).toBe(expected);
  });

  test('leave out what there is not', () => {
    expect(requestFrame(0, 'ping', undefined).toString()).toBe(
      '{"jsonrpc":"2.0","id":0,"method":"ping"}\n',
    );
    expect(notificationFrame('notifications/initialized', undefined).toString()).toBe(
      '{"jsonrpc":"2.0","method":"notifications/initialized"}\n',
    );
    expect(errorFrame(null, -32700, 'Parse error').toString()).toBe(
      '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}\n',
    );
  });

  test('are one line, even if what they carry has a whole message on a line of its own', () => {
    const smuggled = '{\r\n"a":\n{"jsonrpc":"2.0","id":9,"method":"evil"}\n}';
    const frames = [
      requestFrame(1, 'm', smuggled),
      requestFrame(1, 'm', Buffer.from(smuggled)),
      requestFrame(1, 'm', `{"ü":${smuggled}}`),
      notificationFrame('ü', Buffer.from(smuggled)),
      resultFrame('ü\n', smuggled),
      errorFrame(1, 2, 'a\nb', Buffer.from(smuggled)),
    ];
    for (const frame of frames) {
      expect(frame.indexOf(10)).toBe(frame.length - 1);
      expect(frame.includes(13)).toBe(false);
      expect(() => scanMessage(frame)).not.toThrow();
    }
    expect(JSON.parse(frames[0]?.toString() ?? '').params).toEqual(JSON.parse(smuggled));
  });

  test('are read back as what they were composed from', () => {
    const method = 'odd "method" \\ with ü and \u0001';
    expect(scanMessage(notificationFrame(method, '{"ü":"🦀"}')).method).toBe(method);
    expect(scanMessage(resultFrame('"id"\ud800', '{}')).id).toBe('"id"\ud800');
    expect(scanMessage(resultFrame(-5, '{}')).id).toBe(-5);
    const error = scanMessage(errorFrame('x', -32603, 'Internal\n"error"', '{"a":1}'));
    expect(JSON.parse(error.bytes.toString()).error).toEqual({
      code: -32603,
      message: 'Internal\n"error"',
      data: { a: 1 },
    });
  });

  test('keep a half character of a text apart from every other', () => {
    const frame = requestFrame(1, 'm', '{"a":"\ud800","b":"\udfff","c":"🦀"}');
    expect(JSON.parse(frame.toString()).params).toEqual({ a: '\ud800', b: '\udfff', c: '🦀' });
  });
});

describe('toolCallParams', () => {
  test('gives name, arguments and _meta, as far as there are any', () => {
    const meta = '{"progressToken":3}';
    expect(toolCallParams('echo', awkward, meta).toString()).toBe(
      `{"name":"echo","arguments":${awkward},"_meta":${meta}}`,
    );
    expect(toolCallParams('a"b', Buffer.from('{}'), undefined).toString()).toBe(
      '{"name":"a\\"b","arguments":{}}',
    );
    expect(toolCallParams('ü', undefined, meta).toString()).toBe(`{"name":"ü","_meta":${meta}}`);
    expect(toolCallParams('x', undefined, undefined).toString()).toBe('{"name":"x"}');
  });
});
