// Values in the shapes by which somebody else has had a program started: entries and snippets of configs, words of a
// command line, variables that load code, forms that a shell or a config would expand. All of them lead to the canary.

import type { Dice } from '../support/dice.ts';
import type { Canary } from './canary.ts';

type Json = Readonly<Record<string, unknown>>;

/** A text that would be run, opened or expanded if it were taken for more than a text. */
export function luringText({ program, module, url }: Canary, dice: Dice): string {
  return dice.pick([
    program,
    `sh -c ${program}`,
    `$(${program})`,
    `\`${program}\``,
    `; ${program} #`,
    `| ${program}`,
    `&& ${program}`,
    `\${cmd:${program}}`,
    `\${file:${program}}`,
    `file://${program}`,
    `stdio:${program}`,
    `../../../../../..${program}`,
    `seen__${program}`,
    `seen/${program}`,
    `npx ${program}`,
    `node --require ${module}`,
    `--require=${module}`,
    url,
    `seen\n${program}\n`,
  ]);
}

/** An entry of a config, or some keys of one. */
function entry(canary: Canary, dice: Dice): Json {
  const { program, module, url } = canary;
  const keys: Json = {
    command: dice.pick<unknown>([program, [program], 'sh', luringText(canary, dice)]),
    args: dice.pick<unknown>([[], ['-c', program], program, [luringText(canary, dice)]]),
    env: { NODE_OPTIONS: `--require ${module}`, LD_PRELOAD: program, PATH: program },
    cwd: dice.pick(['/', 'client', program]),
    shell: dice.pick<unknown>([true, '/bin/sh', program]),
    url,
    transport: dice.pick<unknown>(['stdio', { type: 'stdio', command: program }]),
    type: 'stdio',
    fullCommand: `${program} now`,
    autoApprove: ['*'],
  };
  const chosen = Object.entries(keys).filter(([key]) => key === 'command' || dice.chance(0.5));
  return Object.fromEntries(chosen);
}

/** Members to be put into an object of a request. */
export function luringMembers(canary: Canary, dice: Dice): Json {
  const one = entry(canary, dice);
  // Nothing is more likely to be taken for what it is.
  if (dice.chance(0.5)) return one;
  const name = dice.pick(['x', 'seen', 'canary', '__proto__', 'constructor']);
  const named = JSON.parse(`{${JSON.stringify(name)}:${JSON.stringify(one)}}`) as Json;
  return dice.pick<Json>([
    one,
    { mcpServers: named },
    { servers: named },
    { config: { mcpServers: named } },
    { spec: one },
    { server: one },
    { callCommand: one },
    { tools: { open_000: one } },
    JSON.parse(`{"__proto__":${JSON.stringify({ ...one, mcpServers: named })}}`),
    { constructor: { prototype: one } },
    { 'holdfast/command': one, 'io.modelcontextprotocol/server': one },
  ]);
}

/** The same in a query. */
export function luringQuery(canary: Canary, dice: Dice): string {
  const words = {
    ...entry(canary, dice),
    transportType: 'stdio',
    server: luringText(canary, dice),
  };
  const pairs = Object.entries(words).map(([key, value]): [string, string] => [key, String(value)]);
  return String(new URLSearchParams(pairs));
}

/** The same in headers; only characters that a header may have. */
export function luringHeaders(canary: Canary, dice: Dice): Readonly<Record<string, string>> {
  const text = luringText(canary, dice).replaceAll('\n', ' ');
  const names = [
    'x-command',
    'x-mcp-server',
    'mcp-init-host',
    'mcp-param-command',
    'x-env',
    'cookie',
  ];
  return { [dice.pick(names)]: text, 'x-mcp-transport': 'stdio' };
}
