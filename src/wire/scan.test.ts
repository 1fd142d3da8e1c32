import { describe, expect, test } from 'vitest';
import { valueOf as parsed, textOf } from './decode.ts';
import { scanMessage } from './scan.ts';
import { splice } from './splice.ts';
import { WireError } from './wire-error.ts';

const scan = (text: string) => scanMessage(Buffer.from(text));

/** The reason of the refusal, with the id it can be answered with. */
function refusalOf(text: string | Buffer): string {
  try {
    scanMessage(Buffer.from(text as string));
  } catch (error) {
    if (error instanceof WireError)
      return `${error.rpcCode} ${error.reason} ${JSON.stringify(error.id)}`;
    throw error;
  }
  return 'accepted';
}

describe('scanMessage', () => {
  test('reads a request', () => {
    const message = scan(
      ' {"jsonrpc":"2.0", "id" : 7 ,"method":"tools\\/call","params":{"name":"echo","arguments":{"a":1},"_meta":{"progressToken":"t"}}}\r\n',
    );
    expect(message).toMatchObject({ kind: 'request', id: 7, method: 'tools/call' });
    const { bytes, paramsObject, meta, idSpan } = message;
    expect(bytes.toString('utf8', idSpan?.start, idSpan?.end)).toBe('7');
    expect(message.params).toBe(paramsObject);
    expect(paramsObject?.keys()).toEqual(['name', 'arguments', '_meta']);
    const args = paramsObject?.get('arguments');
    expect(args && bytes.toString('utf8', args.start, args.end)).toBe('{"a":1}');
    expect(paramsObject?.get('_meta')).toBe(meta);
    const token = meta?.get('progressToken');
    expect(token && textOf(bytes, token)).toBe('t');
    expect(paramsObject?.get('uri')).toBeUndefined();
  });

  test('reads a notification, with params, without, and with params that are no object', () => {
    expect(scan('{"jsonrpc":"2.0","method":"a"}')).toMatchObject({
      kind: 'notification',
      id: undefined,
      idSpan: undefined,
      params: undefined,
    });
    const message = scan('{"jsonrpc":"2.0","method":"a","params":[1]}');
    expect(message.paramsObject).toBeUndefined();
    expect(message.params && parsed(message.bytes, message.params)).toEqual([1]);
  });

  test('reads a result of any kind of value', () => {
    const message = scan('{"result":{"isError":true,"_meta":{}},"jsonrpc":"2.0","id":"x"}');
    expect(message).toMatchObject({ kind: 'result', id: 'x', method: undefined });
    expect(message.resultObject?.keys()).toEqual(['isError', '_meta']);
    expect(message.meta).toBe(message.resultObject?.get('_meta'));
    expect(scan('{"jsonrpc":"2.0","id":1,"result":null}').kind).toBe('result');
    expect(scan('{"jsonrpc":"2.0","id":1,"result":null}').resultObject).toBeUndefined();
  });

  test('reads an error, with an id, with null, and without one', () => {
    const error = '"error":{"code":-1,"message":"no"}';
    const message = scan(`{"jsonrpc":"2.0","id":1,${error}}`);
    expect(message).toMatchObject({ kind: 'error', id: 1, meta: undefined });
    expect(message.errorObject?.keys()).toEqual(['code', 'message']);
    expect(scan(`{"jsonrpc":"2.0","id":null,${error}}`).id).toBeNull();
    expect(scan(`{"jsonrpc":"2.0",${error}}`).id).toBeUndefined();
  });

  test('takes _meta from the result of a response, whatever else it has', () => {
    const message = scan(
      '{"jsonrpc":"2.0","id":1,"params":{"_meta":{"a":1}},"result":{"_meta":{"b":1}}}',
    );
    expect(message.meta?.keys()).toEqual(['b']);
  });

  test('lets unknown members of the message pass', () => {
    expect(scan('{"jsonrpc":"2.0","method":"a","extra":{"x":1,"x":2}}').kind).toBe('notification');
  });

  test('refuses bytes that are not JSON with -32700', () => {
    for (const [text, reason] of [
      ['', 'unexpected-end'],
      ['Server listening on stdio', 'unexpected-byte'],
      ['{"jsonrpc":"2.0","method":"a"', 'unexpected-end'],
      ['{"jsonrpc":"2.0","method":"a"}}', 'trailing-bytes'],
      ['{"jsonrpc":"2.0","method":"a",}', 'unexpected-byte'],
      ['{"jsonrpc":"2.0","method":"a" "id":1}', 'unexpected-byte'],
      ['{"jsonrpc":"2.0","method":}', 'unexpected-byte'],
      ['{"jsonrpc"', 'unexpected-end'],
      ['{', 'unexpected-end'],
      ['[1', 'unexpected-end'],
      ['\ufeff{"jsonrpc":"2.0","method":"a"}', 'byte-order-mark'],
      ['{"jsonrpc":"2.0","method":"a\n"}', 'control-character'],
      ['{"jsonrpc":"2.0","\tmethod":"a"}', 'control-character'],
    ] as const) {
      expect(refusalOf(text), text).toBe(`-32700 ${reason} null`);
    }
    const invalid = Buffer.from('{"jsonrpc":"2.0","method":"a","params":{"x":"\xff"}}', 'latin1');
    expect(refusalOf(invalid)).toBe('-32700 invalid-utf8 null');
  });

  test('keeps to the depth it is given, in what it reads and in what it passes over', () => {
    const deep = (depth: number) => {
      const inner = '['.repeat(depth - 2) + ']'.repeat(depth - 2);
      return Buffer.from(`{"jsonrpc":"2.0","method":"a","params":{"x":${inner}}}`);
    };
    expect(() => scanMessage(deep(512))).not.toThrow();
    expect(() => scanMessage(deep(513))).toThrow(expect.objectContaining({ reason: 'too-deep' }));
    expect(() => scanMessage(deep(3000), { maxDepth: 3000 })).not.toThrow();
    expect(() => scanMessage(deep(3001), { maxDepth: 3000 })).toThrow(WireError);
    expect(() => scanMessage(deep(2), { maxDepth: 1 })).toThrow(WireError);
  });

  test('refuses what is JSON but no message with -32600', () => {
    for (const [text, reason] of [
      ['[{"jsonrpc":"2.0","method":"a"}]', 'batch'],
      ['"text"', 'not-an-object'],
      ['5', 'not-an-object'],
      ['{}', 'bad-version'],
      ['{"method":"a"}', 'bad-version'],
      ['{"jsonrpc":2.0,"method":"a"}', 'bad-version'],
      ['{"jsonrpc":"2.1","method":"a"}', 'bad-version'],
      ['{"jsonrpc":"2.0 ","method":"a"}', 'bad-version'],
      ['{"jsonrpc":"\\u0032.0","method":"a"}', 'bad-version'],
      ['{"jsonrpc":"2.0"}', 'bad-shape'],
      ['{"jsonrpc":"2.0","result":{}}', 'bad-shape'],
      ['{"jsonrpc":"2.0","method":"a","result":{}}', 'bad-shape'],
      ['{"jsonrpc":"2.0","method":"a","error":{}}', 'bad-shape'],
      ['{"jsonrpc":"2.0","method":5}', 'bad-method'],
      ['{"jsonrpc":"2.0","id":null,"method":"a"}', 'bad-id'],
      ['{"jsonrpc":"2.0","id":null,"result":{}}', 'bad-id'],
      ['{"jsonrpc":"2.0","id":1.0,"method":"a"}', 'bad-id'],
      ['{"jsonrpc":"2.0","id":1e3,"method":"a"}', 'bad-id'],
      ['{"jsonrpc":"2.0","id":9007199254740993,"method":"a"}', 'bad-id'],
      ['{"jsonrpc":"2.0","id":{},"error":{}}', 'bad-id'],
    ] as const) {
      expect(refusalOf(text), text).toBe(`-32600 ${reason} null`);
    }
  });

  test('says which id a refusal can be answered with', () => {
    expect(refusalOf('{"jsonrpc":"1.0","id":7,"method":"a"}')).toBe('-32600 bad-version 7');
    expect(refusalOf('{"jsonrpc":"2.0","id":"x","result":1,"error":1}')).toBe(
      '-32600 bad-shape "x"',
    );
    expect(refusalOf('{"jsonrpc":"2.0","id":7,"method":"a","params":{"name":1,"name":2}}')).toBe(
      '-32600 duplicate-key 7',
    );
    expect(refusalOf('{"jsonrpc":"2.0","id":7,"id":8,"method":"a"}')).toBe(
      '-32600 duplicate-key null',
    );
    expect(refusalOf('{"jsonrpc":"2.0","id":7,"\\u0069d":8,"method":"a"}')).toMatch(/null$/);
  });

  test('gives no id where a second one may be among members that were not read', () => {
    const many = Array.from({ length: 16_384 }, (_, at) => `"k${at}":0`).join(',');
    expect(refusalOf(`{"id":7,${many},"id":8}`)).toBe('-32600 too-many-members null');
    const params = `{"jsonrpc":"2.0","id":7,"method":"a","params":{${many},"k":0}}`;
    expect(refusalOf(params)).toBe('-32600 too-many-members 7');
  });
});

