import { describe, expect, it } from 'vitest';
import { ManualClock, settled } from '../../../test/support/manual-clock.ts';
import { StdoutReader } from './stdout-reader.ts';

/** A reader for which lines that begin with a brace are MCP. */
function newReader(limitBytes = 100_000) {
  const clock = new ManualClock();
  const lines: string[] = [];
  const child: string[] = [];
  const broken: string[] = [];
  const probes: ((isAlive: boolean) => void)[] = [];
  const reader: StdoutReader = new StdoutReader(limitBytes, clock, {
    line: (bytes) => {
      lines.push(bytes.toString());
      if (lines.at(-1) === 'defect') throw new Error('a defect');
      if (bytes[0] !== 0x7b) reader.noise('not-json');
    },
    oversized: () => reader.noise('oversized-frame'),
    isAwaited: () => false,
    probe: () => new Promise((resolve) => probes.push(resolve)),
    broken: (what) => broken.push(what),
  });
  reader.attach({ pause: () => child.push('pause'), resume: () => child.push('resume') });
  const say = (text: string) => reader.push(Buffer.from(text));
  return { clock, reader, say, lines, child, broken, probes };
}

describe('a flood of lines that are not MCP', () => {
  it('is read in turns, with the pipe paused between them and nothing lost #noise', () => {
    const { clock, say, lines, child } = newReader();
    say(`${'x\n'.repeat(2_500)}{"last":1}\n`);
    expect([lines.length, child]).toEqual([1_000, ['pause']]);
    say('{"later":1}\n');
    expect(lines.length).toBe(1_000);
    clock.advance(2);
    expect([lines.length, child]).toEqual([2_000, ['pause', 'pause']]);
    clock.advance(2);
    expect(lines.slice(2_500)).toEqual(['{"last":1}', '{"later":1}']);
    expect(child).toEqual(['pause', 'pause', 'resume']);
    expect(clock.pending).toBe(0);
  });

  it('that is one endless line is read in turns too', () => {
    const { say, child } = newReader(1_000);
    for (let chunk = 0; chunk < 65; chunk++) say('x'.repeat(65_536));
    expect(child).toEqual(['pause']);
  });

  it('is read to its end at once when the process is gone', () => {
    const { clock, reader, say, lines } = newReader();
    say('x\n'.repeat(5_000));
    say('{"last":1}\n');
    reader.flush();
    expect([lines.length, lines.at(-1), clock.pending]).toEqual([5_001, '{"last":1}', 0]);
  });

  it('is read on after an error of our own, and the pipe does not stay paused', () => {
    const { clock, say, lines, child } = newReader();
    say(`${'x\n'.repeat(1_500)}defect\n`);
    say('{"later":1}\n');
    expect(() => clock.advance(2)).toThrow('a defect');
    clock.advance(2);
    expect([lines.at(-1), child.at(-1), clock.pending]).toEqual(['{"later":1}', 'resume', 0]);
  });

  it('is read no further, but no longer held back, once the connection is over', () => {
    const { clock, reader, say, lines, child } = newReader();
    say('x\n'.repeat(5_000));
    reader.close();
    clock.advance(1_000);
    say('more\n');
    expect([lines.length, child, clock.pending]).toEqual([1_000, ['pause', 'resume'], 0]);
  });

  it('ends with the pipe still paused where it is held back, until it is let go #slow-client', () => {
    const { clock, reader, say, lines, child } = newReader();
    say(`${'x\n'.repeat(1_500)}`);
    reader.hold(true);
    clock.advance(2);
    expect([lines.length, child]).toEqual([1_500, ['pause', 'pause']]);
    reader.hold(false);
    expect(child).toEqual(['pause', 'pause', 'resume']);
  });

  it('keeps the pipe paused until its turn has come, though its receivers have caught up', () => {
    const { clock, reader, say, child } = newReader();
    reader.hold(true);
    say('x\n'.repeat(1_500));
    reader.hold(false);
    expect(child).toEqual(['pause', 'pause']);
    clock.advance(2);
    expect(child).toEqual(['pause', 'pause', 'resume']);
  });

  it('ends a server that answers neither for a while nor a probe, and says how much it printed', async () => {
    const { clock, reader, say, broken, probes } = newReader();
    reader.greeted();
    for (let second = 0; second < 31; second++) {
      say('x\n'.repeat(100));
      clock.advance(1_000);
    }
    expect(probes).toHaveLength(1);
    say('x\n'.repeat(100));
    probes[0]?.(false);
    await settled();
    expect(broken).toEqual([
      'printed 3200 lines to stdout that are not MCP, and no longer answers',
    ]);
  });

  it('before the handshake ends the start at its number of bytes', () => {
    const { clock, say, broken } = newReader();
    const chunk = `${'x'.repeat(65_535)}\n`;
    for (let read = 0; read < 256; read++) say(chunk);
    clock.advance(1_000);
    expect(broken).toEqual([]);
    say(chunk);
    clock.advance(1_000);
    expect(broken).toEqual([
      'printed more than 16777216 bytes to stdout that are not MCP before the handshake',
    ]);
  });
});
