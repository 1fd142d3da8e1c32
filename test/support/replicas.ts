// Several replicas of the built gateway on one real nats-server, each with a home of its own, one key and the same
// config; and a proxy in front of them that takes turns and watches /readyz, as a load balancer does.

import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { GatewayHome, type HomeConfig, type Served } from './gateway-home.ts';
import type { NatsServer } from './nats-server.ts';
import { newNamespace, startPlainNats } from './nats-store-place.ts';

export interface Replica {
  readonly home: GatewayHome;
  served: Served;
}

const key = randomBytes(32).toString('hex');

export class Replicas implements AsyncDisposable {
  readonly nats: NatsServer;
  readonly all: readonly Replica[];
  readonly proxy: BalancingProxy;

  private constructor(nats: NatsServer, all: readonly Replica[], proxy: BalancingProxy) {
    this.nats = nats;
    this.all = all;
    this.proxy = proxy;
  }

  static async start(count: number, config: HomeConfig): Promise<Replicas> {
    const nats = await startPlainNats();
    const store = `${nats.url}/${newNamespace()}`;
    const homes = await Promise.all(
      Array.from({ length: count }, () => GatewayHome.create({ http: {}, store, ...config })),
    );
    for (const home of homes) writeFileSync(home.file('holdfast.key'), `${key}\n`, { mode: 0o600 });
    const all: Replica[] = [];
    for (const home of homes) all.push({ home, served: await home.serve() });
    const proxy = await BalancingProxy.start(() => all.map(({ served }) => served.url));
    return new Replicas(nats, all, proxy);
  }

  /** A token with this role, good at every replica. */
  async token(role: string): Promise<string> {
    const [first] = this.all;
    const { stdout, stderr } = (await first?.home.run([
      'token',
      'add',
      '--role',
      role,
      '--json',
    ])) ?? {
      stdout: '',
      stderr: 'there is none',
    };
    if (stdout === '') throw new Error(stderr);
    return (JSON.parse(stdout) as { readonly token: string }).token;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.proxy.close();
    await Promise.all(this.all.map(({ served }) => served.stop()));
    await Promise.all(this.all.map(({ home }) => home[Symbol.asyncDispose]()));
    await this.nats[Symbol.asyncDispose]();
  }
}

const lookEveryMs = 100;

/** Round robin over those that are ready; one that refuses the connection is left out until it is ready again. */
export class BalancingProxy {
  url = '';
  readonly #targets: () => readonly string[];
  readonly #down = new Set<string>();
  readonly #server = createServer((req, res) => void this.#pass(req, res));
  readonly #timer: NodeJS.Timeout;
  #turn = 0;

  private constructor(targets: () => readonly string[]) {
    this.#targets = targets;
    this.#timer = setInterval(() => this.#look(), lookEveryMs);
  }

  static async start(targets: () => readonly string[]): Promise<BalancingProxy> {
    const proxy = new BalancingProxy(targets);
    await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve));
    proxy.url = `http://127.0.0.1:${(proxy.#server.address() as AddressInfo).port}/mcp`;
    return proxy;
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => void this.#server.close(() => resolve()));
  }

  #look(): void {
    for (const target of this.#targets()) {
      const asked = request(new URL('/readyz', target), (answer) => {
        answer.resume();
        if (answer.statusCode === 200) this.#down.delete(target);
        else this.#down.add(target);
      });
      asked.on('error', () => this.#down.add(target));
      asked.end();
    }
  }

  #pass(req: IncomingMessage, res: ServerResponse): void {
    const parts: Buffer[] = [];
    req.on('data', (part: Buffer) => parts.push(part));
    req.on('end', () => this.#send(req, res, Buffer.concat(parts), new Set()));
  }

  #send(req: IncomingMessage, res: ServerResponse, body: Buffer, tried: Set<string>): void {
    const open = this.#targets().filter((one) => !tried.has(one));
    const ready = open.filter((one) => !this.#down.has(one));
    const among = ready.length > 0 ? ready : open;
    const target = among[this.#turn++ % Math.max(1, among.length)];
    if (target === undefined) {
      res.writeHead(502).end();
      return;
    }
    const { host, origin: _origin, ...headers } = req.headers;
    const passed = request(
      new URL(req.url ?? '/', target),
      { method: req.method ?? 'GET', headers: { ...headers, host: new URL(target).host } },
      (answer) => {
        res.writeHead(answer.statusCode ?? 502, answer.rawHeaders);
        answer.pipe(res);
        answer.on('error', () => res.destroy());
      },
    );
    res.on('close', () => passed.destroy());
    passed.on('error', (error: NodeJS.ErrnoException) => {
      if (res.headersSent || res.destroyed) return void res.destroy();
      // Nothing was sent: another one may have it.
      if (error.code === 'ECONNREFUSED') {
        this.#down.add(target);
        return this.#send(req, res, body, tried.add(target));
      }
      res.writeHead(502).end();
    });
    passed.end(body);
  }
}
