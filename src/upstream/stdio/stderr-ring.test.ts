import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bytesInUse } from '../../../test/support/memory.ts';
import { Redactor } from '../../kernel/redactor.ts';
import { ServerOutputs } from '../../observe/server-output.ts';
import { StderrRing, shownLine } from './stderr-ring.ts';

function ringOf(...chunks: readonly (string | Buffer)[]): StderrRing {
  const ring = new StderrRing();
  for (const chunk of chunks) ring.push(Buffer.from(chunk));
  return ring;
}

describe('the last lines of stderr', () => {
  it('are what the server wrote, oldest first, with an unfinished line at the end', () => {
    expect(ringOf('one\ntwo\r\nthr', 'ee\nfou').lines).toEqual(['one', 'two', 'three', 'fou']);
  });

  it('are the same however the bytes were cut, even inside a character', () => {
    const text = Buffer.from('naïve ☃ 日本語\n\nsecond é\nlast');
    fc.assert(
      fc.property(fc.array(fc.nat(text.length)), (cuts) => {
        const places = [0, ...cuts.sort((a, b) => a - b), text.length];
        const ring = new StderrRing();
        for (const [index, place] of places.entries()) {
          if (index > 0) ring.push(text.subarray(places[index - 1], place));
        }
        expect(ring.lines).toEqual(['naïve ☃ 日本語', '', 'second é', 'last']);
      }),
      { numRuns: 200 },
    );
  });

  it('cannot drive a terminal: control characters are shown', () => {
    expect(ringOf('\u001b[2J\u0007over\rwritten\ttab\u009b\n').lines).toEqual([
      '\\x1b[2J\\x07over\\x0dwritten\ttab\\x9b',
    ]);
  });

  it('are at most two hundred', () => {
    const lines = ringOf(Array.from({ length: 1_000 }, (_, n) => `line ${n}\n`).join('')).lines;
    expect(lines).toHaveLength(200);
    expect(lines.at(-1)).toBe('line 999');
  });

  it('stay bounded when a server never ends a line, or writes a flood', () => {
    const ring = new StderrRing();
    for (let chunk = 0; chunk < 200; chunk++) ring.push(Buffer.alloc(65_536, 'x'));
    expect(ring.lines.join('').length).toBeLessThanOrEqual(8 * 1_024 + 1);
    for (let line = 0; line < 2_000; line++) ring.push(Buffer.from(`${'y'.repeat(7_000)}\n`));
    expect(ring.lines.join('').length).toBeLessThanOrEqual(64 * 1_024 + 200);
    ring.push(Buffer.concat([Buffer.alloc(1_000_000, 'z'), Buffer.from('\nthe end')]));
    expect(ring.lines.at(-1)).toBe('the end');
  });

  it('never show a known secret, nor the beginning of one where a line was cut #stderr-guarded', () => {
    const value = 'k3y-0123456789abcdef';
    const ring = new StderrRing(new Redactor([{ name: 'env API_KEY', value }]));
    ring.push(Buffer.from(`using ${value.slice(0, 5)}`));
    ring.push(Buffer.from(`${value.slice(5)} now\n`));
    expect(ring.lines).toEqual(['using [env API_KEY] now']);
    for (let split = 1; split < value.length; split += 1) {
      ring.push(Buffer.from(`${'x'.repeat(8_192 - split)}${value}${'y'.repeat(100)}\n`));
      expect(ring.lines.at(-1)).toMatch(/^x+…$/);
    }
    const large = Buffer.from(`${'-'.repeat(100)}${value}${'z'.repeat(65_530)}\nthe end\n`);
    ring.push(large);
    expect(ring.lines.slice(-1)).toEqual(['the end']);
    expect(ring.lines.join('\n')).not.toContain('abcdef');
  });
});

describe('a flood of short lines', () => {
  it('costs no more than the few that are kept of each chunk #one-bad-neighbour', () => {
    const written: string[] = [];
    const ring = new StderrRing(undefined, (line) => written.push(line.text()));
    ring.push(Buffer.from('begun '));
    ring.push(Buffer.from(`${'\n'.repeat(60_000)}last\nunfinished`));
    expect(written.length).toBeLessThanOrEqual(200);
    expect(ring.lines.slice(-2)).toEqual(['last', 'unfinished']);
    ring.push(Buffer.from(' line\n'));
    expect(written.at(-1)).toBe('unfinished line');
  });
});

describe('a line that was cut', () => {
  it('shows no beginning of a secret, however it ends #stderr-guarded', () => {
    const secret = 'SECRETabcdefghijkl';
    for (const end of ['\n', '']) {
      const written: string[] = [];
      const redactor = new Redactor([{ value: secret, name: 'KEY' }]);
      const ring = new StderrRing(redactor, (line) => written.push(line.text()));
      ring.push(Buffer.from(`${'A'.repeat(8_180)}${secret}`));
      ring.push(Buffer.from(end));
      ring.end();
      expect([...written, ...ring.lines].join()).not.toContain('SECRET');
      expect(written[0]).toMatch(/…$/);
    }
  });
});

describe('a line that is kept for a reader', () => {
  const servers = 20;
  const linesOfEach = 1_000;

  it('takes little more than its text: a server may fill its thousand #no-growth', () => {
    const outputs = new ServerOutputs(() => Date.now() + 0.5);
    const before = bytesInUse();
    for (let server = 0; server < servers; server += 1) {
      const output = outputs.of(`server ${server}`);
      const ring = new StderrRing(undefined, (line) =>
        output.write({ pid: 7, stream: 'stderr' }, line),
      );
      for (let n = 0; n < linesOfEach / 2; n += 1) {
        ring.push(Buffer.from(`line ${n} of the errors of server ${server}\n`));
        const printed = Buffer.from(`line ${n} that server ${server} has printed`);
        output.write({ pid: 7, stream: 'stdout' }, shownLine(printed));
      }
    }
    const bytes = bytesInUse() - before;
    expect(outputs.of('server 0').since(-1).lines).toHaveLength(linesOfEach);
    expect(bytes / (servers * linesOfEach)).toBeLessThan(300);
  });

  it('is shown as it was printed', () => {
    const shown = (text: string) => shownLine(Buffer.from(text)).text();
    expect(shown('naïve ☃ 日本語 \u0007')).toBe('naïve ☃ 日本語 \\x07');
    expect(shown('x'.repeat(9_000))).toBe(`${'x'.repeat(8_192)}…`);
    expect(shownLine(Buffer.from('é'), new Redactor()).length).toBe(2);
  });
});
