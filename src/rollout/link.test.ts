// The link between two versions: order, bytes, bounds and every way in which it ends. The streams are a pair in
// memory; test/integration/rollout-link.test.ts has it over real sockets.

import { Duplex, duplexPair } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { Dice } from '../../test/support/dice.ts';
import { linkPair } from '../../test/support/link-pair.ts';
import { settled } from '../../test/support/manual-clock.ts';
import { type Link, linkOver } from './link.ts';
import { frameStart } from './link-frames.ts';

interface Heard {
  readonly kind: string;
  readonly head: unknown;
  readonly text: string;
}

function listen(link: Link, ...kinds: readonly string[]): readonly Heard[] {
  const heard: Heard[] = [];
  for (const kind of kinds) {
    link.on(kind, (head, payload) => heard.push({ kind, head, text: payload.toString('latin1') }));
  }
  return heard;
}

/** A stream whose incoming bytes a test decides, and that keeps what is written. */
function fed() {
  const written: Buffer[] = [];
  const stream = new Duplex({
    read: () => {},
    write: (chunk: Buffer, _, done) => {
      written.push(chunk);
      done();
    },
  });
  return { stream, link: linkOver(stream), written };
}

const frame = (kind: string, head: object, payload = '') =>
  Buffer.concat([frameStart(kind, head, payload.length), Buffer.from(payload, 'latin1')]);

