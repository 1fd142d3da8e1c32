import { describe, expect, it } from 'vitest';
import { manualClock, settled } from '../../test/support/manual-clock.ts';
import { Fault } from '../kernel/fault.ts';
import { type Message, scanMessage } from '../wire/scan.ts';
import { Conversation } from './conversation.ts';
import type { Exchange } from './exchange.ts';

function newConversation() {
  const noise: string[] = [];
  const notifications: Message[] = [];
  const requests: Message[] = [];
  const abandoned: Exchange[] = [];
  const clock = manualClock();
  const listener = {
    noise: (kind: string) => noise.push(kind),
    notification: (message: Message) => notifications.push(message),
    request: (message: Message) => requests.push(message),
    abandoned: (exchange: Exchange) => abandoned.push(exchange),
  };
  const conversation = new Conversation(listener, clock);
  const receive = (text: string) => conversation.receive(scanMessage(Buffer.from(text)));
  const sent = (progressed?: (params: Buffer) => void) => {
    const exchange = conversation.begin(progressed && { progress: { progressed } });
    exchange.answer.catch(() => {});
    exchange.dispatched = 'maybe';
    return exchange;
  };
  return { clock, conversation, noise, notifications, requests, abandoned, receive, sent };
}

const answerTo = (id: string, result = '{}') => `{"jsonrpc":"2.0","id":${id},"result":${result}}`;
const progressOf = (token: string) =>
  `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":${token},"progress":0.5}}`;

describe('a request of our own', () => {
  it('is cancelled at its deadline, and holds no timer once it is answered', async () => {
    const { clock, conversation, abandoned, receive } = newConversation();
    const slow = conversation.begin({ deadlineMs: 100 });
    const quick = conversation.begin({ deadlineMs: 100 });
    quick.dispatched = 'maybe';
    receive(answerTo(String(quick.id)));
    clock.advance(100);
    await expect(slow.answer).rejects.toMatchObject({ code: 'timeout' });
    expect((await quick.answer).kind).toBe('result');
    expect([abandoned, clock.pending, conversation.hasCalls]).toEqual([[slow], 0, false]);
  });
});

describe('an answer', () => {
  it('settles the exchange with its id, as it came', async () => {
    const { receive, sent } = newConversation();
    const [one, two] = [sent(), sent()];
    receive(answerTo('2', '{"n":9007199254740993}'));
    receive('{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no"}}');
    expect((await two.answer).bytes.toString()).toContain('9007199254740993');
    expect((await one.answer).kind).toBe('error');
  });

  it.each(['"1"', '""', '" 1"', '"0x1"', '-1', '0', '2', '9007199254740991'])(
    'with the id %s is not the answer to 1',
    async (id) => {
      const { receive, sent, noise } = newConversation();
      const one = sent();
      receive(answerTo(id));
      expect(one.isSettled).toBe(false);
      expect(noise).toEqual(['unknown-id']);
    },
  );

  it('without an id belongs to no call', () => {
    const { receive, sent, noise } = newConversation();
    const one = sent();
    receive('{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"what?"}}');
    receive('{"jsonrpc":"2.0","error":{"code":-32700,"message":"what?"}}');
    expect(one.isSettled).toBe(false);
    expect(noise).toEqual(['unknown-id', 'unknown-id']);
  });

  it('that comes twice is counted and dropped the second time', async () => {
    const { receive, sent, noise } = newConversation();
    const [one, two] = [sent(), sent()];
    receive(answerTo('1', '{"first":true}'));
    receive(answerTo('1', '{"first":false}'));
    expect((await one.answer).bytes.toString()).toContain('true');
    expect(two.isSettled).toBe(false);
    expect(noise).toEqual(['duplicate-answer']);
  });

  it('that comes after its caller cancelled is counted and dropped', () => {
    const { receive, sent, noise, abandoned } = newConversation();
    const one = sent();
    one.cancel(new Fault('timeout', 'too slow'));
    receive(answerTo('1'));
    expect(noise).toEqual(['late-answer']);
    expect(abandoned).toEqual([one]);
  });

  it('to a frame that is still ours was guessed, and ends nothing', () => {
    const { conversation, receive, noise } = newConversation();
    const queued = conversation.begin(undefined);
    receive(answerTo('1'));
    expect(queued.isSettled).toBe(false);
    expect(queued.dispatched).toBe('no');
    expect(noise).toEqual(['unknown-id']);
  });

  it('remembers a bounded number of cancelled ids', () => {
    const { receive, sent, noise } = newConversation();
    for (let call = 0; call < 1_500; call++) sent().cancel(new Fault('cancelled', ''));
    receive(answerTo('1500'));
    receive(answerTo('1'));
    expect(noise).toEqual(['late-answer', 'duplicate-answer']);
  });
});

