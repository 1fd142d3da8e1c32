// The budgets of roles through the whole gateway: what is charged, to whom, and when.

import { describe, expect, it } from 'vitest';
import { newGateway, settled, type WorldOptions } from '../../test/support/fake-gateway.ts';
import { type ManualClock, manualClock } from '../../test/support/manual-clock.ts';
import {
  ErrorAnswer,
  type Heard,
  type ScriptedChild,
  text,
  tool,
} from '../../test/support/scripted-server.ts';
import type { ConfigInput, RoleInput } from '../config/config-input.ts';
import type { Fault } from '../kernel/fault.ts';
import { KeyedMemory } from '../policy/keyed-memory.ts';
import { cutBy, localUser, type Principal } from '../policy/principal.ts';
import { Account } from '../policy/role-budgets/account.ts';
import { isStoredCount } from '../policy/role-budgets/stored-count.ts';
import { MemoryStore } from '../store/memory-store.ts';

type BudgetInput = NonNullable<RoleInput['budget']>;

const ann: Principal = { id: 'token:ann', role: 'r' };
const bob: Principal = { id: 'token:bob', role: 'r' };

const scripts = {
  s: {
    tools: [tool('get'), tool('put'), tool('secret')],
    prompts: [{ name: 'p' }],
    resources: [{ uri: 'x://a', name: 'a' }],
    on: {
      'tools/call': () => text('done'),
      'prompts/get': () => ({ messages: [] }),
      'resources/read': () => ({ contents: [{ uri: 'x://a', text: 'a' }] }),
    },
  },
};

const config = { s: { tools: { get: { cacheMs: 60_000 } } } };

function rolesWith(budget: BudgetInput) {
  return { r: { allow: ['*'], deny: ['s/secret'], budget } };
}

async function world(budget: BudgetInput, more: WorldOptions = {}) {
  const settings = { roles: rolesWith(budget), ...more.settings };
  const gateway = newGateway(scripts, { config, ...more, settings });
  const done = async <T>(reply: T): Promise<T> => {
    await settled();
    await gateway.clock.advanceAsync(10);
    await settled();
    return reply;
  };
  const ask = async (method: string, params: object, principal: Principal = ann) =>
    await done(gateway.legacy({}, principal).request(method, params));
  /** `ok`, or the fault. */
  const call = async (name: string, principal: Principal = ann, meta: object = {}) => {
    const reply = await ask('tools/call', { name, arguments: {}, _meta: meta }, principal);
    return endOf(reply);
  };
  await ask('tools/list', {}, localUser);
  const ran = () => gateway.servers.s.heard('tools/call').length;
  return { ...gateway, ask, call, done, ran };
}

function endOf({ answers }: { readonly answers: readonly string[] }): unknown {
  const [answer = '{}'] = answers;
  const { result, error } = JSON.parse(answer) as {
    result?: { _meta?: Record<string, unknown> };
    error?: { message: string; data?: unknown };
  };
  return result?._meta?.['holdfast/fault'] ?? error?.data ?? error?.message ?? 'ok';
}

const spent = (more: object = {}) => expect.objectContaining({ code: 'budget_exceeded', ...more });

