// The role of a principal is changed again and again in the config file while it calls, by the path for all and
// by one that narrows. When an edit is known to be in use, every call that begins later follows it: what is
// denied never reaches its server, and what both editions allow never fails.

import { renameSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { ControlClient, join } from '../../src/instance/control-client.ts';
import { systemClock } from '../../src/kernel/system-clock.ts';
import { faultyStdio } from '../support/faulty.ts';
import { GatewayHome } from '../support/gateway-home.ts';
import { HttpClient } from '../support/gateway-http-client.ts';
import { modernBody, modernHeaders } from '../support/http-front.ts';
import { readLedger } from '../support/ledger.ts';

/** `HOLDFAST_STORM=10` is the whole of it: 200 edits in 10 seconds, 200 calls a second. */
const seconds = Number(process.env['HOLDFAST_STORM'] ?? '2');
const editsPerSecond = 20;
const callsPerSecond = 200;
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Even editions allow the server `toggled`. */
const isAllowed = (edition: number) => edition % 2 === 0;

/** Which editions may have been in use while a call was under way. */
interface Editions {
  readonly first: number;
  readonly last: number;
}

function every({ first, last }: Editions, holds: (edition: number) => boolean): boolean {
  return Array.from({ length: last - first + 1 }, (_, at) => first + at).every(holds);
}

describe('a role that is edited all the time', () => {
  it('is followed by every call that begins after an edit is in use #policy-at-once #roles-deny #live-config', async () => {
    await using home = await GatewayHome.create();
    const ledger = home.file('ledger.jsonl');
    const configText = (edition: number) =>
      JSON.stringify({
        http: { auth: 'token' },
        mcpServers: { still: faultyStdio(), toggled: faultyStdio({ ledger }) },
        roles: { r: { allow: ['still/*', ...(isAllowed(edition) ? ['toggled/*'] : [])] } },
      });
    writeFileSync(home.configFile, configText(0));
    const { stdout } = await home.run(['token', 'add', '--role', 'r', '--json']);
    const authorization = `Bearer ${(JSON.parse(stdout) as { token: string }).token}`;
    await using gateway = await home.serve();
    using client = new HttpClient(gateway.url, { authorization });
    const connected = await join({
      ...{ path: home.place.socket, clock: systemClock, program: 'test', as: 'operator' },
    });
    if (connected === undefined) throw new Error('there is no instance');
    using control = new ControlClient(connected);

    let written = 0;
    let inUse = 0;
    const seen = { edits: 0, denied: 0, allowed: 0, between: 0, still: 0 };
    const wrong: string[] = [];
    const deniedNonces = new Set<string>();
    /** By the path for all, or by the one of its server. */
    const call = async (server: string, isNarrow: boolean, nonce: string) => {
      const name = isNarrow ? 'echo' : `${server}__echo`;
      const first = inUse;
      const { status, text } = await client.ask({
        path: isNarrow ? `/mcp/s/${server}` : '/mcp',
        headers: modernHeaders('tools/call', name),
        body: modernBody('tools/call', { name, arguments: { nonce } }),
      });
      const editions = { first, last: written };
      const isWell = status === 200 && text.includes(nonce);
      const what = `${nonce} to ${server}: ${status} ${text}`;
      if (server === 'still') {
        seen.still += 1;
        if (!isWell) wrong.push(`allowed, and failed: ${what}`);
      } else if (every(editions, isAllowed)) {
        seen.allowed += 1;
        if (!isWell) wrong.push(`allowed, and failed: ${what}`);
      } else if (every(editions, (edition) => !isAllowed(edition))) {
        seen.denied += 1;
        deniedNonces.add(nonce);
        if (isWell) wrong.push(`denied, and ran: ${what}`);
      } else {
        seen.between += 1;
      }
    };
    await Promise.all(['still', 'toggled'].map((server) => call(server, false, `${server}-0`)));
    const endsAt = Date.now() + seconds * 1_000;
    const underway: Promise<void>[] = [];
    const calling = (async () => {
      for (let number = 1; Date.now() < endsAt; number += 1) {
        const server = number % 4 === 0 ? 'still' : 'toggled';
        underway.push(call(server, number % 3 === 0, `call-${number}`));
        await pause(1_000 / callsPerSecond);
      }
    })();
    while (Date.now() < endsAt) {
      const nextAt = Date.now() + 1_000 / editsPerSecond;
      written += 1;
      const isRenamed = written % 3 === 0;
      const file = isRenamed ? `${home.configFile}.new` : home.configFile;
      writeFileSync(file, configText(written));
      if (isRenamed) renameSync(file, home.configFile);
      // Answered when it is in use, whether by this or because the gateway had seen it before.
      await control.ask({ ask: 'reload' });
      inUse = written;
      seen.edits += 1;
      await pause(Math.max(0, nextAt - Date.now()));
    }
    await calling;
    await Promise.all(underway);
    const ran = readLedger(ledger).filter(({ nonce }) => deniedNonces.has(nonce ?? ''));
    if (process.env['HOLDFAST_STORM'] !== undefined) console.log(JSON.stringify(seen));
    expect(wrong).toEqual([]);
    expect(ran).toEqual([]);
    expect(seen.edits).toBeGreaterThan(seconds);
    expect([seen.still, seen.allowed, seen.denied].every((count) => count > 0)).toBe(true);
  });
});
