// A TCP relay in front of a server, which can stop passing on what the server says: its client speaks into a
// connection that looks alive and hears nothing. What the server says is then read and dropped, or not read at all,
// as by a client that has stopped reading.

import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export class TcpRelay implements AsyncDisposable {
  readonly #server = createServer((client) => this.#accept(client));
  readonly #sockets = new Set<Socket>();
  readonly #target: URL;

  private constructor(target: string) {
    this.#target = new URL(target);
  }

  static async to(target: string): Promise<TcpRelay> {
    const relay = new TcpRelay(target);
    relay.#server.listen(0, '127.0.0.1');
    await once(relay.#server, 'listening');
    return relay;
  }

  get url(): string {
    return `${this.#target.protocol}//127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** What clients have said since the server was muted. */
  heard = Buffer.alloc(0);

  /** From now on the client hears nothing; what it says still arrives. */
  muteServer(): void {
    for (const socket of this.#sockets) socket.unpipe();
    for (const socket of this.#sockets) {
      const other = this.#peers.get(socket);
      if (other === undefined) socket.resume();
      else {
        socket.pipe(other);
        socket.on('data', (bytes: Buffer) => {
          this.heard = Buffer.concat([this.heard, bytes]);
        });
      }
    }
  }

  /** After so many bytes more on the present connections nothing of the server is read, until `readAgain`; resolves then. */
  async stopReadingAfter(bytes: number): Promise<void> {
    let left = bytes;
    await new Promise<void>((resolve) => {
      for (const [client, server] of this.#peers) {
        const passed = (chunk: Buffer) => {
          left -= chunk.length;
          if (left > 0) return;
          server.off('data', passed);
          server.unpipe(client);
          server.pause();
          resolve();
        };
        server.on('data', passed);
      }
    });
  }

  readAgain(): void {
    for (const [client, server] of this.#peers) server.pipe(client);
  }

  /** Until `restore` nobody reaches the server. */
  cut(): void {
    this.#isCut = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  restore(): void {
    this.#isCut = false;
  }

  #isCut = false;

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }

  /** The server of each client. */
  readonly #peers = new Map<Socket, Socket>();

  #accept(client: Socket): void {
    if (this.#isCut) return void client.destroy();
    const server = connect(Number(this.#target.port), this.#target.hostname);
    this.#peers.set(client, server);
    for (const socket of [client, server]) {
      this.#sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        client.destroy();
        server.destroy();
      });
    }
    client.pipe(server);
    server.pipe(client);
  }
}