describe('the budget of a role', () => {
  it('is charged for answers of the cache, and refuses before the cache is read #budgets-kept #budget', async () => {
    const { call, ran } = await world({ calls: 2 });
    expect([await call('s__get'), await call('s__get')]).toEqual(['ok', 'ok']);
    expect(ran()).toBe(1);
    expect(await call('s__get')).toEqual(spent({ limit: 'calls', limitValue: 2, spent: 2 }));
    expect(await call('s__get', localUser)).toBe('ok');
  });

  it('is not charged for what is denied or unknown, nor for lists and the own tools #budget', async () => {
    const { call, ask, ran } = await world({ calls: 1 }, { settings: { hostTools: true } });
    for (const name of ['s__secret', 's__nothing', 'nobody__x']) {
      expect(await call(name)).toBe(`Unknown tool: ${name}`);
    }
    for (const list of ['tools/list', 'prompts/list', 'resources/list']) await ask(list, {});
    expect(await call('holdfast__health_snapshot')).toBe('ok');
    expect(await call('s__put')).toBe('ok');
    expect(await call('s__put')).toEqual(spent());
    expect(ran()).toBe(1);
  });

  it('is not charged for calls that are denied while they wait, nor is a scope #budgets-kept', async () => {
    const open: [Heard, ScriptedChild][] = [];
    const hold = (heard: Heard, child: ScriptedChild) => void open.push([heard, child]);
    const { host, legacy, config, ...at } = newGateway(
      { s: { ...scripts.s, on: { 'tools/call': hold } } },
      { config: { s: { concurrency: 1 } }, settings: { roles: rolesWith({ calls: 3 }) } },
    );
    const answerAll = async () => {
      for (let one = open.shift(); one; one = open.shift()) {
        one[1].answer(one[0], text('done'));
        await settled();
      }
    };
    const apply = async (allow: string[]) => {
      const roles = { r: { allow, deny: ['s/secret'], budget: { calls: 3 } } };
      await host.apply({ mcpServers: config.mcpServers, hostTools: false, roles });
      await settled();
    };
    legacy().request('tools/list');
    legacy().request('tools/call', { name: 's__put' });
    await settled();
    const peer = legacy({}, ann);
    const put = (meta: object = {}) =>
      peer.request('tools/call', { name: 's__put', arguments: {}, _meta: meta });
    const waiting = [put(), put(), put(key('k'))];
    await settled();
    await apply(['other/*']);
    await answerAll();
    expect(waiting.map(endOf)).toEqual(Array.from({ length: 3 }, () => 'Unknown tool: s__put'));
    expect(at.servers.s.heard('tools/call')).toHaveLength(1);
    await apply(['*']);
    const ends = [];
    for (const meta of [{}, key('k'), {}, {}]) {
      const reply = put(meta);
      await settled();
      await answerAll();
      ends.push(endOf(reply));
    }
    expect(ends).toEqual(['ok', 'ok', 'ok', spent({ spent: 3 })]);
    legacy().request('tools/call', { name: 's__put' });
    await settled();
    await host.withBudget({ calls: 1 }, async () => {
      const call = () =>
        host.call('s', 'put', {}).then(
          () => 'ok',
          (thrown: Fault) => thrown.code,
        );
      const denied = call();
      await settled();
      host.setGuard(() => ({ allow: false, reason: 'no' }));
      await answerAll();
      expect(await denied).toBe('denied');
      host.setGuard(null);
      const allowed = call();
      await settled();
      await answerAll();
      expect([await allowed, await call()]).toEqual(['ok', 'budget_exceeded']);
    });
  });

  it('counts prompts and resources as it counts tools', async () => {
    const { call, ask } = await world({ calls: 2 });
    expect(endOf(await ask('prompts/get', { name: 's__p' }))).toBe('ok');
    expect(endOf(await ask('resources/read', { uri: 'x://a' }))).toBe('ok');
    expect(await call('s__put')).toEqual(spent());
    expect(endOf(await ask('resources/read', { uri: 'x://a' }))).toEqual(spent());
  });

  it('is one for all paths of a principal #budgets-kept #path-takes-away', async () => {
    const { call } = await world({ calls: 2 });
    const paths = [
      cutBy(ann, { kind: 'server', name: 's' }),
      cutBy(ann, { kind: 'role', name: 'r' }),
    ];
    expect([await call('put', paths[0]), await call('s__put', paths[1])]).toEqual(['ok', 'ok']);
    for (const principal of [ann, paths[1] as Principal]) {
      expect(await call('s__put', principal)).toEqual(spent());
    }
    expect(await call('put', paths[0])).toEqual(spent());
    expect(await call('s__put', bob)).toBe('ok');
  });

  it('is shared by all of the role, or is of each session, if the config says so', async () => {
    const shared = await world({ calls: 1, per: 'role' });
    expect(await shared.call('s__put')).toBe('ok');
    expect(await shared.call('s__put', bob)).toEqual(spent());
    const { legacy, done, modern, host } = await world({ calls: 1, per: 'session' });
    const put = { name: 's__put', arguments: {} };
    const clients = [legacy({}, ann), legacy({}, ann), modern({}, { principal: ann, key: 'm' })];
    for (const client of clients) {
      expect(endOf(await done(client.request('tools/call', put)))).toBe('ok');
      expect(endOf(await done(client.request('tools/call', put)))).toEqual(spent());
    }
    await host.apply({
      hostTools: false,
      roles: { ...rolesWith({ calls: 1, per: 'session' }), another: { allow: ['*'] } },
      mcpServers: { s: { command: '/bin/s', ...config.s } },
    });
    for (const client of clients) {
      expect(endOf(await done(client.request('tools/call', put)))).toEqual(spent());
    }
  });

  it('is charged once for a call whose client is asked for more, and not for what follows a task', async () => {
    const { roundsOf, host } = askingWorld({ calls: 1 });
    expect(await roundsOf(0)).toEqual(['ok', 2]);
    const carry = (method: string) =>
      host
        .carry({
          principal: ann,
          server: 's',
          operation: { method, kind: 'other', name: 't', args: '{}' },
          about: { kind: 'tool', name: 'put' },
        })
        .then(
          () => 'ok',
          (thrown: Fault) => thrown.code,
        );
    expect(await carry('tasks/get')).toBe('rpc_error');
    expect(await carry('x/custom')).toBe('budget_exceeded');
  });

  it('does not give out the result that exceeds its bytes', async () => {
    const { call, ran } = await world({ bytes: 60 });
    const ends = [await call('s__put'), await call('s__put'), await call('s__put')];
    expect(ends).toEqual([
      'ok',
      spent({ limit: 'bytes', dispatched: 'yes' }),
      spent({ limit: 'bytes', dispatched: 'no' }),
    ]);
    expect(ran()).toBe(2);
  });

  it('counts the bytes of errors that a server answers with, also under a key #budgets-kept', async () => {
    const { call, host, servers, ran } = await world({ bytes: 1_500 });
    const data = 'x'.repeat(600);
    const fails = new ErrorAnswer({ code: -32_000, message: 'm', data });
    servers.s.script = { ...scripts.s, on: { ...scripts.s.on, 'tools/call': () => fails } };
    expect([await call('s__put'), await call('s__put')]).toEqual([data, data]);
    expect(spentIn(host).bytes).toBeGreaterThan(1_200);
    const key = { 'holdfast/idempotencyKey': 'k' };
    const over = spent({ limit: 'bytes', dispatched: 'yes' });
    expect([await call('s__put', ann, key), await call('s__put', ann, key)]).toEqual([over, over]);
    expect([await call('s__put'), ran()]).toEqual([spent({ limit: 'bytes', dispatched: 'no' }), 3]);
  });

  it('counts the bytes of progress, and gives out no more of it than it allows #budgets-kept', async () => {
    const { ask, servers } = await world({ bytes: 2_000 });
    const on = {
      'tools/call': ({ params }: Heard, child: ScriptedChild) => {
        const { progressToken } = params['_meta'] as { progressToken: unknown };
        for (let progress = 1; progress <= 20; progress++) {
          child.note('notifications/progress', {
            progressToken,
            progress,
            message: 'x'.repeat(600),
          });
        }
        return text('done');
      },
    };
    servers.s.script = { ...scripts.s, on: { ...scripts.s.on, ...on } };
    const params = { name: 's__put', arguments: {}, _meta: { progressToken: 'p' } };
    const reply = await ask('tools/call', params);
    expect(reply.sent.length).toBe(3);
    expect(endOf(reply)).toEqual(spent({ limit: 'bytes', dispatched: 'yes' }));
  });

  it.each(['legacy', 'modern'] as const)(
    'counts the bytes of log messages for a %s client, and gives out no more than it allows #budgets-kept',
    async (era) => {
      const { legacy, modern, servers, done, host } = await world({ bytes: 2_000 });
      const on = {
        'tools/call': (_: Heard, child: ScriptedChild) => {
          const data = 'x'.repeat(600);
          // What its client does not want to hear is not counted.
          for (let count = 0; count < 20; count++)
            child.note('notifications/message', { level: 'debug', data });
          for (let count = 0; count < 20; count++)
            child.note('notifications/message', { level: 'error', data });
          return text('done');
        },
      };
      servers.s.script = { ...scripts.s, on: { ...scripts.s.on, ...on } };
      const call = { name: 's__put', arguments: {} };
      const client = legacy({}, ann);
      if (era === 'legacy') await done(client.request('logging/setLevel', { level: 'warning' }));
      const options = { principal: ann, key: ann.id, logLevel: 'warning' };
      const reply = await done(
        era === 'legacy'
          ? client.request('tools/call', call)
          : modern({}, options).request('tools/call', call),
      );
      expect(reply.sent.length).toBe(3);
      expect(endOf(reply)).toEqual(spent({ limit: 'bytes', dispatched: 'yes' }));
      expect(spentIn(host).bytes).toBeGreaterThan(2_000);
    },
  );

  it('counts the bytes of questions, and asks none beyond it #budgets-kept', async () => {
    const { legacy, servers, done } = await world({ bytes: 2_000 });
    const on = {
      'tools/call': (_: Heard, child: ScriptedChild) => {
        const params = { message: 'x'.repeat(900), requestedSchema: { type: 'object' } };
        for (let count = 0; count < 4; count++)
          child.ask(`q${count}`, 'elicitation/create', params);
        return undefined;
      },
    };
    servers.s.script = { ...scripts.s, on: { ...scripts.s.on, ...on } };
    const unable = legacy({}, ann).request('tools/call', { name: 's__put', arguments: {} });
    await done(undefined);
    // It cannot be asked, and is not charged.
    expect(unable.sent).toEqual([]);
    const able = legacy({ elicitation: {} }, ann);
    const reply = await done(able.request('tools/call', { name: 's__put', arguments: {} }));
    expect(reply.sent.length).toBe(2);
    expect(reply.sent.every((frame) => frame.includes('elicitation/create'))).toBe(true);
  });

  it('counts the bytes of questions that a modern client is shown in a result #budgets-kept', async () => {
    const { modern, servers, done } = await world({ bytes: 2_000 });
    const on = {
      'tools/call': (_: Heard, child: ScriptedChild) => {
        const params = { message: 'x'.repeat(900), requestedSchema: { type: 'object' } };
        for (let count = 0; count < 4; count++)
          child.ask(`q${count}`, 'elicitation/create', params);
        return undefined;
      },
    };
    servers.s.script = { ...scripts.s, on: { ...scripts.s.on, ...on } };
    const options = { principal: ann, key: ann.id };
    const reply = await done(modern({ elicitation: {} }, options).call('s__put'));
    const { inputRequests } = reply.result as { inputRequests: object };
    expect(Object.keys(inputRequests)).toHaveLength(2);
  });

  it('counts the bytes of every round of a call whose client is asked for more #budgets-kept', async () => {
    const { roundsOf } = askingWorld({ bytes: 400 });
    // A question of about 200 bytes fits; the result of the last round does not.
    expect(await roundsOf(300)).toEqual([spent({ limit: 'bytes', dispatched: 'yes' }), 2]);
    const roomy = askingWorld({ bytes: 4_000 });
    expect(await roomy.roundsOf(300)).toEqual(['ok', 2]);
    // Its question was counted with the result that it came in, and not once more.
    expect(spentIn(roomy.host)).toEqual({ calls: 1, bytes: roomy.answeredBytes() });
  });

  it('counts the bytes of an outcome each time that it is fetched #budgets-kept', async () => {
    const script = { tools: [tool('ask')], on: { 'tools/call': () => undefined } };
    const roles = rolesWith({ bytes: 1_000 });
    const { modern, servers } = newGateway({ s: script }, { settings: { roles } });
    const peer = modern({ elicitation: {} }, { principal: ann, key: ann.id });
    const asked = peer.call('s__ask');
    await settled();
    const { child } = servers.s;
    child.ask(50, 'elicitation/create', { message: '?' });
    await settled();
    const inputResponses = { q1: { action: 'accept', content: {} } };
    const fetch = async () => {
      const { requestState } = asked.result;
      const reply = peer.call('s__ask', {}, { requestState, inputResponses });
      await settled();
      return reply;
    };
    const first = await fetch();
    child.answer(child.last('tools/call'), text('x'.repeat(400)));
    await settled();
    const over = spent({ limit: 'bytes', dispatched: 'yes' });
    const ends = [first, await fetch(), await fetch(), await fetch()].map(endOf);
    expect(ends).toEqual(['ok', 'ok', over, over]);
    expect(child.heardAs('tools/call')).toHaveLength(1);
  });

  it('counts the bytes of what a task gives, which is no further call #budgets-kept', async () => {
    const { host, servers } = await world({ calls: 1, bytes: 100 });
    servers.s.script = {
      ...scripts.s,
      on: { ...scripts.s.on, 'tasks/result': () => text('x'.repeat(60)) },
    };
    const carry = () =>
      host
        .carry({
          principal: ann,
          server: 's',
          operation: { method: 'tasks/result', kind: 'other', name: 't', args: '{}' },
          about: { kind: 'tool', name: 'put' },
        })
        .then(
          () => 'ok',
          (thrown: Fault) => [thrown.code, thrown.dispatched],
        );
    expect([await carry(), await carry()]).toEqual(['ok', ['budget_exceeded', 'yes']]);
  });

  it('of a minute says when to try again', async () => {
    const { call, clock } = await world({ perMinute: 1 });
    expect(await call('s__put')).toBe('ok');
    const refused = (await call('s__put')) as { retryAfterMs: number };
    expect(refused).toEqual(spent({ limit: 'perMinute', retryable: true }));
    await clock.advanceAsync(refused.retryAfterMs);
    expect(await call('s__put')).toBe('ok');
  });

  it('that is changed applies to the next call, and an unchanged one goes on', async () => {
    const { call, host } = await world({ calls: 1 });
    const apply = (roles: NonNullable<ConfigInput['roles']>) =>
      host.apply({
        hostTools: false,
        roles,
        mcpServers: { s: { command: '/bin/s', ...config.s } },
      });
    expect([await call('s__put'), await call('s__put')]).toEqual(['ok', spent()]);
    await apply({ ...rolesWith({ calls: 1 }), another: { allow: ['*'] } });
    expect(await call('s__put')).toEqual(spent());
    await apply({ another: { allow: ['*'] } });
    await apply(rolesWith({ calls: 1 }));
    expect(await call('s__put')).toEqual(spent());
    await apply(rolesWith({ calls: 2 }));
    expect([await call('s__put'), await call('s__put')]).toEqual(['ok', 'ok']);
    expect(await call('s__put')).toEqual(spent());
    await apply(rolesWith({}));
    expect(await call('s__put')).toBe('ok');
  });

  it('is the local user’s only through its role, and applies beside withBudget', async () => {
    const { host, call } = await world({ calls: 3 }, { settings: { local: { role: 'r' } } });
    const put = () =>
      host.call('s', 'put', {}).then(
        () => 'ok',
        (thrown) => thrown.code,
      );
    await host.withBudget({ calls: 1 }, async () => {
      expect([await put(), await put()]).toEqual(['ok', 'budget_exceeded']);
    });
    expect([await put(), await call('s__put', localUser)]).toEqual(['ok', 'ok']);
    expect(await put()).toBe('budget_exceeded');
  });

  it('is not waited for by a call that is cancelled, nor at the end, if its record hangs', async () => {
    const hangs = keptIn(manualClock());
    hangs.kept.spent.put = () => new Promise<never>(() => {});
    const { legacy, host, clock } = await world({ calls: 10 }, hangs);
    const client = legacy({}, ann);
    const put = { name: 's__put', arguments: {} };
    const replies = [client.request('tools/call', put, 7), client.request('tools/call', put, 8)];
    await settled();
    expect(replies.map(({ answers }) => answers.length)).toEqual([0, 0]);
    expect(host.status().servers[0]?.inFlight).toBe(0);
    client.note('notifications/cancelled', { requestId: 7 });
    await settled();
    expect(host.traffic.snapshot(() => true).inFlight).toBe(1);
    await clock.advanceAsync(10_000);
    await settled();
    expect(replies.map(endOf)[1]).toBe('ok');
    let isClosed = false;
    const closing = host.close().then(() => {
      isClosed = true;
    });
    await clock.advanceAsync(10_000);
    await settled();
    expect(isClosed).toBe(true);
    await closing;
  });

  it('never lets more calls through than it has, however many come at once', async () => {
    const { legacy, done, ran } = await world({ calls: 10 }, keptIn(manualClock()));
    const client = legacy({}, ann);
    const replies = Array.from({ length: 25 }, () =>
      client.request('tools/call', { name: 's__put', arguments: {} }),
    );
    await done(undefined);
    expect(replies.filter((reply) => endOf(reply) === 'ok')).toHaveLength(10);
    expect(ran()).toBe(10);
  });
});

