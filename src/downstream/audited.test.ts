// What the audit log says of the requests of a gateway: who, what and how it ended, before and after; what
// was denied, of which the caller hears nothing; and nothing of what was said in a call.

import { describe, expect, it } from 'vitest';
import {
  auditFolder,
  auditKey,
  auditTrail,
  type LogOptions,
} from '../../test/support/audit-log.ts';
import { newGateway, settled } from '../../test/support/fake-gateway.ts';
import { manualClock } from '../../test/support/manual-clock.ts';
import { text, tool } from '../../test/support/scripted-server.ts';
import { verifyAudit } from '../audit/verify.ts';
import { CallAudit, type HostAudit } from '../host/call/call-audit.ts';
import { cutBy, localUser, type Principal } from '../policy/principal.ts';

const reader: Principal = { id: 'token:reader', role: 'reader' };
const secret = 'S3cret-of-the-server';

const scripts = {
  open: {
    tools: [tool('echo'), tool('broken'), tool('secret')],
    prompts: [{ name: 'p' }],
    on: {
      'tools/call': ({ params }: { readonly params?: unknown }) =>
        JSON.stringify(params).includes('broken')
          ? { ...text('payload-of-result'), isError: true }
          : text('payload-of-result'),
    },
  },
  hidden: { tools: [tool('echo')], on: { 'tools/call': () => text('never') } },
};
const roles = { reader: { allow: ['open/*'], deny: ['open/secret'] } };

async function world(mode: HostAudit['mode'], settings: object = {}, log: LogOptions = {}) {
  const { trail, disk, clock: diskClock } = auditTrail(log);
  const config = { open: { env: { TOKEN: secret } } };
  const gateway = newGateway(scripts, {
    audit: { mode, trail },
    config,
    settings: { roles, ...settings },
  });
  gateway.legacy().request('tools/list');
  await settled();
  const ask = async (method: string, params: object, principal: Principal = reader) => {
    const reply = gateway.legacy({}, principal).request(method, params);
    await settled();
    return reply;
  };
  const lines = async () => {
    await trail[Symbol.asyncDispose]();
    return disk
      .records(`${auditFolder}/1`)
      .filter(({ kind }) => kind !== 'start' && kind !== 'stop');
  };
  return { ...gateway, disk, diskClock, ask, lines };
}

