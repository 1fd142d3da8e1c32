// A state directory on a read-only file system: what is said of it, and what works all the same.

import { spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { mainProgram } from '../support/build.ts';
import { faultyStdio } from '../support/faulty.ts';
import { GatewayHome, Started } from '../support/gateway-home.ts';
import { mount, unmountSmallDisk } from '../support/small-disk.ts';

const clientInfo = { name: 'client', version: '1' };
const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo };
const request = `${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params })}\n`;

/** What a client on standard input and output is answered, and what is said on standard error. */
async function served(home: GatewayHome, ...words: string[]) {
  const args = [mainProgram, ...words, '--config', home.configFile];
  const child = spawn(process.execPath, args, { env: home.env, cwd: home.folder });
  const started = new Started(child);
  child.stdin.write(request);
  await started.printed('"id":1');
  child.stdin.end();
  const { stdout, stderr } = await started.ended;
  return { answer: JSON.parse(stdout.split('\n')[0] ?? ''), stderr };
}

describe('a state directory on a read-only file system', () => {
  it('is called that by everybody, with what to set; calls work without it #command-line', async ({
    skip,
  }) => {
    await using home = await GatewayHome.create({ mcpServers: { files: faultyStdio() } });
    mkdirSync(home.state, { mode: 0o700 });
    const refusal = mount(['-t', 'tmpfs', '-o', 'ro,mode=700', 'tmpfs', home.state]);
    if (refusal !== undefined) return skip(`a read-only disk was not tried: ${refusal}`);
    try {
      const cause = '(EROFS, the file system is read-only)';
      const remedy = 'set HOLDFAST_STATE to a directory that can be';
      const call = await home.run(['call', 'files/echo', 'text=x']);
      expect([call.code, call.stdout.trim()]).toEqual([0, 'x']);
      const doctor = await home.run(['doctor', '--no-start']);
      expect([doctor.code, doctor.stdout]).toEqual([1, expect.not.stringContaining('chmod')]);
      const connect = await served(home, 'connect');
      const { detail, code } = connect.answer.error.data;
      expect(code).toBe('unavailable');
      for (const told of [call.stderr, doctor.stdout, connect.stderr, detail]) {
        expect(told).toContain(cause);
        expect(told).toContain(remedy);
      }
      expect(connect.stderr.trim().split('\n')).toHaveLength(1);
      expect((await served(home, 'serve', '--stdio')).answer.result.serverInfo).toMatchObject({
        name: 'holdfast',
      });
      const trust = await home.run(['trust', home.configFile]);
      expect([trust.code, trust.stdout]).toEqual([3, '']);
      expect(trust.stderr).toMatch(/^holdfast: .* is not trusted: .*EROFS.* \[unavailable\]\n$/);
    } finally {
      unmountSmallDisk(home.state);
    }
  });
});
