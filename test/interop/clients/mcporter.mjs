// mcporter: a command line with a config file of its own.

import { drive, target } from './drive.mjs';
import { configFile, outputOf, programOf } from './run-program.mjs';

const { transport, url, headers, stdio } = target;
const program = programOf('mcporter', 'mcporter');
const holdfast = transport === 'stdio' ? stdio : { baseUrl: url, headers };
const config = await configFile({ mcpServers: { holdfast }, imports: [] });

function run(...args) {
  const env = { ...stdio.env, HOME: config.folder };
  return outputOf(program, ['--config', config.file, ...args], env);
}

let names;

await drive({
  async connect() {
    const { stdout, stderr } = await run('list', 'holdfast', '--json');
    const { tools } = JSON.parse(stdout || '{}');
    if (tools === undefined) throw new Error(`no tools: ${stderr || stdout}`);
    names = tools.map(({ name }) => name);
  },
  list: async () => names,
  async call(name, args) {
    const asked = ['call', `holdfast.${name}`, '--args', JSON.stringify(args)];
    const { stdout, stderr, code } = await run(...asked, '--output', 'text');
    return { text: stdout || stderr, isError: code !== 0 };
  },
  close: () => config.remove(),
});
