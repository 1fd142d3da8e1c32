// The local user with a role: the role says what its clients and its commands may use, and who is no operator
// operates nothing; what works on the config is the local user's own.

import { describe, expect, it } from 'vitest';
import { faultyStdio } from '../support/faulty.ts';
import { GatewayHome } from '../support/gateway-home.ts';

const config = {
  mcpServers: { seen: faultyStdio(), kept: faultyStdio() },
  roles: { reader: { allow: ['seen/echo'] } },
  local: { role: 'reader' },
};

describe('with local.role', () => {
  it('doctor knows every server; status and the commands that operate follow the role #command-line', async () => {
    await using home = await GatewayHome.create(config);
    const doctor = await home.run(['doctor', '--json']);
    const { checks } = JSON.parse(doctor.stdout);
    const subjects = checks.map(({ subject }: { subject: string }) => subject);
    expect(subjects).toEqual(expect.arrayContaining(['seen', 'kept']));
    expect(doctor.stderr).toBe('');
    await using _gateway = await home.serve();
    const status = JSON.parse((await home.run(['status', '--json'])).stdout);
    expect(status.servers.map(({ name }: { name: string }) => name)).toEqual(['seen']);
    expect(status.access.local).toBe('reader');
    for (const command of ['status', 'start', 'stop', 'reload', 'logs']) {
      const { code, stderr } = await home.run([command, 'kept']);
      expect([command, code]).toEqual([command, 4]);
      expect(stderr).toContain("the role 'reader'");
      const unknown = await home.run([command, 'nosuch']);
      expect(unknown.stderr.replaceAll('nosuch', 'kept')).toBe(stderr);
    }
    expect((await home.run(['start', 'seen'])).code).toBe(0);
    expect((await home.run(['stop', 'seen'])).stderr).toContain('it needs "operator": true');
    expect((await home.run(['logs', 'seen'])).stderr).toContain('it needs "operator": true');
  });

  it('tools and search say what the role hides, call denies it, check says why #command-line', async () => {
    await using home = await GatewayHome.create(config);
    const tools = await home.run(['tools']);
    expect(tools.code).toBe(0);
    expect(tools.stdout).toMatch(/^seen\/echo .*\n$/);
    expect(tools.stderr).toContain("the role 'reader'");
    expect(tools.stderr).toMatch(/allows nothing of kept; see: holdfast role /);
    expect(tools.stderr).not.toContain('has no servers');
    const search = await home.run(['search', 'echo']);
    expect(search.stderr).toContain('allows nothing of kept');
    expect((await home.run(['call', 'kept/echo'])).code).toBe(4);
    const check = await home.run(['check', 'seen/echo', 'seen/slow', 'kept', '--wait', '30']);
    expect(check.code).toBe(2);
    expect(check.stdout).toContain('seen/echo ready');
    expect(check.stdout).toMatch(/^kept unknown: .*allows nothing of this server/m);
  });

  it('that is misspelt is an error of the config with its place', async () => {
    await using home = await GatewayHome.create({ ...config, local: { role: 'raeder' } });
    const { code, stderr } = await home.run(['status']);
    expect(code).toBe(2);
    expect(stderr).toMatch(/holdfast\.json:\d+:\d+: local\.role is "raeder"/);
    expect(stderr).toContain('did you mean "reader"?');
  });
});
