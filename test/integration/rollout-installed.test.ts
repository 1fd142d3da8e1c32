// Another version is installed while a gateway runs, and is not rolled out yet, or only later: the files that the running
// version has not needed so far are gone. It serves as before, with what it is then asked for the first time.

import { describe, expect, it } from 'vitest';
import { statusOf } from '../support/connect-window.ts';
import { faultyHttp, faultyStdio } from '../support/faulty.ts';
import { GatewayHome } from '../support/gateway-home.ts';
import { HttpClient } from '../support/gateway-http-client.ts';
import { installedGateway } from '../support/installed-program.ts';
import { builtOtherwise, exchanged } from '../support/other-version.ts';

describe('a gateway whose files another version has replaced', () => {
  it('searches tools and reaches a remote server for the first time, and is rolled over #rollout', async () => {
    await using remote = await faultyHttp();
    const mcpServers = { own: faultyStdio(), remote: { url: remote.url } };
    await using home = await GatewayHome.create({ mcpServers });
    await using gateway = await installedGateway(home);
    // A successor has loaded everything when it serves; the first process does so a moment after it serves.
    expect(await home.run(['rollout'])).toMatchObject({ code: 0 });
    await builtOtherwise(home.file('next'), { version: '9.0.0' });
    await exchanged(home.file('program'), home.file('next'), home.file('before'));
    expect((await statusOf(home)).rollout).toBe('pending');
    using client = new HttpClient(gateway.url);
    expect(await client.call('remote__echo', { text: 'a' })).toHaveProperty('result');
    const found = await home.run(['search', 'echo', '--json']);
    expect(found.code, `${found.stdout}${found.stderr}`).toBe(0);
    const rolled = await home.run(['rollout', '--json']);
    expect(JSON.parse(rolled.stdout)).toMatchObject({ to: '9.0.0' });
    expect(await client.call('remote__echo', { text: 'a' })).toHaveProperty('result');
    expect(await home.run(['search', 'echo', '--json'])).toMatchObject({ code: 0 });
    expect((await statusOf(home)).rollout).toBe('stable');
  });
});
