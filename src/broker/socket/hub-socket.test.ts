// One link at the hub: when it is read from and when not, and when it is ended. A socket that a test plays, a
// manual clock and a real hub.

import { EventEmitter } from 'node:events';
import { describe, expect, it } from 'vitest';
import type { WebSocket } from 'ws';
import { manualClock, settled } from '../../../test/support/manual-clock.ts';
import type { Log } from '../../store/contract/log.ts';
import { MemoryStore } from '../../store/memory-store.ts';
import { Hub } from '../hub/hub.ts';
import type { Identity } from '../identity.ts';
import { FrameRate } from './frame-rate.ts';
import { type ClientFrame, decodeHubFrame, encodeFrame } from './frames.ts';
import { HubSocket } from './hub-socket.ts';

const never = { expiresAt: null } as const;
const boss: Identity = { mailbox: 'boss', kind: 'orchestrator', role: null, to: [], ...never };
const ann: Identity = { mailbox: 'ann.mcp', kind: 'worker', role: 'r', to: ['boss'], ...never };

/** What `HubSocket` uses of a WebSocket. */
class PlayedSocket extends EventEmitter {
  readonly OPEN = 1;
  readyState = 1;
  /** Its reader does not read. */
  isStuck = false;
  bufferedAmount = 0;
  isPaused = false;
  pings = 0;
  closed: number | undefined;
  isTerminated = false;
  /** Without what a WebSocket has before each message. */
  readonly sent: Buffer[] = [];
  /** Of each write that waits: its bytes, and who hears that it has left. */
  readonly #unflushed: { readonly bytes: number; readonly flushed: () => void }[] = [];
  readonly pongs: string[] = [];

  /** As its stream: bytes of one message, or of one whose body is long and comes by itself. */
  write(bytes: Buffer, flushed: () => void = () => {}): boolean {
    const before = bytes[1] === 127 ? 10 : bytes[1] === 126 ? 4 : 2;
    if (bytes[0] === 0x82) this.sent.push(bytes.subarray(before));
    else this.sent.push(Buffer.concat([this.sent.pop() ?? bytes, bytes]));
    if (this.isStuck) {
      this.bufferedAmount += bytes.length;
      this.#unflushed.push({ bytes: bytes.length, flushed });
    } else flushed();
    return true;
  }

  cork(): void {}

  uncork(): void {}

