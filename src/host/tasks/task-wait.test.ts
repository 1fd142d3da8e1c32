import { afterEach, expect, it, vi } from 'vitest';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { CancelSignal } from '../../kernel/cancel-signal.ts';
import type { Connection, RequestOptions } from '../../upstream/connection.ts';
import { scanMessage } from '../../wire/scan.ts';
import { Interruption } from '../call/interruption.ts';
import type { Caller } from '../connections/caller.ts';
import { BegunTasks } from './begun-tasks.ts';
import { described } from './task-result.ts';
import { finishTask } from './task-wait.ts';

const asksSomething =
  '{"taskId":"t1","status":"input_required","inputRequests":{"q":{"method":"elicitation/create","params":{}}}}';

function resultOf(json: string) {
  return scanMessage(Buffer.from(`{"jsonrpc":"2.0","id":1,"result":${json}}`));
}

it('a followed task is cancelled under its own name in the headers, not under that of the tool', async () => {
  const clock = new ManualClock();
  const sent: [string, RequestOptions['headers']][] = [];
  const connection = {
    era: 'modern',
    child: undefined,
    isLost: false,
    request: (method: string, _params: unknown, options: RequestOptions) => {
      sent.push([method, options.headers]);
      return { id: 1, answer: Promise.resolve(resultOf(asksSomething)), cancel: () => {} };
    },
  } as unknown as Connection;
  const refuses = async () => ({ kind: 'error', json: '{"code":-1,"message":"no"}' });
  const begun = resultOf('{"resultType":"task","taskId":"t1","status":"working"}');
  const task = described(begun.bytes, begun.resultObject);
  if (!task) throw new Error('not a task');
  const finishing = finishTask(
    {
      server: 's',
      connection,
      options: { headers: { 'mcp-name': 'tool', 'mcp-param-x': '1' } },
      caller: { client: { key: 'c', ask: refuses } } as unknown as Caller,
      clock,
      interruption: new Interruption(),
      tasks: new BegunTasks(clock, () => {}),
    },
    task,
  );
  await clock.advanceAsync(5_000);
  await finishing;
  expect(sent).toEqual([
    ['tasks/get', { 'mcp-name': 't1' }],
    ['tasks/cancel', { 'mcp-name': 't1' }],
  ]);
});

afterEach(() => {
  vi.restoreAllMocks();
});

it('a task that asks again and again leaves no listener behind for its questions', async () => {
  const listening = new Map<CancelSignal, number>();
  const count = (signal: CancelSignal, by: number) =>
    void listening.set(signal, (listening.get(signal) ?? 0) + by);
  const { addEventListener: add, removeEventListener: remove } = CancelSignal.prototype;
  vi.spyOn(CancelSignal.prototype, 'addEventListener').mockImplementation(function (
    this: CancelSignal,
    ...args
  ) {
    count(this, 1);
    add.apply(this, args);
  });
  vi.spyOn(CancelSignal.prototype, 'removeEventListener').mockImplementation(function (
    this: CancelSignal,
    ...args
  ) {
    count(this, -1);
    remove.apply(this, args);
  });
  const clock = new ManualClock();
  let asked = 0;
  const answerTo = (method: string) => {
    if (method !== 'tasks/get') return resultOf('{}');
    asked += 1;
    if (asked > 5) return resultOf('{"taskId":"t1","status":"completed","result":{}}');
    return resultOf(asksSomething.replace('"q"', `"q${asked}"`));
  };
  const connection = {
    era: 'modern',
    child: undefined,
    isLost: false,
    request: (method: string) => ({
      id: 1,
      answer: Promise.resolve(answerTo(method)),
      cancel: () => {},
    }),
  } as unknown as Connection;
  const answers = async () => ({ kind: 'result', json: '{"action":"decline"}' });
  const begun = resultOf('{"resultType":"task","taskId":"t1","status":"working"}');
  const task = described(begun.bytes, begun.resultObject);
  if (!task) throw new Error('not a task');
  const finishing = finishTask(
    {
      server: 's',
      connection,
      options: {},
      caller: { client: { key: 'c', ask: answers } } as unknown as Caller,
      clock,
      interruption: new Interruption(),
      tasks: new BegunTasks(clock, () => {}),
    },
    task,
  );
  await clock.advanceAsync(10_000);
  expect((await finishing).kind).toBe('result');
  expect(asked).toBe(6);
  expect([...listening.values()].filter((left) => left > 0)).toEqual([]);
});
