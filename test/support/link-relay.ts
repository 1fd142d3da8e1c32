// A TCP relay between a client and a server whose network can be damaged for a while: cut (connections end, and new ones
// are refused), silent (nothing passes, and nobody is told), silent in one direction, or slow. What is held up passes
// when the network is mended, in its order, as TCP sends again what was lost.

import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export const damages = ['cut', 'silent', 'no-requests', 'no-answers', 'slow'] as const;
export type Damage = (typeof damages)[number];

const slowMs = 300;

type Direction = 'requests' | 'answers';

/** Which directions are held up by which damage. */
const held: Readonly<Record<Damage, readonly Direction[]>> = {
  cut: [],
  silent: ['requests', 'answers'],
  'no-requests': ['requests'],
  'no-answers': ['answers'],
  slow: [],
};

interface Held {
  readonly what: Buffer | 'end';
  /** When a slow network has carried it. */
  readonly dueAt: number;
}

interface Flow {
  readonly to: Socket;
  readonly direction: Direction;
  /** What waits for the network, in its order; bound: what its sender has under way. */
  readonly waiting: Held[];
}

export class LinkRelay implements AsyncDisposable {
  readonly #server = createServer({ allowHalfOpen: true }, (client) => this.#accept(client));
  /** Those that are open. */
  readonly #sockets = new Set<Socket>();
  /** Two for each connection. */
  readonly #flows = new Set<Flow>();
  readonly #target: URL;
  #damage: Damage | undefined;

  private constructor(target: string) {
    this.#target = new URL(target);
  }

  static async to(target: string): Promise<LinkRelay> {
    const relay = new LinkRelay(target);
    relay.#server.listen(0, '127.0.0.1');
    await once(relay.#server, 'listening');
    return relay;
  }

  get url(): string {
    return `${this.#target.protocol}//127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  damage(damage: Damage): void {
    this.#damage = damage;
    if (damage === 'cut') for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  mend(): void {
    this.#damage = undefined;
    for (const flow of this.#flows) this.#flush(flow);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #accept(client: Socket): void {
    if (this.#damage === 'cut') return void client.resetAndDestroy();
    const server = connect({
      port: Number(this.#target.port),
      host: this.#target.hostname,
      allowHalfOpen: true,
    });
    this.#carry(client, server, 'requests');
    this.#carry(server, client, 'answers');
  }

  #carry(from: Socket, to: Socket, direction: Direction): void {
    const flow: Flow = { to, direction, waiting: [] };
    this.#flows.add(flow);
    this.#sockets.add(from);
    const pass = (what: Buffer | 'end') => {
      const isSlow = this.#damage === 'slow';
      flow.waiting.push({ what, dueAt: performance.now() + (isSlow ? slowMs : 0) });
      if (isSlow) setTimeout(() => this.#flush(flow), slowMs + 1);
      else this.#flush(flow);
    };
    from.on('data', pass);
    from.on('end', () => pass('end'));
    from.on('error', () => {});
    from.on('close', (hadError) => {
      this.#sockets.delete(from);
      // Its end is held up like everything else.
      if (hadError) to.destroy();
      else pass('end');
    });
    to.on('close', () => this.#flows.delete(flow));
  }

  #flush({ to, direction, waiting }: Flow): void {
    if (this.#damage !== undefined && held[this.#damage].includes(direction)) return;
    const isMended = this.#damage === undefined;
    while (waiting[0] !== undefined && (isMended || waiting[0].dueAt <= performance.now())) {
      const what = waiting.shift()?.what ?? 'end';
      if (what === 'end') to.end();
      else if (to.writable) to.write(what);
    }
  }
}
