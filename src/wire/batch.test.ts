import { describe, expect, test } from 'vitest';
import { maxBatch, scanBatch } from './batch.ts';

const refused = (reason: string, rpcCode: number) => expect.objectContaining({ reason, rpcCode });

describe('scanBatch', () => {
  test('gives the elements, without the space around them', () => {
    const elements = scanBatch(Buffer.from(' [ {"a":[1]} ,2,\n"x" ] \r\n'));
    expect(elements.map(String)).toEqual(['{"a":[1]}', '2', '"x"']);
    expect(scanBatch(Buffer.from('[]'))).toEqual([]);
  });

  test('refuses what is not an array, and what is not JSON', () => {
    expect(() => scanBatch(Buffer.from('{"a":1}'))).toThrow(refused('not-a-batch', -32600));
    expect(() => scanBatch(Buffer.from('{"a":1'))).toThrow(refused('unexpected-end', -32700));
    expect(() => scanBatch(Buffer.from('[1,]'))).toThrow(refused('unexpected-byte', -32700));
    expect(() => scanBatch(Buffer.from('[1] 2'))).toThrow(refused('trailing-bytes', -32700));
    expect(() => scanBatch(Buffer.from('[1'))).toThrow(refused('unexpected-end', -32700));
    expect(() => scanBatch(Buffer.from(''))).toThrow(refused('unexpected-end', -32700));
    expect(() => scanBatch(Buffer.from([0x5b, 0x22, 0xff, 0x22, 0x5d]))).toThrow(
      refused('invalid-utf8', -32700),
    );
  });

  test('refuses more messages than one body may claim', () => {
    const most = `[${Array.from({ length: maxBatch }, () => '{}').join(',')}`;
    expect(scanBatch(Buffer.from(`${most}]`))).toHaveLength(maxBatch);
    expect(() => scanBatch(Buffer.from(`${most},{}]`))).toThrow(
      refused('too-many-elements', -32600),
    );
    expect(() => scanBatch(Buffer.from(`${most},{}`))).toThrow(refused('unexpected-end', -32700));
  });
});
