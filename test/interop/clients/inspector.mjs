// The command line of @modelcontextprotocol/inspector: one connection per command.

import { answerOf, drive, target } from './drive.mjs';
import { configFile, outputOf, programOf } from './run-program.mjs';

const { transport, url, headers, stdio } = target;
const program = programOf('@modelcontextprotocol/inspector', 'mcp-inspector');
const header = Object.entries(headers).flatMap(([name, value]) => [
  '--header',
  `${name}: ${value}`,
]);

const config = await configFile({ mcpServers: { holdfast: stdio } });

const where =
  transport === 'stdio'
    ? ['--config', config.file, '--server', 'holdfast']
    : [url, '--transport', 'http', ...header];

async function run(...args) {
  const { stdout, stderr, code } = await outputOf(program, ['--cli', ...where, ...args], stdio.env);
  try {
    return JSON.parse(stdout);
  } catch {
    throw new Error(`ended with ${code}: ${stderr || stdout}`);
  }
}

let names;

await drive({
  async connect() {
    const { tools } = await run('--method', 'tools/list');
    names = tools.map(({ name }) => name);
  },
  list: async () => names,
  async call(name, args) {
    const pairs = Object.entries(args).flatMap(([key, value]) => ['--tool-arg', `${key}=${value}`]);
    return answerOf(await run('--method', 'tools/call', '--tool-name', name, ...pairs));
  },
  close: () => config.remove(),
});
