// @mastra/mcp. It makes an object of every tool that is listed, under a name with its own prefix.

import { MCPClient } from '@mastra/mcp';
import { answerOf, drive, target } from './drive.mjs';

const { transport, url, headers, stdio } = target;
const client = new MCPClient({
  servers: {
    h: transport === 'stdio' ? stdio : { url: new URL(url), requestInit: { headers } },
  },
});

let tools;

await drive({
  connect: async () => {
    tools = await client.listTools();
  },
  list: async () => Object.keys(tools),
  async call(name, args) {
    const result = await tools[`h_${name}`].execute(args, {});
    return Array.isArray(result?.content) ? answerOf(result) : asText(result);
  },
  close: () => client.disconnect(),
  callsUnlisted: false,
});

/** A result that it has unwrapped. */
function asText(result) {
  const text = typeof result === 'string' ? result : unquoted(result);
  return { text, isError: Boolean(result?.isError ?? result?.error) };
}

function unquoted(result) {
  return typeof result?.content === 'string' ? result.content : JSON.stringify(result);
}
