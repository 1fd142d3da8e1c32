// What a server says unasked: a resource was updated, a list has changed, an elicitation was finished
// elsewhere; and what a client says unasked: its roots have changed.

import { expect } from 'vitest';
import { until } from '../../../support/until.ts';
import { callTool, type Feature, listAll } from '../feature.ts';

const lists = [
  { list: 'tools', method: 'tools/list', member: 'tools' },
  { list: 'prompts', method: 'prompts/list', member: 'prompts' },
  { list: 'resources', method: 'resources/list', member: 'resources' },
] as const;

const listFeatures = lists.map(
  ({ list, method, member }): Feature => ({
    needs: 'sdk',
    name: `hears that the list of ${list} has changed, and sees the new one`,
    exercise: async (cell) => {
      const { client, tag, named } = cell;
      await using _watching = await client.watchLists();
      const before = client.conversation.notifications.length;
      await callTool(cell, 'add', { list, name: `added-${tag}` });
      const change = `notifications/${list}/list_changed`;
      const listed = async () => {
        const all = await listAll(client, method, member);
        return all.map((one) => (list === 'resources' ? one['uri'] : one['name']));
      };
      const added = list === 'resources' ? `memo://added-${tag}` : named(`added-${tag}`);
      await until(
        () => client.conversation.notifications.slice(before).some((one) => one.method === change),
        'the change is heard',
        8_000,
      );
      expect(await listed()).toContain(added);
    },
  }),
);

export const changeFeatures: readonly Feature[] = [
  ...listFeatures,
  {
    needs: 'sdk',
    name: 'hears that a resource it subscribed to was updated',
    exercise: async (cell) => {
      const { client, tag } = cell;
      const uri = `memo://note/${tag}`;
      await using _subscription = await client.subscribe(uri);
      await callTool(cell, 'touch', { uri });
      const updates = () =>
        client.conversation.notifications.filter(
          ({ method, params }) =>
            method === 'notifications/resources/updated' && params['uri'] === uri,
        );
      await until(() => updates().length > 0, 'the update is heard', 8_000);
      expect(updates()).toHaveLength(1);
    },
  },
  {
    needs: 'sdk',
    name: 'hears that an elicitation was finished elsewhere',
    exercise: async (cell) => {
      const { client, tag, probe } = cell;
      const call = callTool(cell, 'finish_elsewhere');
      await until(
        () =>
          client.conversation.notifications.some(
            ({ method, params }) =>
              method === 'notifications/elicitation/complete' &&
              params['elicitationId'] === `visit-${tag}`,
          ),
        'the end of the elicitation is heard',
        8_000,
      );
      await probe.release(tag);
      await call;
    },
  },
  {
    needs: 'sdk',
    name: 'tells the server that its roots have changed',
    exercise: async ({ client, probe }) => {
      const before = probe.entries('notified', { method: rootsChanged }).length;
      await client.notify(rootsChanged, {});
      const told = () => probe.entries('notified', { method: rootsChanged }).length;
      await until(() => told() > before, 'the server is told', 8_000);
    },
  },
];

const rootsChanged = 'notifications/roots/list_changed';
