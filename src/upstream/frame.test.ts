import { describe, expect, it } from 'vitest';
import { scanMessage } from '../wire/scan.ts';
import { asLine, joined, notificationText, requestText, withProgress } from './frame.ts';

const envelope = '"io.modelcontextprotocol/protocolVersion":"2026-07-28"';
const members = '"name":"read","arguments":{"n":9007199254740993,"x":1.0,"a":1,"a":2}';

describe('a request', () => {
  it('is written around the bytes of its parameters, which cross untouched', () => {
    const text = requestText(7, 'tools/call', { members }, '');
    expect(text).toBe(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{${members}}}`);
    const bytes = joined(requestText(7, 'tools/call', { members: Buffer.from(members) }, ''));
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
        requestText(1, 'm', { members: given, ...(meta && { meta }) }, ours),
      ).toString();
      expect(text).toBe(`{"jsonrpc":"2.0","id":1,"method":"m","params":${params}}`);
      expect(scanMessage(Buffer.from(text)).kind).toBe('request');
    }
  });

  it('writes the method as a string whatever is in it', () => {
    const text = joined(requestText(1, 'a"b\n', { members: '' }, ''));
    expect(scanMessage(Buffer.from(text)).method).toBe('a"b\n');
  });

  it('asks for progress under its own id', () => {
    expect(withProgress('', 7)).toBe('"progressToken":7');
    expect(withProgress(envelope, 7)).toBe(`${envelope},"progressToken":7`);
  });
});

describe('a notification', () => {
  it('has no id', () => {
    const text = joined(
      notificationText('notifications/cancelled', { members: '"requestId":7' }, ''),
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
