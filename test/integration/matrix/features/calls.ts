// What goes on while a call is under way: progress, cancellation, logging.

import { expect } from 'vitest';
import { until } from '../../../support/until.ts';
import type { Json, MatrixClient } from '../client.ts';
import { type Cell, callTool, type Feature } from '../feature.ts';

export const callFeatures: readonly Feature[] = [
  {
    needs: 'sdk',
    name: 'hears of the progress while its call is under way',
    exercise: async (cell) => {
      const heard: Json[] = [];
      const call = callTool(cell, 'steps', {}, { onProgress: (step) => heard.push(step) });
      await until(() => heard.length === 2, 'both steps are heard', 8_000);
      await cell.probe.release(cell.tag);
      expect(await call).toMatchObject({ content: [{ text: 'done' }] });
      expect(heard).toMatchObject([
        { progress: 1, total: 3, message: 'one' },
        { progress: 2.5, total: 3, message: 'two and a half' },
      ]);
    },
  },
  {
    needs: 'sdk',
    name: 'cancels a call, and the server is told',
    exercise: async (cell) => {
      const abort = new AbortController();
      const call = callTool(cell, 'wait', {}, { signal: abort.signal });
      const failed = expect(call).rejects.toThrow();
      await cell.probe.saw('waiting', { tag: cell.tag });
      abort.abort('enough');
      await failed;
      const { client, server, probe, tag } = cell;
      // In the modern era a closed connection may be all that says so.
      const isSaid = client.era === 'legacy' && server.era === 'legacy';
      await probe.saw('cancelled', { tag, ...(isSaid ? { reason: 'enough' } : {}) });
    },
  },
  {
    needs: 'sdk',
    name: 'gets the log from the level that it asks for',
    exercise: async (cell) => {
      const { client, tag, probe } = cell;
      await client.setLogLevel('error');
      const call = callTool(cell, 'log');
      await until(() => logged(cell).length > 0, 'the log is heard', 8_000);
      await probe.release(tag);
      await call;
      expect(logged(cell)).toMatchObject([{ level: 'error', data: `loud ${tag}` }]);
      await client.setLogLevel('debug');
      const more = callTool({ ...cell, tag: `${tag}-again` }, 'log');
      await until(() => logged(cell).length === 3, 'both levels are heard', 8_000);
      await probe.release(`${tag}-again`);
      await more;
      expect(logged(cell).slice(1)).toMatchObject([{ level: 'info' }, { level: 'error' }]);
    },
  },
];

function logged({ client, tag }: Cell<MatrixClient>): readonly Json[] {
  return client.conversation.notifications
    .filter(({ method }) => method === 'notifications/message')
    .map(({ params }) => params)
    .filter(({ data }) => typeof data === 'string' && data.includes(tag));
}
