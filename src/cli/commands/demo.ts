// holdfast demo: shows in a few seconds what the library does, with two small example servers. The
// scenes are in `demo/`; this file prepares them, cleans up, and prints what to do next. Nothing is
// left behind, and the exit code is 1 if any claim did not hold.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Command } from 'commander';
import type { Host } from '../../host/host.ts';
import { ownIdentity, packageFolder } from '../../host/identity.ts';
import type { HostEvent } from '../../observe/events.ts';
import { Narration } from '../demo/narration.ts';
import { oneStartForMany, readThatSurvives, writeThatTellsTheTruth } from '../demo/scenes.ts';
import { exitCodes } from '../exit-codes.ts';
import type { Invocation, Perform } from '../invocation.ts';
import { serverTable } from '../render/status-page.ts';
import type { Shell } from '../shell.ts';
import { orInterrupted, withHostOf } from '../standalone.ts';

const help = `
Two small servers are started and killed while they work; the output shows what their callers get.
With --json: {"ok", "scenes": [{"title", "facts": [{"ok", "text"}]}]}.

Example:
  holdfast demo`;

export function addDemo(program: Command, perform: Perform): void {
  program
    .command('demo')
    .summary('show in a few seconds what Holdfast does')
    .description('Show what Holdfast does, with two small example servers.')
    .addHelpText('after', help)
    .action((_options: unknown, command: Command) => perform(command, demo));
}

async function demo(invocation: Invocation): Promise<number> {
  const { shell, isJson } = invocation;
  const { out } = shell;
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-demo-'));
  const narration = new Narration(isJson ? null : out);
  try {
    if (!isJson)
      out.line(`${out.style('bold', `Holdfast ${ownIdentity().version}`)}, a demonstration`);
    await play(invocation, narration, join(folder, 'ledger'));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  if (isJson) out.json({ ok: narration.isTrue, scenes: narration.scenes });
  else for (const line of howToGoOn(shell)) out.line(line);
  return narration.isTrue ? exitCodes.ok : exitCodes.failed;
}

async function play(invocation: Invocation, narration: Narration, ledger: string): Promise<void> {
  const { shell, isJson } = invocation;
  const { configFromObject } = await import('../../config/load.ts');
  const input = { mcpServers: demoServers({ BANK_LEDGER: ledger }) };
  const loaded = configFromObject(input, { baseDir: shell.cwd, env: shell.env });
  const events: HostEvent[] = [];
  const options = { isReadOnly: true, onEvent: (event: HostEvent) => void events.push(event) };
  await withHostOf(invocation, loaded, options, async ({ host }) => {
    const stage = { host, narration, ledger };
    // Results of a scene while its servers are being stopped are not findings.
    for (const scene of [oneStartForMany, readThatSurvives, writeThatTellsTheTruth]) {
      await orInterrupted(shell, scene(stage));
    }
    // The events of the last call have not been delivered yet.
    await new Promise((resolve) => setImmediate(resolve));
    if (!isJson) showStatus(shell, host, events);
  });
}

function showStatus({ out, clock, steps }: Shell, host: Host, history: HostEvent[]): void {
  const now = clock.wallNow();
  const states = { instanceState: 'running', warnings: [] } as const;
  const view = { status: host.status(), history, current: history, now, ...states, steps };
  const { calls } = view.status;
  out.line(`\n${out.style('bold', 'The status now')}`);
  for (const line of serverTable(view, out.style, out)) out.line(line);
  const sum = `${calls.total} calls: ${calls.ok} answered, ${calls.faults} fault, ${calls.replays} repeated`;
  out.line(out.style('dim', sum));
}

/** The bundled servers as config entries. */
function demoServers(bankEnv: Readonly<Record<string, string>>) {
  const entry = (name: string) => ({ command: process.execPath, args: [serverFile(name)] });
  return {
    weather: { ...entry('weather'), trusted: true },
    bank: { ...entry('bank'), env: bankEnv },
  };
}

function serverFile(name: string): string {
  return fileURLToPath(new URL(`examples/servers/${name}.mjs`, packageFolder));
}

function howToGoOn({ out: { style }, cwd }: Shell): string[] {
  const entry = (name: string, more = '') =>
    `    "${name}": { "command": "node", "args": [${JSON.stringify(serverFile(name))}]${more} }`;
  return [
    '',
    style('bold', 'Try it yourself'),
    style(
      'dim',
      'Save this as holdfast.json, or use the config file of another client with --config:',
    ),
    '',
    '{',
    '  "mcpServers": {',
    `${entry('weather', ', "trusted": true')},`,
    entry('bank'),
    '  }',
    '}',
    '',
    style('dim', 'and try:'),
    '',
    ...['tools', 'call weather/forecast city=Lisbon', 'status'].map(
      (words) => `  ${ownCommand(cwd)} ${words}`,
    ),
  ];
}

/** How this program can be run again: by its name if it is installed, else by its file. */
function ownCommand(cwd: string): string {
  const file = process.argv[1] ?? '';
  if (basename(file) === 'holdfast') return 'holdfast';
  const path = relative(cwd, file);
  return `node ${path.startsWith('..') ? file : path}`;
}