describe('a call', () => {
  it('is written down before it is sent and when it has ended #audit', async () => {
    const { ask, lines, disk } = await world('on');
    await ask('tools/call', { name: 'open__echo', arguments: { a: 'payload-of-arguments' } });
    await ask(
      'tools/call',
      { name: 'open__broken' },
      cutBy(localUser, { kind: 'role', name: 'reader' }),
    );
    const [begin, end, second, broken] = await lines();
    const call = { server: 'open', what: 'tool', method: 'tools/call' };
    expect(begin).toMatchObject({
      kind: 'begin',
      principal: 'token:reader',
      role: 'reader',
      path: null,
      name: 'echo',
      ...call,
    });
    expect(end).toMatchObject({ kind: 'end', id: begin?.['id'], outcome: 'ok', dispatched: 'yes' });
    expect(second).toMatchObject({
      principal: 'local',
      role: null,
      path: 'role/reader',
      name: 'broken',
      ...call,
    });
    expect(broken).toMatchObject({ id: second?.['id'], outcome: 'is_error' });
    expect([...disk.files.values()].join('')).not.toContain('payload');
    expect((await verifyAudit(disk, auditFolder, auditKey)).faults).toEqual([]);
  });

  it('that must be written down waits for the disk, and nothing is sent before #audit', async () => {
    const { ask, servers, disk } = await world('required');
    let release = () => {};
    disk.held = new Promise((resolve) => {
      release = resolve;
    });
    const reply = await ask('tools/call', { name: 'open__echo' });
    expect(servers.open.heard('tools/call')).toHaveLength(0);
    release();
    await settled();
    await settled();
    expect(reply.result).toEqual(text('payload-of-result'));
  });

  it('that must be written down is refused when the disk is full, and nothing is sent #audit', async () => {
    const { ask, servers, disk, host } = await world('required');
    disk.failing = 'ENOSPC';
    const reply = await ask('tools/call', { name: 'open__echo' }, localUser);
    const fault = (reply.result['_meta'] as Record<string, unknown>)['holdfast/fault'];
    expect(fault).toMatchObject({ code: 'unavailable', dispatched: 'no', retryable: true });
    expect(JSON.stringify(fault)).toContain('ENOSPC');
    const remote = await ask('tools/call', { name: 'open__echo' });
    expect(JSON.stringify(remote.result)).not.toMatch(/ENOSPC|\/state/);
    expect(JSON.stringify(remote.result)).toContain('the gateway cannot write its audit log now');
    expect(servers.open.heard('tools/call')).toHaveLength(0);
    expect(host.status().audit).toMatchObject({ mode: 'required', refused: 2 });
    expect(host.status({ principal: localUser }).audit.problem).toContain('ENOSPC');
    disk.failing = undefined;
    expect((await ask('tools/call', { name: 'open__echo' })).result).toEqual(
      text('payload-of-result'),
    );
  });

  it('that must be written down is refused at once when too many wait for a disk that hangs #audit #no-growth', async () => {
    const { ask, servers, disk, host } = await world('required', {}, { maxWaiting: 5 });
    disk.held = new Promise(() => {});
    for (let number = 1; number <= 6; number += 1) {
      expect((await ask('tools/call', { name: 'open__echo' })).answers).toEqual([]);
    }
    const told = async (principal: Principal) => {
      const { result } = await ask('tools/call', { name: 'open__echo' }, principal);
      return (result['_meta'] as Record<string, { detail: string }>)['holdfast/fault'];
    };
    const typed = { code: 'overloaded', dispatched: 'no', retryable: true };
    const local = await told(localUser);
    expect(local).toMatchObject(typed);
    expect(local?.detail).toContain('5 lines wait for the disk of the audit log /state/audit');
    const remote = await told(reader);
    expect(remote).toMatchObject(typed);
    expect(remote?.detail).toContain('cannot write its audit log now');
    expect(remote?.detail).not.toMatch(/state|disk/);
    expect(servers.open.heard('tools/call')).toHaveLength(0);
    expect(host.status().audit).toMatchObject({ refused: 2 });
  });

  it('names the role that decides, that of the local user, too #audit', async () => {
    const { ask, lines } = await world('on', { local: { role: 'reader' } });
    await ask('tools/call', { name: 'open__echo' }, localUser);
    await ask('tools/call', { name: 'open__secret' }, localUser);
    await ask('tools/call', { name: 'open__echo' });
    const found = await lines();
    // A denial is written a moment later.
    expect(found.filter(({ kind }) => kind !== 'end')).toMatchObject([
      { kind: 'begin', principal: 'local', role: 'reader' },
      { kind: 'begin', principal: 'token:reader', role: 'reader' },
      { kind: 'denied', principal: 'local', role: 'reader' },
    ]);
  });

  it('goes on when the disk is full and it need not be written down #audit', async () => {
    const { ask, disk, diskClock, host } = await world('on');
    disk.failing = 'ENOSPC';
    for (let number = 1; number <= 5; number += 1) {
      expect((await ask('tools/call', { name: 'open__echo' })).result).toEqual(
        text('payload-of-result'),
      );
    }
    diskClock.advance(20);
    await settled();
    expect(host.status().audit).toMatchObject({
      mode: 'on',
      refused: 0,
      problem: expect.stringContaining('ENOSPC'),
    });
  });

  it('goes on when the disk hangs and it need not be written down #audit', async () => {
    const { ask, disk, diskClock } = await world('on');
    disk.held = new Promise(() => {});
    for (let number = 1; number <= 3; number += 1) {
      const reply = await ask('tools/call', { name: 'open__echo' });
      expect(reply.result).toEqual(text('payload-of-result'));
      diskClock.advance(20);
    }
  });

  it('of one of our own tools is written down as well', async () => {
    const { ask, lines } = await world('on', { hostTools: true });
    await ask('tools/call', { name: 'holdfast__health_snapshot' }, localUser);
    const [begin, end] = await lines();
    expect(begin).toMatchObject({ kind: 'begin', server: null, name: 'health_snapshot' });
    expect(end).toMatchObject({ kind: 'end', id: begin?.['id'], outcome: 'ok', dispatched: 'no' });
  });
});

