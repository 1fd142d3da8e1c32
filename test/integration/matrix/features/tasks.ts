// Tasks: those of 2025-11-25, which a client asks for and fetches in its session, and those of the modern
// extension, which a server makes as it likes. A client that knows neither gets results all the same.

import { expect } from 'vitest';
import { until } from '../../../support/until.ts';
import { callTool, type Feature } from '../feature.ts';

const text = JSON.stringify;
const related = 'io.modelcontextprotocol/related-task';
const answer = { action: 'accept', content: { name: 'Ada' } };

export const taskFeatures: readonly Feature[] = [
  {
    needs: 'sdk',
    name: 'gets the result of a tool that its server runs as a task, and answers its question',
    isOurs: true,
    exercise: async (cell) => {
      const { conversation } = cell.client;
      const before = conversation.questions.length;
      conversation.answer = () => answer;
      const { content } = await callTool(cell, 'long_task');
      expect(content).toEqual([{ type: 'text', text: 'done for Ada' }]);
      expect(conversation.questions.slice(before)).toMatchObject([
        { method: 'elicitation/create', params: { message: 'Who waits for this task?' } },
      ]);
    },
  },
  {
    needs: 'raw',
    name: 'asks for a task, answers its question and fetches its result',
    exercise: async ({ client, named, tag }) => {
      const { task } = (await client.result(`start-${tag}`, 'tools/call', {
        name: text(named('long_task')),
        task: '{"ttl":60000}',
      })) as { task: { taskId: string; status: string } };
      expect(task).toMatchObject({ status: 'working', ttl: 60_000, pollInterval: 10 });
      const { taskId } = task;
      const got = await client.result(`get-${tag}`, 'tasks/get', { taskId: text(taskId) });
      expect(got).toMatchObject({ taskId, status: 'input_required' });
      const before = client.heard.length;
      const fetching = client.result(`result-${tag}`, 'tasks/result', { taskId: text(taskId) });
      const asked = () =>
        client.heard
          .slice(before)
          .find(({ message }) => message['method'] === 'elicitation/create');
      await until(() => asked() !== undefined, 'the question comes', 8_000);
      expect(asked()?.message).toMatchObject({ params: { _meta: { [related]: { taskId } } } });
      await client.respond(asked()?.message['id'], { ...answer, _meta: { [related]: { taskId } } });
      expect(await fetching).toMatchObject({
        content: [{ text: 'done for Ada' }],
        _meta: { [related]: { taskId } },
      });
    },
  },
  {
    needs: 'raw',
    name: 'lists its tasks, cancels one, and is told when there is none',
    exercise: async ({ client, named, tag }) => {
      const begin = async (id: string) => {
        const call = { name: text(named('long_task')), task: '{}' };
        const { task } = await client.result(`${id}-${tag}`, 'tools/call', call);
        return (task as { taskId: string }).taskId;
      };
      const [first, second] = [await begin('one'), await begin('two')];
      const { tasks } = (await client.result(`list-${tag}`, 'tasks/list')) as {
        tasks: { taskId: string }[];
      };
      const listed = tasks.map(({ taskId }) => taskId);
      expect(listed).toEqual(expect.arrayContaining([first, second]));
      expect(new Set(listed).size).toBe(listed.length);
      const taskId = text(first);
      const cancelled = await client.result(`cancel-${tag}`, 'tasks/cancel', { taskId });
      expect(cancelled).toMatchObject({ taskId: first, status: 'cancelled' });
      const told = () =>
        client.heard.filter(({ message }) => message['method'] === 'notifications/tasks/status');
      await until(() => told().length > 0, 'the new state is told', 8_000);
      expect(told().at(-1)?.message).toMatchObject({ params: { taskId: first } });
      const none = await client.request(`none-${tag}`, 'tasks/get', { taskId: text('no-such') });
      expect(none.message).toMatchObject({ error: { code: -32602 } });
    },
  },
  {
    needs: 'raw',
    name: 'follows a task to its end',
    exercise: async ({ client, named }) => {
      const started = await client.result('start', 'tools/call', {
        name: text(named('start_task')),
      });
      expect(started).toMatchObject({ resultType: 'task', status: 'working', ttlMs: 60_000 });
      const taskId = text(started['taskId']);
      const asked = await client.result('get', 'tasks/get', { taskId });
      expect(asked).toMatchObject({
        resultType: 'complete',
        taskId: started['taskId'],
        status: 'input_required',
        inputRequests: { who: { method: 'elicitation/create' } },
      });
      const inputResponses = text({ who: { action: 'accept', content: { name: 'Ada' } } });
      await client.result('update', 'tasks/update', { taskId, inputResponses });
      const done = await client.result('again', 'tasks/get', { taskId });
      expect(done).toMatchObject({
        status: 'completed',
        result: { content: [{ text: 'done for Ada' }, { type: 'hologram', beams: [3] }] },
      });
    },
  },
  {
    needs: 'raw',
    name: 'cancels a task, and is told when there is none',
    exercise: async ({ client, named }) => {
      const started = await client.result('start', 'tools/call', {
        name: text(named('start_task')),
      });
      const taskId = text(started['taskId']);
      await client.result('cancel', 'tasks/cancel', { taskId });
      const after = await client.result('get', 'tasks/get', { taskId });
      expect(after).toMatchObject({ status: 'cancelled' });
      const none = await client.request('none', 'tasks/get', { taskId: text('no-such-task') });
      expect(none.message).toMatchObject({ error: { code: -32602 } });
    },
  },
];
