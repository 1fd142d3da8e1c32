import { describe, expect, it } from 'vitest';
import { carriedText } from '../../../test/support/carried-text.ts';
import { joined, requestToServer } from '../../wire/frames.ts';
import type { MemberChanges } from '../../wire/member-edits.ts';
import { scanMessage } from '../../wire/scan.ts';
import { relayedParams } from './relayed-params.ts';

function relayed(params: string, changes: MemberChanges = {}) {
  const text = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`;
  const { members, meta } = relayedParams(scanMessage(Buffer.from(text)), changes);
  return { members: carriedText(members), meta: meta?.toString() };
}

const envelope =
  '"io.modelcontextprotocol/protocolVersion":"2026-07-28",' +
  '"io.modelcontextprotocol/clientInfo":{"name":"c"},' +
  '"io.modelcontextprotocol/clientCapabilities":{},' +
  '"io.modelcontextprotocol/logLevel":"info"';

describe('the parameters of a request on their way to a server', () => {
  it.each([
    ['numbers beyond a double', '"arguments":{"n":9007199254740993,"f":1.0,"e":1e400,"z":-0}'],
    ['keys that occur twice below arguments', '"arguments":{"a":1,"a":2}'],
    ['escapes and raw characters', '"arguments":{"t":"\\u00e9\\/\\ud83d\\ude00é\u2028"}'],
    ['the order of keys', '"z":1,"arguments":{"b":1,"a":2},"a":[]'],
    ['members nobody knows, and the space inside of them', '"x" : { "y":  [ 1 , 2 ] }'],
  ])('keep %s', (_what, members) => {
    expect(relayed(`{${members}}`).members).toBe(members);
    expect(relayed(`{"name":"a__t",${members}}`, { name: '"t"' }).members).toBe(
      `"name":"t",${members}`,
    );
  });

  it('lose of _meta what belongs to the hop, and nothing else', () => {
    const own = '"traceparent":"00-1","x/y":{"n":1.0,"a":1,"a":2}';
    const meta = `{"progressToken":7,"io.modelcontextprotocol/related-task":{},${own},${envelope},"holdfast/idempotencyKey":"k"}`;
    expect(relayed(`{"_meta":${meta},"name":"t"}`)).toEqual({ members: '"name":"t"', meta: own });
    expect(relayed(`{"name":"t","_meta":{${envelope}}}`)).toEqual({ members: '"name":"t"' });
  });

  it('lose a hop key that is written with an escaped slash, too', () => {
    const meta = '{"io.modelcontextprotocol\\/logLevel":"info","a\\/b":1}';
    expect(relayed(`{"_meta":${meta}}`).meta).toBe('"a\\/b":1');
  });

  it('stand on one line, because a line break would begin another message', () => {
    const smuggled = '{"a":\n{"jsonrpc":"2.0"}\r\n,"_meta":{"k":\n1}}';
    const { members, meta } = relayed(smuggled);
    expect(`${members}${meta}`).not.toMatch(/[\r\n]/);
    expect(JSON.parse(`{${members}}`)).toEqual({ a: { jsonrpc: '2.0' } });
  });

  it.each(['{}', '{ }', '{\n}', `{ "_meta": {${envelope}} }`, `{\t"_meta":{"a":1}\r\n}`])(
    'of nothing but space are none: %j',
    (params) => {
      const text = `{"jsonrpc":"2.0","id":1,"method":"x","params":${params}}`;
      const carried = relayedParams(scanMessage(Buffer.from(text)), {});
      expect(carriedText(carried.members)).toBe('');
      const frame = joined(requestToServer(1, 'x', carried, '"p":1')).toString();
      expect(() => JSON.parse(frame)).not.toThrow();
    },
  );

  it('are none where there were none', () => {
    const message = scanMessage(Buffer.from('{"jsonrpc":"2.0","id":1,"method":"x"}'));
    expect(relayedParams(message, { name: '"t"' })).toEqual({ members: '' });
  });

  it('take edits inside of a member beside changes of members', () => {
    const text =
      '{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"_meta":{},"ref":{"type":"ref/prompt","name":"a__p"},"argument":{"value":1.0}}}';
    const at = text.indexOf('"a__p"');
    const edits = [{ start: at, end: at + 6, with: '"p"' }];
    const { members } = relayedParams(scanMessage(Buffer.from(text)), {}, edits);
    expect(carriedText(members)).toBe(
      '"ref":{"type":"ref/prompt","name":"p"},"argument":{"value":1.0}',
    );
  });
});
