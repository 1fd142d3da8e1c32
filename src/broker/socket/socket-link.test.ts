// Addresses that are no broker: a link to them says so, and whether it is worth trying again.

import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { describe, expect, it } from 'vitest';
import { WebSocketServer } from 'ws';
import { manualClock } from '../../../test/support/manual-clock.ts';
import { until } from '../../../test/support/until.ts';
import { systemClock } from '../../kernel/system-clock.ts';
import type { BrokerError } from '../broker-error.ts';
import { encodeFrame } from './frames.ts';
import { openSocketLink } from './socket-link.ts';

async function listening(server: Server): Promise<{ url: string; close: () => Promise<void> }> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const close = () => new Promise<void>((resolve) => void server.close(() => resolve()));
  return { url: `ws://127.0.0.1:${port}/`, close };
}

async function refusedBy(url: string, clock = systemClock) {
  const options = { url, secret: 'secret', seat: 'seat', clock };
  return await openSocketLink(options, new AbortController().signal).catch(
    (why: unknown) => why as BrokerError,
  );
}

async function refusal(url: string, clock = systemClock): Promise<[string, boolean]> {
  const error = await refusedBy(url, clock);
  return 'reason' in error ? [error.reason, error.isPermanent] : ['opened', false];
}

async function words(url: string): Promise<string> {
  const error = await refusedBy(url);
  return 'message' in error ? `${error.reason}: ${error.message}` : 'opened';
}

describe('an address that is no broker', () => {
  it.each([200, 301, 400, 404, 426])('because HTTP answers with %s', async (status) => {
    const server = createHttpServer((_request, response) => response.writeHead(status).end('page'));
    const { url, close } = await listening(server);
    expect(await refusal(url)).toEqual(['not_a_broker', true]);
    await close();
  });

  it('because it speaks no HTTP', async () => {
    const { url, close } = await listening(
      createServer((socket) =>
        socket
          .on('error', () => {})
          .resume()
          .end('SSH-2.0-x\r\n'),
      ),
    );
    expect(await refusal(url)).toEqual(['not_a_broker', true]);
    await close();
  });

  it('because it is another WebSocket server', async () => {
    const server = createHttpServer();
    const sockets = new WebSocketServer({ server });
    sockets.on('connection', (socket) => socket.send('hello'));
    const { url, close } = await listening(server);
    expect(await refusal(url)).toEqual(['not_a_broker', true]);
    sockets.close();
    await close();
  });
});

describe('an address with the scheme of the other kind of broker', () => {
  it('names the other: wss:// where nobody speaks TLS #broker-identity', async () => {
    const { url, close } = await listening(createHttpServer());
    const secure = url.replace('ws:', 'wss:');
    const told = `unsupported: ${secure} does not speak TLS; the address of a broker without a certificate begins with ws://`;
    expect(await words(secure)).toBe(told);
    await close();
  });

  it('names the other: ws:// where only TLS is spoken #broker-identity', async () => {
    // What is no greeting of TLS ends the connection before a certificate is needed.
    const { url, close } = await listening(createTlsServer());
    const told = `lost: ${url} has ended the connection without an answer (ECONNRESET); the address of a broker with a certificate begins with wss://`;
    expect(await words(url)).toBe(told);
    await close();
  });
});

describe('an address where a broker may be later', () => {
  it('refuses the connection', async () => {
    const { url, close } = await listening(createServer());
    await close();
    expect(await refusal(url)).toEqual(['lost', false]);
  });

  it('says nothing for five seconds', async () => {
    const open: Socket[] = [];
    const { url, close } = await listening(createServer((socket) => void open.push(socket)));
    const clock = manualClock();
    const refused = refusal(url, clock);
    await until(() => open.length === 1, 'it has connected');
    clock.advance(5_000);
    expect(await refused).toEqual(['lost', false]);
    for (const socket of open) socket.destroy();
    await close();
  });

  it.each([408, 429, 500, 502, 503, 504])('answers with %s, or a proxy does', async (status) => {
    const server = createHttpServer((_request, response) => response.writeHead(status).end());
    const { url, close } = await listening(server);
    expect(await refusal(url)).toEqual(['lost', false]);
    await close();
  });
});

/** A broker that greets, and ends the link in this way when it is sent a letter. */
async function endingWith(code: number) {
  const server = createHttpServer();
  const sockets = new WebSocketServer({ server });
  const welcome = { is: 'welcome', version: 1, mailbox: 'ann.mcp', seat: 's', role: 'r' } as const;
  sockets.on('connection', (socket) => {
    socket.once('message', () => {
      socket.send(encodeFrame({ ...welcome, maxBody: 1_000 }));
      socket.once('message', () => socket.close(code, 'as the test says'));
    });
  });
  const { url, close } = await listening(server);
  const options = { url, secret: 'secret', seat: 's', clock: systemClock };
  const link = await openSocketLink(options, new AbortController().signal);
  const end = () => {
    sockets.close();
    return close();
  };
  return { link, close: end };
}

describe('a link that the broker ends', () => {
  it.each<[number, string, string]>([
    [4_400, 'bad_letter', 'lost'],
    [4_401, 'unauthorized', 'unauthorized'],
    [4_409, 'replaced', 'replaced'],
    [4_429, 'full', 'lost'],
    [1_012, 'lost', 'lost'],
  ])(
    'with %i says so, and no letter that waits is taken for refused #true-dispatched',
    async (code, why, waits) => {
      const { link, close } = await endingWith(code);
      const letter = { id: 'x', to: 'boss', kind: 'note', body: Buffer.from('text') };
      const refusals: string[] = [];
      const first = link.deliver(letter);
      link.tell(letter, ({ reason }) => refusals.push(reason));
      await expect(first).rejects.toMatchObject({ reason: waits });
      await expect(link.deliver(letter)).rejects.toMatchObject({ reason: waits });
      expect([(await link.ended).reason, refusals]).toEqual([why, [waits]]);
      await close();
    },
  );
});
