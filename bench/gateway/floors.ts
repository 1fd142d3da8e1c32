// How the floors are started; what they are stands in floors/, one file each.

import { fileURLToPath } from 'node:url';
import type { HttpCommand } from './http-subject.ts';
import { leanServer } from './lean-server.ts';
import type { StdioCommand } from './stdio-subject.ts';

export const bareOnStdio: StdioCommand = { name: 'bare', args: floor('bare-stdio') };
export const naiveOnStdio: StdioCommand = { name: 'naive', args: floor('naive-stdio') };
export const bareOnHttp: HttpCommand = {
  name: 'bare',
  args: floor('bare-http'),
  dialect: 'modern',
};
export const naiveOnHttp: HttpCommand = {
  name: 'naive',
  args: floor('naive-http'),
  dialect: 'modern',
};

/** Nothing in between: how fast generator and server are by themselves. */
export const nothingOnStdio: StdioCommand = { name: '(no gateway)', args: leanServer.args };

function floor(name: string): readonly string[] {
  const file = fileURLToPath(new URL(`./floors/${name}.mjs`, import.meta.url));
  return [file, leanServer.command, ...leanServer.args];
}
