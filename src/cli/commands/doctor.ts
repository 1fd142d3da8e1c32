// holdfast doctor: everything that can be checked without starting a server. Each finding says what
// to do about it; if there is one the exit code is 1.

import type { Command } from 'commander';
import type { Check } from '../checks/check.ts';
import { exitCodes } from '../exit-codes.ts';
import type { Invocation, Perform } from '../invocation.ts';
import { checkLines } from '../render/check-lines.ts';
import { LiveLine } from '../render/live-line.ts';
import type { Shell } from '../shell.ts';
import { untilInterrupted } from '../standalone.ts';
import { ownStateDirectory } from '../state-directory.ts';

const help = `
Checked are Node, the config file, the commands and addresses of its servers, the permissions
of the config file and the state directory, and what holds server processes together on this
machine. No server is started. The exit code is 1 if there is something to repair.
With --json: {"ok", "checks": [{"kind": "ok" | "note" | "finding", "subject", "text", "remedy"?}]}.

Example:
  holdfast doctor --config ~/.cursor/mcp.json`;

export function addDoctor(program: Command, perform: Perform): void {
  program
    .command('doctor')
    .summary('check the config, commands, addresses and permissions')
    .description('Check everything that can be checked without starting a server.')
    .addHelpText('after', help)
    .action((_options: unknown, command: Command) => perform(command, doctor));
}

async function doctor({ shell, configFile, isJson }: Invocation): Promise<number> {
  using live = new LiveLine(shell.err, shell.clock);
  live.show('checking');
  const checks = await untilInterrupted(shell, allChecks(shell, configFile));
  live.clear();
  const { out } = shell;
  const isFine = checks.every(({ kind }) => kind !== 'finding');
  if (isJson) out.json({ ok: isFine, checks });
  else for (const line of checkLines(checks, out.style)) out.line(line);
  return isFine ? exitCodes.ok : exitCodes.failed;
}

async function allChecks(shell: Shell, file: string | undefined): Promise<readonly Check[]> {
  const { env, cwd, clock } = shell;
  const [{ loadConfig }, config, files, servers, machine] = await Promise.all([
    import('../../config/load.ts'),
    import('../checks/config.ts'),
    import('../checks/files.ts'),
    import('../checks/servers.ts'),
    import('../checks/machine.ts'),
  ]);
  const reading = config.checkConfig(() => loadConfig({ file, cwd, env }));
  const loaded = reading.kind === 'read' ? reading.loaded : undefined;
  const [ofFile, ofServers, ofState, ofProcesses] = await Promise.all([
    loaded?.file ? files.checkConfigFile(loaded.file) : [],
    loaded ? servers.checkServers(loaded.config, env, clock) : [],
    files.checkStateDirectory(await ownStateDirectory(shell), process.getuid?.()),
    machine.checkContainment(clock, env),
  ]);
  return [
    machine.checkNode(process.version),
    ...reading.checks,
    ...ofFile,
    ...ofServers,
    ofState,
    ofProcesses,
  ];
}
