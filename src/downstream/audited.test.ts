// What the audit log says of the requests of a gateway: who, what and how it ended, before and after; what
// was denied, of which the caller hears nothing; and nothing of what was said in a call.

import { describe, expect, it } from 'vitest';
import { auditFolder, auditKey, auditTrail } from '../../test/support/audit-log.ts';
import { newGateway, settled } from '../../test/support/fake-gateway.ts';
import { text, tool } from '../../test/support/scripted-server.ts';
import { verifyAudit } from '../audit/verify.ts';
import type { HostAudit } from '../host/call/call-audit.ts';
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

async function world(mode: HostAudit['mode'], settings: object = {}) {
  const { trail, disk, clock: diskClock } = auditTrail();
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
    expect(JSON.stringify(remote.result)).not.toMatch(/ENOSPC|audit|\/state/);
    expect(servers.open.heard('tools/call')).toHaveLength(0);
    expect(host.status().audit).toMatchObject({ mode: 'required', refused: 2 });
    expect(host.status({ principal: localUser }).audit.problem).toContain('ENOSPC');
    disk.failing = undefined;
    expect((await ask('tools/call', { name: 'open__echo' })).result).toEqual(
      text('payload-of-result'),
    );
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
