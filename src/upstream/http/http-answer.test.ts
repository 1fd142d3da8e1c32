import { describe, expect, it } from 'vitest';
import { HttpAnswer } from './http-answer.ts';

function newAnswer(limitBytes = 1_000, isStream = false) {
  const heard: string[] = [];
  const answer = new HttpAnswer(
    { server: 'docs', url: new URL('https://docs.example/mcp'), frameBytes: limitBytes },
    {
      sent: () => heard.push('sent'),
      headers: (status, headers) => heard.push(`${status} ${headers.get('x') ?? ''}`),
      message: ({ kind }) => heard.push(kind),
      over: (fault) => heard.push(`over ${fault?.code ?? 'well'}`),
      broken: (error) => heard.push(`broken ${error.name}`),
    },
    isStream,
  );
  const respond = (status: number, headers: Record<string, string>) =>
    answer.response(status, new Map(Object.entries(headers)));
  return { answer, heard, respond };
}

const result = '{"jsonrpc":"2.0","id":1,"result":{}}';

describe('what comes back for a POST', () => {
  it.each(['application/json', 'Application/JSON; charset=utf-8', ' application/json '])(
    'is read as JSON when it says so: %j',
    (type) => {
      const { answer, heard, respond } = newAnswer();
      answer.sent();
      respond(200, { 'content-type': type, x: 'y' });
      for (const byte of result) answer.data(Buffer.from(byte));
      answer.ended();
      expect(heard).toEqual(['sent', '200 y', 'result', 'over well']);
    },
  );

  it('is read as events when it says so, as they come', () => {
    const { answer, heard, respond } = newAnswer();
    respond(200, { 'content-type': 'text/event-stream; charset=utf-8' });
    answer.data(Buffer.from(`data: ${result}\n\n`));
    expect(heard).toEqual(['200 ', 'result']);
    answer.ended();
    expect(heard.at(-1)).toBe('over well');
  });

  it('may be as large as the limit', () => {
    const { answer, heard, respond } = newAnswer(result.length);
    respond(200, { 'content-type': 'application/json' });
    answer.data(Buffer.from(result));
    answer.ended();
    expect(heard.slice(1)).toEqual(['result', 'over well']);
  });

  it.each(['application/json', 'text/event-stream'])(
    'is over once, whatever follows: %s',
    (type) => {
      const { answer, heard, respond } = newAnswer(10);
      respond(200, { 'content-type': type });
      for (let chunk = 0; chunk < 9; chunk++) answer.data(Buffer.from(`data: ${'x'.repeat(50)}`));
      answer.data(Buffer.from(`\n\ndata: ${result}\n\n`));
      answer.ended();
      answer.failed(new TypeError());
      expect(heard.slice(1)).toEqual(['over frame_too_large']);
    },
  );

  it('fails when the network fails, and then reports nothing more', () => {
    const { answer, heard, respond } = newAnswer();
    respond(200, { 'content-type': 'application/json' });
    answer.data(Buffer.from(result.slice(0, 9)));
    answer.failed(new TypeError());
    answer.ended();
    expect(heard.slice(1)).toEqual(['broken TypeError']);
  });
});

describe('an answer that is a stream by its nature', () => {
  const note = '{"jsonrpc":"2.0","method":"notifications/x"}';
  const json = {
    get: (name: string) => (name === 'content-type' ? 'application/json' : undefined),
  };

  it('is read line by line where it comes as JSON without an end #both-eras', () => {
    const { answer, heard } = newAnswer(1_000, true);
    answer.response(200, json as never);
    answer.data(Buffer.from(`${note}\n${note.slice(0, 9)}`));
    expect(heard.filter((word) => word === 'notification')).toHaveLength(1);
    answer.data(Buffer.from(`${note.slice(9)}\r\n\n{"jsonrpc":"2.0",\n`));
    answer.data(Buffer.from('"method":"notifications/y"}\n'));
    expect(heard.filter((word) => word === 'notification')).toHaveLength(3);
    answer.ended();
    expect(heard.at(-1)).toBe('over well');
  });

  it('is one message at its end where it is one object', () => {
    const { answer, heard } = newAnswer(1_000, true);
    answer.response(200, json as never);
    answer.data(Buffer.from('{"jsonrpc":"2.0","id":1,\n"result":{}}'));
    answer.ended();
    expect(heard.slice(-2)).toEqual(['result', 'over well']);
  });
});