describe('a request that is denied', () => {
  it.each([
    [
      'open__secret',
      { server: 'open', name: 'secret', reason: expect.stringContaining('open/secret') },
    ],
    ['hidden__echo', { server: 'hidden', name: 'echo' }],
    ['nothing__x', { server: null, name: 'nothing__x' }],
  ])(
    'for %s is written down with the reason, and its caller hears what all hear #audit #roles-deny',
    async (name, said) => {
      const { ask, lines, servers } = await world('required');
      const { error } = (await ask('tools/call', { name })).answered;
      expect(error).toEqual({ code: -32602, message: `Unknown tool: ${name}` });
      expect(servers.hidden.heard('tools/call')).toHaveLength(0);
      expect(await lines()).toEqual([
        expect.objectContaining({
          kind: 'denied',
          principal: 'token:reader',
          role: 'reader',
          what: 'tool',
          method: 'tools/call',
          ...said,
        }),
      ]);
    },
  );

  it.each([
    ['prompts/get', { name: 'open__p' }, 'prompt'],
    ['resources/read', { uri: 'x://none' }, 'resource'],
    ['resources/subscribe', { uri: 'x://none' }, 'resource'],
    [
      'completion/complete',
      { ref: { type: 'ref/prompt', name: 'open__p' }, argument: { name: 'a', value: '' } },
      'prompt',
    ],
    [
      'completion/complete',
      { ref: { type: 'ref/resource', uri: 'x://{none}' }, argument: { name: 'a', value: '' } },
      'resource',
    ],
  ])('by %s is written down #audit', async (method, params, what) => {
    const { ask, lines, clock } = await world('on');
    await ask(method, params);
    await clock.advanceAsync(20_000);
    expect(await lines()).toContainEqual(expect.objectContaining({ kind: 'denied', what, method }));
  });

  it('a thousand times costs few lines, and the number is in them #audit #no-growth', async () => {
    const { gateway, legacy, lines } = await world('on');
    const client = legacy({}, reader);
    for (let number = 1; number <= 500; number += 1) {
      client.request('tools/call', { name: 'open__secret' });
      client.request('tools/call', { name: `hidden__${number}` });
    }
    await settled();
    expect(gateway.host.status().internalErrors).toBe(0);
    const found = await lines();
    expect(found.length).toBeLessThanOrEqual(22);
    expect(found.every(({ kind }) => kind === 'denied')).toBe(true);
    expect(found.reduce((sum, { count = 1 }) => sum + Number(count), 0)).toBe(1_000);
    expect(found).toContainEqual(expect.objectContaining({ name: 'secret', count: 499 }));
  });

  it('by describe_tool is written down, with the name as it was asked for #audit', async () => {
    const { ask, lines } = await world('on', { surface: 'search' });
    await ask('tools/call', { name: 'describe_tool', arguments: { name: 'open__secret' } });
    expect(await lines()).toContainEqual(
      expect.objectContaining({ kind: 'denied', server: 'open', name: 'secret' }),
    );
  });

  it('by subscriptions/listen is written down #audit', async () => {
    const { modern, lines, clock } = await world('on');
    const peer = modern({}, { principal: reader, key: 'reader' });
    const notifications = { resourceSubscriptions: ['x://none'] };
    peer.request('subscriptions/listen', { notifications });
    await settled();
    await clock.advanceAsync(20_000);
    const said = { kind: 'denied', what: 'resource', name: 'x://none' };
    expect(await lines()).toContainEqual(
      expect.objectContaining({ ...said, method: 'subscriptions/listen' }),
    );
  });

  it('by a method that MCP does not define is answered as if there were none #roles-deny', async () => {
    const { ask, lines } = await world('on');
    const denied = await ask('x-own/method', {});
    const nowhere = await ask('x-own/method', {}, { id: 'token:nobody', role: 'nobody' });
    expect(denied.answered.error).toEqual(nowhere.answered.error);
    expect(denied.answered.error).toEqual({
      code: -32_601,
      message: 'Method not found: x-own/method',
    });
    expect(await lines()).toContainEqual(
      expect.objectContaining({ kind: 'denied', method: 'x-own/method' }),
    );
  });

  it('inside the pipeline is written down, too #audit', async () => {
    const { host, lines } = await world('on');
    const operation = { method: 'tools/call', kind: 'tool', name: 'secret', args: '{}' } as const;
    await expect(
      host.carry({ principal: reader, server: 'open', operation }),
    ).rejects.toMatchObject({ code: 'denied' });
    expect(await lines()).toEqual([
      expect.objectContaining({ kind: 'denied', server: 'open', name: 'secret' }),
    ]);
  });
});

