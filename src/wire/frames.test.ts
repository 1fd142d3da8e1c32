import { describe, expect, it } from 'vitest';
import {
  answerWith,
  asLine,
  errorFrame,
  joined,
  notificationFrame,
  notificationToServer,
  requestFrame,
  requestToServer,
  resultFrame,
  textOfId,
  withProgress,
} from './frames.ts';
import { joinPieces } from './pieces.ts';
import { scanMessage } from './scan.ts';

const envelope = '"io.modelcontextprotocol/protocolVersion":"2026-07-28"';
const members = '"name":"read","arguments":{"n":9007199254740993,"x":1.0,"a":1,"a":2}';

describe('a request to a server', () => {
  it('is written around the bytes of its parameters, which cross untouched', () => {
    const text = requestToServer(7, 'tools/call', { members }, '');
    expect(text).toBe(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{${members}}}`);
    const bytes = joined(requestToServer(7, 'tools/call', { members: Buffer.from(members) }, ''));
    expect(bytes.toString()).toBe(text);
  });

  it.each([
    ['no parameters and no envelope', '', '', undefined, '{}'],
    ['no parameters', '', envelope, undefined, `{"_meta":{${envelope}}}`],
    ['parameters', '"a":1', envelope, undefined, `{"a":1,"_meta":{${envelope}}}`],
    ['a _meta of its own', '"a":1', '', '"k":2', '{"a":1,"_meta":{"k":2}}'],
    ['both', '"a":1', envelope, '"k":2', `{"a":1,"_meta":{${envelope},"k":2}}`],
    ['only a _meta of its own', '', '', '"k":2', '{"_meta":{"k":2}}'],
  ])('has one valid object of parameters, with %s', (_name, own, ours, meta, params) => {
    for (const given of [own, Buffer.from(own)]) {
      const text = joined(
        requestToServer(1, 'm', { members: given, ...(meta && { meta }) }, ours),
      ).toString();
      expect(text).toBe(`{"jsonrpc":"2.0","id":1,"method":"m","params":${params}}`);
      expect(scanMessage(Buffer.from(text)).kind).toBe('request');
    }
  });

  it('writes the method as a string whatever is in it', () => {
    const text = joined(requestToServer(1, 'a"b\n', { members: '' }, ''));
    expect(scanMessage(Buffer.from(text)).method).toBe('a"b\n');
  });

  it('asks for progress under its own id', () => {
    expect(withProgress('', 7)).toBe('"progressToken":7');
    expect(withProgress(envelope, 7)).toBe(`${envelope},"progressToken":7`);
  });
});

describe('a notification to a server', () => {
  it('has no id', () => {
    const text = joined(
      notificationToServer('notifications/cancelled', { members: '"requestId":7' }),
    );
    expect(text).toBe(
      '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}',
    );
    expect(scanMessage(Buffer.from(text)).kind).toBe('notification');
  });
});

describe('a line', () => {
  it('is the frame with one line end', () => {
    expect(asLine('{}')).toBe('{}\n');
    expect(joined(asLine(Buffer.from('{}'))).toString()).toBe('{}\n');
  });
});

describe('a frame', () => {
  const awkward = '{"n":9007199254740993,"f":1.0,"big":1e400,"z":-0,"s":"\\ud800","d":1,"d":2}';

  it('carries what is inside as it came, from bytes and from text', () => {
    const expected = `{"jsonrpc":"2.0","id":7,"method":"m","params":${awkward}}`;
    expect(`${joinPieces(requestFrame(7, 'm', Buffer.from(awkward)))}`).toBe(expected);
    expect(`${joinPieces(requestFrame(7, 'm', awkward))}`).toBe(expected);
    expect(`${joinPieces(resultFrame('"a"', awkward))}`).toBe(
      `{"jsonrpc":"2.0","id":"a","result":${awkward}}`,
    );
  });

  it('has no params and no data where there are none', () => {
    expect(`${joinPieces(notificationFrame('notifications/initialized'))}`).toBe(
      '{"jsonrpc":"2.0","method":"notifications/initialized"}',
    );
    expect(`${joinPieces(errorFrame('null', { code: -32700, message: 'Parse error' }))}`).toBe(
      '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}',
    );
  });

  it('is read back as what it was made from', () => {
    const method = 'odd "method" \\ with ü and \u0001';
    const notification = joinPieces(notificationFrame(method, '{"ü":"🦀"}'));
    expect(scanMessage(notification).method).toBe(method);
    for (const id of ['"id"\ud800', 'line\nbreak', -5, 0]) {
      expect(scanMessage(joinPieces(resultFrame(textOfId(id), '{}'))).id).toBe(id);
    }
    const error = { code: -32603, message: 'Internal\n"error"' };
    const frame = joinPieces(errorFrame('"x"', { ...error, data: '{"a":1}' }));
    expect(JSON.parse(`${frame}`).error).toEqual({ ...error, data: { a: 1 } });
    expect(frame.includes('\n')).toBe(false);
  });

  it('is an answer without an id for a result or an error from elsewhere', () => {
    expect(answerWith('result', '{"a":1}')).toMatchObject({ kind: 'result', id: 0 });
    const message = answerWith('error', Buffer.from('{"code":1,"message":"no"}'));
    expect(message).toMatchObject({ kind: 'error', id: 0 });
  });
});
