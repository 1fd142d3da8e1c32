// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the forms are the subject
// Secrets in arguments, and secrets that servers give back: in results, in errors of tools and of the protocol, in
// the headers and bodies of HTTP answers. Bytes of a server's answer are carried unchanged to who has asked, and are
// found nowhere else: not in what any command or own tool shows, not in the audit log, not in what is stored, also
// not where answers are kept under a key, and not in the log of an instance that `connect` has started.

import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  type Canary,
  canaries,
  filesBelow,
  foundIn,
  pairs,
  processes,
} from '../support/canaries.ts';
import { instanceEnded, openWindow } from '../support/connect-window.ts';
import { faultyStdio } from '../support/faulty.ts';
import { GatewayHome } from '../support/gateway-home.ts';
import { HttpClient } from '../support/gateway-http-client.ts';

const program = fileURLToPath(new URL('../fixtures/servers/leaking/main.mjs', import.meta.url));
const names = (all: readonly Canary[]) => all.map(({ name }) => name);

/** A remote server that says back which headers came: in its answers, in their headers, in refusals. */
async function echoing(): Promise<string> {
  const tools = ['tell', 'refuse', 'challenge', 'move'].map((name) => {
    return { name, inputSchema: { type: 'object' } };
  });
  const serve = async (request: IncomingMessage, response: ServerResponse) => {
    const said = JSON.stringify(request.headers);
    const credential = String(request.headers['header_0']);
    response.setHeader('x-said', Buffer.from(said).toString('base64'));
    const { id, method, params } = JSON.parse(await textOf(request)) as Asked;
    const answer = (result: object) =>
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ jsonrpc: '2.0', id, ...result }));
    if (id === undefined) return response.writeHead(202).end();
    if (method === 'tools/list') return answer({ result: { tools } });
    if (method === 'initialize') {
      const serverInfo = { name: 'echoing', version: '1' };
      return answer({
        result: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo },
      });
    }
    if (params?.name === 'challenge') {
      return response
        .writeHead(401, { 'www-authenticate': `Bearer error="${credential}"` })
        .end(said);
    }
    if (params?.name === 'move') {
      return response
        .writeHead(307, { location: `http://localhost:1/?key=${encodeURIComponent(credential)}` })
        .end(said);
    }
    if (params?.name === 'tell') {
      return answer({ result: { content: [{ type: 'text', text: said }] } });
    }
    return answer({ error: { code: -32000, message: said, data: request.headers } });
  };
  const http = createServer((request, response) => {
    serve(request, response).catch(() => response.writeHead(400).end());
  });
  await once(http.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => void http.close());
  return `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`;
}

interface Asked {
  readonly id?: number;
  readonly method: string;
  readonly params?: { readonly name?: string };
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const piece of request.setEncoding('utf8')) text += piece;
  return text;
}

/** Everything that commands show, with what they were asked. */
class Shown {
  readonly texts: string[] = [];
  readonly #home: GatewayHome;
  readonly #env: Readonly<Record<string, string>>;

  constructor(home: GatewayHome, env: Readonly<Record<string, string>>) {
    this.#home = home;
    this.#env = env;
  }

  async run(...words: readonly string[]): Promise<string> {
    const { stdout, stderr } = await this.#home.run(words, this.#env);
    this.texts.push(`${words.join(' ')}\n${stdout}\n${stderr}`);
    return stdout;
  }

  async everything(): Promise<void> {
    const commands = [
      'status',
      'status --json',
      'status leaky',
      'status leaky --json',
      'status web --json',
      'status broken',
      'tools --json',
      'search tell --json',
      'logs leaky',
      'logs web',
      'logs broken --json',
      'audit -n 200',
      'audit -n 200 --json',
      'audit verify',
      'check leaky web broken',
      'check leaky web broken --json',
      'reload --dry-run',
      'role reader',
      'token list',
      'doctor',
      'doctor --json',
    ];
    await this.all(commands);
  }

  /** A few at a time: each is a process. */
  async all(commands: readonly string[]): Promise<void> {
    const left = [...commands];
    const lane = async () => {
      for (let words = left.shift(); words !== undefined; words = left.shift()) {
        await this.run(...words.split(' '));
      }
    };
    await Promise.all([lane(), lane(), lane()]);
  }

  expectNone(all: readonly Canary[]): void {
    for (const text of this.texts) {
      const [asked] = text.split('\n');
      expect([asked, foundIn(text, all)]).toEqual([asked, []]);
    }
  }
}

