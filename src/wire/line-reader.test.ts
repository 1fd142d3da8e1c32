import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { LineReader, type LineSink } from './line-reader.ts';

class Recorder implements LineSink {
  readonly lines: string[] = [];
  readonly heads: string[] = [];
  readonly tails: string[] = [];

  line(bytes: Buffer): void {
    this.lines.push(bytes.toString('latin1'));
  }

  oversized(head: Buffer, limitBytes: number): void {
    this.heads.push(`${limitBytes}:${head.toString('latin1')}`);
  }

  oversizedEnd(tail: Buffer): void {
    this.tails.push(tail.toString('latin1'));
  }
}

function readAll(chunks: readonly (string | Buffer)[], limitBytes = 1000) {
  const recorder = new Recorder();
  const reader = new LineReader(limitBytes, recorder);
  for (const chunk of chunks) reader.push(Buffer.from(chunk as string));
  const rest = reader.end()?.toString('latin1') ?? null;
  return { ...recorder, rest };
}

describe('LineReader', () => {
  test('cuts on newlines, also several in one chunk and one over several chunks', () => {
    const { lines, rest } = readAll(['one\ntwo\nth', 're', 'e\nfour\n']);
    expect(lines).toEqual(['one', 'two', 'three', 'four']);
    expect(rest).toBeNull();
  });

  test('never cuts on a carriage return', () => {
    expect(readAll(['a\rb\r\nc\r', 'd\n']).lines).toEqual(['a\rb\r', 'c\rd']);
  });

  test('skips lines of nothing but space', () => {
    expect(readAll(['\n\r\n \t\r\n', ' ', '\n', ' x\n']).lines).toEqual([' x']);
  });

  test('gives the unfinished rest at the end, and nothing if it is blank', () => {
    expect(readAll(['one\ntw', 'o']).rest).toBe('two');
    expect(readAll(['one\n \r']).rest).toBeNull();
  });

  test('can begin a new stream after the end of one', () => {
    const recorder = new Recorder();
    const reader = new LineReader(4, recorder);
    reader.push(Buffer.from('too long'));
    expect(reader.end()).toBeNull();
    reader.push(Buffer.from('ok\n'));
    expect(recorder.lines).toEqual(['ok']);
  });

  test('hands on a line inside one chunk without copying it', () => {
    const lines: Buffer[] = [];
    const reader = new LineReader(100, { line: (b) => lines.push(b), oversized: () => {} });
    const chunk = Buffer.from('first\nsecond\n');
    reader.push(chunk);
    chunk.write('S', 6);
    expect(lines[1]?.toString()).toBe('Second');
  });

  test('accepts a line of exactly the limit, in one chunk or in many', () => {
    expect(readAll(['12345678\n'], 8).lines).toEqual(['12345678']);
    expect(readAll(['1234', '5678', '\n'], 8).lines).toEqual(['12345678']);
    expect(readAll(['12345678'], 8).rest).toBe('12345678');
  });

  test('reports a line beyond the limit once, as soon as the limit is passed', () => {
    const recorder = new Recorder();
    const reader = new LineReader(8, recorder);
    reader.push(Buffer.from('12345678'));
    expect(recorder.heads).toEqual([]);
    reader.push(Buffer.from('9'));
    expect(recorder.heads).toEqual(['8:123456789']);
    reader.push(Buffer.from('more and more'));
    reader.push(Buffer.from('the end\nnext\n'));
    expect(recorder.heads).toHaveLength(1);
    expect(recorder.tails).toEqual(['123456789more and morethe end']);
    expect(recorder.lines).toEqual(['next']);
  });

  test('reports a line beyond the limit that begins and ends in one chunk', () => {
    const { lines, heads, tails } = readAll(['ok\n123456789\nnext\n'], 8);
    expect(heads).toEqual(['8:123456789']);
    expect(tails).toEqual(['123456789']);
    expect(lines).toEqual(['ok', 'next']);
  });

  test('keeps no more than 4096 bytes of the head and 256 of the tail', () => {
    const recorder = new Recorder();
    const reader = new LineReader(10_000, recorder);
    for (let i = 0; i < 20; i++) reader.push(Buffer.alloc(1000, 97 + i));
    reader.push(Buffer.from('end\n'));
    expect(recorder.heads[0]).toBe(
      `10000:${'a'.repeat(1000)}${'b'.repeat(1000)}${'c'.repeat(1000)}${'d'.repeat(1000)}${'e'.repeat(96)}`,
    );
    expect(recorder.tails[0]).toBe(`${'t'.repeat(253)}end`);
  });

  test('keeps the whole tail, whatever pieces the line came in', () => {
    const line = Array.from({ length: 600 }, (_, at) => String.fromCharCode(97 + (at % 26))).join(
      '',
    );
    for (const size of [1, 3, 100, 255, 300, 600]) {
      const chunks = line.match(new RegExp(`.{1,${size}}`, 'g')) ?? [];
      expect(readAll([...chunks, '\n'], 500).tails, `pieces of ${size}`).toEqual([
        line.slice(-256),
      ]);
    }
  });

  test('holds no more than the limit of a 64 MiB line', () => {
    const recorder = new Recorder();
    const reader = new LineReader(1024 * 1024, recorder);
    const chunk = Buffer.alloc(64 * 1024, 'x');
    let most = 0;
    for (let i = 0; i < 1024; i++) {
      reader.push(chunk);
      most = Math.max(most, reader.heldBytes);
    }
    expect(most).toBe(1024 * 1024);
    expect(reader.heldBytes).toBe(0);
    expect(recorder.heads).toHaveLength(1);
  });

  test('holds a line that drips in, byte by byte', () => {
    const reader = new LineReader(1024 * 1024, new Recorder());
    for (let i = 0; i < 500_000; i++) reader.push(Buffer.from('x'));
    expect(reader.heldBytes).toBe(500_000);
    expect(reader.end()?.length).toBe(500_000);
  });

  test('stops within a chunk on request, and returns how much it has taken', () => {
    const lines: string[] = [];
    const reader: LineReader = new LineReader(100, {
      line: (bytes) => {
        lines.push(bytes.toString());
        if (lines.length === 2) reader.stop();
      },
      oversized: () => {},
    });
    const chunk = Buffer.from('one\ntwo\nthree\nfo');
    const taken = reader.push(chunk);
    expect([taken, lines]).toEqual([8, ['one', 'two']]);
    expect(reader.push(chunk.subarray(taken))).toBe(8);
    expect([lines, reader.end()?.toString()]).toEqual([['one', 'two', 'three'], 'fo']);
  });

  test('gives the same lines however the stream is chunked', () => {
    const line = fc.oneof(
      fc.string({ unit: fc.constantFrom('a', 'b', ' ', '\r', '\t'), maxLength: 30 }),
      fc.integer({ min: 1, max: 12_000 }).map((length) => 'long '.repeat(length / 5)),
    );
    const property = fc.property(
      fc.array(line, { maxLength: 8 }),
      fc.array(fc.integer({ min: 1, max: 5000 }), { minLength: 1, maxLength: 20 }),
      fc.constantFrom(16, 4096, 8000, 100_000),
      (parts, sizes, limitBytes) => {
        const stream = Buffer.from(parts.join('\n'));
        const chunks: Buffer[] = [];
        for (let at = 0, turn = 0; at < stream.length; turn++) {
          const size = sizes[turn % sizes.length] as number;
          chunks.push(stream.subarray(at, at + size));
          at += size;
        }
        const found = readAll(chunks, limitBytes);
        const ended = parts.slice(0, -1);
        const last = parts.at(-1) ?? '';
        const isLine = (part: string) => part.trim() !== '' && part.length <= limitBytes;
        const isLong = (part: string) => part.length > limitBytes;
        expect(found.lines).toEqual(ended.filter(isLine));
        expect(found.rest).toBe(isLine(last) ? last : null);
        expect(found.heads).toHaveLength(parts.filter(isLong).length);
        for (const [index, part] of parts.filter(isLong).entries()) {
          expect(`${limitBytes}:${part}`.startsWith(found.heads[index] ?? '?')).toBe(true);
        }
        expect(found.tails).toHaveLength(ended.filter(isLong).length);
        for (const [index, part] of ended.filter(isLong).entries()) {
          expect(part.endsWith(found.tails[index] ?? '?')).toBe(true);
        }
      },
    );
    fc.assert(property, { numRuns: 500 });
  });
});
