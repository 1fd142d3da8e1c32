import { Writable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { Output } from '../output.ts';
import { LiveLine } from './live-line.ts';

function outputOn(isTTY: boolean) {
  let written = '';
  const stream = new Writable({
    write(chunk, _encoding, done) {
      written += chunk;
      done();
    },
  });
  const output = new Output(Object.assign(stream, { isTTY, columns: 20 }) as never, {
    NO_COLOR: '1',
  });
  return { output, written: () => written };
}

describe('the line that says what is waited for', () => {
  it('appears only when the wait is long, cut to the terminal, and leaves no trace', () => {
    const clock = new ManualClock();
    const { output, written } = outputOn(true);
    const line = new LiveLine(output, clock);
    line.show('starting a server with a long name');
    clock.advance(399);
    expect(written()).toBe('');
    clock.advance(1);
    expect(written()).toBe('\r\u001b[2Kstarting a server…');
    line.clear();
    expect(written().endsWith('\r\u001b[2K')).toBe(true);
    expect(clock.pending).toBe(0);
  });

  it('shows nothing where the wait was short', () => {
    const clock = new ManualClock();
    const { output, written } = outputOn(true);
    {
      using line = new LiveLine(output, clock);
      line.show('starting');
    }
    clock.advance(1_000);
    expect(written()).toBe('');
  });

  it('shows nothing where there is no terminal', () => {
    const clock = new ManualClock();
    const { output, written } = outputOn(false);
    new LiveLine(output, clock).show('starting');
    clock.advance(1_000);
    expect(written()).toBe('');
  });
});
