// A remote server as its connection sees it: requests that a test answers, a clock that it moves, and
// everything the connection says of itself written down.

import type { Fault } from '../../src/kernel/fault.ts';
import type { Connection } from '../../src/upstream/connection.ts';
import { connectHttp, connectSse } from '../../src/upstream/http/connect-http.ts';
import type { HttpParts } from '../../src/upstream/http/http-parts.ts';
import type { EraKnowledge } from '../../src/upstream/negotiate.ts';
import type { Era } from '../../src/wire/eras.ts';
import type { Message } from '../../src/wire/scan.ts';
import { FakeHttp } from './fake-http.ts';
import { manualClock, settled } from './manual-clock.ts';

export const discovery = { supportedVersions: ['2026-07-28'], capabilities: { tools: {} } };
export const initialized = { protocolVersion: '2025-06-18', capabilities: { tools: {} } };

export function remoteServer(
  remembered?: EraKnowledge,
  transport = connectHttp,
  frameBytes = 1_000,
  first: Era = 'modern',
) {
  const http = new FakeHttp();
  const clock = manualClock();
  let eras: EraKnowledge = remembered ?? {};
  const lost: Fault[] = [];
  const noise: string[] = [];
  const notifications: Message[] = [];
  let missed = 0;
  const parts: HttpParts = {
    server: 'docs',
    url: new URL('https://docs.example/mcp?v=1'),
    headers: { authorization: 'Bearer secret' },
    frameBytes,
    http,
    clock,
    identity: { name: 'holdfast', version: '0.1.0' },
    capabilities: '{}',
    startTimeoutMs: 60_000,
    first,
    eras: {
      known: async () => eras,
      learn: (facts) => {
        eras = { ...eras, ...facts };
      },
      notInitialized: () => {},
      kept: async () => {},
    },
  };
  const asked: Message[] = [];
  const abort = new AbortController();
  const connecting = transport(parts, 1, abort.signal, {
    lost: (cause) => lost.push(cause),
    ended: () => {},
    lastWords: () => {},
    notification: (message) => notifications.push(message),
    asked: (message) => asked.push(message),
    missed: () => {
      missed += 1;
    },
    noise: (kind) => noise.push(kind),
  });
  connecting.catch(() => {});
  const counted = { eras: () => eras, missed: () => missed };
  return { http, clock, ...counted, lost, noise, notifications, asked, abort, connecting };
}

export type World = ReturnType<typeof remoteServer> & { readonly connection: Connection };

export async function modernServer(): Promise<World> {
  const world = remoteServer();
  await settled();
  world.http.last.result(discovery);
  return { ...world, connection: await world.connecting };
}

/** A legacy server with a session; its stream for what it says unasked is open. */
export async function legacyServer(
  headers: Record<string, string> = { 'mcp-session-id': 's-1' },
  frameBytes?: number,
): Promise<World> {
  const world = remoteServer({ modern: false }, connectHttp, frameBytes);
  await settled();
  world.http.find('initialize').result(initialized, headers);
  await settled();
  world.http.find('notifications/initialized').status(202);
  const connection = await world.connecting;
  world.http.find('GET').stream();
  return { ...world, connection };
}

/** A server of the 2024 transport, whose messages go to another address. */
export async function sseServer(): Promise<World> {
  const world = remoteServer(undefined, connectSse);
  await settled();
  world.http.last.stream().data('event: endpoint\ndata: /messages?session=7\n\n');
  await settled();
  const initialize = world.http.find('initialize');
  initialize.status(202);
  world.http.find('GET').event({ jsonrpc: '2.0', id: initialize.body['id'], result: initialized });
  await settled();
  world.http.find('notifications/initialized').status(202);
  return { ...world, connection: await world.connecting };
}