describe('byte fidelity', () => {
  const awkward = [
    '9007199254740993',
    '1.0',
    '1e400',
    '-0',
    '"\\ud800"',
    '"\\uDC00\\ud800"',
    '"\\u0041\\/"',
    '{"a":1,"a":2,"\\u0061":3}',
    '{"jsonrpc":"2.0","jsonrpc":"2.0","id":1,"id":2}',
    '{"__proto__":{"a":1}}',
    '[ 1 ,\t2 ]',
  ];

  test('every byte outside the edit survives, in requests and in results', () => {
    for (const value of awkward) {
      for (const rest of [
        `"method":"tools/call","params":{"name":"x","arguments":{"v":${value}},"unknown":${value}}}`,
        `"result":{"content":[${value}],"structuredContent":${value},"unknown":${value}},"x":${value}}`,
        `"error":{"code":-1,"message":"m","data":${value}}}`,
      ]) {
        const { bytes, idSpan } = scan(`{"jsonrpc":"2.0","id":"abc",${rest}`);
        const { start, end } = idSpan ?? { start: 0, end: 0 };
        const edited = splice(bytes, [{ start, end, with: '17' }]);
        expect(edited.toString()).toBe(`{"jsonrpc":"2.0","id":17,${rest}`);
        expect(scanMessage(edited).id).toBe(17);
      }
    }
  });
});
