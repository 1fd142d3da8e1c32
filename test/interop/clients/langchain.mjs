// @langchain/mcp-adapters. It makes an object of every tool that is listed; errors are exceptions.

import { MultiServerMCPClient } from '@langchain/mcp-adapters';
import { answerOf, drive, target } from './drive.mjs';

const { transport, url, headers, stdio } = target;
const client = new MultiServerMCPClient({
  mcpServers: {
    holdfast:
      transport === 'stdio'
        ? { transport: 'stdio', ...stdio, stderr: 'ignore' }
        : { transport: 'http', url, headers },
  },
  useStandardContentBlocks: false,
  prefixToolNameWithServerName: false,
});

let tools;

await drive({
  connect: () => client.initializeConnections().then(() => ''),
  async list() {
    tools = await client.getTools();
    return tools.map(({ name }) => name);
  },
  async call(name, args) {
    const tool = tools.find((one) => one.name === name);
    if (tool !== undefined) return { text: String(await tool.invoke(args)), isError: false };
    const plain = await client.getClient('holdfast');
    return answerOf(await plain.callTool({ name, arguments: args }));
  },
  close: () => client.close(),
});
