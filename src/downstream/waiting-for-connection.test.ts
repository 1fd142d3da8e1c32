// Modern calls whose client has all of its connections in use for other roots: they wait for one, each
// gets one for itself, and they count in the queue of the server. Real gateway and host, scripted
// servers, manual clock.

import { describe, expect, it } from 'vitest';
import { newPrograms } from '../../test/support/modern-program.ts';
import { rooted, rootsTold, seconds } from '../../test/support/rooted-server.ts';
import { type Script, text } from '../../test/support/scripted-server.ts';

/** Calls with `hold` are answered by `end`, the oldest first. */
function held() {
  const open: (() => void)[] = [];
  const script: Script = {
    ...rooted,
    on: {
      ...rooted.on,
      'tools/call': (heard, child) => {
        const { arguments: args } = heard.params as { arguments: { hold?: boolean } };
        if (!args.hold) return text(rootsTold(child));
        open.push(() => child.answer(heard, text(rootsTold(child))));
        return undefined;
      },
    },
  };
  return { open, script, end: () => open.shift()?.() };
}

const s = { concurrency: 64, callTimeoutMs: 600_000 };

describe('calls that wait for a connection', () => {
  it.each(['auto', 'client'] as const)(
    'of a program with roots and of one without do not get the same one (%s) #own-roots',
    async (isolation) => {
      const { open, script, end } = held();
      const world = newPrograms(script, { config: { s: { ...s, isolation } } });
      await world.withRoots('file:///0')('s__a');
      if (isolation === 'auto') world.host.find('s').slots.foundAsking();
      const busy = Array.from({ length: 8 }, (_, at) =>
        world.withRoots(`file:///${at}`)('s__a', { hold: true, at }).catch(String),
      );
      for (let t = 0; t < 20 && open.length < 8; t += 1) await seconds(0.5, world.clock);
      expect(open).toHaveLength(8);
      const waiter = world.withRoots('file:///waiter')('s__a', { k: 1 });
      await seconds(1, world.clock);
      const bare = world.withRoots()('s__a', { k: 2 });
      await seconds(1, world.clock);
      for (let t = 0; t < 9; t += 1) {
        end();
        await seconds(1, world.clock);
      }
      expect((await bare).said).toContain('none');
      expect((await waiter).said).toContain('file:///waiter');
      await Promise.all(busy);
    },
  );

  it('all have their turn #own-roots', async () => {
    const { script, end } = held();
    const world = newPrograms(script, { config: { s } });
    await world.withRoots('file:///0')('s__a');
    const calls = Array.from({ length: 14 }, async (_, at) => {
      const uri = `file:///n${at}n`;
      return { uri, ...(await world.withRoots(uri)('s__a', { hold: true, at })) };
    });
    for (let t = 0; t < 60; t += 1) {
      await seconds(0.3, world.clock);
      if (t > 20) end();
    }
    for (const { uri, said } of await Promise.all(calls)) expect(said).toContain(uri);
  });

  it('use the one on which a list was read, as soon as it is read #own-roots', async () => {
    const { open, script } = held();
    const lists: (() => void)[] = [];
    let isSlow = false;
    const slow: Script = {
      ...script,
      on: {
        ...script.on,
        'tools/list': (heard, child) => {
          const answer = () => child.answer(heard, { tools: script.tools });
          if (isSlow) lists.push(answer);
          else answer();
        },
      },
    };
    const world = newPrograms(slow, { config: { s: { ...s, isolation: 'client' } } });
    await world.withRoots('file:///0')('s__a');
    const busy = Array.from({ length: 7 }, (_, at) =>
      world
        .withRoots(`file:///${at + 1}`)('s__a', { hold: true, at })
        .catch(String),
    );
    for (let t = 0; t < 20 && open.length < 7; t += 1) await seconds(0.5, world.clock);
    expect(open).toHaveLength(7);
    isSlow = true;
    for (const child of world.children()) child.note('notifications/tools/list_changed');
    await seconds(0.1, world.clock);
    const list = world.modern({ roots: {} }).request('tools/list');
    await seconds(0.1, world.clock);
    expect(lists.length).toBeGreaterThan(0);
    isSlow = false;
    const peer = world.withRoots('file:///waiter');
    let said = '';
    const waiting = peer('s__a', { k: 1 }).then((answer) => {
      said = answer.said;
    });
    await seconds(1, world.clock);
    expect([said, list.answers.length]).toEqual(['', 0]);
    const idle = [...world.host.find('s').slots.all()].filter((one) => one.inFlight === 0);
    expect(idle.map(({ supervisor }) => supervisor.leases.isWanted)).toContain(true);
    for (const answer of lists.splice(0)) answer();
    await seconds(8, world.clock);
    expect(list.answers).toHaveLength(1);
    expect(said).toContain('file:///waiter');
    for (const answer of open.splice(0)) answer();
    await seconds(2, world.clock);
    await Promise.all([...busy, waiting]);
  });

  it('count in the queue of the server, which is bounded #overload', async () => {
    const slow: Script = { ...rooted, on: { ...rooted.on, 'tools/call': () => undefined } };
    const config = { s: { concurrency: 8, queue: 1, callTimeoutMs: 600_000 } };
    const world = newPrograms(slow, { config });
    world.host.find('s').facts.learn({ asksRoots: true, keepsRoots: true, modern: false });
    const peer = world.modern({ roots: {} });
    const call = async (at: number) => {
      const asked = peer.call('s__a', { at });
      await seconds(0.1, world.clock);
      const { inputRequests, requestState } = asked.result as {
        inputRequests: object;
        requestState: string;
      };
      const [key = ''] = Object.keys(inputRequests);
      const inputResponses = { [key]: { roots: [{ uri: `file:///${at}` }] } };
      return peer.call('s__a', { at }, { inputResponses, requestState });
    };
    for (let at = 0; at < 8; at += 1) await call(at);
    await seconds(5, world.clock);
    expect(world.servers.s.heard('tools/call')).toHaveLength(8);
    const more = [];
    for (let at = 8; at < 108; at += 1) more.push(await call(at));
    await seconds(5, world.clock);
    expect(more.filter(({ answers }) => answers.length === 0)).toHaveLength(1);
    expect(more.at(-1)?.answers.join()).toContain('overloaded');
  });

  it('count with those that wait in the queue #overload', async () => {
    const { open, script } = held();
    const config = { s: { concurrency: 8, queue: 2, callTimeoutMs: 600_000 } };
    const world = newPrograms(script, { config });
    world.host.find('s').facts.learn({ asksRoots: true, keepsRoots: true, modern: false });
    const busy = Array.from({ length: 8 }, (_, at) =>
      world.withRoots(`file:///${at}`)('s__a', { hold: true, at }).catch(String),
    );
    for (let t = 0; t < 20 && open.length < 8; t += 1) await seconds(0.5, world.clock);
    const same = [1, 2].map((at) => world.withRoots('file:///0')('s__a', { same: at }));
    await seconds(2, world.clock);
    expect(world.host.find('s').admission.queued).toBe(2);
    expect((await world.withRoots('file:///more')('s__a')).said).toContain('queue is full');
    for (const answer of open.splice(0)) answer();
    await seconds(2, world.clock);
    await Promise.all([...busy, ...same]);
  });
});
