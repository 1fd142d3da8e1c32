// Errors of our own, planted in a copy of the build where messages, questions, timers and output are
// handled: the gateway goes on, whoever met the error gets an answer, and the log has its cause. The
// last resort of the command line, which ends the process, is not reached.

import { type ChildProcess, spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { ScratchBuild } from '../controls/scratch-build.ts';
import { GatewayHome } from '../support/gateway-home.ts';
import { StdioClient } from '../support/gateway-stdio-client.ts';

const fixture = fileURLToPath(new URL('../fixtures/servers/inherited/main.mjs', import.meta.url));
const talkative = { command: process.execPath, args: [fixture] };
const quiet = { command: process.execPath, args: [fixture, '--quiet'] };

/** The head of a function of the bundle, with a throw right behind it. */
function planted(head: string, condition = 'true') {
  return {
    id: head,
    breaks: 'everything',
    file: 'the bundle',
    foundBy: 'chaos',
    promise: 'one-bad-neighbour',
    edits: [{ find: head, replace: `${head}\n if (${condition}) throw new TypeError('planted');` }],
  } as const;
}

/** A client of a gateway with this error in it. */
function clientOf(build: ScratchBuild, home: GatewayHome): StdioClient {
  const { command, args, env } = home.stdioCommand;
  const [, ...rest] = args;
  const program = join(build.folder, 'cli/main.js');
  const child: ChildProcess = spawn(command, [program, ...rest], { cwd: home.folder, env });
  return new StdioClient(child);
}

/** The events of this kind in the log. */
function defectsIn(home: GatewayHome): readonly Record<string, unknown>[] {
  const files = readdirSync(home.state, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.jsonl'))
    .map(({ parentPath, name }) => join(parentPath, name));
  const lines = files.flatMap((file) => readFileSync(file, 'utf8').split('\n'));
  return lines
    .filter((line) => line.includes('"kind":"defect"'))
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

const text = (answer: { result?: { content?: { text: string }[] } }) =>
  answer.result?.content?.[0]?.text;

describe('an error planted', () => {
  it.each([
    ['where notifications are handled', '#notified(slot, message, about, from) {', 'true'],
    ['where questions are handled', 'asked(slot, message, about, from) {', 'true'],
  ])(
    '%s costs the message, and its server is served on #one-bad-neighbour',
    async (_where, head, condition) => {
      using build = new ScratchBuild('chaos');
      build.plant(planted(head, condition));
      await using home = await GatewayHome.create({ mcpServers: { talkative, quiet } });
      await using client = clientOf(build, home);
      await client.initialize();
      for (const id of [1, 2, 3]) {
        for (const name of ['talkative__say', 'quiet__say']) {
          const answer = await client.ask('tools/call', { name, arguments: {} }, `${name} ${id}`);
          expect(text(answer), name).toBe('say');
        }
      }
      expect(await client.end()).toMatchObject({ code: 0, stderr: '' });
      expect(defectsIn(home)).toContainEqual(
        expect.objectContaining({
          server: 'talkative',
          code: 'internal',
          count: 1,
          detail: expect.stringContaining('TypeError: planted at'),
        }),
      );
    },
  );

  it('where the output of a process is read costs that process, and no other #one-bad-neighbour', async () => {
    using build = new ScratchBuild('chaos');
    build.plant(planted('#read(chunk) {', 'chunk.includes("notifications/constructor")'));
    await using home = await GatewayHome.create({ mcpServers: { talkative, quiet } });
    await using client = clientOf(build, home);
    await client.initialize();
    const call = (name: string) => client.ask('tools/call', { name, arguments: {} }, name);
    expect((await call('talkative__say')).result.isError).toBe(true);
    expect(text(await call('quiet__say'))).toBe('say');
    // That the server was lost is told there in a line.
    expect((await client.end()).code).toBe(0);
    expect(defectsIn(home)).toMatchObject([
      { server: 'talkative', handled: 'the output of the process' },
    ]);
  });

  it('where requests of clients are answered is the answer #one-bad-neighbour', async () => {
    using build = new ScratchBuild('chaos');
    const condition = 'incoming.message.method === "prompts/list"';
    build.plant(planted('function answerRequest(gateway, incoming, session) {', condition));
    await using home = await GatewayHome.create({ mcpServers: { quiet } });
    await using client = clientOf(build, home);
    await client.initialize();
    expect((await client.ask('prompts/list', {}, 1)).error.code).toBe(-32_603);
    expect((await client.ask('tools/list', {}, 2)).result.tools).not.toEqual([]);
    expect(await client.end()).toMatchObject({ code: 0, stderr: '' });
    expect(defectsIn(home)).toMatchObject([{ server: '', handled: 'a message of the client' }]);
  });
});
