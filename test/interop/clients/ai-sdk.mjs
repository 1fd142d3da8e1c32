// @ai-sdk/mcp, versions 1 and 2. It makes a function of every tool that is listed.

import { answerOf, drive, target } from './drive.mjs';

const { transport, url, headers, stdio, package: name } = target;
const { createMCPClient, experimental_createMCPClient } = await import(name);
const { Experimental_StdioMCPTransport } = await import(`${name}/mcp-stdio`);

let client;
let tools;

await drive({
  async connect() {
    client = await (createMCPClient ?? experimental_createMCPClient)({
      transport:
        transport === 'stdio'
          ? new Experimental_StdioMCPTransport({ ...stdio, stderr: 'ignore' })
          : { type: 'http', url, headers },
    });
  },
  async list() {
    tools = await client.tools();
    return Object.keys(tools);
  },
  async call(name, args) {
    const options = { toolCallId: '1', messages: [] };
    return answerOf(await tools[name].execute(args, options));
  },
  close: async () => await client?.close(),
  callsUnlisted: false,
});