/** A modern server that asks a legacy client once, and then answers with so many characters. */
function askingWorld(budget: BudgetInput) {
  let [count, length] = [0, 0];
  const elicitation = {
    method: 'elicitation/create',
    params: { mode: 'form', message: '?', requestedSchema: { type: 'object', properties: {} } },
  };
  let bytes = 0;
  const answer = () => {
    const result =
      ++count === 1
        ? { resultType: 'input_required', inputRequests: { a: elicitation }, requestState: 's' }
        : { resultType: 'complete', ...text('x'.repeat(length)) };
    bytes += Buffer.byteLength(JSON.stringify(result));
    return result;
  };
  const asking = { era: 'modern', tools: [tool('put')], on: { 'tools/call': answer } } as const;
  const gateway = newGateway({ s: asking }, { settings: { roles: rolesWith(budget) } });
  const roundsOf = async (resultLength: number) => {
    length = resultLength;
    const client = gateway.legacy({ elicitation: {} }, ann);
    const reply = client.request('tools/call', { name: 's__put', arguments: {} });
    await settled();
    client.answer(1, { action: 'cancel' });
    await settled();
    return [endOf(reply), gateway.servers.s.heard('tools/call').length];
  };
  return { ...gateway, roundsOf, answeredBytes: () => bytes };
}

