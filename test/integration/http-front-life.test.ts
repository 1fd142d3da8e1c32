// The life of the listener: where it may listen, how many it lets in and for how long, and how it
// closes.

import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startHttp } from '../../src/downstream/http/listener.ts';
import { Fault } from '../../src/kernel/fault.ts';
import { systemClock } from '../../src/kernel/system-clock.ts';
import { FakeFront, note, result } from '../support/fake-front.ts';
import { httpFront, legacyHeaders, modernBody, modernHeaders } from '../support/http-front.ts';
import { manualClock } from '../support/manual-clock.ts';
import { until } from '../support/until.ts';

const call = {
  headers: modernHeaders('tools/call', 'x'),
  body: modernBody('tools/call', { name: 'x' }),
};

function start(config: object) {
  return startHttp({
    front: new FakeFront(),
    clock: systemClock,
    identity: { name: 'holdfast', version: '0' },
    report: () => {},
    config: {
      listen: '127.0.0.1:0',
      auth: 'none',
      allowedHosts: [],
      allowedOrigins: [],
      ...config,
    },
  });
}

const faultOf = (config: object) =>
  start(config).then(
    async (http) => {
      await http.close();
      throw new Error('it listens');
    },
    (error: unknown) => error as Fault,
  );

/** A bare connection, and everything that comes over it. */
function dial(port: number): Socket & { heard: string } {
  const socket = Object.assign(connect(port, '127.0.0.1'), { heard: '' });
  socket.on('data', (chunk) => {
    socket.heard += chunk;
  });
  socket.on('error', () => {});
  onTestFinished(() => void socket.destroy());
  return socket;
}

describe('listening', () => {
  it('gives the address that it got', async () => {
    const http = await start({});
    onTestFinished(() => http.close());
    expect(http.address.port).toBeGreaterThan(0);
    expect(http.url).toBe(`http://127.0.0.1:${http.address.port}/mcp`);
    expect((await fetch(new URL('/healthz', http.url))).status).toBe(200);
  });

  it('on a port that is in use fails with the address, the cause and the next step', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    onTestFinished(() => void other.close());
    await until(() => other.listening, 'the other program');
    const listen = `127.0.0.1:${(other.address() as AddressInfo).port}`;
    const fault = await faultOf({ listen });
    expect(fault).toBeInstanceOf(Fault);
    expect(fault.code).toBe('unavailable');
    expect(fault.message).toBe(
      `cannot listen on ${listen}: port ${listen.split(':')[1]} is in use by another program; choose another port, or take any free one: holdfast serve --listen 127.0.0.1:0`,
    );
  });

  it('on an address this machine does not have fails too', async () => {
    expect((await faultOf({ listen: '192.0.2.1:0', auth: 'none' })).code).toBe('invalid_request');
  });

  it.each(['0.0.0.0:0', '[::]:0', '192.0.2.1:0'])(
    'on %s without authentication is refused in one line',
    async (listen) => {
      const fault = await faultOf({ listen });
      expect(fault.code).toBe('invalid_request');
      expect(fault.message).toContain('without authentication');
      expect(fault.message).not.toContain('\n');
    },
  );

  it('with tokens needs tokens', async () => {
    await expect(start({ auth: 'token' })).rejects.toThrow(TypeError);
  });
});

