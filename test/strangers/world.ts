// The built gateway with tokens, in a folder of its own, in front of two equal servers: `seen`, of which the role
// `little` may use half, and `unseen`, of which it may use nothing. `all` may use and operate everything. Every
// call that reaches a server is a line in its ledger.

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { GatewayHome, type Served } from '../support/gateway-home.ts';
import { HttpClient } from '../support/gateway-http-client.ts';
import { until } from '../support/until.ts';

const program = fileURLToPath(new URL('server.mjs', import.meta.url));

/** Everything of the two servers. */
const both = ['', 'prompt:', 'resource:'].flatMap((kind) => [`${kind}seen/*`, `${kind}unseen/*`]);

/** So many open and so many closed things of each kind. */
export const things = 40;

/** Whose token: of a role, or the first one, which is the local user's. */
export type Who = 'little' | 'all' | 'local';

export interface WorldOptions {
  readonly auth: 'token' | 'none';
  readonly audit: 'on' | 'off';
  /** So many more servers with a secret each, which nobody may use: nothing is asked of them. */
  readonly secretive?: number;
}

export class World implements AsyncDisposable {
  readonly home: GatewayHome;
  /** Empty without authentication. */
  readonly tokens: ReadonlyMap<Who, string>;

  private constructor(home: GatewayHome, tokens: ReadonlyMap<Who, string>) {
    this.home = home;
    this.tokens = tokens;
  }

  static async create({ auth, audit, secretive = 0 }: WorldOptions): Promise<World> {
    const home = await GatewayHome.create();
    const server = (name: string) => ({
      command: process.execPath,
      args: [program, home.file('ledger'), name, String(things)],
    });
    const little = ['seen/open_*', 'prompt:seen/open_*', 'resource:seen/note://seen/open_*'];
    const roles = {
      little: { allow: little },
      all: { allow: secretive === 0 ? ['*'] : both, operator: true },
      elsewhere: { allow: ['unseen/*'] },
    };
    const others = Array.from({ length: secretive }, (_, at) => {
      const headers = { Authorization: `Bearer secret-of-server-${at}-abcdefgh` };
      return [`quiet${at}`, { url: 'http://127.0.0.1:9/mcp', headers }] as const;
    });
    await home.configure({
      mcpServers: {
        seen: server('seen'),
        unseen: server('unseen'),
        ...Object.fromEntries(others),
      },
      http: { auth },
      audit,
      ...(auth === 'token' ? { roles } : {}),
    });
    const tokens = new Map<Who, string>();
    if (auth === 'token') {
      await using first = await home.serve();
      tokens.set('local', first.token ?? '');
    }
    for (const role of auth === 'token' ? (['little', 'all'] as const) : []) {
      const { stdout, stderr } = await home.run(['token', 'add', '--json', '--role', role]);
      if (stdout === '') throw new Error(`no token: ${stderr}`);
      tokens.set(role, (JSON.parse(stdout) as { token: string }).token);
    }
    return new World(home, tokens);
  }

  tokenOf(who: Who): string {
    const token = this.tokens.get(who);
    if (token === undefined) throw new Error(`there is no token for ${who}`);
    return token;
  }

  /** A client with this token; without one, if there are none. */
  client({ url }: Pick<Served, 'url'>, who: Who): HttpClient {
    const token = this.tokens.get(who);
    return new HttpClient(url, token === undefined ? {} : { authorization: `Bearer ${token}` });
  }

  /** Both servers run, and all of their lists are known. */
  async warm(served: Pick<Served, 'url'>): Promise<void> {
    using client = this.client(served, 'all');
    const isKnown = async () => {
      for (const kind of ['tools', 'prompts', 'resources']) {
        const { json } = await client.modern(`${kind}/list`);
        const last = kind === 'resources' ? 'note://unseen/closed_' : 'unseen__closed_';
        if (!JSON.stringify(json).includes(last)) return false;
      }
      return true;
    };
    await until(isKnown, 'the lists of both servers');
    for (const server of ['seen', 'unseen']) await client.call(`${server}__open_000`);
  }

  /** The calls that have reached a server. */
  get effects(): readonly string[] {
    return linesOf(this.home.file('ledger'));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.home[Symbol.asyncDispose]();
  }
}

/** None of a file that is not there. */
export function linesOf(file: string): readonly string[] {
  try {
    return readFileSync(file, 'utf8').split('\n').slice(0, -1);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}