/** What is counted for ann. */
function spentIn({ parts }: ReturnType<typeof newGateway>['host']) {
  const account = parts.roleBudgets.accountOf(ann, 'r', undefined);
  if (!(account instanceof Account)) throw new Error('there is no count');
  return account.spent;
}

/** What outlives a host, as the database does. */
function keptIn(clock: ManualClock) {
  const store = new MemoryStore({ clock });
  const spentRecords = store.records('spent', { durability: 'process', shape: isStoredCount });
  return { kept: { keyed: new KeyedMemory(clock), spent: spentRecords } };
}

const key = (name: string) => ({ 'holdfast/idempotencyKey': name });

describe('a retry with the same idempotency key', () => {
  it('is charged once, also at once and after a restart, and answered although all is spent #budgets-kept', async () => {
    const kept = keptIn(manualClock());
    const first = await world({ calls: 2 }, kept);
    const client = first.legacy({}, ann);
    const put = { name: 's__put', arguments: {}, _meta: key('one') };
    const both = [client.request('tools/call', put), client.request('tools/call', put)];
    await first.done(undefined);
    expect(both.map(endOf)).toEqual(['ok', 'ok']);
    expect(await first.call('s__put', ann, key('one'))).toBe('ok');
    await first.host.close();
    const second = await world({ calls: 2 }, kept);
    expect(await second.call('s__put', ann, key('one'))).toBe('ok');
    expect(await second.call('s__put', ann, key('two'))).toBe('ok');
    expect(await second.call('s__put', ann, key('three'))).toEqual(spent({ dispatched: 'no' }));
    expect(await second.call('s__put', ann, key('one'))).toBe('ok');
    expect(first.ran() + second.ran()).toBe(2);
  });

  it('whose call was never sent is charged when it is', async () => {
    const { call, host, ran } = await world({ calls: 1 });
    const { admission } = host.find('s');
    admission.resize(0, 0);
    expect(await call('s__put', ann, key('one'))).toMatchObject({ code: 'overloaded' });
    admission.resize(4, 10);
    expect(await call('s__put', ann, key('one'))).toBe('ok');
    expect(await call('s__put', ann, key('two'))).toEqual(spent());
    expect(ran()).toBe(1);
  });

  it('does not get uncounted what arrived after its caller had gone #budgets-kept', async () => {
    const { legacy, servers, done, call, host } = await world({ bytes: 1_000 });
    servers.s.script = { ...scripts.s, on: { 'tools/call': () => undefined } };
    const client = legacy({}, ann);
    const put = { name: 's__put', arguments: {}, _meta: key('one') };
    const left = client.request('tools/call', put, 'left');
    await done(undefined);
    client.note('notifications/cancelled', { requestId: 'left' });
    await done(undefined);
    const { child } = servers.s;
    child.answer(child.last('tools/call'), text('x'.repeat(900)));
    await done(undefined);
    const { bytes } = spentIn(host);
    expect([left.answers, bytes > 900]).toEqual([[], true]);
    expect(await call('s__put', ann, key('one'))).toBe('ok');
    expect(spentIn(host)).toEqual({ calls: 1, bytes });
  });

  it('does not get what exceeded the bytes after its caller had gone #budgets-kept', async () => {
    const { legacy, servers, done, call } = await world({ bytes: 100 });
    servers.s.script = { ...scripts.s, on: { 'tools/call': () => undefined } };
    const client = legacy({}, ann);
    client.request('tools/call', { name: 's__put', arguments: {}, _meta: key('one') }, 'left');
    await done(undefined);
    client.note('notifications/cancelled', { requestId: 'left' });
    const { child } = servers.s;
    child.answer(child.last('tools/call'), text('x'.repeat(900)));
    await done(undefined);
    expect(await call('s__put', ann, key('one'))).toEqual(spent({ limit: 'bytes' }));
  });

  it('does not get a result that exceeded the bytes', async () => {
    const { call, ran } = await world({ bytes: 10 });
    for (let count = 0; count < 2; count++) {
      expect(await call('s__put', ann, key('one'))).toEqual(spent({ limit: 'bytes' }));
    }
    expect(ran()).toBe(1);
  });
});

