import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import type { Connection } from '../../upstream/connection.ts';
import { scanMessage } from '../../wire/scan.ts';
import type { Caller, Client } from '../connections/caller.ts';
import { type Beginning, BegunTasks } from './begun-tasks.ts';
import { described } from './task-result.ts';

const connection = { era: 'legacy', isLost: false } as Connection;
const held = { supervisor: { leases: { hold() {}, release() {} } } };
const callerOf = (key: string) => ({ client: { key } }) as unknown as Caller;

const question = scanMessage(
  Buffer.from(
    '{"jsonrpc":"2.0","id":9,"method":"elicitation/create","params":{"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"t"}}}}',
  ),
);

function newTasks() {
  const tasks = new BegunTasks(new ManualClock(), () => {});
  const ownerOf = () => tasks.ownerOf(question, connection)?.client.key;
  const begin = (key: string) => {
    const { bytes, resultObject } = scanMessage(
      Buffer.from('{"jsonrpc":"2.0","id":1,"result":{"taskId":"t","status":"working"}}'),
    );
    const task = described(bytes, resultObject);
    if (!task) throw new Error('not a task');
    const client = { key } as Client;
    const place = { slot: held, connection };
    tasks.begin({ server: 's', era: 'legacy', client, place } as unknown as Beginning, task);
  };
  const follow = (key: string) => tasks.following(connection, 't', callerOf(key), () => {});
  return { tasks, ownerOf, begin, follow };
}

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
