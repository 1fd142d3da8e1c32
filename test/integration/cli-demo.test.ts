// `holdfast demo` is what a visitor runs first: everything that it claims must hold.

import { readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { expect, it } from 'vitest';
import { commandLine } from '../support/command-line.ts';

const leftovers = async () =>
  (await readdir(tmpdir())).filter((name) => name.startsWith('holdfast-demo-'));

it('the demonstration holds what it claims, leaves nothing, and its config works #command-line', async () => {
  await using cli = await commandLine();
  const before = await leftovers();
  const { code, stdout, stderr } = await cli.run(['demo']);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout.match(/✓/g)?.length).toBe(6);
  expect(stdout).not.toContain('✗');
  expect(stdout).toContain('outcome_unknown');
  expect(await leftovers()).toEqual(before);

  const config = stdout.slice(stdout.indexOf('\n{\n'), stdout.indexOf('\n}\n') + 2);
  const { mcpServers } = JSON.parse(config);
  await cli.servers(mcpServers);
  const call = await cli.run(['call', 'weather/forecast', 'city=Lisbon']);
  expect(call).toMatchObject({ code: 0, stdout: 'Lisbon: 15 °C, clear\n', stderr: '' });
});

it('the demonstration claims no failure where it is interrupted #command-line', async () => {
  await using cli = await commandLine();
  const started = cli.start(['demo']);
  await started.printed('✓');
  started.kill('SIGINT');
  const { code, stdout } = await started.ended;
  expect(code).toBe(130);
  expect(stdout).not.toContain('✗');
});
