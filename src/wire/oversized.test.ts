import { describe, expect, test } from 'vitest';
import { oversizedResponseId } from './oversized.ts';

function find(head: string, tail?: string) {
  return oversizedResponseId(Buffer.from(head), tail === undefined ? undefined : Buffer.from(tail));
}

describe('oversizedResponseId', () => {
  test('finds an id before the result', () => {
    expect(find('{"jsonrpc":"2.0","id":5,"result":{"content":[{"text":"aaaa')).toBe(5);
    expect(find('{"jsonrpc":"2.0","id":"five","error":{"code":1,"message":"aaa')).toBe('five');
  });

  test('finds an id at the end, as the TypeScript SDK writes it', () => {
    const head = '{"result":{"content":[{"type":"text","text":"aaaaaa';
    expect(find(head)).toBeUndefined();
    expect(find(head, 'aaaa"}]},"jsonrpc":"2.0","id":17}')).toBe(17);
    expect(find(head, 'aaaa"}]} , "id" : "seven" , "jsonrpc" : "2.0" }\r')).toBe('seven');
  });

  test('does not take a request of the server for an answer', () => {
    expect(
      find('{"jsonrpc":"2.0","id":5,"method":"sampling/createMessage","params":{"a'),
    ).toBeUndefined();
    const head = '{"method":"sampling/createMessage","params":{"messages":[{"text":"aa';
    expect(find(head, '"}]},"jsonrpc":"2.0","id":5}')).toBeUndefined();
    expect(find('{"id":5,"params":{"aaaa', '"},"jsonrpc":"2.0"}')).toBeUndefined();
  });

  test('does not take part of a number for the whole', () => {
    expect(find('{"error":{"code":1,"message":""},"id":12')).toBeUndefined();
  });

  test('does not take text inside a string for the end of the message', () => {
    const head = '{"result":{"text":"';
    expect(find(head, 'says {\\"a\\":1,\\"id\\":5}"}, "id" : 6 }')).toBe(6);
    expect(find(head, 'says {\\"a\\":1,\\"id\\":5}')).toBeUndefined();
    expect(find(head, 'aaa"},"jsonrpc":"2.0","x\\"id":5}')).toBeUndefined();
    expect(find(head, 'aaa","id":5}}')).toBeUndefined();
  });

  test('says nothing about what is not a JSON object', () => {
    for (const head of ['', '[{"id":5,"result":', 'banner', '{"id":1.5,"result":{"a', '{id:5}']) {
      expect(find(head)).toBeUndefined();
    }
  });
});