describe('an answer that could not be read', () => {
  const damage = new Fault('protocol_violation', 'not valid MCP');

  it('ends the exchange it belongs to, which certainly arrived', async () => {
    const { conversation, sent } = newConversation();
    const one = sent();
    expect(conversation.damaged(1, damage)).toBe(true);
    await expect(one.answer).rejects.toMatchObject({ record: { dispatched: 'yes' } });
  });

  it('ends nothing when its id is unknown, or was guessed', () => {
    const { conversation } = newConversation();
    const queued = conversation.begin(undefined);
    expect(conversation.damaged(7, damage)).toBe(false);
    expect(conversation.damaged(1, damage)).toBe(false);
    expect([queued.isSettled, queued.dispatched]).toEqual([false, 'no']);
  });
});

describe('progress', () => {
  it('reaches the caller by its token, and shows that the request arrived', () => {
    const { receive, sent, notifications } = newConversation();
    const heard: string[] = [];
    const one = sent((params) => heard.push(params.toString()));
    receive(progressOf('1'));
    expect(heard).toEqual(['{"progressToken":1,"progress":0.5}']);
    expect(one.dispatched).toBe('yes');
    expect(notifications).toEqual([]);
  });

  it.each(['2', '"1"', '1.5', 'null'])('with the token %s belongs to no call', (token) => {
    const { receive, sent, notifications } = newConversation();
    const heard: Buffer[] = [];
    const one = sent((params) => heard.push(params));
    receive(progressOf(token));
    expect(heard).toEqual([]);
    expect([one.dispatched, notifications.length]).toEqual(['maybe', 1]);
  });

  it('of a frame that is still ours was guessed, and makes it no less ours', () => {
    const { conversation, receive } = newConversation();
    const heard: Buffer[] = [];
    const queued = conversation.begin({
      progress: { progressed: (params) => heard.push(params) },
    });
    receive(progressOf('1'));
    expect([queued.dispatched, heard]).toEqual(['no', []]);
  });

  it('after the answer is dropped', () => {
    const { receive, sent } = newConversation();
    const heard: Buffer[] = [];
    sent((params) => heard.push(params));
    receive(answerTo('1'));
    receive(progressOf('1'));
    expect(heard).toEqual([]);
  });

  it('whose listener throws harms neither the exchange nor the connection', async () => {
    const { receive, sent } = newConversation();
    const one = sent(() => {
      throw new Error('a defect of the caller');
    });
    expect(() => receive(progressOf('1'))).not.toThrow();
    receive(answerTo('1'));
    expect((await one.answer).kind).toBe('result');
  });
});

describe('what the server says on its own account', () => {
  it('is handed on: notifications and requests, whatever their ids', () => {
    const { receive, sent, notifications, requests } = newConversation();
    const one = sent();
    receive('{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}');
    receive('{"jsonrpc":"2.0","id":1,"method":"ping"}');
    expect(notifications).toHaveLength(1);
    expect(requests.map(({ method }) => method)).toEqual(['ping']);
    expect(one.isSettled).toBe(false);
  });
});

describe('the end of a conversation', () => {
  it('fails every exchange with how far it went', async () => {
    const { conversation, sent } = newConversation();
    const written = sent();
    const queued = conversation.begin(undefined);
    conversation.failAll(new Fault('unavailable', 'gone'));
    await expect(written.answer).rejects.toMatchObject({ dispatched: 'maybe' });
    await expect(queued.answer).rejects.toMatchObject({ dispatched: 'no' });
  });

  it('fails one exchange once', () => {
    const { conversation, sent } = newConversation();
    sent();
    const fault = new Fault('unavailable', 'gone');
    expect([conversation.fail(1, fault), conversation.fail(1, fault)]).toEqual([true, false]);
  });

  it('is drained when every call has ended, well or badly; subscriptions do not count', async () => {
    const { conversation, receive, sent } = newConversation();
    conversation.begin({ background: true }).answer.catch(() => {});
    const [, two] = [sent(), sent()];
    let isEmpty = false;
    void conversation.whenEmpty().then(() => {
      isEmpty = true;
    });
    receive(answerTo('2'));
    await settled();
    expect(isEmpty).toBe(false);
    two.cancel(new Fault('cancelled', ''));
    receive(answerTo('3'));
    await settled();
    expect(isEmpty).toBe(true);
  });
});
