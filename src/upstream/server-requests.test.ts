import { describe, expect, it } from 'vitest';
import { scanMessage } from '../wire/scan.ts';
import { errorAnswer, pingAnswer, refusedAnswer, resultAnswer } from './server-requests.ts';

const asked = (id: string, method = 'sampling/createMessage') =>
  scanMessage(Buffer.from(`{"jsonrpc":"2.0","id":${id},"method":"${method}"}`));

describe('the answer to a request of the server', () => {
  it('has the id as the server wrote it', () => {
    expect(pingAnswer(asked('"\\u0041"', 'ping'))).toBe(
      '{"jsonrpc":"2.0","id":"\\u0041","result":{}}',
    );
  });

  it('carries the result of the client byte for byte', () => {
    const result = Buffer.from('{"n":9007199254740993,"n":1.0}');
    expect(resultAnswer(asked('7'), result).toString()).toBe(
      '{"jsonrpc":"2.0","id":7,"result":{"n":9007199254740993,"n":1.0}}',
    );
  });

  it('carries the error of the client byte for byte', () => {
    const error = '{"code":-1,"message":"no","data":{"x":1e400}}';
    expect(errorAnswer(asked('7'), error).toString()).toBe(
      `{"jsonrpc":"2.0","id":7,"error":${error}}`,
    );
  });

  it('is method-not-found with the reason where nobody can be asked', () => {
    expect(JSON.parse(refusedAnswer(asked('"a"'), 'nobody is there').toString())).toEqual({
      jsonrpc: '2.0',
      id: 'a',
      error: { code: -32601, message: 'nobody is there' },
    });
  });
});