describe('what others have chosen', () => {
  it('is cut, escaped and without known secrets #audit #stderr-guarded', async () => {
    const { ask, lines, disk } = await world('on');
    await ask('tools/call', { name: `open__${'x'.repeat(5_000)}\u001b[2J\u202e\n` });
    await ask('tools/call', { name: `nothing__${secret}` });
    const [long, withSecret] = await lines();
    expect(String(long?.['name']).length).toBeLessThanOrEqual(512);
    const bytes = [...disk.files.values()].join('');
    expect(bytes).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u202e]/);
    expect(bytes).not.toContain(secret);
    expect(String(withSecret?.['name'])).toContain('nothing__');
  });
});

describe('a secret', () => {
  it.each([0, 1, 2, 3, 10, 15, 19])(
    'of which a cut leaves %i characters is not shown #audit #stderr-guarded',
    async (left) => {
      const { ask, lines, disk } = await world('on');
      // Replaced by much less, so that the end of what is looked through has room in the line.
      const known = `nothing__hf_${'A'.repeat(900)}`;
      const begin = `${known} ${'x'.repeat(1_024 - known.length - 1 - left)}`;
      await ask('tools/call', { name: `${begin}${secret}` });
      const [line] = await lines();
      const name = String(line?.['name']);
      expect(name).toContain('nothing__[access token] x');
      expect(name).toMatch(/x$/);
      expect([...disk.files.values()].join('')).not.toContain('S3c');
    },
  );

  it('of one server is not shown in what is said of another, also after it was changed #audit #stderr-guarded', async () => {
    const { ask, lines, disk, diskClock, host } = await world('on');
    await ask('tools/call', { name: `open__${secret}` });
    await ask('tools/call', { name: `hidden__${secret}` });
    await diskClock.advanceAsync(20);
    const other = 'Another-s3cret';
    const mcpServers = {
      open: { command: '/bin/open', env: { TOKEN: other } },
      hidden: { command: '/bin/hidden' },
    };
    await host.apply({ mcpServers, hostTools: false, roles });
    await settled();
    await ask('tools/call', { name: `nothing__${other}` });
    const names = (await lines()).map(({ name }) => name);
    expect(names).toEqual(['open__[env TOKEN]', 'hidden__[env TOKEN]', 'nothing__[env TOKEN]']);
    expect([...disk.files.values()].join('')).not.toMatch(/S3cret|s3cret/);
  });
});

describe('a name of megabytes', () => {
  it('is cut before secrets are looked for in it, and before it is formatted #audit', async () => {
    const { trail, disk } = auditTrail();
    const looked: number[] = [];
    const redact = (said: string) => {
      looked.push(said.length);
      return said;
    };
    const parts = { mode: 'on' as const, trail, clock: manualClock(), process: 'p1' };
    const audit = new CallAudit({ ...parts, redact, roleOf: ({ role }) => role });
    const name = 'x'.repeat(8 * 1_048_576);
    const request = { server: null, kind: 'tool', name, method: name } as const;
    audit.denied(reader, request, () => ({ request, why: `there is no ${name}` }));
    await trail[Symbol.asyncDispose]();
    expect(looked).toHaveLength(2);
    expect(Math.max(...looked)).toBeLessThanOrEqual(1_024);
    const [line] = disk.records(`${auditFolder}/1`).filter(({ kind }) => kind === 'denied');
    expect(JSON.stringify(line).length).toBeLessThan(2_048);
  });
});
