// A config that is applied to a running gateway, as the official clients of both eras see it, over stdio
// and HTTP at the same time: a tool comes, is announced and called, changes its process under a call that
// is under way, and goes.

import { PassThrough } from 'node:stream';
import {
  Client as ModernClient,
  type Transport as ModernTransport,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as OldHttp } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { describe, expect, it } from 'vitest';
import { configFromObject } from '../../src/config/load.ts';
import { Gateway } from '../../src/downstream/gateway.ts';
import { startHttp } from '../../src/downstream/http/listener.ts';
import { OutgoingBudget } from '../../src/downstream/outgoing/outgoing-budget.ts';
import { startStdio } from '../../src/downstream/stdio/stdio-front.ts';
import { hostFrom } from '../../src/host/create-host.ts';
import { systemClock as clock } from '../../src/kernel/system-clock.ts';
import { processEnvironment } from '../../src/supervise/process/start/environment.ts';
import { faultyStdio } from '../support/faulty.ts';
import { isAlive, statusOf } from '../support/host.ts';
import { until } from '../support/until.ts';

const identity = { name: 'holdfast', version: '0.0.0' };

/** A gateway in this process, with doors of both kinds. */
async function startGateway(mcpServers: object) {
  const env = processEnvironment();
  const loaded = configFromObject({ hostTools: false, mcpServers }, { baseDir: '/', env });
  const around = { env, folder: '/', stateDir: null, startedBy: 'test', hasClients: true };
  const host = hostFrom(loaded, { ...around, report: () => {} });
  const { naming, surface, hostTools, listWaitMs } = loaded.config;
  const settings = { naming, surface, hostTools, listWaitMs };
  const gateway = new Gateway({ host, clock, identity, settings });
  const config = { ...loaded.config.http, listen: '127.0.0.1:0', auth: 'none' } as const;
  const http = await startHttp({ front: gateway, config, clock, identity, report: () => {} });
  const openStdio = () => {
    const [input, output] = [new PassThrough(), new PassThrough()];
    const outgoing = new OutgoingBudget(clock, () => {});
    const front = startStdio({
      front: gateway,
      input,
      output,
      frameBytes: 1_000_000,
      clock,
      outgoing,
    });
    return { transport: new Lines(input, output), front };
  };
  const stdio = [openStdio(), openStdio()] as const;
  return {
    host,
    url: new URL(http.url),
    stdio: stdio.map(({ transport }) => transport),
    [Symbol.asyncDispose]: async () => {
      await Promise.all(stdio.map(({ front }) => front.close(100)));
      await http.close();
      await gateway[Symbol.asyncDispose]();
      await host.close();
    },
  };
}

/** A client's end of a pair of pipes: one message per line. */
class Lines implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: NonNullable<Transport['onmessage']>;
  readonly #input: PassThrough;
  readonly #output: PassThrough;

  constructor(input: PassThrough, output: PassThrough) {
    this.#input = input;
    this.#output = output;
  }

  async start(): Promise<void> {
    let rest = '';
    this.#output.setEncoding('utf8').on('data', (chunk: string) => {
      const lines = (rest + chunk).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) this.onmessage?.(JSON.parse(line));
    });
  }

  async send(message: unknown): Promise<void> {
    this.#input.write(`${JSON.stringify(message)}\n`);
  }

  async close(): Promise<void> {
    this.#input.end();
    this.onclose?.();
  }
}

interface Tester extends AsyncDisposable {
  readonly name: string;
  /** How often it heard that the tools have changed. */
  changes(): number;
  tools(): Promise<readonly string[]>;
  call(name: string, args: Record<string, unknown>, onProgress?: () => void): Promise<string>;
}

const textIn = (result: unknown) =>
  (result as { content: { text: string }[] }).content.map(({ text }) => text).join('');

async function legacyClient(name: string, transport: Transport): Promise<Tester> {
  const client = new Client({ name, version: '1' });
  let changes = 0;
  client.setNotificationHandler(ToolListChangedNotificationSchema, () => {
    changes += 1;
  });
  await client.connect(transport);
  return {
    name,
    changes: () => changes,
    tools: async () => (await client.listTools()).tools.map((tool) => tool.name),
    call: async (tool, args, onprogress) =>
      textIn(
        await client.callTool({ name: tool, arguments: args }, undefined, {
          ...(onprogress && { onprogress }),
        }),
      ),
    [Symbol.asyncDispose]: () => client.close(),
  };
}

