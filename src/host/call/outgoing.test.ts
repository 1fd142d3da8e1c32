import { describe, expect, it } from 'vitest';
import { FakeUpstream } from '../../../test/support/fake-upstream.ts';
import { localUser } from '../../policy/principal.ts';
import type { Child } from '../../supervise/child.ts';
import type { Caller } from '../connections/caller.ts';
import type { OfferedTool } from '../lists/catalogue.ts';
import type { CallDeadline } from './call-deadline.ts';
import { isSafeMethod, type Operation, subjectOf, toolCall } from './operation.ts';
import { requestOptions, requestParams } from './outgoing.ts';

const deadline = {} as CallDeadline;
const request = (operation: Operation, caller?: Caller) => ({
  principal: localUser,
  server: 's',
  operation,
  caller,
});

const paramsFor = (operation: Operation) =>
  requestParams(new FakeUpstream(), { operation }, undefined);

describe('the parameters of a call', () => {
  it('are its name and the caller’s bytes, or what it brought along', () => {
    const args = '{"n":1.0,"a":1,"a":2}';
    const members = `"name":"a\\"b","arguments":${args}`;
    expect(paramsFor(toolCall('a"b', args))).toEqual({ members });
    const bytes = paramsFor(toolCall('a"b', Buffer.from(args))).members;
    expect(bytes.toString()).toBe(members);
    const params = { members: '"uri":"x"' };
    const read: Operation = { method: 'resources/read', kind: 'resource', name: 'x', args, params };
    expect(paramsFor(read)).toBe(params);
  });
});

describe('what goes beside a call', () => {
  it('says whose it is only if somebody can be asked', () => {
    const caller = { capabilities: '{"roots":{}}', logLevel: 'info' } as Caller;
    const connection = new FakeUpstream();
    expect(requestOptions(connection, request(toolCall('t', '{}')), undefined, deadline)).toEqual({
      progress: deadline,
    });
    const asked = requestOptions(
      connection,
      request(toolCall('t', '{}'), caller),
      undefined,
      deadline,
    );
    expect(asked).toEqual({
      progress: deadline,
      owner: caller,
      capabilities: '{"roots":{}}',
      logLevel: 'info',
    });
  });

  it('is mirrored in headers for a modern remote server, and for no other', () => {
    const remote = new FakeUpstream('modern');
    const local = Object.assign(new FakeUpstream('modern'), { child: {} as Child });
    const call = request(toolCall('tool', '{}'));
    const headersOf = (connection: FakeUpstream, offered?: OfferedTool) =>
      requestOptions(connection, call, offered, deadline).headers;
    expect(headersOf(remote)).toEqual({ 'mcp-name': 'tool' });
    expect([headersOf(local), headersOf(new FakeUpstream())]).toEqual([undefined, undefined]);
    const nameless: Operation = { method: 'vendor/x', kind: 'other', name: null, args: '{}' };
    expect(requestOptions(remote, request(nameless), undefined, deadline).headers).toEqual({});
  });
});

describe('an operation', () => {
  it('is safe to repeat if the protocol says so, and never if nobody knows it', () => {
    const safe = [
      'resources/read',
      'prompts/get',
      'completion/complete',
      'tools/list',
      'tasks/get',
    ];
    const unsafe = ['tools/call', 'vendor/x', 'tasks/cancel', 'tasks/update', ''];
    expect(safe.every(isSafeMethod) && !unsafe.some(isSafeMethod)).toBe(true);
  });

  it('is called by its tool, or by its method', () => {
    expect(subjectOf(toolCall('t', '{}'))).toBe('t');
    expect(subjectOf({ method: 'prompts/get', kind: 'prompt', name: 'p' })).toBe('prompts/get');
  });
});
