import { describe, expect, it } from 'vitest';
import { scanMessage } from '../wire/scan.ts';
import { answerTo } from './server-requests.ts';

const asked = (id: string, method: string) =>
  answerTo(scanMessage(Buffer.from(`{"jsonrpc":"2.0","id":${id},"method":"${method}"}`)));

describe('a request of a server', () => {
  it('for a ping is answered', () => {
    expect(asked('5', 'ping')).toBe('{"jsonrpc":"2.0","id":5,"result":{}}');
  });

  it('for anything else is refused: no such method', () => {
    const answer = JSON.parse(asked('5', 'sampling/createMessage'));
    expect(answer).toMatchObject({ jsonrpc: '2.0', id: 5, error: { code: -32601 } });
  });

  it.each(['0', '-3', '"5"', '"a\\"b\\u00e9"', '9007199254740991'])(
    'gets its id back as it wrote it: %s',
    (id) => {
      for (const method of ['ping', 'roots/list']) {
        expect(asked(id, method)).toContain(`"id":${id},`);
        expect(() => scanMessage(Buffer.from(asked(id, method)))).not.toThrow();
      }
    },
  );
});
