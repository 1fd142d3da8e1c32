// Where links of the embedded broker come in: a WebSocket upgrade with a credential. Everything is checked before
// the upgrade: a browser (any Origin) is refused, a wrong credential is 401, too many links are 503
// (`link-places.ts`). Connections without a credential are limited (`kernel/strangers.ts`). Whoever is refused is gone a moment later, and nothing is left open at the end. The body of
// a letter is never looked at.

import { createServer, type IncomingMessage, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, ListenOptions, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { WebSocketServer } from 'ws';
import { type Clock, within } from '../../kernel/clock.ts';
import type { Caught } from '../../kernel/contain.ts';
import { openFileShares } from '../../kernel/open-files.ts';
import { Strangers } from '../../kernel/strangers.ts';
import type { Hub } from '../hub/hub.ts';
import type { Identity } from '../identity.ts';
import { reportAcceptErrors } from './accept-errors.ts';
import { maxHeaderBytes, subprotocol } from './frames.ts';
import { HubSocket } from './hub-socket.ts';
import { LinkPlaces, usualMaxLinks } from './link-places.ts';

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
  /** For people. */
  readonly report: (text: string) => void;
  readonly maxLinks?: number;
  /** Connections without a credential. */
  readonly maxStrangers?: number;
}

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
/** How long a refusal may take to be sent. */
const refuseMs = 1_000;

export interface HubServer {
  readonly address: AddressInfo;
  /** Descriptors are needed: whoever has shown no credential is closed. */
  makeRoom(): void;
  /** No new links; those that are open are ended by the hub first, or here at once. */
  close(): Promise<void>;
}

/** Rejects with the error of the listening socket. */
export async function startHubServer(options: HubServerOptions): Promise<HubServer> {
  const { hub, host, port, tls } = options;
  const shares = openFileShares();
  const { maxLinks = Math.min(usualMaxLinks, shares.guests) } = options;
  const strangers = new Strangers(options.maxStrangers ?? shares.strangers);
  const links = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    // Each link answers its pings itself, at its own rate.
    autoPong: false,
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
  const places = new LinkPlaces(options.clock, { maxLinks, maxSeats: hub.limits.maxSeats });
  server.on('upgrade', (request, socket, head) => {
    upgrade({ options, links, places, strangers }, request, socket, head);
  });
  const connections = openConnections(server);
  server.on('connection', (socket: Socket) => strangers.arrived(socket));
  await listening(server, { host, port, backlog: strangers.backlog });
  reportAcceptErrors(server, options);
  return {
    address: server.address() as AddressInfo,
    makeRoom: () => strangers.closeAll(),
    close: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      await endLinks(links, options.clock);
      // Also those that became no links; the server itself knows only those that were not upgraded.
      for (const connection of connections) connection.destroy();
      await closed;
    },
  };
}

interface Door {
  readonly options: HubServerOptions;
  readonly links: WebSocketServer;
  readonly places: LinkPlaces;
  readonly strangers: Strangers;
}

function upgrade(
  { options, links, places, strangers }: Door,
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
): void {
  const { hub, clock, caught } = options;
  socket.on('error', () => {});
  const identity = admitted(request, options);
  if (typeof identity === 'string') return refuse(clock, socket, identity);
  const place = places.take(identity);
  if (place === undefined) return refuse(clock, socket, '503 Service Unavailable');
  socket.once('close', () => place.leave());
  strangers.known(request.socket);
  let isLink = false;
  links.handleUpgrade(request, socket, head, (link) => {
    isLink = true;
    new HubSocket({ hub, clock, caught, rate: place.rate }, identity, link, socket);
  });
  // It was refused there: a header of the WebSocket is wrong.
  if (!isLink) destroyLater(clock, socket);
}

function refuse(clock: Clock, socket: Duplex, status: string): void {
  destroyLater(clock, socket);
  // Only its sending side would end by itself, and nobody else looks after a connection that was to be upgraded.
  socket.once('finish', () => socket.destroy());
  socket.end(`HTTP/1.1 ${status}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`);
}

function destroyLater(clock: Clock, socket: Duplex): void {
  const timer = clock.after(refuseMs, () => socket.destroy(), true);
  socket.once('close', () => timer[Symbol.dispose]());
}

/** All that are open now; at most `maxConnections`. */
function openConnections(server: Server): ReadonlySet<Socket> {
  const open = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
  });
  return open;
}

async function endLinks({ clients }: WebSocketServer, clock: Clock): Promise<void> {
  const all = [...clients];
  const ending = all.filter((link) => link.readyState === link.CLOSING);
  for (const link of all) if (!ending.includes(link)) link.terminate();
  const ended = ending.map((link) => new Promise((resolve) => link.once('close', resolve)));
  await within(clock, closeMs, Promise.all(ended));
  for (const link of clients) link.terminate();
}

/** The identity, or the status of the refusal. */
function admitted(
  { headers, url }: IncomingMessage,
  { authenticate }: HubServerOptions,
): Identity | string {
  if (headers.origin !== undefined) return '403 Forbidden';
  if (url !== '/') return '404 Not Found';
  if (headers['sec-websocket-protocol'] !== subprotocol) return '426 Upgrade Required';
  const secret = /^Bearer ([\x21-\x7e]{1,512})$/.exec(headers.authorization ?? '')?.[1];
  return (secret === undefined ? undefined : authenticate(secret)) ?? '401 Unauthorized';
}

function listening(server: Server, at: ListenOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(at, () => {
      server.off('error', reject);
      resolve();
    });
  });
}