async function modernClient(name: string, transport: ModernTransport): Promise<Tester> {
  const client = new ModernClient(
    { name, version: '1' },
    { versionNegotiation: { mode: { pin: '2026-07-28' } } },
  );
  let changes = 0;
  client.fallbackNotificationHandler = async ({ method }) => {
    if (method === 'notifications/tools/list_changed') changes += 1;
  };
  await client.connect(transport);
  const listening = await client.listen({ toolsListChanged: true });
  return {
    name,
    changes: () => changes,
    tools: async () => {
      const { tools } = await client.listTools(undefined, { cacheMode: 'bypass' });
      return tools.map((tool) => tool.name);
    },
    call: async (tool, args, onprogress) =>
      textIn(
        await client.callTool(
          { name: tool, arguments: args },
          { ...(onprogress && { onprogress }) },
        ),
      ),
    [Symbol.asyncDispose]: async () => {
      await listening.close();
      await client.close();
    },
  };
}

describe('a config that is applied while clients are connected', () => {
  it('is seen by clients of both eras over stdio and HTTP, and cuts no call #live-config', async () => {
    const old = faultyStdio({ era: 'both' });
    await using gateway = await startGateway({ old });
    const { host, url, stdio } = gateway;
    const [first, second] = stdio as [Lines, Lines];
    await using legacyStdio = await legacyClient('legacy stdio', first);
    await using modernStdio = await modernClient('modern stdio', second as never);
    await using legacyHttp = await legacyClient('legacy http', new OldHttp(url) as Transport);
    await using modernHttp = await modernClient(
      'modern http',
      new StreamableHTTPClientTransport(url),
    );
    const clients = [legacyStdio, modernStdio, legacyHttp, modernHttp];
    const all = <T>(ask: (client: Tester) => Promise<T>) => Promise.all(clients.map(ask));
    const told = async (apply: () => Promise<unknown>) => {
      const before = clients.map((client) => client.changes());
      const applied = apply();
      await until(
        () => clients.every((client, at) => client.changes() > (before[at] ?? 0)),
        'every client hears that the tools have changed',
      );
      return applied;
    };
    for (const tools of await all((client) => client.tools())) {
      expect(tools).toContain('old__echo');
      expect(tools).not.toContain('fresh__echo');
    }

    // One comes, before the other.
    const fresh = (...more: string[]) => {
      const { command, args } = faultyStdio({ era: 'both' });
      return { command, args: [...args, ...more] };
    };
    await told(() => host.apply({ hostTools: false, mcpServers: { fresh: fresh(), old } }));
    for (const tools of await all((client) => client.tools())) {
      expect(tools.indexOf('fresh__echo')).toBeLessThan(tools.indexOf('old__echo'));
      expect(tools).toContain('fresh__echo');
    }
    const echoed = await all((client) => client.call('fresh__echo', { text: client.name }));
    expect(echoed).toEqual(clients.map(({ name }) => name));

    // Its process is replaced while calls are under way: they end with their answers.
    const pids = () => statusOf(host, 'fresh').children.map(({ pid }) => pid);
    const before = pids();
    expect(before.length).toBeGreaterThan(0);
    let running = 0;
    const slow = all((client) => {
      let isRunning = false;
      return client.call('fresh__slow', { ms: 1_000, progressEvery: 50 }, () => {
        if (!isRunning) running += 1;
        isRunning = true;
      });
    });
    await until(() => running === clients.length, 'every slow call runs');
    const replaced = { fresh: fresh('--list-ttl', '1'), old };
    const done = await told(() => host.apply({ hostTools: false, mcpServers: replaced }));
    expect(done).toMatchObject({ changed: [{ name: 'fresh', keys: ['args'], restart: true }] });
    expect(await slow).toHaveLength(clients.length);
    const argv = await all((client) => client.call('fresh__whoami', {}));
    for (const one of argv) expect(one).toContain('--list-ttl');
    expect(pids().filter((pid) => before.includes(pid))).toEqual([]);
    for (const pid of before) expect(isAlive(pid)).toBe(false);

    // It goes.
    await told(() => host.apply({ hostTools: false, mcpServers: { old } }));
    for (const tools of await all((client) => client.tools())) {
      expect(tools).toContain('old__echo');
      expect(tools).not.toContain('fresh__echo');
    }
    for (const client of clients) {
      await expect(client.call('fresh__echo', {})).rejects.toMatchObject({ code: -32602 });
    }
    expect(host.status().servers.map(({ name }) => name)).toEqual(['old']);
  });
});
