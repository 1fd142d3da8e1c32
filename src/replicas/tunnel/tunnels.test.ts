import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { Duplex } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { MemoryBusServer } from '../../../test/support/memory-bus.ts';
import { BusError } from '../bus.ts';
import { windowBytes } from './tunnel.ts';
import { Tunnels } from './tunnels.ts';

function replicas() {
  const server = new MemoryBusServer();
  const clock = new ManualClock();
  const errors: unknown[] = [];
  const replica = (
    id: string,
    accepted: (tunnel: Duplex) => void = () => {},
    secret = Buffer.alloc(32, 'secret'),
  ) => {
    const bus = server.member();
    const tunnels = new Tunnels({
      bus,
      clock,
      subjects: 'hf.test',
      id,
      secret,
      accepted,
      caught: (error) => errors.push(error),
    });
    tunnels.accept();
    return { bus, tunnels };
  };
  return { server, clock, errors, replica };
}

async function opened(tunnels: Tunnels, replica = 'aaaaaaaa'): Promise<Duplex> {
  const connected = await tunnels.connect(replica);
  if (typeof connected === 'string') throw new Error(`it is ${connected}`);
  return connected.connection;
}

/** Nobody answers. */
async function turned(): Promise<never> {
  for (let turn = 0; turn < 4; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  throw new BusError('late', 'no answer came');
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
  it('keeps its replica until its last bytes are sent, and then there is none #rollout', async () => {
    const { replica } = replicas();
    const accepted: Duplex[] = [];
    const former = replica('aaaaaaaa', (tunnel) => void accepted.push(tunnel.resume()));
    const { tunnels } = replica('bbbbbbbb');
    const [one, other] = [await opened(tunnels), await opened(tunnels)];
    let isFinished = false;
    const finished = former.tunnels.finish().then(() => {
      isFinished = true;
    });
    accepted[0]?.end('first');
    one.end();
    expect((await read(one)).toString()).toBe('first');
    // Until then others can still use it.
    const third = await opened(tunnels);
    third.destroy();
    accepted[1]?.end('last');
    expect((await read(other)).toString()).toBe('last');
    expect(isFinished).toBe(false);
    other.end();
    await finished;
    expect(await former.tunnels.connect('bbbbbbbb')).toBe('unknown');
    former.bus.vanish();
    expect(await tunnels.connect('aaaaaaaa')).toBe('absent');
    expect(accepted).toHaveLength(3);
  });

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
    if (typeof connected !== 'string') await closing(connected.connection);
    expect(tunnels.size).toBe(0);
  });

  it('has what came before its answer #replicas', async () => {
    const { replica } = replicas();
    replica('aaaaaaaa', (tunnel) => void tunnel.end('said at once'));
    const { tunnels, bus } = replica('bbbbbbbb');
    const ask = bus.ask.bind(bus);
    bus.ask = async (...args) => {
      const answer = await ask(...args);
      await turned().catch(() => {});
      return answer;
    };
    const tunnel = await opened(tunnels);
    expect((await read(tunnel)).toString()).toBe('said at once');
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
    server.drops = (subject) => subject.includes('tunnel.aaaaaaaa') && ++count === 2;
    for (const text of ['one', 'two', 'three']) tunnel.write(text);
    const closed = closing(tunnel);
    tunnel.resume();
    await closed;
    expect(tunnel.errored).toBeInstanceOf(BusError);
  });

  it('shows nobody what it carries #replicas', async () => {
    const { replica, server } = replicas();
    const heard: string[] = [];
    server.drops = (_subject, body) => {
      heard.push(Buffer.from(body).toString('latin1'));
      return false;
    };
    replica('aaaaaaaa', echo);
    const { tunnels } = replica('bbbbbbbb');
    const tunnel = await opened(tunnels);
    tunnel.end('the token and its arguments');
    expect((await read(tunnel)).toString()).toBe('the token and its arguments');
    expect(heard.length).toBeGreaterThan(4);
    expect(heard.join('\n')).not.toMatch(/token|arguments/);
  });

  it('ignores what somebody else sends: words of his own, copies, and what was turned around #replicas', async () => {
    const { replica, server } = replicas();
    const sent: (readonly [string, Buffer])[] = [];
    server.drops = (subject, body) => {
      if (subject.includes('.tunnel.')) sent.push([subject, Buffer.from(body)]);
      return false;
    };
    replica('aaaaaaaa', echo);
    const { tunnels } = replica('bbbbbbbb');
    const [tunnel, other] = await Promise.all([opened(tunnels), opened(tunnels)]);
    other.end('of the other tunnel');
    await read(other);
    tunnel.write('first ');
    await once(tunnel, 'readable');
    const before = sent.splice(0);
    const subjects = [...new Set(before.map(([subject]) => subject))];
    expect(subjects).toHaveLength(4);
    const bad = [...before.map(([, body]) => body), Buffer.from([3]), Buffer.alloc(40)];
    for (const subject of subjects) {
      for (const body of bad) {
        const changed = Buffer.from(body);
        changed[changed.length - 1] = (changed.at(-1) ?? 0) ^ 1;
        for (const one of [body, changed]) server.deliver(subject, one, () => {});
      }
    }
    tunnel.end('last');
    expect((await read(tunnel)).toString()).toBe('first last');
  });

  it('is not opened by or to one with another key #replicas', async () => {
    const { replica } = replicas();
    const accepted: Duplex[] = [];
    const one = replica('aaaaaaaa', (tunnel) => accepted.push(tunnel));
    const other = replica('bbbbbbbb', (tunnel) => accepted.push(tunnel), Buffer.alloc(32, 'x'));
    one.bus.ask = () => Promise.resolve(Buffer.from('{"replica":"cccccccc","tunnel":"dddddddd"}'));
    await expect(one.tunnels.connect('cccccccc')).resolves.toBe('unknown');
    other.bus.ask = (
      (ask) => (subject: string, body: Uint8Array) =>
        Promise.race([ask(subject, body), turned()])
    )(other.bus.ask.bind(other.bus));
    await expect(other.tunnels.connect('aaaaaaaa')).resolves.toBe('late');
    expect([accepted, one.tunnels.size, other.tunnels.size]).toEqual([[], 0, 0]);
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

  it('ends with its other end, also if that one has lost the bus for a moment and could not say so #replicas', async () => {
    const { replica, clock } = replicas();
    const accepted: Duplex[] = [];
    const one = replica('aaaaaaaa', (tunnel) => accepted.push(tunnel));
    const { tunnels } = replica('bbbbbbbb');
    const [tunnel, back] = [await opened(tunnels), await opened(one.tunnels, 'bbbbbbbb')];
    one.bus.lose();
    one.bus.comeBack();
    const other = await opened(tunnels);
    expect([accepted[0]?.destroyed, back.destroyed, tunnels.size]).toEqual([true, true, 3]);
    const closed = closing(tunnel);
    clock.advance(2_000);
    await closed;
    await settled();
    expect([other.destroyed, tunnels.size]).toEqual([false, 1]);
  });

  it('is still read to its end if the other end has sent all of it, and is gone by then #replicas', async () => {
    const { replica, clock } = replicas();
    const whole = Buffer.alloc(windowBytes / 2, 'some bytes ');
    const one = replica('aaaaaaaa', (tunnel) => void tunnel.resume().end(whole));
    const { tunnels } = replica('bbbbbbbb');
    const tunnel = await opened(tunnels);
    tunnel.end();
    await settled();
    expect(one.tunnels.size).toBe(0);
    clock.advance(2_000);
    await settled();
    expect((await read(tunnel)).equals(whole)).toBe(true);
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

/** Messages and their answers have arrived. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 6; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

describe('a peer', () => {
  it('is gone when it was late twice in a row, and not before #replicas', async () => {
    const { replica, server, clock } = replicas();
    replica('aaaaaaaa', echo);
    const { tunnels } = replica('bbbbbbbb');
    await opened(tunnels);
    const look = async (isLate: boolean) => {
      server.drops = (subject) => isLate && subject.includes('.life.');
      clock.advance(2_000);
      await settled();
      return tunnels.size;
    };
    const sizes: number[] = [];
    for (const isLate of [true, false, true, false, true, true]) sizes.push(await look(isLate));
    expect(sizes).toEqual([1, 1, 1, 1, 1, 0]);
  });

  it('takes no tunnels of others with it #replicas', async () => {
    const { replica, clock } = replicas();
    const killed = replica('aaaaaaaa', echo);
    replica('cccccccc', echo);
    const { tunnels } = replica('bbbbbbbb');
    const tunnel = await opened(tunnels);
    const other = await opened(tunnels, 'cccccccc');
    killed.bus.vanish();
    clock.advance(2_000);
    await settled();
    expect([tunnel.destroyed, other.destroyed]).toEqual([true, false]);
  });

  it('is asked for a sign of life while there is a tunnel to it, and again with the next #replicas', async () => {
    const { replica, server, clock } = replicas();
    const killed = replica('aaaaaaaa', echo);
    const { tunnels } = replica('bbbbbbbb');
    let asked = 0;
    server.drops = (subject) => {
      if (subject === 'hf.test.life.aaaaaaaa') asked += 1;
      return false;
    };
    const [first, second] = [await opened(tunnels), await opened(tunnels)];
    first.destroy();
    await settled();
    clock.advance(2_000);
    await settled();
    // Once by the bus, and once as it is delivered.
    expect(asked).toBe(2);
    second.destroy();
    await settled();
    clock.advance(10_000);
    await settled();
    expect(asked).toBe(2);
    const third = await opened(tunnels);
    killed.bus.vanish();
    clock.advance(2_000);
    await settled();
    expect(third.destroyed).toBe(true);
  });

  it('is not said to be gone while the bus is, or is just back, and has no ears after its end #replicas', async () => {
    const { replica, clock } = replicas();
    const one = replica('aaaaaaaa', echo);
    const { tunnels, bus } = replica('bbbbbbbb');
    bus.lose();
    await expect(tunnels.isAlive('aaaaaaaa')).rejects.toBeInstanceOf(BusError);
    bus.comeBack();
    await expect(tunnels.isAlive('aaaaaaaa')).resolves.toBe(true);
    one.tunnels[Symbol.dispose]();
    // It may be about to come back.
    await expect(tunnels.isAlive('aaaaaaaa')).rejects.toBeInstanceOf(BusError);
    await expect(tunnels.connect('aaaaaaaa')).resolves.toBe('unknown');
    clock.advance(6_000);
    await expect(tunnels.isAlive('aaaaaaaa')).resolves.toBe(false);
    await expect(tunnels.connect('aaaaaaaa')).resolves.toBe('absent');
  });
});

describe('a replica', () => {
  it('has only so many tunnels, those it opens and those of others #no-growth #replicas', async () => {
    const { replica } = replicas();
    const accepted: Duplex[] = [];
    const one = replica('aaaaaaaa', (tunnel) => accepted.push(tunnel));
    const { tunnels } = replica('bbbbbbbb');
    for (let count = 0; count < 16_384; count += 1) await opened(tunnels);
    await expect(tunnels.connect('aaaaaaaa')).resolves.toBe('unknown');
    const third = replica('cccccccc');
    await expect(third.tunnels.connect('aaaaaaaa')).resolves.toBe('unknown');
    expect([tunnels.size, one.tunnels.size, third.tunnels.size]).toEqual([16_384, 16_384, 0]);
    accepted.at(-1)?.destroy();
    await settled();
    await expect(third.tunnels.connect('aaaaaaaa')).resolves.toMatchObject({ isEnding: false });
  });

  it('keeps only so much of what comes before the answer #no-growth #replicas', async () => {
    const { replica } = replicas();
    replica('aaaaaaaa', (tunnel) => {
      for (let count = 0; count < 20; count += 1) tunnel.write('some bytes');
    });
    const { tunnels, bus } = replica('bbbbbbbb');
    const ask = bus.ask.bind(bus);
    bus.ask = async (...args) => {
      const answer = await ask(...args);
      await turned().catch(() => {});
      return answer;
    };
    const tunnel = await opened(tunnels);
    tunnel.resume();
    // What is missing is noticed with the next message.
    expect(tunnel.destroyed).toBe(false);
    const closed = closing(tunnel);
    const heard: Buffer[] = [];
    tunnel.on('data', (part: Buffer) => heard.push(part));
    tunnels[Symbol.dispose]();
    await closed;
    expect(Buffer.concat(heard).length).toBeLessThanOrEqual(16 * 'some bytes'.length);
  });

  it('that is gone is said to be, at once; one that shuts down says that itself #replicas', async () => {
    const { replica } = replicas();
    const draining = replica('aaaaaaaa', echo);
    const { tunnels } = replica('bbbbbbbb');
    expect(await tunnels.connect('aaaaaaaa')).toMatchObject({ isEnding: false });
    draining.tunnels.stopAccepting();
    expect(await tunnels.connect('aaaaaaaa')).toMatchObject({ isEnding: true });
    for (const gone of ['cccccccc', '*', 'a.b', '']) {
      await expect(tunnels.connect(gone)).resolves.toBe('absent');
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
    // The first to listen gets what is for any of them.
    const draining = replica('bbbbbbbb', () => accepted.push('b'));
    replica('aaaaaaaa', () => accepted.push('a'));
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
