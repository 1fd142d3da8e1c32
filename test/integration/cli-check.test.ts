// holdfast check, with a running gateway and without.

import { describe, expect, it } from 'vitest';
import { faultyStdio } from '../support/faulty.ts';
import { GatewayHome } from '../support/gateway-home.ts';

const servers = {
  files: faultyStdio(),
  broken: { command: '/nowhere/nothing' },
  off: { ...faultyStdio(), disabled: true },
};

async function said(home: GatewayHome, ...args: string[]) {
  const { code, stdout, stderr } = await home.run(['check', ...args]);
  return `${code} ${stdout.trim()}${stderr.trim()}`;
}

describe('check', () => {
  it('starts nothing: a server is ready once its tools are known #command-line', async () => {
    await using home = await GatewayHome.create({ mcpServers: servers });
    expect(await said(home, 'files')).toMatch(
      /^3 files not ready: idle, its tools are not known yet/,
    );
    expect(await said(home, 'files', '--wait', '30')).toBe('0 files ready');
    expect(await said(home, 'files'), 'stored by the command before').toBe('0 files ready');
    await using _served = await home.serve();
    await home.run(['tools', 'files']);
    expect(await said(home, 'files', 'files/add')).toBe('0 files ready\nfiles/add ready');
    expect(await said(home, 'files/nothing')).toMatch(/^2 .*nothing/);
    expect(await said(home, 'fils')).toMatch(/^2 .*files/);
    expect(await said(home, 'off')).toMatch(/^3 off not ready: disabled/);
    expect(await said(home, 'broken', '--wait', '5')).toMatch(/^3 broken not ready: .*nowhere/);
    expect(await said(home)).toMatch(/^2 .*missing required argument/);
    expect(await said(home, 'files', '--wait', 'x')).toMatch(/^2 .*number of seconds/);
    const { stdout } = await home.run(['check', 'files', 'broken', '--json']);
    expect(JSON.parse(stdout).checks).toMatchObject([
      { server: 'files', tool: null, ready: true, cause: null },
      { server: 'broken', ready: false },
    ]);
  });

  it('reports each of several, and says with its exit code what is worst #command-line', async () => {
    await using home = await GatewayHome.create({ mcpServers: servers });
    await home.run(['tools', 'files']);
    const all = ['nope', 'files', 'files/nothing', 'off', 'broken'];
    const { code, stdout, stderr } = await home.run(['check', ...all]);
    expect({ code, stderr }).toEqual({ code: 2, stderr: '' });
    expect(stdout.trim().split('\n')).toEqual([
      expect.stringMatching(/^nope unknown: no server named 'nope' /),
      'files ready',
      expect.stringMatching(/^files\/nothing unknown: .*holdfast tools --config \S+ files$/),
      expect.stringMatching(/^off not ready: disabled/),
      expect.stringMatching(/^broken not ready: idle/),
    ]);
    for (const wait of [[], ['--wait', '5']]) {
      const json = await home.run(['check', ...all, ...wait, '--json']);
      expect(json.code).toBe(2);
      expect(JSON.parse(json.stdout).checks).toMatchObject([
        { server: 'nope', tool: null, ready: false, known: false, state: null },
        { server: 'files', ready: true, known: true, cause: null },
        { server: 'files', tool: 'nothing', ready: false, known: false },
        { server: 'off', ready: false, known: true, state: 'disabled' },
        { server: 'broken', ready: false, known: true },
      ]);
    }
    expect((await home.run(['check', 'files', 'off'])).code).toBe(3);
  });

  it('knows stored lists when the gateway has ended', async () => {
    await using home = await GatewayHome.create({ mcpServers: servers });
    {
      await using _served = await home.serve();
      await home.run(['tools', 'files']);
    }
    expect(await said(home, 'files', 'files/add')).toBe('0 files ready\nfiles/add ready');
  });
});
