// @openai/agents-core. A call gives the content alone, so an error of a tool is known by its text.

import { MCPServerStdio, MCPServerStreamableHttp } from '@openai/agents-core';
import { drive, target } from './drive.mjs';

const { transport, url, headers, stdio } = target;
const server =
  transport === 'stdio'
    ? new MCPServerStdio({ ...stdio, name: 'holdfast' })
    : new MCPServerStreamableHttp({ url, requestInit: { headers }, name: 'holdfast' });

await drive({
  connect: () => server.connect(),
  list: async () => (await server.listTools()).map(({ name }) => name),
  async call(name, args) {
    const content = await server.callTool(name, args);
    const text = content.map((block) => block.text ?? '').join('\n');
    return { text, isError: /ENOENT|denied|outside/i.test(text) };
  },
  close: () => server.close(),
});
