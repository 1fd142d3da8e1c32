// One end of a tunnel by itself: what it sends for what it receives, reads and writes.

import { describe, expect, it } from 'vitest';
import { creditFrame, dataFrame, readFrame, resetFrame } from './frames.ts';
import { Tunnel, windowBytes } from './tunnel.ts';

function oneEnd() {
  const sent: Buffer[] = [];
  let closed = 0;
  const tunnel = new Tunnel({
    send: (frame) => sent.push(frame),
    maxBytes: () => 1_048_576,
    closed: () => {
      closed += 1;
    },
  });
  const kinds = () => sent.map((frame) => readFrame(frame)?.kind);
  const credit = () =>
    sent.reduce((sum, frame) => {
      const read = readFrame(frame);
      return read?.kind === 'credit' ? sum + read.bytes : sum;
    }, 0);
  const receive = (bytes: number) =>
    tunnel.receive({ kind: 'data', bytes: Buffer.alloc(bytes, 'x') });
  return { tunnel, sent, kinds, credit, receive, closed: () => closed };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

describe('an end of a tunnel', () => {
  it('is read to its end after a reset that came with all of it #replicas', async () => {
    const { tunnel, kinds, receive } = oneEnd();
    receive(10);
    tunnel.receive({ kind: 'end' });
    tunnel.receive({ kind: 'reset' });
    let read = 0;
    for await (const part of tunnel) read += (part as Buffer).length;
    expect(read).toBe(10);
    tunnel.destroy();
    await turn();
    // The other end is gone: it is told nothing.
    expect(kinds()).not.toContain('reset');
  });

  it('ends by a reset before that, and tells its writer once #replicas', async () => {
    const { tunnel, closed, receive } = oneEnd();
    receive(10);
    const failed = new Promise<unknown>((resolve) => {
      tunnel.write(Buffer.alloc(2 * windowBytes), resolve);
    });
    tunnel.receive({ kind: 'reset' });
    expect(await failed).toBeInstanceOf(Error);
    tunnel.receive({ kind: 'reset' });
    tunnel.receive({ kind: 'credit', bytes: windowBytes });
    expect([tunnel.destroyed, closed()]).toEqual([true, 1]);
  });

  it('gives as much credit as was read, in steps, and none for what waits #replicas', async () => {
    const { tunnel, sent, credit, receive } = oneEnd();
    const part = 65_536;
    for (let count = 0; count < windowBytes / part; count += 1) receive(part);
    expect(credit()).toBeLessThanOrEqual(windowBytes / 4);
    tunnel.resume();
    await turn();
    for (let count = 0; count < 100; count += 1) receive(10);
    await turn();
    expect(credit()).toBe(windowBytes);
    expect(sent.length).toBeLessThanOrEqual(4);
  });

  it('is ended if the other sends far more than it has credit for #replicas', () => {
    const { tunnel, receive } = oneEnd();
    for (let count = 0; count < 3; count += 1) receive(windowBytes);
    expect(tunnel.destroyed).toBe(true);
  });

  it('has messages that are read as they were made, and nothing else #replicas', () => {
    expect(readFrame(dataFrame(Buffer.from('a')))).toEqual({
      kind: 'data',
      bytes: Buffer.from('a'),
    });
    expect(readFrame(creditFrame(7))).toEqual({ kind: 'credit', bytes: 7 });
    expect(readFrame(resetFrame())).toEqual({ kind: 'reset' });
    for (const bad of [[], [9], [2], [2, 0, 0, 0]]) {
      expect(readFrame(Buffer.from(bad))).toBeUndefined();
    }
  });
});
