// A call is decided again after everything that it has waited for: right before it is sent, and before it gets
// what was not sent for it. What was taken away meanwhile is neither sent nor given out.

import { describe, expect, it } from 'vitest';
import { auditTrail } from '../../../test/support/audit-log.ts';
import { newHost, settled } from '../../../test/support/fake-gateway.ts';
import { manualClock } from '../../../test/support/manual-clock.ts';
import { ErrorAnswer, type Script, text, tool } from '../../../test/support/scripted-server.ts';
import { Fault } from '../../kernel/fault.ts';
import type { KeyedRecord } from '../../policy/idempotency.ts';
import { KeyedMemory } from '../../policy/keyed-memory.ts';
import { localUser, type Principal } from '../../policy/principal.ts';
import { noRoles, Roles } from '../../policy/roles/roles.ts';
import { MemoryStore } from '../../store/memory-store.ts';

const ann: Principal = { id: 'token:ann', role: 'r' };
const rules = { allow: ['s/*'], deny: [], operator: false };
const withRole = new Roles({ roles: { r: rules }, local: { role: null } });
const withoutIt = new Roles({ roles: { other: rules }, local: { role: null } });

/** Claims wait while it is held. */
class HeldKeys extends KeyedMemory {
  held: Promise<void> | undefined;

  override async claim(slot: string, record: KeyedRecord, ttlMs: number) {
    await this.held;
    return await super.claim(slot, record, ttlMs);
  }
}

function newWorld(script: Script = {}, config: object = {}) {
  const keyed = new HeldKeys(manualClock());
  const tools = [{ ...tool('get'), annotations: { readOnlyHint: true } }, tool('put')];
  const world = newHost({ s: { tools, ...script } }, { config: { s: config }, kept: { keyed } });
  const { host, servers } = world;
  host.parts.access.roles = withRole;
  const call = (name = 'put', options: object = {}, principal: Principal = ann) =>
    host.call('s', name, {}, { principal, ...options }).then(
      () => 'ok',
      (thrown: unknown) => (thrown instanceof Fault ? [thrown.code, thrown.dispatched] : thrown),
    );
  const takeAway = () => {
    host.parts.access.roles = withoutIt;
  };
  const sent = () => servers.s.heard('tools/call').length;
  return { ...world, keyed, call, takeAway, sent };
}

const silent = { on: { 'tools/call': () => undefined } };
const answering = { on: { 'tools/call': () => text('done') } };
const once = { idempotencyKey: 'one' };

