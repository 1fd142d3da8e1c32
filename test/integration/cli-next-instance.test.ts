// Commands that follow an instance go on with the next one: `logs -f` and `status --watch`.

import { spawn } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { mainProgram } from '../support/build.ts';
import { GatewayHome, Started } from '../support/gateway-home.ts';
import { until } from '../support/until.ts';

/** Says on stderr which process it is, and knows one tool. */
const talking = `
  const { createInterface } = require('node:readline');
  console.error('I am ' + process.pid);
  createInterface({ input: process.stdin }).on('line', (line) => {
    const { id, method, params } = JSON.parse(line);
    const serverInfo = { name: 'talking', version: '1' };
    const result = method === 'initialize'
      ? { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo }
      : { tools: [] };
    if (id !== undefined) console.log(JSON.stringify({ jsonrpc: '2.0', id, result }));
  });
`;

function startIn(home: GatewayHome, ...args: string[]): Started {
  const words = [mainProgram, ...args, '--config', home.configFile];
  return new Started(spawn(process.execPath, words, { env: home.env, cwd: home.folder }));
}

function timesIn(text: string, words: string): number {
  return text.split(words).length - 1;
}

describe('when the instance ends', () => {
  it('logs -f and status --watch say so, and go on with the next one until Ctrl-C #one-instance #command-line', async () => {
    const entry = { command: process.execPath, args: ['-e', talking] };
    await using home = await GatewayHome.create({ mcpServers: { talking: entry } });
    let logs: Started | undefined;
    let watch: Started | undefined;
    for (const times of [1, 2]) {
      const served = await home.serve();
      await home.run(['start', 'talking']);
      logs ??= startIn(home, 'logs', 'talking', '-f');
      watch ??= startIn(home, 'status', '--watch');
      const isShown = () => timesIn(logs?.stdout ?? '', 'I am ') === times;
      await until(isShown, `the output of instance ${times} is shown`);
      await watch.printed(`pid ${served.pid}`);
      expect((await home.run(['shutdown'])).code).toBe(0);
      expect((await served.ended).code).toBe(0);
      const isTold = () => timesIn(logs?.stderr ?? '', 'the instance has ended') === times;
      await until(isTold, `the end of instance ${times} is told`);
      const isSeen = () => timesIn(watch?.stdout ?? '', 'No instance') === times;
      await until(isSeen, `the watch has seen the end of instance ${times}`);
    }
    for (const started of [logs, watch]) {
      started?.kill('SIGINT');
      expect((await started?.ended)?.code).toBe(0);
    }
    expect(timesIn(logs?.stderr ?? '', 'the next instance runs')).toBe(1);
  });
});
