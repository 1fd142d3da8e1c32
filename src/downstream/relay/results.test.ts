import { describe, expect, it } from 'vitest';
import { answerIn, answerOf } from '../../host/call/answer.ts';
import type { Era } from '../../wire/eras.ts';
import { scanMessage } from '../../wire/scan.ts';
import { asksForInput, changedResult, resultFor } from './results.ts';

function shown(era: Era, result: string, method = 'tools/call', wraps = false): string {
  const message = scanMessage(Buffer.from(`{"jsonrpc":"2.0","result":${result},"id":1}`));
  if (!message.result) throw new Error('no result');
  return resultFor(era, method, answerIn(message, message.result), () => wraps).toString();
}

const carried = '"content":[{"n":9007199254740993,"a":1,"a":2}],"isError":false,"x":"\\u00e9"';

describe('a result for a client', () => {
  it('of the modern era gets its type, and everything else stays as it is', () => {
    expect(shown('modern', `{${carried}}`)).toBe(`{${carried},"resultType":"complete"}`);
    expect(shown('modern', '{}')).toBe('{"resultType":"complete"}');
  });

  it('of the modern era keeps the type that it has', () => {
    const typed = `{"resultType":"task",${carried}}`;
    expect(shown('modern', typed)).toBe(typed);
  });

  it('of the legacy era loses its type, wherever it stands', () => {
    expect(shown('legacy', `{"resultType":"complete",${carried}}`)).toBe(`{${carried}}`);
    expect(shown('legacy', `{${carried},"resultType":"complete"}`)).toBe(`{${carried}}`);
    expect(shown('legacy', `{${carried}}`)).toBe(`{${carried}}`);
  });

  it('of the modern era says of a resource that it must not be kept, if the server says nothing', () => {
    expect(shown('modern', '{"contents":[]}', 'resources/read')).toBe(
      '{"contents":[],"resultType":"complete","ttlMs":0,"cacheScope":"private"}',
    );
    expect(shown('modern', '{"contents":[],"ttlMs":5}', 'resources/read')).toBe(
      '{"contents":[],"ttlMs":5,"resultType":"complete","cacheScope":"private"}',
    );
  });

  it('of the legacy era finds structured content that is no object inside of one', () => {
    expect(shown('legacy', '{"structuredContent":[1.0]}')).toBe(
      '{"structuredContent":{"result":[1.0]}}',
    );
    expect(shown('legacy', '{"structuredContent":{"a":1}}')).toBe('{"structuredContent":{"a":1}}');
    expect(shown('legacy', '{"structuredContent":{"a":1}}', 'tools/call', true)).toBe(
      '{"structuredContent":{"result":{"a":1}}}',
    );
    expect(shown('modern', '{"structuredContent":[1.0],"resultType":"complete"}')).toBe(
      '{"structuredContent":[1.0],"resultType":"complete"}',
    );
  });

  it('stands on one line', () => {
    expect(shown('legacy', '{"a":\n[1,\r\n2]}')).toBe('{"a": [1,  2]}');
  });

  it('that is no object is carried as it is', () => {
    expect(shown('modern', '[1]')).toBe('[1]');
    expect(shown('legacy', '"x"')).toBe('"x"');
  });
});

describe('a result that asks for input', () => {
  it.each([
    ['{}', false],
    ['{"resultType":5}', false],
    ['{"resultType":"complete"}', false],
    ['{"resultType":"input_required"}', true],
    ['{"resultType":"input\\u005frequired"}', true],
    ['{"resultType":"input_required "}', false],
  ])('%s: %s', (result, asks) => {
    expect(asksForInput(answerOf(Buffer.from(result)))).toBe(asks);
  });
});

describe('a changed result', () => {
  it('of a frame in which something stands before it is changed at the right place', () => {
    const message = scanMessage(
      Buffer.from('{"jsonrpc":"2.0","id":1,"result":{"taskId":"t","x":1}}'),
    );
    if (!message.result) throw new Error('no result');
    const changed = changedResult(answerIn(message, message.result), { taskId: '"s.t"' });
    expect(changed.toString()).toBe('{"taskId":"s.t","x":1}');
  });
});
