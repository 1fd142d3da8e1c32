// What lies in the state directory or in the place of the config may have become anything: too large to be
// read, or something else under a good checksum. The gateway starts, says once what is wrong and where,
// and does without it.

import { hash } from 'node:crypto';
import { readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { faultyStdio } from '../support/faulty.ts';
import { GatewayHome } from '../support/gateway-home.ts';
import { HttpClient } from '../support/gateway-http-client.ts';

const guarded = { mcpServers: { files: faultyStdio() }, http: { auth: 'token' } };
const collections = ['verdicts', 'catalogues', 'starts', 'tokens'];

/** After one run that has kept something of each kind; the path of one record of each. */
async function filled(home: GatewayHome): Promise<readonly string[]> {
  const served = await home.serve();
  using client = new HttpClient(served.url, { authorization: `Bearer ${served.token}` });
  expect((await client.modern('tools/list')).status).toBe(200);
  await served.stop();
  return collections.map((name) => {
    const folder = join(home.state, 'store', name);
    const [record = ''] = readdirSync(folder).filter((file) => file.endsWith('.record'));
    return join(folder, record);
  });
}

/** The same record with another value, under a good checksum. */
function revalue(file: string, text: string): void {
  const [, head] = readFileSync(file, 'utf8').split('\n');
  const body = `${head}\n${text}\n`;
  const sum = hash('sha256', `1\n${body}`, 'hex');
  writeFileSync(file, `holdfast-record 1 ${sum}\n${body}`);
}

/** Starts the gateway on what was done to its records, lists, and ends it: what it said. */
async function saidBy(home: GatewayHome): Promise<string> {
  const served = await home.serve();
  // The holder of the token that cannot be read is not locked out by another one.
  expect(served.token).toBeNull();
  await served.stop();
  await home.configure({ ...guarded, http: { auth: 'none' } });
  await using open = await home.serve();
  using client = new HttpClient(open.url);
  expect((await client.modern('tools/list')).json.result).toMatchObject({
    tools: expect.arrayContaining([expect.objectContaining({ name: 'files__echo' })]),
  });
  const [first, second] = [await served.ended, await open.stop()];
  expect([first.code, second.code]).toEqual([0, 0]);
  return first.stderr + second.stderr;
}

describe('records of the state directory', () => {
  it.each([
    ['are larger than memory', (file: string) => truncateSync(file, 3 * 2 ** 30)],
    ['hold no JSON under a good checksum', (file: string) => revalue(file, 'not json')],
    ['hold something else under a good checksum', (file: string) => revalue(file, '"a text"')],
  ])('that %s are set aside, told once, and the gateway starts #durable', async (_, spoil) => {
    await using home = await GatewayHome.create(guarded);
    const files = await filled(home);
    for (const file of files) spoil(file);
    const said = await saidBy(home);
    for (const file of files) {
      const lines = said.split('\n').filter((line) => line.includes(`${file} is damaged`));
      expect(lines, said).toHaveLength(1);
      expect(lines[0]).toContain(`moved to ${file}.damaged`);
    }
    expect(said).not.toMatch(/internal|SyntaxError|ERR_/);
  });
});

describe('a config file', () => {
  it('that is larger than any config is refused in one line #command-line', async () => {
    await using home = await GatewayHome.create();
    truncateSync(home.configFile, 3 * 2 ** 30);
    const { code, stderr } = await home.start(['--stdio']).ended;
    expect(code).toBe(2);
    expect(stderr).toMatch(/holdfast\.json: it is larger than 64 MiB/);
  });
});
