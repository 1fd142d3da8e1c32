import type { FileHandle } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { isRubbish, lastLinesOf, tailOf } from './log-tail.ts';

/** A file in memory, as far as it is looked at. */
function fileOf(text: string): FileHandle {
  const bytes = Buffer.from(text);
  return {
    stat: async () => ({ size: bytes.length }),
    read: async (buffer: Buffer, offset: number, length: number, position: number) => {
      const bytesRead = bytes.copy(buffer, offset, position, position + length);
      return { buffer, bytesRead };
    },
  } as unknown as FileHandle;
}

describe('the end of a log', () => {
  it.each([
    ['', 0],
    ['{"n":1}\n', 8],
    ['{"n":1}\n{"n":', 8],
    ['{"n":', 0],
    [`{"n":1}\n${'x'.repeat(200_000)}`, 8],
  ])('is whole up to its last line break: %#', async (text, wholeBytes) => {
    const size = text.length;
    expect(await tailOf(fileOf(text))).toEqual({
      size,
      wholeBytes,
      isWhole: size === wholeBytes,
      isEndless: false,
    });
  });

  it('is not looked for through a file in which there are no lines', async () => {
    const size = 1024 ** 4;
    let readBytes = 0;
    const endless = {
      stat: async () => ({ size }),
      read: async (buffer: Buffer, _offset: number, length: number) => {
        readBytes += length;
        return { buffer, bytesRead: length };
      },
    } as unknown as FileHandle;
    expect(await tailOf(endless)).toMatchObject({ isEndless: true, isWhole: false });
    expect(readBytes).toBeLessThanOrEqual(1_048_576);
  });

  it.each([
    ['the beginning of a line', '{"n":1}\n{"n":', true],
    ['the zeros of a power cut', `{"n":1}\n${'\0'.repeat(100_000)}`, true],
    ['the one before the other', `{"n":1}\n{"n":${'\0'.repeat(5_000)}`, true],
    ['what does not begin like a line', '{"n":1}\nhello', false],
    ['what is longer than a line can be', `{"n":1}\n{"n":"${'x'.repeat(5_000)}`, false],
    ['something behind zeros', `{"n":1}\n${'\0'.repeat(10)}hello`, false],
  ])('may be thrown away or not: %s', async (_, text, expected) => {
    const file = fileOf(text);
    expect(await isRubbish(file, await tailOf(file))).toBe(expected);
  });

  it('has lines that can be read, and lines that cannot', async () => {
    const file = fileOf('{"n":1}\nhello\n7\n\n{"n":2}\n{"n":');
    expect(await lastLinesOf(file, await tailOf(file))).toEqual({ count: 5, unreadable: 3 });
  });

  it('is looked at only as far back as is read at once', async () => {
    const file = fileOf(`hello\n${'{"n":1}\n'.repeat(20_000)}`);
    const { count, unreadable } = await lastLinesOf(file, await tailOf(file));
    expect(unreadable).toBe(0);
    expect(count).toBeLessThan(9_000);
  });
});
