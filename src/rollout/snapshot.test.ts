// The snapshot: whatever is wrong with it is found before any of it is used, and says why.

import { describe, expect, it } from 'vitest';
import { canaries, foundIn } from '../../test/support/canaries.ts';
import { Dice } from '../../test/support/dice.ts';
import { linkPair } from '../../test/support/link-pair.ts';
import {
  maxSnapshotBytes,
  readSnapshot,
  receivedSnapshot,
  type SnapshotHead,
  SnapshotRefused,
  sendSnapshot,
  snapshotVersion,
  writtenSnapshot,
} from './snapshot.ts';

const origin = { program: '1.2.3', instance: 'one' };
const parts = [
  { name: 'host', data: { generation: 4, names: ['é'] } },
  { name: 'stdin', data: null, bytes: Buffer.from([0, 200, 10]) },
];

function reasonOf(head: unknown, pieces: readonly Buffer[], instance = 'one'): string | undefined {
  try {
    readSnapshot(head, pieces, instance);
    return undefined;
  } catch (error) {
    if (error instanceof SnapshotRefused) return error.reason;
    throw error;
  }
}

const asSent = ({ head, pieces }: ReturnType<typeof writtenSnapshot>) => ({
  head: JSON.parse(JSON.stringify(head)) as SnapshotHead,
  pieces: pieces.map((piece) => Buffer.from(piece)),
});

describe('a snapshot', () => {
  it('gives each part once, with its data and bytes', () => {
    const { head, pieces } = asSent(writtenSnapshot(origin, parts));
    const read = readSnapshot(head, pieces, 'one');
    expect(read.program).toBe('1.2.3');
    expect(read.take('host')).toEqual({ data: parts[0]?.data, bytes: Buffer.alloc(0) });
    expect(read.take('stdin')?.bytes).toEqual(Buffer.from([0, 200, 10]));
    expect(read.take('host')).toBeUndefined();
    expect(read.take('other')).toBeUndefined();
    expect(read.left).toEqual([]);
  });

  it('is refused when any bit of it is another one', () => {
    const whole = writtenSnapshot(origin, parts);
    const dice = new Dice('snapshot');
    for (let run = 0; run < 300; run += 1) {
      const { pieces } = asSent(whole);
      const piece = dice.pick(pieces.filter(({ length }) => length > 0));
      const at = dice.between(0, piece.length - 1);
      piece[at] = (piece[at] as number) ^ (1 << dice.between(0, 7));
      expect(reasonOf(whole.head, pieces)).toBe('damaged');
    }
    const text = JSON.stringify(whole.head);
    for (let at = 0; at < text.length; at += 1) {
      const bytes = Buffer.from(text);
      bytes[at] = (bytes[at] as number) ^ 1;
      let head: unknown;
      try {
        head = JSON.parse(bytes.toString());
      } catch {
        continue;
      }
      expect(reasonOf(head, whole.pieces), bytes.toString()).toBeDefined();
    }
  });

  it('is refused when it is shorter or longer than it says', () => {
    const { head, pieces } = asSent(writtenSnapshot(origin, parts));
    const shorter = pieces.map((piece, at) => (at === 3 ? piece.subarray(1) : piece));
    expect(reasonOf(head, shorter)).toBe('truncated');
    expect(reasonOf(head, pieces.slice(0, -1))).toBe('truncated');
    expect(reasonOf(head, [...pieces, Buffer.alloc(0)])).toBe('damaged');
  });

  it('is refused when it is of another version, of another instance or too large', () => {
    const { head, pieces } = asSent(writtenSnapshot(origin, parts));
    expect(reasonOf({ ...head, version: snapshotVersion + 1 }, pieces)).toBe('version');
    expect(reasonOf({ snapshot: 'holdfast', version: 0 }, pieces)).toBe('version');
    expect(reasonOf(head, pieces, 'two')).toBe('instance');
    const large = [{ name: 'a', json: maxSnapshotBytes, bytes: 1 }];
    expect(reasonOf({ ...head, parts: large }, [])).toBe('too_large');
    const huge = { name: 'a', data: null, bytes: Buffer.allocUnsafe(maxSnapshotBytes) };
    expect(() => writtenSnapshot(origin, [huge])).toThrow(SnapshotRefused);
  });

  it.each([
    ['nothing', undefined],
    ['a text', 'snapshot'],
    ['another object', { snapshot: 'other', version: 1 }],
    ['lengths that are none', { parts: [{ name: 'a', json: -1, bytes: 0 }] }],
    ['a name that is none', { parts: [{ name: '__proto__', json: 0, bytes: 0 }] }],
    ['a checksum that is none', { checksum: 'x' }],
  ])('is refused for %s', (_, change) => {
    const { head, pieces } = asSent(writtenSnapshot(origin, parts));
    const isChange = typeof change === 'object' && !('snapshot' in change);
    expect(reasonOf(isChange ? { ...head, ...change } : change, pieces)).toBe('damaged');
  });

  it('has no room for two parts of one name', () => {
    expect(() => writtenSnapshot(origin, [parts[0]!, parts[0]!])).toThrow(TypeError);
  });
});

describe('a snapshot on a link', () => {
  it('arrives', async () => {
    using pair = linkPair();
    const received = receivedSnapshot(pair.other, 'begin', 'one');
    sendSnapshot(pair.one, 'begin', writtenSnapshot(origin, parts));
    expect((await received).left).toEqual(['host', 'stdin']);
  });

  it('arrives without parts', async () => {
    using pair = linkPair();
    sendSnapshot(pair.one, 'begin', writtenSnapshot(origin, []));
    expect((await receivedSnapshot(pair.other, 'begin', 'one')).left).toEqual([]);
  });

  it('is refused when the link is cut within it', async () => {
    using pair = linkPair();
    const received = receivedSnapshot(pair.other, 'begin', 'one');
    const { head, pieces } = writtenSnapshot(origin, parts);
    pair.one.send('snapshot.begin', { head, pieces: pieces.length });
    for (const piece of pieces.slice(1)) pair.one.send('snapshot.begin', null, piece);
    pair.one[Symbol.dispose]();
    await expect(received).rejects.toMatchObject({ reason: 'truncated' });
  });

  it('ends the link when there is a second one', async () => {
    using pair = linkPair();
    const received = receivedSnapshot(pair.other, 'begin', 'one');
    for (let times = 0; times < 2; times += 1) {
      sendSnapshot(pair.one, 'begin', writtenSnapshot(origin, parts));
    }
    await received;
    await pair.other.closed;
    expect(pair.other.fault?.reason).toBe('bad_message');
  });
});

describe('the search for secrets in a snapshot', () => {
  it('finds one that a part tells, in its data or in its bytes', () => {
    const planted = canaries('secret', 2);
    const [inData, inBytes] = planted.map(({ value }) => value);
    const { pieces } = writtenSnapshot(origin, [
      { name: 'a', data: { header: `Bearer ${inData}` } },
      { name: 'b', data: null, bytes: Buffer.from(`token=${inBytes}`) },
    ]);
    expect(foundIn(Buffer.concat(pieces).toString('latin1'), planted)).toHaveLength(2);
  });
});