describe('a link', () => {
  it('carries heads and bytes in order, in both directions', async () => {
    using pair = linkPair();
    const [there, back] = [listen(pair.other, 'a', 'b'), listen(pair.one, 'a')];
    pair.one.send('a', { n: 1, text: 'ü€' }, Buffer.from([0, 255, 10]));
    pair.one.send('b', null);
    pair.one.send('a', [2]);
    pair.other.send('a', 'back');
    await settled();
    expect(there).toEqual([
      { kind: 'a', head: { n: 1, text: 'ü€' }, text: '\0\xff\n' },
      { kind: 'b', head: null, text: '' },
      { kind: 'a', head: [2], text: '' },
    ]);
    expect(back).toEqual([{ kind: 'a', head: 'back', text: '' }]);
  });

  it('reads the same messages however their bytes are cut', async () => {
    const dice = new Dice('rollout link');
    for (let run = 0; run < 200; run += 1) {
      const messages = Array.from({ length: dice.between(1, 6) }, (_, at) => {
        const text = String.fromCharCode(at + 250).repeat(dice.pick([0, 1, 7, 300, 9_000]));
        return { kind: dice.pick(['a', 'b.c']), head: { at, filler: 'é'.repeat(at * 40) }, text };
      });
      const bytes = Buffer.concat(messages.map(({ kind, head, text }) => frame(kind, head, text)));
      const { stream, link } = fed();
      const heard = listen(link, 'a', 'b.c');
      for (let at = 0; at < bytes.length; ) {
        const size = dice.chance(0.3) ? 1 : dice.between(1, 4_000);
        stream.push(bytes.subarray(at, at + size));
        at += size;
      }
      await settled();
      expect(heard).toEqual(messages);
      expect(link.isOpen).toBe(true);
      stream.destroy();
    }
  });

  it('delivers no damaged message as the one that was sent, and ends by itself', async () => {
    const dice = new Dice('rollout link, damaged');
    const whole = frame('a', { n: 1 }, 'payload');
    for (let run = 0; run < 300; run += 1) {
      const bytes = Buffer.from(whole);
      const place = dice.between(0, bytes.length - 1);
      bytes[place] = (bytes[place] as number) ^ (1 << dice.between(0, 7));
      const { stream, link } = fed();
      const heard = listen(link, 'a');
      stream.push(bytes);
      stream.push(null);
      await link.closed;
      expect(heard).not.toContainEqual({ kind: 'a', head: { n: 1 }, text: 'payload' });
      expect([undefined, 'bad_frame', 'too_large', 'cut']).toContain(link.fault?.reason);
    }
  });

  it('keeps messages until somebody listens for their kind, in order with those that come then', async () => {
    using pair = linkPair();
    for (const n of [1, 2, 3]) pair.one.send('late', n);
    await settled();
    const heard: unknown[] = [];
    pair.other.on('late', (head) => heard.push(head));
    expect(heard).toEqual([]);
    pair.one.send('late', 4);
    await settled();
    expect(heard).toEqual([1, 2, 3, 4]);
  });

  it('drops messages of a kind whose listener was disposed of, until there is another', async () => {
    using pair = linkPair();
    pair.other.on('a', () => {})[Symbol.dispose]();
    pair.one.send('a', 1);
    await settled();
    const heard = listen(pair.other, 'a');
    pair.one.send('a', 2);
    await settled();
    expect(heard.map(({ head }) => head)).toEqual([2]);
  });

  it('has one listener for each kind', () => {
    using pair = linkPair();
    pair.one.on('a', () => {});
    expect(() => pair.one.on('a', () => {})).toThrow(TypeError);
  });

  it('delivers what was sent before it was closed, and tells the other side', async () => {
    using pair = linkPair();
    const heard = listen(pair.other, 'a');
    pair.one.send('a', 'last', Buffer.alloc(200_000));
    pair.one[Symbol.dispose]();
    pair.one.send('a', 'dropped');
    await Promise.all([pair.one.closed, pair.other.closed]);
    expect(heard.map(({ head }) => head)).toEqual(['last']);
    expect([pair.other.isOpen, pair.other.fault, pair.one.fault]).toEqual([
      false,
      undefined,
      undefined,
    ]);
  });

  it('hears nothing any more after it was closed on this side', async () => {
    using pair = linkPair();
    const heard = listen(pair.one, 'a');
    pair.other.send('a', 1);
    pair.one[Symbol.dispose]();
    await settled();
    expect(heard).toEqual([]);
  });

  it('says when it was cut within a message', async () => {
    const { stream, link } = fed();
    stream.push(frame('a', {}, 'payload').subarray(0, -1));
    stream.push(null);
    await link.closed;
    expect(link.fault?.reason).toBe('cut');
  });

  it('says why its stream has failed', async () => {
    const [a, b] = duplexPair();
    const link = linkOver(a);
    b.on('error', () => {});
    a.destroy(Object.assign(new Error('reset'), { errno: -104, code: 'ECONNRESET' }));
    await link.closed;
    expect(link.fault).toMatchObject({
      reason: 'broken',
      message: expect.stringContaining('ECONNRESET'),
    });
  });

  it('ends when a listener refuses a message, and reports nothing of the same chunk after it', async () => {
    const { stream, link } = fed();
    const heard: unknown[] = [];
    link.on('a', (head) => {
      heard.push(head);
      throw new TypeError('not for me');
    });
    stream.push(Buffer.concat([frame('a', { n: 1 }), frame('a', { n: 2 })]));
    await link.closed;
    expect(heard).toEqual([{ n: 1 }]);
    expect(link.fault).toMatchObject({ reason: 'bad_message', cause: expect.any(TypeError) });
  });

  it('hears nothing of the same chunk after a listener has closed it', async () => {
    const { stream, link } = fed();
    const heard: unknown[] = [];
    link.on('a', (head) => {
      heard.push(head);
      link[Symbol.dispose]();
    });
    stream.push(Buffer.concat([frame('a', { n: 1 }), frame('a', { n: 2 })]));
    stream.push(null);
    await link.closed;
    expect(heard).toEqual([{ n: 1 }]);
  });

  it('that was closed on one side is over when the other one has read what was sent #rollout', async () => {
    const { stream, link, written } = fed();
    let isClosed = false;
    const closed = link.closed.then(() => {
      isClosed = true;
    });
    link.send('a', 1);
    link[Symbol.dispose]();
    await settled();
    expect(stream.writableFinished).toBe(true);
    // The other side has not read it yet, and writes. Nobody may refuse that.
    stream.push(frame('a', { n: 1 }));
    await settled();
    expect({ isClosed, isOver: stream.destroyed }).toEqual({ isClosed: false, isOver: false });
    stream.push(null);
    await closed;
    expect(Buffer.concat(written).length).toBeGreaterThan(0);
    expect(link.fault).toBeUndefined();
  });

  it.each([
    ['no frame', Buffer.from('GET / HTTP/1.1\r\n\r\n'), 'bad_frame'],
    ['a head that is not JSON', Buffer.from(frame('a', { n: 1 })).fill('x', 14), 'bad_frame'],
    ['a payload beyond the bound', frameStart('a', {}, 1).fill(0xff, 9, 13), 'too_large'],
    ['a head beyond the bound', frameStart('a', {}, 1).fill(0x7f, 5, 9), 'too_large'],
    ['a kind that is none', Buffer.from(frame('a', {})).fill('Ü', 13, 14), 'bad_frame'],
  ])('ends at %s', async (_, bytes, reason) => {
    const { stream, link } = fed();
    stream.push(bytes);
    await link.closed;
    expect(link.fault?.reason).toBe(reason);
  });

  it('ends when more waits for the other side than it may', () => {
    const stuck = new Duplex({ read: () => {}, write: () => {} });
    const link = linkOver(stuck);
    const payload = Buffer.alloc(16_777_216);
    for (let times = 0; times < 20; times += 1) link.send('a', times, payload);
    expect(link.fault?.reason).toBe('overloaded');
    expect(stuck.destroyed).toBe(true);
  });

  it('ends when too much comes for which nobody listens', async () => {
    const { stream, link } = fed();
    const payload = 'x'.repeat(16_777_216);
    const bytes = frame('a', {}, payload);
    for (let times = 0; times < 20; times += 1) stream.push(bytes);
    await link.closed;
    expect(link.fault?.reason).toBe('overloaded');
  });

  it('does not copy a payload that is sent, nor one that comes whole', async () => {
    const { stream, link, written } = fed();
    const payload = Buffer.from('payload');
    link.send('a', {}, payload);
    expect(written.at(-1)?.buffer).toBe(payload.buffer);
    const bytes = frame('a', {}, 'payload');
    const came: Buffer[] = [];
    link.on('a', (_, bytes) => came.push(bytes));
    stream.push(bytes);
    await settled();
    expect(came[0]?.buffer).toBe(bytes.buffer);
  });
});
