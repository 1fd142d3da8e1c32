// A client of the embedded broker that says whatever a test wants: headers of the request, frames and bytes.

import { WebSocket } from 'ws';
import { decodeHubFrame } from '../../src/broker/socket/frames.ts';

export interface RawLinkOptions {
  readonly secret?: string | undefined;
  readonly subprotocol?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export class RawBrokerLink {
  readonly socket: WebSocket;
  /** The code of its end. */
  readonly closed: Promise<number>;
  readonly #opened: Promise<number>;

  constructor(url: string, options: RawLinkOptions = {}) {
    const { secret, subprotocol = 'holdfast-broker', path = '', headers = {} } = options;
    this.socket = new WebSocket(`${url}${path}`, subprotocol, {
      perMessageDeflate: false,
      headers: {
        ...(secret === undefined ? {} : { authorization: `Bearer ${secret}` }),
        ...headers,
      },
    });
    this.closed = new Promise((resolve) => {
      this.socket.on('close', resolve);
    });
    this.#opened = new Promise((resolve) => {
      this.socket.on('open', () => resolve(101));
      this.socket.on('unexpected-response', (request, response) => {
        resolve(response.statusCode ?? 0);
        response.resume();
        request.destroy();
      });
      this.socket.on('error', () => resolve(0));
    });
  }

  /** 101, or the status of a refusal; 0: no answer. */
  get status(): Promise<number> {
    return this.#opened;
  }

  /** A frame with this header, as it is. */
  says(header: unknown, body: Buffer = Buffer.alloc(0)): void {
    const text = Buffer.from(typeof header === 'string' ? header : JSON.stringify(header));
    const length = Buffer.alloc(4);
    length.writeUInt32BE(text.length);
    this.socket.send(Buffer.concat([length, text, body]));
  }

  hello(seat = 'raw'): void {
    this.says({ is: 'hello', version: 1, seat });
  }

  /** The header of the next frame that comes. */
  async heard(): Promise<unknown> {
    const data = await new Promise<Buffer>((resolve) => this.socket.once('message', resolve));
    return decodeHubFrame(data)?.header;
  }
}