describe('a call whose role is taken away', () => {
  it.each([[{}], [once]])(
    'while its server starts is not sent %j #policy-at-once',
    async (options) => {
      const { call, takeAway, sent, servers } = newWorld({
        on: { ...answering.on, initialize: () => undefined },
      });
      const ended = call('put', options);
      await settled();
      takeAway();
      const { child } = servers.s;
      child.answer(child.last('initialize'), {
        protocolVersion: '2025-06-18',
        capabilities: { tools: {} },
        serverInfo: { name: 's', version: '1' },
      });
      expect(await ended).toEqual(['denied', 'no']);
      expect(sent()).toBe(0);
    },
  );

  it.each([[{}], [once]])(
    'while it waits for a place is not sent, and starts nothing %j #policy-at-once',
    async (options) => {
      const { call, takeAway, sent, servers, host } = newWorld(silent, { concurrency: 1 });
      const first = call('get');
      await settled();
      servers.s.script = { ...servers.s.script, ...answering };
      const ended = call('put', options);
      await settled();
      expect([sent(), host.find('s').admission.queued]).toEqual([1, 1]);
      takeAway();
      const { child } = servers.s;
      child.answer(child.last('tools/call'), text('done'));
      // What was sent while it was allowed is answered.
      expect(await first).toBe('ok');
      expect(await ended).toEqual(['denied', 'no']);
      expect([sent(), servers.s.children.length]).toEqual([1, 1]);
    },
  );

  it('while it waits for a place does not start a server that has ended meanwhile #policy-at-once', async () => {
    const { call, takeAway, servers } = newWorld(silent, { concurrency: 1 });
    const first = call('put');
    await settled();
    servers.s.script = { ...servers.s.script, ...answering };
    const ended = call('get');
    await settled();
    takeAway();
    servers.s.child.exit();
    expect(await first).toEqual(['outcome_unknown', 'maybe']);
    expect(await ended).toEqual(['denied', 'no']);
    await settled();
    expect(servers.s.children.length).toBe(1);
  });

  it('is not sent a second time after its connection was lost #policy-at-once', async () => {
    const { call, takeAway, sent, servers } = newWorld(silent, { trusted: true });
    const ended = call('get');
    await settled();
    servers.s.script = { ...servers.s.script, ...answering };
    takeAway();
    servers.s.child.exit();
    expect(await ended).toEqual(['denied', 'maybe']);
    expect(sent()).toBe(1);
  });

  it('does not get the answer of another with its key #policy-at-once', async () => {
    const { call, takeAway, servers, sent } = newWorld(silent);
    const first = call('put', once);
    await settled();
    const second = call('put', once);
    await settled();
    takeAway();
    const { child } = servers.s;
    child.answer(child.last('tools/call'), text('done'));
    expect([await first, await second]).toEqual(['ok', ['denied', 'yes']]);
    expect(sent()).toBe(1);
  });

  it.each([
    ['answer', () => text('done'), 'ok'],
    ['error', () => new ErrorAnswer({ code: -32_000, message: 'no' }), ['rpc_error', 'yes']],
  ])(
    'does not get the %s that is kept with its key #policy-at-once',
    async (_what, answer, before) => {
      const { call, takeAway, keyed, sent } = newWorld({ on: { 'tools/call': answer } });
      expect(await call('put', once)).toEqual(before);
      let release = () => {};
      keyed.held = new Promise((resolve) => {
        release = resolve;
      });
      const again = call('put', once);
      await settled();
      takeAway();
      release();
      expect(await again).toEqual(['denied', 'yes']);
      expect(sent()).toBe(1);
    },
  );

  it('does not get what was asked for an equal call #policy-at-once', async () => {
    const { call, takeAway, servers, sent } = newWorld(silent, {
      tools: { get: { cacheMs: 60_000 } },
    });
    const first = call('get');
    await settled();
    const second = call('get');
    await settled();
    takeAway();
    const { child } = servers.s;
    child.answer(child.last('tools/call'), text('done'));
    expect([await first, await second]).toEqual(['ok', ['denied', 'no']]);
    expect(sent()).toBe(1);
  });

  it('is not charged for what was asked for an equal call, though that is beyond the limit #policy-at-once', async () => {
    const { call, takeAway, servers, host } = newWorld(silent, {
      tools: { get: { cacheMs: 60_000 } },
    });
    const first = call('get');
    await settled();
    const second = host.withBudget({ bytes: 5 }, () => call('get'));
    await settled();
    takeAway();
    const { child } = servers.s;
    child.answer(child.last('tools/call'), text('done'));
    expect([await first, await second]).toEqual(['ok', ['denied', 'no']]);
  });

  it('is decided by a guard at that time, too #policy-at-once', async () => {
    const { call, servers, sent, host } = newWorld({
      on: { ...answering.on, initialize: () => undefined },
    });
    host.parts.access.roles = noRoles;
    let isAllowed = true;
    host.setGuard(() => (isAllowed ? { allow: true } : { allow: false, reason: 'not any more' }));
    const ended = call('put');
    await settled();
    isAllowed = false;
    const { child } = servers.s;
    child.answer(child.last('initialize'), {
      protocolVersion: '2025-06-18',
      capabilities: { tools: {} },
      serverInfo: { name: 's', version: '1' },
    });
    expect(await ended).toEqual(['denied', 'no']);
    expect(sent()).toBe(0);
  });
});

describe('a call whose role is taken away before it waits for a busy server', () => {
  /** The only place of the server is taken. What is held is the disk of the audit log, or what was spent before. */
  async function busy(what: 'the audit log' | 'its budget') {
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const spent = new MemoryStore({ clock: manualClock() }).records('spent', {
      durability: 'process',
    });
    const isAudit = what === 'the audit log';
    if (!isAudit) spent.entries = () => held.then(() => []);
    const { trail, disk } = auditTrail();
    const settings = {
      roles: { r: { allow: ['s/*'], ...(isAudit ? {} : { budget: { calls: 9 } }) } },
    };
    const { host } = newHost(
      { s: { tools: [tool('put')], ...silent } },
      {
        ...{ config: { s: { concurrency: 1 } }, settings, audit: { mode: 'required', trail } },
        kept: { keyed: new KeyedMemory(manualClock()), spent },
      },
    );
    const ends: unknown[] = [];
    const call = async (principal: Principal) => {
      host.call('s', 'put', {}, { principal }).then(
        () => ends.push('ok'),
        (thrown: unknown) => ends.push(thrown instanceof Fault ? thrown.code : thrown),
      );
      await settled();
    };
    await call(localUser);
    expect(host.find('s').admission.inside).toBe(1);
    if (isAudit) disk.held = held;
    return { host, call, release, ends };
  }

  it.each(['the audit log', 'its budget'] as const)(
    'is told so when %s has been waited for, and does not stand in line #policy-at-once',
    async (what) => {
      const { host, call, release, ends } = await busy(what);
      await call(ann);
      expect([ends, host.find('s').admission.queued]).toEqual([[], 0]);
      host.parts.access.roles = withoutIt;
      release();
      await settled();
      await settled();
      expect(ends).toEqual(['denied']);
    },
  );
});
