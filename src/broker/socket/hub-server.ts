// Where links of the embedded broker come in: a WebSocket upgrade with a credential. Everything is checked before
// the upgrade: a browser (any Origin) is refused, a wrong credential is 401, too many links are 503. The body of
// a letter is never looked at.

import { createServer, type IncomingMessage, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { WebSocketServer } from 'ws';
import { type Clock, within } from '../../kernel/clock.ts';
import type { Caught } from '../../kernel/contain.ts';
import type { Hub } from '../hub/hub.ts';
import type { Identity } from '../identity.ts';
import { maxHeaderBytes, subprotocol } from './frames.ts';
import { HubSocket } from './hub-socket.ts';

export interface HubServerOptions {
  readonly hub: Hub;
  readonly clock: Clock;
  readonly caught: Caught;
  readonly host: string;
  readonly port: number;
  /** PEM. */
  readonly tls?: { readonly cert: Buffer; readonly key: Buffer } | undefined;
  /** Whose credential this is, now; undefined: nobody's. */
  readonly authenticate: (secret: string) => Identity | undefined;
  readonly maxLinks?: number;
}

const usualMaxLinks = 4_096;

/** A stranger who connects and says nothing, or says it slowly, is gone soon. */
const times = {
  connectionsCheckingInterval: 1_000,
  headersTimeout: 5_000,
  requestTimeout: 5_000,
  keepAliveTimeout: 1_000,
  handshakeTimeout: 5_000,
  maxHeaderSize: 8_192,
} as const;
/** How long links may take to say goodbye. */
const closeMs = 1_000;

export interface HubServer {
  readonly address: AddressInfo;
  /** No new links; those that are open are ended by the hub first, or here at once. */
  close(): Promise<void>;
}

/** Rejects with the error of the listening socket. */
export async function startHubServer(options: HubServerOptions): Promise<HubServer> {
  const { hub, clock, caught, host, port, tls, maxLinks = usualMaxLinks } = options;
  const sockets = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    maxPayload: hub.limits.maxBodyBytes + maxHeaderBytes + 4,
    handleProtocols: () => subprotocol,
  });
  const server = tls === undefined ? createServer(times) : createTlsServer({ ...times, ...tls });
  // Beyond the links there is room for those that are told that there is none.
  server.maxConnections = 2 * maxLinks;
  server.on('request', (_request, response) => {
    const words = 'This is a Holdfast broker; only workers and orchestrators of Holdfast use it\n';
    const headers = { 'content-type': 'text/plain', upgrade: 'websocket', connection: 'close' };
    response.writeHead(426, headers).end(words);
  });
  server.on('upgrade', (request, socket: Duplex, head) => {
    socket.on('error', () => {});
    const identity = admitted(request, options, sockets.clients.size < maxLinks);
    if (typeof identity === 'string') {
      socket.end(`HTTP/1.1 ${identity}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`);
      return;
    }
    sockets.handleUpgrade(request, socket, head, (link) => {
      new HubSocket({ hub, clock, caught }, identity, link, socket);
    });
  });
  await listening(server, host, port);
  return {
    address: server.address() as AddressInfo,
    close: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      const links = [...sockets.clients];
      const ending = links.filter((link) => link.readyState === link.CLOSING);
      for (const link of links) if (!ending.includes(link)) link.terminate();
      const ended = ending.map((link) => new Promise((resolve) => link.once('close', resolve)));
      await within(clock, closeMs, Promise.all(ended));
      for (const link of sockets.clients) link.terminate();
      server.closeAllConnections();
      await closed;
    },
  };
}

/** The identity, or the status of the refusal. */
function admitted(
  { headers, url }: IncomingMessage,
  { authenticate }: HubServerOptions,
  hasRoom: boolean,
): Identity | string {
  if (headers.origin !== undefined) return '403 Forbidden';
  if (url !== '/') return '404 Not Found';
  if (headers['sec-websocket-protocol'] !== subprotocol) return '426 Upgrade Required';
  if (!hasRoom) return '503 Service Unavailable';
  const secret = /^Bearer ([\x21-\x7e]{1,512})$/.exec(headers.authorization ?? '')?.[1];
  return (secret === undefined ? undefined : authenticate(secret)) ?? '401 Unauthorized';
}

function listening(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
}