  /** Its reader has read everything. */
  drain(): void {
    this.isStuck = false;
    this.bufferedAmount = 0;
    for (const { flushed } of this.#unflushed.splice(0)) flushed();
  }

  /** Its reader has read the oldest write that waits. */
  drainOne(): void {
    const { bytes = 0, flushed } = this.#unflushed.shift() ?? {};
    this.bufferedAmount -= bytes;
    flushed?.();
  }

  ping(): void {
    this.pings += 1;
  }

  pong(data: Buffer): void {
    this.pongs.push(data.toString());
  }

  pause(): void {
    this.isPaused = true;
  }

  resume(): void {
    this.isPaused = false;
  }

  close(code: number): void {
    this.closed ??= code;
    this.readyState = 2;
  }

  terminate(): void {
    this.isTerminated = true;
    this.readyState = 3;
    this.emit('close');
  }

  says(frame: ClientFrame, body?: Buffer): void {
    this.emit('message', encodeFrame(frame, body), true);
  }

  get frames() {
    return this.sent.map((bytes) => decodeHubFrame(bytes)?.header);
  }
}

async function opened(wrapped: (log: Log) => Log = (log) => log) {
  const clock = manualClock();
  const store = new MemoryStore({ clock, claims: 'durable' });
  const owners = new Map([boss, ann].map((one) => [one.mailbox, one]));
  const hub = await Hub.open({
    clock,
    letters: wrapped(store.log('letters', { durability: 'durable' })),
    aside: store.log('aside', { durability: 'durable' }),
    ownerOf: (mailbox) => owners.get(mailbox),
    report: () => {},
  });
  const errors: unknown[] = [];
  const caught = (error: unknown) => void errors.push(error);
  const link = (identity: Identity, rate = new FrameRate(clock)) => {
    const socket = new PlayedSocket();
    const parts = { hub, clock, caught, rate };
    new HubSocket(parts, identity, socket as unknown as WebSocket, socket);
    return socket;
  };
  const greeted = (identity: Identity, seat = 'seat', rate?: FrameRate) => {
    const socket = link(identity, rate);
    socket.says({ is: 'hello', version: 1, seat });
    return socket;
  };
  return { clock, hub, link, greeted, errors, owners };
}

const tell = (n: number): ClientFrame => ({
  is: 'tell',
  n,
  id: `t-${n}`,
  to: 'boss',
  kind: 'note',
});

describe('a link that sends more than its rate', () => {
  it('is not read from for a while, and nothing of it is dropped #no-growth', async () => {
    const { greeted, clock } = await opened();
    const socket = greeted(ann);
    for (let n = 1; n <= 20_100; n += 1) socket.says(tell(n));
    expect(socket.isPaused).toBe(true);
    const refused = () => socket.frames.filter((frame) => frame?.is === 'refused');
    // Also of those that were read already.
    expect(refused()).toHaveLength(20_000);
    clock.advance(20);
    // Nobody reads them: each has its answer.
    expect(refused()).toHaveLength(20_100);
    expect(socket.isPaused).toBe(false);
  });

  it('holds up the other links of the same worker: nothing of them is read meanwhile #principal-share', async () => {
    const { greeted, clock } = await opened();
    const rate = new FrameRate(clock);
    const [one, two] = [greeted(ann, 'one', rate), greeted(ann, 'two', rate)];
    for (let n = 1; n <= 20_000; n += 1) one.says(tell(n));
    const refused = () => two.frames.filter((frame) => frame?.is === 'refused');
    two.says(tell(1));
    expect([two.isPaused, refused()]).toEqual([true, []]);
    clock.advance(20);
    expect([two.isPaused, refused().length]).toEqual([false, 1]);
  });

  it('is not read from for its pings, either #no-growth', async () => {
    const { greeted, clock } = await opened();
    const socket = greeted(ann);
    for (let n = 1; n <= 20_100; n += 1) socket.emit('ping', Buffer.from(`${n}`));
    expect(socket.isPaused).toBe(true);
    clock.advance(20);
    expect([socket.isPaused, socket.pongs.at(-1)]).toEqual([false, '20100']);
  });

  it('leaves no timer behind when it ends', async () => {
    const { greeted, clock } = await opened();
    const before = clock.pending;
    const socket = greeted(ann);
    for (let n = 1; n <= 20_100; n += 1) socket.says(tell(n));
    socket.terminate();
    expect(clock.pending).toBe(before);
  });
});

describe('a link that does not read what it is sent', () => {
  it('is not read from until it has, so that answers to it do not pile up #no-growth', async () => {
    const { greeted } = await opened();
    const socket = greeted(ann);
    socket.isStuck = true;
    for (let n = 1; !socket.isPaused && n < 20_000; n += 1) socket.says(tell(n));
    expect(socket.isPaused).toBe(true);
    expect(socket.bufferedAmount).toBeLessThan(1.1 * 1_048_576);
    socket.drain();
    expect(socket.isPaused).toBe(false);
  });

  it('has nothing more taken of what was read from it already #no-growth', async () => {
    const { greeted } = await opened();
    const socket = greeted(ann);
    socket.isStuck = true;
    for (let n = 1; n <= 18_000; n += 1) socket.says(tell(n));
    socket.emit('ping', Buffer.from('first'));
    socket.emit('ping', Buffer.from('last'));
    expect(socket.bufferedAmount).toBeLessThan(1.1 * 1_048_576);
    expect(socket.pongs).toEqual([]);
    socket.drain();
    const answered = socket.frames.flatMap((frame) => (frame?.is === 'refused' ? [frame.n] : []));
    expect(answered).toEqual(Array.from({ length: 18_000 }, (_, at) => at + 1));
    expect([socket.pongs, socket.isPaused]).toEqual([['last'], false]);
  });

  it('is handed each letter once, however often it asks for them #no-growth', async () => {
    const { greeted, hub } = await opened();
    const sender = hub.join(boss, 'sender', greeted(boss) as never);
    const body = Buffer.alloc(3_000, 'x');
    for (let n = 0; n < 100; n += 1) {
      await sender.deliver({ id: `l-${n}`, to: 'ann.mcp', kind: 'mcp-reply', body });
    }
    const socket = greeted(ann);
    socket.isStuck = true;
    for (let n = 1; n <= 200; n += 1) socket.says({ is: 'receive', n, kind: 'mcp-reply' });
    const [mails, done] = ['mail', 'done'].map((is) =>
      socket.frames.filter((one) => one?.is === is),
    );
    expect([mails?.length, done?.length]).toEqual([100, 200]);
  });

  it('is read from again whatever it was sent meanwhile', async () => {
    const { greeted } = await opened();
    const [socket, writer] = [greeted(ann), greeted(boss)];
    socket.says({ is: 'receive', n: 1, kind: 'bulk' });
    const body = Buffer.alloc(1_048_576, 'x');
    const large = (n: number) =>
      writer.says({ is: 'tell', n, id: `x-${n}`, to: 'ann.mcp', kind: 'bulk' }, body);
    socket.isStuck = true;
    large(1);
    socket.says(tell(1));
    expect(socket.isPaused).toBe(true);
    // A body so long is written by itself.
    socket.drainOne();
    socket.drainOne();
    large(2);
    for (let writes = 0; writes < 3; writes += 1) socket.drainOne();
    expect([socket.bufferedAmount, socket.isPaused]).toEqual([0, false]);
  });

  it('is gone at once if a newer link has its seat: that one is sent the same #no-growth', async () => {
    const { greeted } = await opened();
    const [slow, other] = [greeted(ann), greeted(boss)];
    slow.bufferedAmount = 1_048_576;
    greeted(ann);
    greeted(boss);
    expect([slow.isTerminated, other.isTerminated]).toEqual([true, false]);
  });

  it('is ended after two pings, unless it reads a little', async () => {
    const { greeted, clock } = await opened();
    const [dead, slow] = [greeted(ann), greeted(boss)];
    for (const socket of [dead, slow]) socket.bufferedAmount = 5_000_000;
    for (let seconds = 0; seconds < 30; seconds += 5) {
      clock.advance(5_000);
      slow.bufferedAmount -= 100_000;
    }
    expect([dead.isTerminated, slow.isTerminated]).toEqual([true, false]);
  });
});

describe('a link that waits for the disk', () => {
  it('is not read from while too much waits, and is not taken for dead #broker-durable', async () => {
    const waiting: (() => void)[] = [];
    const slow = (log: Log): Log => ({
      append: async (value) => {
        await new Promise<void>((resolve) => waiting.push(resolve));
        return log.append(value);
      },
      read: (options) => log.read(options),
      trim: (before) => log.trim(before),
      range: () => log.range(),
    });
    const { greeted, clock } = await opened(slow);
    const socket = greeted(ann);
    for (let n = 1; n <= 1_024; n += 1) {
      socket.says({ is: 'deliver', n, id: `d-${n}`, to: 'boss', kind: 'note' });
    }
    expect(socket.isPaused).toBe(true);
    await settled();
    clock.advance(60_000);
    expect(socket.isTerminated).toBe(false);
    for (const resolve of waiting) resolve();
    await settled();
    await settled();
    expect(socket.isPaused).toBe(false);
    expect(socket.frames.flatMap((frame) => (frame?.is === 'done' ? frame.ns : []))).toHaveLength(
      1_024,
    );
  });
});

describe('a link that has ended', () => {
  it('has sent what was read from it before', async () => {
    const { greeted, hub } = await opened();
    const socket = greeted(ann);
    socket.bufferedAmount = 1_048_576;
    socket.says({ is: 'deliver', n: 1, id: 'last', to: 'boss', kind: 'note' });
    expect(hub.figures.letters).toBe(0);
    socket.emit('close');
    expect(hub.figures).toMatchObject({ letters: 1, members: 0 });
  });
});

describe('a link that is ended', () => {
  it('is gone a second later, whatever it still sends', async () => {
    const { greeted, clock, errors } = await opened();
    const socket = greeted(ann);
    socket.emit('message', Buffer.from('text'), false);
    expect(socket.closed).toBe(4_400);
    for (let tenths = 0; tenths < 10; tenths += 1) {
      socket.says({ is: 'present', n: 1 });
      socket.emit('message', Buffer.from('text'), false);
      clock.advance(100);
    }
    expect(socket.isTerminated).toBe(true);
    expect(errors).toEqual([]);
  });

  it('because it says no hello within five seconds', async () => {
    const { link, clock } = await opened();
    const socket = link(ann);
    clock.advance(4_999);
    expect(socket.closed).toBeUndefined();
    clock.advance(1);
    expect(socket.closed).toBe(4_400);
  });

  it('because it believes to have another mailbox, and then it has claimed nothing #broker-once', async () => {
    const { link } = await opened();
    const says = (mailbox: string, store: string) => {
      const socket = link(boss);
      socket.says({ is: 'hello', version: 1, seat: store, mailbox, store });
      return socket;
    };
    expect(says('chief', 'one').closed).toBe(4_401);
    expect(says('boss', 'two').closed).toBeUndefined();
    expect(says('boss', 'three').closed).toBe(4_410);
  });

  it('because it says hello once more, and then it has taken no other seat #broker-identity', async () => {
    const { greeted, hub } = await opened();
    const socket = greeted(ann);
    socket.says({ is: 'hello', version: 1, seat: 'other' });
    expect(socket.closed).toBe(4_400);
    expect(hub.figures.members).toBe(0);
  });

  it('because its credential was revoked before its hello #revoked', async () => {
    const { link, owners, errors } = await opened();
    const socket = link(ann);
    owners.delete('ann.mcp');
    socket.says({ is: 'hello', version: 1, seat: 'seat' });
    expect(socket.closed).toBe(4_401);
    expect([socket.sent, errors]).toEqual([[], []]);
  });

  it('because nothing is heard of it for two pings', async () => {
    const { greeted, clock } = await opened();
    const [silent, alive] = [greeted(ann), greeted(boss)];
    for (let seconds = 0; seconds < 20; seconds += 5) {
      clock.advance(5_000);
      alive.emit('pong', Buffer.alloc(0));
    }
    expect([silent.isTerminated, alive.isTerminated]).toEqual([true, false]);
  });
});
