import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { Duplex } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { MemoryBusServer } from '../../../test/support/memory-bus.ts';
import { BusError } from '../bus.ts';
import { readFrame } from './frames.ts';
import { windowBytes } from './tunnel.ts';
import { Tunnels } from './tunnels.ts';

function replicas() {
  const server = new MemoryBusServer();
  const clock = new ManualClock();
  const errors: unknown[] = [];
  const replica = (id: string, accepted: (tunnel: Duplex) => void = () => {}) => {
    const bus = server.member();
    const tunnels = new Tunnels({
      bus,
      clock,
      subjects: 'hf.test',
      id,
      accepted,
      caught: (error) => errors.push(error),
    });
    tunnels.accept();
    return { bus, tunnels };
  };
  return { server, clock, errors, replica };
}

async function opened(tunnels: Tunnels): Promise<Duplex> {
  const connected = await tunnels.connect('aaaaaaaa');
  if (connected === undefined) throw new Error('it is gone');
  return connected.connection;
}

/** Echoes everything. */
const echo = (tunnel: Duplex) => void tunnel.pipe(tunnel);

function closing(tunnel: Duplex): Promise<void> {
  return new Promise((resolve) => tunnel.once('close', () => resolve()));
}

async function read(tunnel: Duplex): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of tunnel) parts.push(part as Buffer);
  return Buffer.concat(parts);
}

describe('a tunnel to another replica', () => {
  it('carries bytes unchanged in both directions, more than may wait #replicas', async () => {
    const { replica } = replicas();
    replica('aaaaaaaa', echo);
    const { tunnels } = replica('bbbbbbbb');
    const tunnel = await opened(tunnels);
    const sent = Buffer.alloc(3 * windowBytes + 17, 'some bytes ');
    tunnel.end(sent);
    const closed = closing(tunnel);
    expect((await read(tunnel)).equals(sent)).toBe(true);
    await closed;
    expect(tunnels.size).toBe(0);
  });

  it('is a connection for HTTP #replicas', async () => {
    const { replica } = replicas();
    const http = createServer((req, res) => {
      req.resume().on('end', () => res.end(`${req.method} ${req.url}`));
    });
    replica('aaaaaaaa', (tunnel) => void http.emit('connection', tunnel));
    const { tunnels } = replica('bbbbbbbb');
    const connection = await opened(tunnels);
    const asked = request({ method: 'POST', path: '/mcp', createConnection: () => connection });
    asked.end('body');
    const [answer] = await once(asked, 'response');
    expect((await read(answer as Duplex)).toString()).toBe('POST /mcp');
  });

  it('is read to its end by a slow reader after the other end has closed it #replicas', async () => {
    const { replica } = replicas();
    const whole = Buffer.alloc(3 * windowBytes + 5, 'some bytes ');
    replica('aaaaaaaa', (tunnel) => {
      tunnel.write(whole);
      (tunnel as Duplex & { destroySoon(): void }).destroySoon();
    });
    const { tunnels } = replica('bbbbbbbb');
    const tunnel = await opened(tunnels);
    const parts: Buffer[] = [];
    for await (const part of tunnel) {
      parts.push(part as Buffer);
      for (let turn = 0; turn < 3; turn += 1) await new Promise((turned) => setImmediate(turned));
    }
    expect(Buffer.concat(parts).equals(whole)).toBe(true);
  });

  it('has no larger messages than its bus takes #replicas', async () => {
    const { replica, server } = replicas();
    const { bus } = replica('aaaaaaaa', echo);
    const { tunnels, bus: own } = replica('bbbbbbbb');
    for (const one of [bus, own]) Object.assign(one, { maxBytes: 4_096 });
    let largest = 0;
    server.drops = (_subject, body) => {
      largest = Math.max(largest, body.length);
      return false;
    };
    const tunnel = await opened(tunnels);
    tunnel.end(Buffer.alloc(100_000));
    expect((await read(tunnel)).length).toBe(100_000);
    expect(largest).toBeLessThanOrEqual(4_096);
  });

  it('that was reset before it was answered is none #replicas', async () => {
    const { replica } = replicas();
    replica('aaaaaaaa', (tunnel) => void tunnel.destroy());
    const { tunnels } = replica('bbbbbbbb');
    const connected = await tunnels.connect('aaaaaaaa');
    if (connected !== undefined) await closing(connected.connection);
    expect(tunnels.size).toBe(0);
  });

  it('holds its sender up while its reader does not read, and nobody else #replicas', async () => {
    const { replica } = replicas();
    const accepted: Duplex[] = [];
    replica('aaaaaaaa', (tunnel) => accepted.push(tunnel));
    const { tunnels } = replica('bbbbbbbb');
    const [stuck, other] = await Promise.all([opened(tunnels), opened(tunnels)]);
    stuck.write(Buffer.alloc(4 * windowBytes));
    other.end('small');
    const small = accepted.at(1) as Duplex;
    expect((await read(small)).toString()).toBe('small');
    expect(stuck.writableLength).toBe(4 * windowBytes);
    const [first] = accepted;
    expect(first?.readableLength).toBeLessThanOrEqual(windowBytes);
    tunnels[Symbol.dispose]();
  });

  it('ends when a message is missing: it never carries another text #replicas', async () => {
    const { replica, server } = replicas();
    replica('aaaaaaaa', echo);
    const { tunnels } = replica('bbbbbbbb');
    const tunnel = await opened(tunnels);
    let count = 0;
    server.drops = (_subject, body) => readFrame(body)?.kind === 'data' && ++count === 2;
    for (const text of ['one', 'two', 'three']) tunnel.write(text);
    const closed = closing(tunnel);
    tunnel.resume();
    await closed;
    expect(tunnel.errored).toBeInstanceOf(BusError);
  });

  it('ends with the replica at its other end, also if that one was killed #replicas', async () => {
    const { replica, clock } = replicas();
    const killed = replica('aaaaaaaa', echo);
    const { tunnels } = replica('bbbbbbbb');
    const tunnel = await opened(tunnels);
    killed.bus.vanish();
    const closed = closing(tunnel);
    clock.advance(2_000);
    await closed;
    expect(tunnels.size).toBe(0);
  });

  it('ends with the bus #replicas', async () => {
    const { replica } = replicas();
    replica('aaaaaaaa', echo);
    const { tunnels, bus } = replica('bbbbbbbb');
    const tunnel = await opened(tunnels);
    const closed = closing(tunnel);
    bus.lose();
    await closed;
  });
});

