import { describe, expect, it } from 'vitest';
import { RecordedReply } from '../../test/support/fake-gateway.ts';
import type { Client } from '../host/connections/caller.ts';
import { localUser } from '../policy/principal.ts';
import { scanMessage } from '../wire/scan.ts';
import { Incoming } from './incoming.ts';

const client = { key: 'c', isAskedInCalls: false } as Client;

function newIncoming(id = '1', params = '{}') {
  const reply = new RecordedReply();
  const over: Incoming[] = [];
  const from = { principal: localUser, client, era: 'legacy', capabilities: '{}' } as const;
  const text = `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":${params}}`;
  const message = scanMessage(Buffer.from(text));
  const incoming = new Incoming(message, { ...from, logLevel: undefined }, reply, (one) =>
    over.push(one),
  );
  return { incoming, reply, over };
}

const progress = (token: string, more = '') =>
  Buffer.from(`{"progress":1.0,"progressToken":${token}${more}}`);

describe('a request under way', () => {
  it('is answered once, and is over then', () => {
    const { incoming, reply, over } = newIncoming();
    incoming.result('{"a":1}');
    incoming.result('{"b":2}');
    incoming.error({ code: -32603, message: 'late' });
    incoming.carriedError('{"code":1}', 1);
    expect(reply.answers).toEqual(['{"jsonrpc":"2.0","id":1,"result":{"a":1}}']);
    expect([incoming.isOver, over.length]).toEqual([true, 1]);
  });

  it.each(['"x"', '"\\u0031"', '-3', '"é\\/"'])('is answered under its own id %s', (id) => {
    const { incoming, reply } = newIncoming(id);
    incoming.result('{}');
    expect(reply.answers).toEqual([`{"jsonrpc":"2.0","id":${id},"result":{}}`]);
  });

  it('gets nothing more once it is cancelled, and its handler is notified', () => {
    const { incoming, reply, over } = newIncoming('1', '{"_meta":{"progressToken":1}}');
    let told = 0;
    incoming.cancelSignal.addEventListener('abort', () => {
      told += 1;
    });
    incoming.cancel();
    incoming.cancel();
    incoming.send(['{}']);
    incoming.progressed(progress('9'));
    incoming.result('{}');
    expect([reply.sent, reply.answers, told, over.length]).toEqual([[], [], 1, 1]);
  });

  it('cannot be cancelled after its answer', () => {
    const { incoming } = newIncoming();
    incoming.result('{}');
    incoming.cancel();
    expect(incoming.cancelSignal.aborted).toBe(false);
  });

  it('gives the code of an error beside it, and carries an error of another on one line', () => {
    const { incoming, reply } = newIncoming();
    incoming.carriedError(Buffer.from('{"code":-32042,\n"data":{"n":1.0}}'), -32042);
    expect(reply.answers).toEqual([
      '{"jsonrpc":"2.0","id":1,"error":{"code":-32042, "data":{"n":1.0}}}',
    ]);
    expect(reply.codes).toEqual([-32042]);
  });
});

describe('progress', () => {
  it.each(['7', '"7"', '"\\u0037"', '"é"', '-1'])(
    'comes under the token %s as the client wrote it, with the server’s other bytes',
    (token) => {
      const { incoming, reply } = newIncoming('1', `{"_meta":{"progressToken":${token}}}`);
      incoming.progressed(progress('99', ',"total":3.50,"message":"\\u00e9"'));
      expect(reply.sent).toEqual([
        `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1.0,"progressToken":${token},"total":3.50,"message":"\\u00e9"}}`,
      ]);
    },
  );

  it('is not sent to a client that gave no token', () => {
    const { incoming, reply } = newIncoming();
    incoming.progressed(progress('99'));
    expect(reply.sent).toEqual([]);
  });

  it('stops with the answer', () => {
    const { incoming, reply } = newIncoming('1', '{"_meta":{"progressToken":1}}');
    incoming.result('{}');
    incoming.progressed(progress('99'));
    expect(reply.sent).toEqual([]);
  });

  it('goes to the request with which the client came back, under its token', () => {
    const first = newIncoming('1', '{"_meta":{"progressToken":"one"}}');
    const second = newIncoming('2', '{"_meta":{"progressToken":"two"}}');
    first.incoming.result('{}');
    first.incoming.continuedBy(second.incoming);
    first.incoming.progressed(progress('99'));
    first.incoming.send(['{"log":1}']);
    expect(first.reply.sent).toEqual([]);
    expect(second.reply.messages).toMatchObject([{ params: { progressToken: 'two' } }, { log: 1 }]);
  });
});