describe('secrets that servers give back', () => {
  it('are given to who has asked, and to nobody else #stderr-guarded #late-secrets', async () => {
    await using home = await GatewayHome.create();
    const argument = canaries('ARGUMENT', 10);
    const file = canaries('FILE', 10);
    const printed = canaries('PRINTED', 10);
    const header = canaries('Header', 10).map((one) => ({ ...one, value: `k/${one.word}+` }));
    const ofBroken = canaries('BROKEN', 10);
    const all = [...argument, ...file, ...printed, ...header, ...ofBroken];
    const ofLeaky = [...argument, ...file, ...printed];
    for (const { name, value } of [...file, ...printed, ...header, ...ofBroken]) {
      await writeFile(home.file(name), value, { mode: 0o600 });
    }
    const env = Object.fromEntries(argument.map(({ name, value }) => [`GIVEN_${name}`, value]));
    const leaky = {
      command: 'node',
      args: [program, ...argument.map(({ name }) => `--key=\${env:GIVEN_${name}}`)],
      env: {
        ...pairs(file, ({ name }) => `\${file:${name}}`),
        ...pairs(printed, ({ name }) => `\${cmd:cat ${name}}`),
      },
    };
    const config = {
      http: { auth: 'none' },
      audit: 'on',
      roles: { reader: { allow: ['leaky/*', 'web/*'] } },
      mcpServers: {
        leaky,
        web: {
          url: await echoing(),
          headers: pairs(header, ({ name }) => `Bearer \${file:${name}}`),
        },
        broken: {
          command: 'node',
          args: [program, '--fail'],
          env: pairs(ofBroken, ({ name }) => `\${file:${name}}`),
        },
        other: faultyStdio(),
      },
    };
    await home.configure(config);
    await using serving = await home.serve(undefined, env);
    const shown = new Shown(home, env);
    using client = new HttpClient(serving.url);

    // To who has asked they come, also from memory under a key.
    const under = (key: string) => ({ 'holdfast/idempotencyKey': key });
    for (const meta of [{}, under('leaky'), under('leaky')]) {
      const told = JSON.stringify(await client.call('leaky__tell', {}, meta));
      expect(foundIn(told, all)).toEqual(names(ofLeaky));
    }
    for (const tool of ['leaky__fail', 'leaky__refuse']) {
      expect(foundIn(JSON.stringify(await client.call(tool)), all)).toEqual(names(ofLeaky));
    }
    for (const tool of ['web__tell', 'web__refuse']) {
      expect(foundIn(JSON.stringify(await client.call(tool, {}, under(tool))), all)).toEqual(
        names(header),
      );
    }
    const legacy = await client.session();
    const asked = await legacy.ask('tools/call', { name: 'leaky__tell', arguments: {} });
    expect(foundIn(asked.text, all)).toEqual(names(ofLeaky));
    expect((await client.call('other__echo', { text: 'x' })).result.isError).toBeUndefined();

    // What the gateway says itself names none of them.
    const own: string[] = [];
    for (const tool of ['leaky__die', 'broken__tell', 'web__challenge', 'web__move']) {
      own.push(`${tool} ${JSON.stringify(await client.call(tool))}`);
    }
    for (const tool of ['health_snapshot', 'telemetry_snapshot']) {
      for (const detail of ['concise', 'full']) {
        const args = { render: 'json', detail };
        own.push(`${tool} ${JSON.stringify(await client.call(`holdfast__${tool}`, args))}`);
      }
    }
    own.push(`tools/list ${(await client.modern('tools/list')).text}`);
    for (const text of own) expect([text, foundIn(text, all)]).toEqual([text, []]);

    // An argument stands in the command line of its own process, and nothing else anywhere.
    for (const { line, environment } of processes()) {
      const isOwn = line.includes(program);
      expect(isOwn ? foundIn(line, [...file, ...printed, ...header]) : foundIn(line, all)).toEqual(
        [],
      );
      const isServe = line.includes('\0serve\0');
      expect(isOwn || isServe ? [] : foundIn(environment, all)).toEqual([]);
      if (isServe) expect(foundIn(environment, [...file, ...printed, ...header])).toEqual([]);
    }
    await shown.everything();
    const { stdout, stderr, code } = await serving.stop();
    expect(code).toBe(0);
    shown.texts.push(`serve\n${stdout}\n${stderr}`);

    // An instance that is started for a client has a log of its own.
    const window = await openWindow(home, home.folder, env);
    const told = JSON.stringify(await window.call('leaky__tell'));
    expect(foundIn(told, all)).toEqual(names(ofLeaky));
    shown.texts.push(`connect\n${JSON.stringify(await window.call('leaky__die'))}`);
    await shown.all(['status leaky --json', 'logs leaky', 'audit -n 200', 'doctor --no-start']);
    await window[Symbol.asyncDispose]();
    shown.texts.push(`connect\n${window.stderr()}`);
    await instanceEnded(home);
    shown.expectNone(all);
    const stored = filesBelow(home.state);
    expect(stored.some((path) => path.endsWith('instance.log'))).toBe(true);
    expect(stored.some((path) => path.includes('/audit/'))).toBe(true);
    for (const path of stored) {
      expect([path, foundIn(readFileSync(path, 'latin1'), all)]).toEqual([path, []]);
    }
  });
});