describe('a replica', () => {
  it('that is gone is said to be, at once; one that shuts down says that itself #replicas', async () => {
    const { replica } = replicas();
    const draining = replica('aaaaaaaa', echo);
    const { tunnels } = replica('bbbbbbbb');
    expect(await tunnels.connect('aaaaaaaa')).toMatchObject({ isEnding: false });
    draining.tunnels.stopAccepting();
    expect(await tunnels.connect('aaaaaaaa')).toMatchObject({ isEnding: true });
    for (const gone of ['cccccccc', '*', 'a.b', '']) {
      await expect(tunnels.connect(gone)).resolves.toBeUndefined();
    }
    await expect(tunnels.isAlive('aaaaaaaa')).resolves.toBe(true);
    await expect(tunnels.isAlive('cccccccc')).resolves.toBe(false);
    expect(tunnels.size).toBe(2);
    tunnels[Symbol.dispose]();
    expect(tunnels.size).toBe(0);
  });

  it('that drains hands its work to any other that accepts some #replicas', async () => {
    const { replica } = replicas();
    const accepted: string[] = [];
    replica('aaaaaaaa', () => accepted.push('a'));
    const draining = replica('bbbbbbbb', () => accepted.push('b'));
    draining.tunnels.stopAccepting();
    for (let count = 0; count < 3; count += 1) await draining.tunnels.connectAny();
    expect(accepted).toEqual(['a', 'a', 'a']);
  });

  it.each(['', '{}', '[]', '{"replica":"a.b","tunnel":"*"}', '\u0000'])(
    'ignores what is no request for a tunnel: %o #replicas',
    async (body) => {
      const { replica, server, errors } = replicas();
      const { tunnels } = replica('aaaaaaaa', echo);
      server.deliver('hf.test.open.aaaaaaaa', Buffer.from(body), () => {});
      server.deliver('hf.test.tunnel.aaaaaaaa.constructor', Buffer.from(body), () => {});
      await new Promise((resolve) => setImmediate(resolve));
      expect(tunnels.size).toBe(0);
      expect(errors).toEqual([]);
    },
  );
});