describe('connections on which nobody was admitted', () => {
  it('are closed, the oldest first, before there are too many; those of clients stay #no-growth', async () => {
    const gate = await httpFront({ limits: { strangers: 3 } });
    gate.front.onAsked = ({ message, reply }) => reply.answer(result(message.id));
    const head = Object.entries({ host: 'localhost', ...call.headers }).map((one) =>
      one.join(': '),
    );
    const body = JSON.stringify(call.body);
    const asked = `POST /mcp HTTP/1.1\r\n${head.join('\r\n')}\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
    const client = dial(gate.port);
    client.write(asked);
    await until(() => client.heard.includes('200 OK'), 'an answer');
    const many: Socket[] = [];
    for (let count = 0; count < 8; count += 1) {
      const socket = dial(gate.port);
      socket.write('GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n');
      await until(() => socket.heard.includes('200 OK'), 'its answer');
      many.push(socket);
    }
    await until(() => many.filter(({ destroyed }) => !destroyed).length === 3, 'five are closed');
    expect(many.slice(-3).map(({ destroyed }) => destroyed)).toEqual([false, false, false]);
    client.heard = '';
    client.write(asked);
    await until(() => client.heard.includes('200 OK'), 'another answer');
  });
});

describe('too many connections', () => {
  it('are refused with a response, and accepted when there is room', async () => {
    const gate = await httpFront({ limits: { connections: 2, spareConnections: 2 } });
    const get = 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n';
    const [first, second] = [dial(gate.port), dial(gate.port)];
    for (const socket of [first, second]) {
      socket.write(get);
      await until(() => socket.heard.includes('200 OK'), 'an answer');
    }
    const third = dial(gate.port);
    third.write(get);
    await until(() => third.destroyed, 'the end of the third');
    expect(third.heard).toContain('503 Service Unavailable');
    expect(third.heard).toContain('2 connections are open');
    expect(gate.reports).toHaveLength(1);
    const fourth = dial(gate.port);
    await until(() => !fourth.connecting, 'the fourth');
    first.destroy();
    await until(async () => {
      const fifth = dial(gate.port);
      fifth.write(get);
      await until(() => fifth.heard.includes('\r\n\r\n'), 'an answer');
      fifth.destroy();
      return fifth.heard.includes('503');
    }, 'the place of the first to be taken');
    fourth.write(get);
    await until(() => fourth.heard.includes('200 OK'), 'the fourth to be let in');
  });
});

describe('a request that does not come', () => {
  it('to the end of its headers is cut off', async () => {
    const limits = { headersMs: 50, requestMs: 600_000, lateCheckMs: 10 };
    const gate = await httpFront({ limits });
    const socket = dial(gate.port);
    socket.write('POST /mcp HTTP/1.1\r\nHost: localhost\r\n');
    await until(() => socket.destroyed, 'the connection to be cut');
    expect(socket.heard).toContain('408');
  });

  it('to the end of its body is cut off', async () => {
    const gate = await httpFront({ limits: { headersMs: 50, requestMs: 100, lateCheckMs: 10 } });
    const socket = dial(gate.port);
    socket.write(
      'POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{',
    );
    await until(() => socket.destroyed, 'the connection to be cut');
    expect(gate.front.asked).toEqual([]);
  });

  it('with headers that fit is cut off at their limit', async () => {
    const gate = await httpFront({ limits: { headerBytes: 4000 } });
    const socket = dial(gate.port);
    socket.write(`GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Long: ${'x'.repeat(5000)}\r\n\r\n`);
    await until(() => socket.destroyed, 'the connection to be cut');
    expect(socket.heard).toContain('431');
  });

  it('as HTTP at all is refused, and others are served', async () => {
    const gate = await httpFront();
    const socket = dial(gate.port);
    socket.write('\x16\x03\x01 hello\r\n\r\n');
    await until(() => socket.destroyed, 'the connection to be cut');
    expect(socket.heard).toContain('400');
    expect((await gate.ask({ method: 'GET', path: '/healthz' })).status).toBe(200);
  });
});

describe('closing', () => {
  it('lets nothing new in and answers what is under way', async () => {
    const gate = await httpFront();
    const answer = gate.ask(call);
    const { message, reply } = await gate.arrived('tools/call');
    let isClosed = false;
    const closing = gate.http.close().then(() => {
      isClosed = true;
    });
    const late = dial(gate.port);
    await until(() => late.destroyed, 'the late connection to be refused');
    expect(isClosed).toBe(false);
    reply.answer(result(message.id, { ok: true }));
    expect((await answer).json.result).toEqual({ ok: true });
    await closing;
  });

  it('turns away requests on connections that are still open', async () => {
    const gate = await httpFront({ clock: manualClock() });
    const answer = gate.ask(call);
    const { reply } = await gate.arrived('tools/call');
    const socket = dial(gate.port);
    socket.write('GET /healthz HTTP/1.1\r\n');
    await until(() => socket.bytesWritten > 0 && !socket.connecting, 'half a request');
    const other = await gate.ask({ method: 'GET', path: '/healthz' });
    expect(other.status).toBe(200);
    const closing = gate.http.close();
    socket.write('Host: localhost\r\n\r\n');
    await until(() => socket.destroyed, 'the connection to end');
    expect(socket.heard).toContain('503 Service Unavailable');
    expect(socket.heard.toLowerCase()).toContain('connection: close');
    reply.answer(result(1));
    expect((await answer).status).toBe(200);
    await closing;
  });

  it('waits only so long, and then cancels what is left', async () => {
    const clock = manualClock();
    const gate = await httpFront({ clock });
    const request = gate.send(call, () => {});
    request.on('error', () => {});
    const asked = await gate.arrived('tools/call');
    const closing = gate.http.close();
    await clock.advanceAsync(999);
    expect(asked.isCancelled).toBe(false);
    await clock.advanceAsync(1);
    await closing;
    expect(asked.isCancelled).toBe(true);
    expect(clock.pending).toBe(0);
  });

  it('ends streams and sessions at once', async () => {
    const clock = manualClock();
    const gate = await httpFront({ clock });
    const session = await gate.initialize();
    const [core] = gate.front.sessions;
    const listening = await gate.stream({ method: 'GET', headers: legacyHeaders(session) });
    const old = await gate.stream({ method: 'GET', path: '/sse' });
    const subscription = gate.stream({
      headers: modernHeaders('subscriptions/listen'),
      body: modernBody('subscriptions/listen'),
    });
    const asked = await gate.arrived('subscriptions/listen');
    asked.reply.send(note('notifications/subscriptions/acknowledged'));
    const subscribed = await subscription;
    await gate.http.close();
    for (const stream of [listening, old, subscribed]) await stream.ended();
    expect(asked.isCancelled).toBe(true);
    expect(core?.isClosed).toBe(true);
    expect(gate.front.session.isClosed).toBe(true);
    expect(clock.pending).toBe(0);
  });

  it('twice is the same as once', async () => {
    const gate = await httpFront();
    expect(gate.http.close()).toBe(gate.http.close());
    await gate.http.close();
  });
});
