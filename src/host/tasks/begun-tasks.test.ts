import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import type { Connection } from '../../upstream/connection.ts';
import { scanMessage } from '../../wire/scan.ts';
import type { Caller, Client } from '../connections/caller.ts';
import type { Beginning } from './begun-task.ts';
import { BegunTasks } from './begun-tasks.ts';
import { described } from './task-result.ts';

const connection = { era: 'legacy', isLost: false } as Connection;
const callerOf = (key: string) => ({ client: { key } }) as unknown as Caller;

const question = scanMessage(
  Buffer.from(
    '{"jsonrpc":"2.0","id":9,"method":"elicitation/create","params":{"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"t"}}}}',
  ),
);

function newTasks(limits?: { readonly perClient: number; readonly inAll: number }) {
  let holds = 0;
  const hold = () => {
    holds += 1;
  };
  const release = () => {
    holds -= 1;
  };
  const held = { supervisor: { leases: { hold, release } } };
  const tasks = new BegunTasks(new ManualClock(), () => {}, limits);
  const ownerOf = () => tasks.ownerOf(question, connection)?.client.key;
  const begin = (key: string) => {
    const { bytes, resultObject } = scanMessage(
      Buffer.from('{"jsonrpc":"2.0","id":1,"result":{"taskId":"t","status":"working"}}'),
    );
    const task = described(bytes, resultObject);
    if (!task) throw new Error('not a task');
    const client = { key } as Client;
    const place = { slot: held, connection };
    const beginning = { server: 's', era: 'legacy', client, place } as unknown as Beginning;
    return tasks.begin(beginning, task);
  };
  const follow = (key: string) => tasks.following(connection, 't', callerOf(key), () => {});
  return { tasks, ownerOf, begin, follow, holds: () => holds, place: { slot: held, connection } };
}

describe('a task whose id its server has used before, on the same connection', () => {
  it('is the same one as long as that is not over', () => {
    const { begin, holds } = newTasks();
    const first = begin('ann');
    expect([begin('ann') === first, holds()]).toEqual([true, 1]);
  });

  it('is another one once that is over, and its server is held for it #tasks', () => {
    const { tasks, begin, holds, ownerOf } = newTasks();
    const first = begin('ann');
    tasks.fetched(first);
    expect(holds()).toBe(0);
    const second = begin('bob');
    expect([second === first, second.client.key, second.isOver]).toEqual([false, 'bob', false]);
    expect([holds(), ownerOf(), tasks.get(first.serial)]).toEqual([1, 'bob', undefined]);
  });
});

describe('the owner of a task', () => {
  it('is still the client that began it when a call with the same task id has ended', () => {
    const { ownerOf, begin, follow } = newTasks();
    const following = follow('follower');
    expect(ownerOf()).toBe('follower');
    begin('beginner');
    following[Symbol.dispose]();
    expect(ownerOf()).toBe('beginner');
    // Also where the client was first.
    follow('another')[Symbol.dispose]();
    expect(ownerOf()).toBe('beginner');
  });

  it('is still the caller whose call is followed when a begun task with the same id is forgotten', () => {
    const { tasks, ownerOf, begin, follow } = newTasks();
    begin('beginner');
    using _following = follow('follower');
    tasks.close();
    expect(ownerOf()).toBe('follower');
  });

  it('is nobody when all of them are gone', () => {
    const { tasks, ownerOf, begin, follow } = newTasks();
    follow('follower')[Symbol.dispose]();
    begin('beginner');
    tasks.close();
    expect(ownerOf()).toBe(undefined);
  });
});

describe('the tasks of an owner that begins as many as it can', () => {
  /** Tasks of 2025-11-25, each with an id of its own. */
  function world() {
    const { tasks, place } = newTasks({ perClient: 4, inAll: 16 });
    let next = 0;
    const begin = (client: Pick<Client, 'key' | 'sharingOwner'>) => {
      tasks.makeRoom(client, 's');
      const { bytes, resultObject } = scanMessage(
        Buffer.from(`{"jsonrpc":"2.0","id":1,"result":{"taskId":"${next++}","status":"working"}}`),
      );
      const task = described(bytes, resultObject);
      if (!task) throw new Error('not a task');
      const beginning = { server: 's', era: 'legacy', client, place } as unknown as Beginning;
      return tasks.begin(beginning, task);
    };
    const greedy = (count: number) => ({
      key: `session ${count >> 2}`,
      sharingOwner: 'token:greedy',
    });
    return { tasks, begin, greedy };
  }

  it('leave places for others; its own finished ones make room #principal-share', () => {
    const { tasks, begin, greedy } = world();
    const begun = Array.from({ length: 12 }, (_, count) => begin(greedy(count)));
    expect(() => begin(greedy(12))).toThrow(/12 of one principal/);
    const others = begin({ key: 'modest', sharingOwner: 'token:modest' });
    tasks.fetched(others);
    expect(() => begin(greedy(12))).toThrow(/12 of one principal/);
    const [first] = begun;
    if (first) tasks.fetched(first);
    begin(greedy(12));
    expect([tasks.get(first?.serial ?? 0), tasks.get(others.serial)]).toEqual([undefined, others]);
    for (let count = 0; count < 3; count++) begin({ key: `mine ${count >> 2}` });
    expect(() => begin({ key: 'late' })).not.toThrow();
    expect(() => begin({ key: 'late' })).toThrow(/16 of all/);
  });
});