describe('what was spent', () => {
  const ofCalls = (count: number, most: number) => ({
    limit: 'calls',
    limitValue: most,
    spent: count,
    freesAt: null,
  });

  it('is in the status: of everybody for who sees everything, else of oneself alone #budget #own-view', async () => {
    const { call, host, clock } = await world({ calls: 5, perMinute: 9 });
    const [frees] = [clock.wallNow() + 60_000, await call('s__put', ann)];
    await call('s__put', bob);
    await call('s__put', bob);
    const limits = (count: number) => [
      ofCalls(count, 5),
      { limit: 'perMinute', limitValue: 9, spent: count, freesAt: expect.any(Number) },
    ];
    const [ofAnn, ofBob] = host.status().budgets;
    expect(ofAnn).toEqual({ role: 'r', per: 'principal', principal: ann.id, limits: limits(1) });
    expect(ofBob).toEqual({ role: 'r', per: 'principal', principal: bob.id, limits: limits(2) });
    expect(ofAnn?.limits[1]?.freesAt).toBeGreaterThanOrEqual(frees);
    expect(ofAnn?.limits[1]?.freesAt).toBeLessThan(frees + 1_000);
    const own = { role: null, per: 'principal', principal: bob.id, limits: limits(2) };
    expect(host.status({ principal: bob }).budgets).toEqual([own]);
    const path = cutBy(bob, { kind: 'server', name: 's' });
    expect(host.status({ principal: path }).budgets).toEqual([own]);
    const eve = { id: 'token:eve', role: 'r' };
    expect(host.status({ principal: eve }).budgets).toMatchObject([
      { principal: eve.id, limits: [{ spent: 0 }, { spent: 0, freesAt: null }] },
    ]);
    expect(host.status({ principal: { id: 'token:none', role: null } }).budgets).toEqual([]);
    await clock.advanceAsync(60_000);
    expect(host.status().budgets[0]?.limits).toMatchObject([
      { spent: 1 },
      { spent: 0, freesAt: null },
    ]);
  });

  it('is told to the local user with a role as to everybody else with one #budget #own-view', async () => {
    const { call, host } = await world({ calls: 5 }, { settings: { local: { role: 'r' } } });
    await call('s__put', ann);
    await call('s__put', localUser);
    const own = { per: 'principal', principal: 'local', limits: [ofCalls(1, 5)] };
    expect(host.status().budgets).toEqual([{ role: 'r', ...own }]);
  });

  it('is in the status soon after a restart, without a call, and not that of other limits #budget', async () => {
    const kept = keptIn(manualClock());
    const first = await world({ calls: 3 }, kept);
    await first.call('s__put');
    await first.host.close();
    const second = await world({ calls: 3 }, kept);
    await settled();
    expect(second.host.status().budgets).toMatchObject([
      { principal: ann.id, limits: [ofCalls(1, 3)] },
    ]);
    await second.host.close();
    const third = await world({ calls: 4 }, kept);
    await settled();
    expect(third.host.status().budgets).toEqual([]);
  });

  it('of a minute goes on after an orderly restart #budgets-kept', async () => {
    const kept = keptIn(manualClock());
    const first = await world({ perMinute: 2 }, kept);
    expect([await first.call('s__put'), await first.call('s__put')]).toEqual(['ok', 'ok']);
    await first.host.close();
    const second = await world({ perMinute: 2 }, kept);
    expect(await second.call('s__put')).toEqual(spent({ limit: 'perMinute' }));
    await second.clock.advanceAsync(61_000);
    expect(await second.call('s__put')).toBe('ok');
  });

  it('is spent after a restart, too #budgets-kept', async () => {
    const kept = keptIn(manualClock());
    const first = await world({ calls: 3, bytes: 1_000 }, kept);
    expect([await first.call('s__put'), await first.call('s__put')]).toEqual(['ok', 'ok']);
    await first.host.close();
    const second = await world({ calls: 3, bytes: 1_000 }, kept);
    expect([await second.call('s__put'), await second.call('s__put')]).toEqual(['ok', spent()]);
    await second.host.close();
    const third = await world({ calls: 4, bytes: 1_000 }, kept);
    expect(await third.call('s__put')).toBe('ok');
  });
});
